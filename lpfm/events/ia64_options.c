/* SPDX-License-Identifier: MIT */
/* ia64_options.c - the options of each Itanium. */
#include "events/ia64.h"

#define FIELD(model, part, member, name, max, kind) \
	{ name, offsetof(pfmlib_##model##_##part##_t, member), \
	  sizeof(((pfmlib_##model##_##part##_t *)NULL)->member), max, kind }
#define NUMBER(model, part, name, max) FIELD(model, part, part##_##name, #name, max, IA64_NUMBER)
#define PLM(model, part) NUMBER(model, part, plm, 15)
#define EAR(model, mode, most) \
	FIELD(model, ear, ear_mode, "mode", mode, IA64_MODE), NUMBER(model, ear, umask, most), PLM(model, ear)
#define THRES(model) FIELD(model, counter, thres, "thres", 7, IA64_NUMBER)
#define ISM(model) FIELD(model, counter, ism, "ism", 2, IA64_NUMBER)
#define UNCHECKED(model, flag) FIELD(model, counter, flags, "unchecked", flag, IA64_BOOLEAN)
#define END { NULL, 0, 0, 0, IA64_NUMBER }
#define PART(model, name, member, fields) \
	{ name, offsetof(pfmlib_##model##_input_param_t, pfp_##model##_##member), model##_##fields }
#define RANGES(list, range) {							\
	offsetof(list, rr_used), offsetof(list, rr_flags),			\
	offsetof(list, rr_limits), sizeof(range),				\
	offsetof(range, rr_plm), offsetof(range, rr_start), offsetof(range, rr_end) }

/* --- Itanium -------------------------------------------------------------------------------- */

static const struct ia64_field ita_counter[] = {
	THRES(ita), ISM(ita), UNCHECKED(ita, PFMLIB_ITA_FL_EVT_NO_QUALCHECK), END
};

static const struct ia64_field ita_opcode[] = {
	FIELD(ita, opcm, pmc_val, NULL, UINT64_MAX, IA64_NUMBER), END
};

static const struct ia64_field ita_ear[] = {
	EAR(ita, PFMLIB_ITA_EAR_TLB_MODE, 15), NUMBER(ita, ear, ism, 2), END
};

static const struct ia64_field ita_btb[] = {
	NUMBER(ita, btb, tar, 1), NUMBER(ita, btb, tac, 1), NUMBER(ita, btb, bac, 1), NUMBER(ita, btb, tm, 3),
	NUMBER(ita, btb, ptm, 3), NUMBER(ita, btb, ppm, 3), PLM(ita, btb), END
};

static const struct ia64_part ita_parts[] = {
	PART(ita, "opcode8", pmc8, opcode), PART(ita, "opcode9", pmc9, opcode), PART(ita, "iear", iear, ear),
	PART(ita, "dear", dear, ear), PART(ita, "btb", btb, btb), { NULL, 0, NULL }
};

static const struct ia64_ranges ita_ranges = RANGES(pfmlib_ita_input_rr_t, pfmlib_ita_input_rr_desc_t);
static const struct ia64_flag ita_flags[] = { { NULL, false, 0 } };

/* --- Itanium 2 ------------------------------------------------------------------------------ */

static const struct ia64_field ita2_counter[] = {
	THRES(ita2), ISM(ita2), UNCHECKED(ita2, PFMLIB_ITA2_FL_EVT_NO_QUALCHECK), END
};

static const struct ia64_field ita2_opcode[] = {
	FIELD(ita2, opcm, pmc_val, NULL, UINT64_MAX, IA64_NUMBER), END
};

static const struct ia64_field ita2_ear[] = {
	EAR(ita2, PFMLIB_ITA2_EAR_ALAT_MODE, 255), NUMBER(ita2, ear, ism, 2), END
};

static const struct ia64_field ita2_btb[] = {
	NUMBER(ita2, btb, ds, 1), NUMBER(ita2, btb, tm, 3), NUMBER(ita2, btb, ptm, 3), NUMBER(ita2, btb, ppm, 3),
	NUMBER(ita2, btb, brt, 3), PLM(ita2, btb), END
};

static const struct ia64_part ita2_parts[] = {
	PART(ita2, "opcode8", pmc8, opcode), PART(ita2, "opcode9", pmc9, opcode), PART(ita2, "iear", iear, ear),
	PART(ita2, "dear", dear, ear), PART(ita2, "btb", btb, btb), { NULL, 0, NULL }
};

static const struct ia64_ranges ita2_ranges = RANGES(pfmlib_ita2_input_rr_t, pfmlib_ita2_input_rr_desc_t);

static const struct ia64_flag ita2_flags[] = {
	{ "invert", true, PFMLIB_ITA2_RR_INV },
	{ "fine", false, PFMLIB_ITA2_RR_NO_FINE_MODE },
	{ NULL, false, 0 }
};

/* --- Montecito ------------------------------------------------------------------------------ */

static const struct ia64_field mont_counter[] = {
	THRES(mont), UNCHECKED(mont, PFMLIB_MONT_FL_EVT_NO_QUALCHECK), END
};

#define BITS41	((UINT64_C(1) << 41) - 1)

static const struct ia64_field mont_opcode[] = {
	NUMBER(mont, opcm, m, 1), NUMBER(mont, opcm, i, 1), NUMBER(mont, opcm, f, 1), NUMBER(mont, opcm, b, 1),
	NUMBER(mont, opcm, match, BITS41), NUMBER(mont, opcm, mask, BITS41), END
};

static const struct ia64_field mont_iear[] = { EAR(mont, PFMLIB_MONT_EAR_TLB_MODE, 255), END };
static const struct ia64_field mont_dear[] = { EAR(mont, PFMLIB_MONT_EAR_ALAT_MODE, 15), END };

static const struct ia64_field mont_etb[] = {
	NUMBER(mont, etb, tm, 3), NUMBER(mont, etb, ptm, 3), NUMBER(mont, etb, ppm, 3), NUMBER(mont, etb, brt, 3),
	PLM(mont, etb), END
};

static const struct ia64_field mont_ipear[] = { NUMBER(mont, ipear, delay, 255), PLM(mont, ipear), END };

static const struct ia64_part mont_parts[] = {
	PART(mont, "opcode1", opcm1, opcode), PART(mont, "opcode2", opcm2, opcode), PART(mont, "iear", iear, iear),
	PART(mont, "dear", dear, dear), PART(mont, "etb", etb, etb), PART(mont, "ipear", ipear, ipear),
	{ NULL, 0, NULL }
};

static const struct ia64_flag mont_flags[] = {
	{ "invert", true, PFMLIB_MONT_RR_INV },
	{ "fine", false, PFMLIB_MONT_RR_NO_FINE_MODE },
	{ "demand_fetch", true, PFMLIB_MONT_IRR_DEMAND_FETCH },
	{ "prefetch_match", true, PFMLIB_MONT_IRR_PREFETCH_MATCH },
	{ NULL, false, 0 }
};

/* --- all ------------------------------------------------------------------------------------ */

#define MODEL(title, model, list, n) { \
	.name = title, .is_event = pfm_##model##_get_event_maxincr, \
	.parts = model##_parts, .counter = model##_counter, .ranges = &list, .flags = model##_flags, \
	.counters = offsetof(pfmlib_##model##_input_param_t, pfp_##model##_counters), \
	.counter_size = sizeof(pfmlib_##model##_counter_t), .num_counters = n, \
	.code = offsetof(pfmlib_##model##_input_param_t, pfp_##model##_irange), \
	.data = offsetof(pfmlib_##model##_input_param_t, pfp_##model##_drange), \
	.code_out = offsetof(pfmlib_##model##_output_param_t, pfp_##model##_irange), \
	.data_out = offsetof(pfmlib_##model##_output_param_t, pfp_##model##_drange) }

const struct ia64_options lpfm_ia64_options[] = {
	MODEL("itanium", ita, ita_ranges, PMU_ITA_NUM_COUNTERS),
	MODEL("itanium2", ita2, ita2_ranges, PMU_ITA2_NUM_COUNTERS),
	MODEL("montecito", mont, ita2_ranges, PMU_MONT_NUM_COUNTERS),
	{ .name = NULL }
};
