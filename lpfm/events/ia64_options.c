/* SPDX-License-Identifier: MIT */
/* ia64_options.c - the options of each Itanium. */
#include "events/ia64.h"

#define FIELD(type, member, name, max, kind) \
	{ name, offsetof(type, member), sizeof(((type *)NULL)->member), max, kind }
#define NUMBER(type, member, name, max) FIELD(type, member, name, max, IA64_NUMBER)
#define END { NULL, 0, 0, 0, IA64_NUMBER }

#define PLM	15
#define ISM	2

/* --- Itanium -------------------------------------------------------------------------------- */

static const struct ia64_field ita_counter[] = {
	NUMBER(pfmlib_ita_counter_t, thres, "thres", 7),
	NUMBER(pfmlib_ita_counter_t, ism, "ism", ISM),
	FIELD(pfmlib_ita_counter_t, flags, "unchecked", PFMLIB_ITA_FL_EVT_NO_QUALCHECK, IA64_BOOLEAN),
	END
};

static const struct ia64_field ita_opcode[] = {
	NUMBER(pfmlib_ita_opcm_t, pmc_val, NULL, UINT64_MAX),
	END
};

static const struct ia64_field ita_ear[] = {
	FIELD(pfmlib_ita_ear_t, ear_mode, "mode", PFMLIB_ITA_EAR_TLB_MODE, IA64_MODE),
	NUMBER(pfmlib_ita_ear_t, ear_umask, "umask", 15),
	NUMBER(pfmlib_ita_ear_t, ear_plm, "plm", PLM),
	NUMBER(pfmlib_ita_ear_t, ear_ism, "ism", ISM),
	END
};

static const struct ia64_field ita_btb[] = {
	NUMBER(pfmlib_ita_btb_t, btb_tar, "tar", 1),
	NUMBER(pfmlib_ita_btb_t, btb_tac, "tac", 1),
	NUMBER(pfmlib_ita_btb_t, btb_bac, "bac", 1),
	NUMBER(pfmlib_ita_btb_t, btb_tm, "tm", 3),
	NUMBER(pfmlib_ita_btb_t, btb_ptm, "ptm", 3),
	NUMBER(pfmlib_ita_btb_t, btb_ppm, "ppm", 3),
	NUMBER(pfmlib_ita_btb_t, btb_plm, "plm", PLM),
	END
};

static const struct ia64_part ita_parts[] = {
	{ "opcode8", offsetof(pfmlib_ita_input_param_t, pfp_ita_pmc8), ita_opcode },
	{ "opcode9", offsetof(pfmlib_ita_input_param_t, pfp_ita_pmc9), ita_opcode },
	{ "iear", offsetof(pfmlib_ita_input_param_t, pfp_ita_iear), ita_ear },
	{ "dear", offsetof(pfmlib_ita_input_param_t, pfp_ita_dear), ita_ear },
	{ "btb", offsetof(pfmlib_ita_input_param_t, pfp_ita_btb), ita_btb },
	{ NULL, 0, NULL }
};

#define RANGES(list, range) {							\
	offsetof(list, rr_used), offsetof(list, rr_flags),			\
	offsetof(list, rr_limits), sizeof(range),				\
	offsetof(range, rr_plm), offsetof(range, rr_start), offsetof(range, rr_end) }

static const struct ia64_ranges ita_ranges = RANGES(pfmlib_ita_input_rr_t, pfmlib_ita_input_rr_desc_t);
static const struct ia64_flag ita_flags[] = { { NULL, false, 0 } };

/* --- Itanium 2 ------------------------------------------------------------------------------ */

static const struct ia64_field ita2_counter[] = {
	NUMBER(pfmlib_ita2_counter_t, thres, "thres", 7),
	NUMBER(pfmlib_ita2_counter_t, ism, "ism", ISM),
	FIELD(pfmlib_ita2_counter_t, flags, "unchecked", PFMLIB_ITA2_FL_EVT_NO_QUALCHECK, IA64_BOOLEAN),
	END
};

static const struct ia64_field ita2_opcode[] = {
	NUMBER(pfmlib_ita2_opcm_t, pmc_val, NULL, UINT64_MAX),
	END
};

static const struct ia64_field ita2_ear[] = {
	FIELD(pfmlib_ita2_ear_t, ear_mode, "mode", PFMLIB_ITA2_EAR_ALAT_MODE, IA64_MODE),
	NUMBER(pfmlib_ita2_ear_t, ear_umask, "umask", 255),
	NUMBER(pfmlib_ita2_ear_t, ear_plm, "plm", PLM),
	NUMBER(pfmlib_ita2_ear_t, ear_ism, "ism", ISM),
	END
};

static const struct ia64_field ita2_btb[] = {
	NUMBER(pfmlib_ita2_btb_t, btb_ds, "ds", 1),
	NUMBER(pfmlib_ita2_btb_t, btb_tm, "tm", 3),
	NUMBER(pfmlib_ita2_btb_t, btb_ptm, "ptm", 3),
	NUMBER(pfmlib_ita2_btb_t, btb_ppm, "ppm", 3),
	NUMBER(pfmlib_ita2_btb_t, btb_brt, "brt", 3),
	NUMBER(pfmlib_ita2_btb_t, btb_plm, "plm", PLM),
	END
};

static const struct ia64_part ita2_parts[] = {
	{ "opcode8", offsetof(pfmlib_ita2_input_param_t, pfp_ita2_pmc8), ita2_opcode },
	{ "opcode9", offsetof(pfmlib_ita2_input_param_t, pfp_ita2_pmc9), ita2_opcode },
	{ "iear", offsetof(pfmlib_ita2_input_param_t, pfp_ita2_iear), ita2_ear },
	{ "dear", offsetof(pfmlib_ita2_input_param_t, pfp_ita2_dear), ita2_ear },
	{ "btb", offsetof(pfmlib_ita2_input_param_t, pfp_ita2_btb), ita2_btb },
	{ NULL, 0, NULL }
};

static const struct ia64_ranges ita2_ranges = RANGES(pfmlib_ita2_input_rr_t, pfmlib_ita2_input_rr_desc_t);

static const struct ia64_flag ita2_flags[] = {
	{ "invert", true, PFMLIB_ITA2_RR_INV },
	{ "fine", false, PFMLIB_ITA2_RR_NO_FINE_MODE },
	{ NULL, false, 0 }
};

/* --- Montecito ------------------------------------------------------------------------------ */

static const struct ia64_field mont_counter[] = {
	NUMBER(pfmlib_mont_counter_t, thres, "thres", 7),
	FIELD(pfmlib_mont_counter_t, flags, "unchecked", PFMLIB_MONT_FL_EVT_NO_QUALCHECK, IA64_BOOLEAN),
	END
};

#define BITS41	((UINT64_C(1) << 41) - 1)

static const struct ia64_field mont_opcode[] = {
	NUMBER(pfmlib_mont_opcm_t, opcm_m, "m", 1),
	NUMBER(pfmlib_mont_opcm_t, opcm_i, "i", 1),
	NUMBER(pfmlib_mont_opcm_t, opcm_f, "f", 1),
	NUMBER(pfmlib_mont_opcm_t, opcm_b, "b", 1),
	NUMBER(pfmlib_mont_opcm_t, opcm_match, "match", BITS41),
	NUMBER(pfmlib_mont_opcm_t, opcm_mask, "mask", BITS41),
	END
};

static const struct ia64_field mont_iear[] = {
	FIELD(pfmlib_mont_ear_t, ear_mode, "mode", PFMLIB_MONT_EAR_TLB_MODE, IA64_MODE),
	NUMBER(pfmlib_mont_ear_t, ear_umask, "umask", 255),
	NUMBER(pfmlib_mont_ear_t, ear_plm, "plm", PLM),
	END
};

static const struct ia64_field mont_dear[] = {
	FIELD(pfmlib_mont_ear_t, ear_mode, "mode", PFMLIB_MONT_EAR_ALAT_MODE, IA64_MODE),
	NUMBER(pfmlib_mont_ear_t, ear_umask, "umask", 15),
	NUMBER(pfmlib_mont_ear_t, ear_plm, "plm", PLM),
	END
};

static const struct ia64_field mont_etb[] = {
	NUMBER(pfmlib_mont_etb_t, etb_tm, "tm", 3),
	NUMBER(pfmlib_mont_etb_t, etb_ptm, "ptm", 3),
	NUMBER(pfmlib_mont_etb_t, etb_ppm, "ppm", 3),
	NUMBER(pfmlib_mont_etb_t, etb_brt, "brt", 3),
	NUMBER(pfmlib_mont_etb_t, etb_plm, "plm", PLM),
	END
};

static const struct ia64_field mont_ipear[] = {
	NUMBER(pfmlib_mont_ipear_t, ipear_delay, "delay", 255),
	NUMBER(pfmlib_mont_ipear_t, ipear_plm, "plm", PLM),
	END
};

static const struct ia64_part mont_parts[] = {
	{ "opcode1", offsetof(pfmlib_mont_input_param_t, pfp_mont_opcm1), mont_opcode },
	{ "opcode2", offsetof(pfmlib_mont_input_param_t, pfp_mont_opcm2), mont_opcode },
	{ "iear", offsetof(pfmlib_mont_input_param_t, pfp_mont_iear), mont_iear },
	{ "dear", offsetof(pfmlib_mont_input_param_t, pfp_mont_dear), mont_dear },
	{ "etb", offsetof(pfmlib_mont_input_param_t, pfp_mont_etb), mont_etb },
	{ "ipear", offsetof(pfmlib_mont_input_param_t, pfp_mont_ipear), mont_ipear },
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

const struct ia64_options lpfm_ia64_options[] = {
	{
		.name = "itanium", .is_event = pfm_ita_get_event_maxincr,
		.parts = ita_parts, .counter = ita_counter, .ranges = &ita_ranges, .flags = ita_flags,
		.counters = offsetof(pfmlib_ita_input_param_t, pfp_ita_counters),
		.counter_size = sizeof(pfmlib_ita_counter_t), .num_counters = PMU_ITA_NUM_COUNTERS,
		.code = offsetof(pfmlib_ita_input_param_t, pfp_ita_irange),
		.data = offsetof(pfmlib_ita_input_param_t, pfp_ita_drange),
		.code_out = offsetof(pfmlib_ita_output_param_t, pfp_ita_irange),
		.data_out = offsetof(pfmlib_ita_output_param_t, pfp_ita_drange),
	}, {
		.name = "itanium2", .is_event = pfm_ita2_get_event_maxincr,
		.parts = ita2_parts, .counter = ita2_counter, .ranges = &ita2_ranges, .flags = ita2_flags,
		.counters = offsetof(pfmlib_ita2_input_param_t, pfp_ita2_counters),
		.counter_size = sizeof(pfmlib_ita2_counter_t), .num_counters = PMU_ITA2_NUM_COUNTERS,
		.code = offsetof(pfmlib_ita2_input_param_t, pfp_ita2_irange),
		.data = offsetof(pfmlib_ita2_input_param_t, pfp_ita2_drange),
		.code_out = offsetof(pfmlib_ita2_output_param_t, pfp_ita2_irange),
		.data_out = offsetof(pfmlib_ita2_output_param_t, pfp_ita2_drange),
	}, {
		.name = "montecito", .is_event = pfm_mont_get_event_maxincr,
		.parts = mont_parts, .counter = mont_counter, .ranges = &ita2_ranges, .flags = mont_flags,
		.counters = offsetof(pfmlib_mont_input_param_t, pfp_mont_counters),
		.counter_size = sizeof(pfmlib_mont_counter_t), .num_counters = PMU_MONT_NUM_COUNTERS,
		.code = offsetof(pfmlib_mont_input_param_t, pfp_mont_irange),
		.data = offsetof(pfmlib_mont_input_param_t, pfp_mont_drange),
		.code_out = offsetof(pfmlib_mont_output_param_t, pfp_mont_irange),
		.data_out = offsetof(pfmlib_mont_output_param_t, pfp_mont_drange),
	},
	{ .name = NULL }
};
