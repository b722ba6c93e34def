// SPDX-License-Identifier: MIT
/*
 * x86.c - which counters of an x86 core PMU an event can be on.
 *
 * PMC/PMD 0 to N-1 are the general counters. The other registers have libpfm 3's numbers: PMD16 and
 * up are Intel's fixed counters, with four bits each in PMC16; PMC18 and up are MSRs that events
 * share. The rules are the manufacturers', as Linux applies them (arch/x86/events).
 */
#include <string.h>

#include "encode4.h"

#define FIXED	16

/* PMCs that are shared MSRs, from PMC18 on: IA32_PEBS_LD_LAT and so on. */
enum { LDLAT = FIXED + 2, RSP0, RSP1, FRONTEND, SHARED_END };

struct rule {
	uint16_t	first, last;	/* range of the event select, which has 12 bits on AMD */
	int16_t		umask;		/* -1: any unit mask */
	uint32_t	counters;	/* the general counters as bits; 0: none */
};

struct family {
	const char		*models;	/* names of models, with a space after each */
	unsigned int		general;	/* number of general counters; 0: as libpfm4 says */
	bool			amd;
	/* large increments use two counters, from family 17h on */
	bool			merges;
	/* the first rule that matches applies; a rule with counters 0 ends the list */
	const struct rule	*rules;
};

#define EVENT(e, c)		{ e, e, -1, c }
#define EVENTS(a, b, c)		{ a, b, -1, c }
#define UEVENT(u, e, c)		{ e, e, u, c }
#define END			{ 0, 0, 0, 0 }

static const struct rule no_rules[] = { END };

static const struct rule core2_rules[] = {
	EVENT(0x10, 1), EVENT(0x11, 2), EVENT(0x12, 2), EVENT(0x13, 2), EVENT(0x14, 1),
	EVENT(0x18, 1), EVENT(0x19, 2), EVENT(0xa1, 1), EVENT(0xc9, 1), EVENT(0xcb, 1), END
};

static const struct rule nhm_rules[] = {
	EVENTS(0x40, 0x43, 3), EVENT(0x48, 3), EVENT(0x4e, 3), EVENT(0x51, 3), EVENT(0x63, 3), END
};

static const struct rule wsm_rules[] = {
	EVENT(0x51, 3), EVENT(0x60, 1), EVENT(0x63, 3), EVENT(0xb3, 1), END
};

static const struct rule snb_rules[] = {
	UEVENT(0x04, 0xa3, 0xf), UEVENT(0x05, 0xa3, 0xf), UEVENT(0x02, 0xa3, 4),
	UEVENT(0x06, 0xa3, 4), EVENT(0x48, 4), UEVENT(0x01, 0xc0, 2), EVENT(0xcd, 8),
	EVENTS(0xd0, 0xd3, 0xf), END
};

static const struct rule ivb_rules[] = {
	UEVENT(0x01, 0x48, 4), UEVENT(0x02, 0x79, 0xf), UEVENT(0x01, 0x9c, 0xf),
	UEVENT(0x02, 0xa3, 0xf), UEVENT(0x04, 0xa3, 0xf), UEVENT(0x05, 0xa3, 0xf),
	UEVENT(0x06, 0xa3, 0xf), UEVENT(0x08, 0xa3, 4), UEVENT(0x0c, 0xa3, 4),
	UEVENT(0x01, 0xc0, 2), EVENTS(0xd0, 0xd3, 0xf), END
};

static const struct rule hsw_rules[] = {
	UEVENT(0x01, 0x48, 4), UEVENT(0x01, 0xc0, 2), EVENT(0xcd, 8), UEVENT(0x08, 0xa3, 4),
	UEVENT(0x0c, 0xa3, 4), UEVENT(0x04, 0xa3, 0xf), EVENTS(0xd0, 0xd3, 0xf), END
};

static const struct rule bdw_rules[] = {
	UEVENT(0x01, 0x48, 4), UEVENT(0x08, 0xa3, 4), UEVENT(0x0c, 0xa3, 4), EVENT(0xcd, 0xf),
	EVENTS(0xd0, 0xd2, 0xf), END
};

static const struct rule skl_rules[] = {
	UEVENT(0x01, 0xc0, 2), EVENT(0xc6, 0xf), EVENT(0xcd, 0xf), EVENTS(0xd0, 0xd2, 0xf), END
};

static const struct rule icl_rules[] = {
	EVENTS(0x03, 0x0a, 0xf), EVENTS(0x1f, 0x28, 0xf), EVENT(0x32, 0xf), EVENTS(0x48, 0x56, 0xf),
	EVENTS(0x60, 0x8b, 0xf), UEVENT(0x04, 0xa3, 0xff), UEVENT(0x10, 0xa3, 0xff),
	UEVENT(0x14, 0xa3, 0xff), EVENT(0xa3, 0xf), EVENTS(0xa8, 0xb0, 0xf), EVENTS(0xb7, 0xbd, 0xf),
	EVENTS(0xd0, 0xe6, 0xf), EVENT(0xef, 0xf), EVENTS(0xf0, 0xf4, 0xf), END
};

static const struct rule spr_rules[] = {
	EVENT(0x2e, 0xff), EVENT(0x3c, 0xff), EVENTS(0x01, 0x8f, 0xf), UEVENT(0x01, 0xa3, 0xf),
	UEVENT(0x02, 0xa3, 0xf), UEVENT(0x08, 0xa3, 0xf), UEVENT(0x04, 0xa4, 1),
	UEVENT(0x08, 0xa4, 1), UEVENT(0x02, 0xcd, 1), EVENT(0xce, 1), EVENTS(0xd0, 0xdf, 0xf), END
};

static const struct rule knc_rules[] = {
	EVENTS(0xc3, 0xc4, 1), EVENTS(0xc8, 0xcc, 1), EVENTS(0xce, 0xcf, 1), EVENT(0xd7, 1),
	EVENT(0xe3, 1), EVENTS(0xe6, 0xe7, 1), EVENTS(0xf1, 0xf2, 1), EVENTS(0xf6, 0xf7, 1),
	EVENTS(0xfc, 0xff, 1), END
};

/* On family 15h groups of units have their own counters. */
static const struct rule fam15h_rules[] = {
	EVENT(0x003, 8), EVENT(0x00b, 8), EVENT(0x00d, 8), EVENTS(0x000, 0x01f, 0x38),
	EVENT(0x023, 7), EVENT(0x02d, 8), EVENT(0x02e, 9), EVENT(0x031, 7), EVENT(0x043, 7),
	EVENTS(0x045, 0x046, 7), EVENTS(0x054, 0x055, 7), EVENTS(0x020, 0x05f, 0x3f),
	EVENT(0x08f, 1), EVENTS(0x187, 0x188, 1), EVENTS(0x0db, 0x0df, 0x3f), EVENT(0x1d6, 0x3f),
	EVENT(0x1d8, 0x3f), EVENT(0x1c0, 0x38), EVENTS(0x060, 0x09f, 7), EVENTS(0x0c0, 0x0cf, 0x3f),
	EVENTS(0x0d0, 0x0da, 7), END
};

static const struct family families[] = {
	{ .models = "core ", .rules = core2_rules },
	{ .models = "nhm nhm_ex ", .rules = nhm_rules },
	{ .models = "wsm wsm_dp ", .rules = wsm_rules },
	{ .models = "snb snb_ep ", .rules = snb_rules },
	{ .models = "ivb ivb_ep ", .rules = ivb_rules },
	{ .models = "hsw hsw_ep ", .rules = hsw_rules },
	{ .models = "bdw bdw_ep ", .rules = bdw_rules },
	{ .models = "skl skx clx ", .rules = skl_rules },
	{ .models = "icl icx ", .general = 8, .rules = icl_rules },
	{ .models = "spr emr adl_glc gnr ", .general = 8, .rules = spr_rules },
	{ .models = "knc ", .rules = knc_rules },
	{ .models = "amd64_fam15h_interlagos ", .amd = true, .rules = fam15h_rules },
	{ .models = "amd64_fam17h amd64_fam17h_zen1 amd64_fam17h_zen2 amd64_fam19h_zen3 "
		    "amd64_fam19h_zen4 amd64_fam1ah_zen5 amd64_fam1ah_zen6 ",
	  .amd = true, .merges = true, .rules = no_rules },
};

static const struct family other_intel = { .rules = no_rules };
static const struct family other_amd = { .amd = true, .rules = no_rules };

static const struct family *family_of(const struct pfl_model *m)
{
	for (size_t i = 0; i < PFL_COUNT(families); i++)
		if (pfl_lists(families[i].models, m->name))
			return &families[i];
	return strncmp(m->name, "amd", 3) == 0 ? &other_amd : &other_intel;
}

static unsigned int num_general(const struct pfl_model *m, const struct family *f)
{
	const struct l4_pmu *pmu = m->data;

	return f->general ? f->general : pmu->counters;
}

/* --- the EVTSEL value ----------------------------------------------------------------------- */

static unsigned int event_of(const struct family *f, uint64_t evtsel)
{
	return (evtsel & 0xff) | (f->amd ? evtsel >> 24 & 0xf00 : 0);
}

static unsigned int umask_of(uint64_t evtsel)
{
	return evtsel >> 8 & 0xff;
}

/*
 * Returns true if edge, invert, threshold or transaction bits are set, which fixed counters do not
 * have. They do have "any thread".
 */
static bool is_modified(uint64_t evtsel)
{
	return evtsel & (1ULL << 18 | 0xff800000ULL | 3ULL << 32);
}

/*
 * Event 0 with a umask from 1 on names a fixed counter. The first one, which counts instructions,
 * has such a name only since Ice Lake.
 */
static bool names_fixed(const struct family *f, const struct l4_pmu *pmu, uint64_t evtsel)
{
	unsigned int first = f->rules == icl_rules || f->rules == spr_rules ? 1 : 2;

	return event_of(f, evtsel) == 0 && umask_of(evtsel) >= first && umask_of(evtsel) <= pmu->fixed;
}

static uint32_t allowed_general(const struct family *f, const struct l4_pmu *pmu,
				unsigned int general, uint64_t evtsel)
{
	unsigned int event = event_of(f, evtsel);
	uint32_t all = (uint32_t)((1ULL << general) - 1);

	if (names_fixed(f, pmu, evtsel))
		return 0;
	for (const struct rule *r = f->rules; r->counters; r++)
		if (event >= r->first && event <= r->last &&
		    (r->umask < 0 || (unsigned int)r->umask == umask_of(evtsel)))
			return r->counters & all;
	return all;
}

/* Returns the fixed counter that counts the same event, or -1. */
static int fixed_counter(const struct family *f, const struct l4_pmu *pmu, uint64_t evtsel)
{
	unsigned int event = event_of(f, evtsel), umask = umask_of(evtsel);

	if (!pmu->fixed || is_modified(evtsel))
		return -1;
	if (names_fixed(f, pmu, evtsel))
		return (int)umask - 1;
	if (event == 0xc0 && umask == 0)
		return 0;
	if (event == 0x3c && umask == 0)
		return 1;
	return -1;
}

/* Returns true for the code that the fixed counter of instructions has since Ice Lake. */
static bool is_fixed_inst(const struct pfl_model *m, const struct family *f, uint64_t evtsel)
{
	return (f->rules == icl_rules || f->rules == spr_rules) && m->ncounters > 8 &&
		!is_modified(evtsel) && (evtsel & 0xffff) == 0x01c0;
}

static unsigned int shared_register(unsigned int event, unsigned int umask)
{
	switch (event) {
	case 0xb7:	return umask == 2 ? RSP1 : RSP0;
	case 0x2a:	return RSP0;
	case 0xbb: case 0x2b: return RSP1;
	case 0xc6:	return FRONTEND;
	default:	return LDLAT;
	}
}

/* --- operations ----------------------------------------------------------------------------- */

static void add_general(const struct family *f, const struct l4_pmu *pmu, unsigned int general,
			uint64_t evtsel, struct pfl_demand *d)
{
	uint32_t allowed = allowed_general(f, pmu, general, evtsel);
	bool merged = f->merges && event_of(f, evtsel) == 0x003;

	for (unsigned int i = 0; i < general; i++) {
		if (!(allowed >> i & 1) || (merged && (i & 1 || i + 1 >= general)))
			continue;
		pfl_demand_counter(d, i, i);
		if (merged)
			pfl_mask_set(&d->alts[d->nalts - 1].claims, i + 1);
	}
}

/* Returns the field of a fixed counter: bit 0 OS, 1 user, 2 any thread, 3 interrupt. */
static uint64_t fixed_field(uint64_t evtsel)
{
	return (evtsel >> 17 & 1) | (evtsel >> 16 & 1) << 1 | (evtsel >> 21 & 1) << 2 | 1 << 3;
}

static int x86_encode(const struct pfl_model *m, unsigned int idx, const pfmlib_event_t *e,
		      unsigned int plm, unsigned int flags, struct pfl_demand *d)
{
	const struct family *f = family_of(m);
	const struct l4_pmu *pmu = m->data;
	unsigned int general = num_general(m, f), n;
	uint64_t codes[L4_MAX_CODES];
	int ret = pfl4_codes(m, idx, e, plm, codes, &n), fixed;

	(void)flags;
	if (ret != PFMLIB_SUCCESS)
		return ret;
	d->nvalues = 1;
	d->values[0] = codes[0];
	add_general(f, pmu, general, codes[0], d);
	fixed = is_fixed_inst(m, f, codes[0]) ? 0 : fixed_counter(f, pmu, codes[0]);
	if (fixed >= 0 && (unsigned int)fixed < pmu->fixed)
		pfl_demand_field(d, FIXED, fixed_field(codes[0]) << 4 * fixed, FIXED + fixed, fixed);
	if (n > 1) {
		d->nshared = 1;
		d->shared[0].pmc = shared_register(event_of(f, codes[0]), umask_of(codes[0]));
		d->shared[0].value = codes[1];
	}
	return PFMLIB_SUCCESS;
}

static void x86_registers(const struct pfl_model *m, pfmlib_regmask_t *pmcs,
			  pfmlib_regmask_t *pmds, pfmlib_regmask_t *counters)
{
	const struct family *f = family_of(m);
	const struct l4_pmu *pmu = m->data;
	unsigned int general = num_general(m, f);

	for (unsigned int i = 0; i < general + pmu->fixed; i++) {
		unsigned int num = i < general ? i : FIXED + i - general;

		pfm_regmask_set(pmcs, i < general ? i : FIXED);
		pfm_regmask_set(pmds, num);
		pfm_regmask_set(counters, num);
	}
	for (unsigned int i = LDLAT; !f->amd && pmu->fixed && i < SHARED_END; i++)
		pfm_regmask_set(pmcs, i);
}

static uint64_t general_address(const struct family *f, unsigned int general, bool pmd,
				unsigned int n)
{
	if (!f->amd)
		return (pmd ? 0xc1 : 0x186) + n;
	if (general > 4)
		return 0xc0010200 + 2 * n + pmd;
	return (pmd ? 0xc0010004 : 0xc0010000) + n;
}

static uint64_t x86_address(const struct pfl_model *m, bool pmd, unsigned int n)
{
	static const uint64_t shared[] = { [LDLAT - FIXED] = 0x3f6, [RSP0 - FIXED] = 0x1a6,
		[RSP1 - FIXED] = 0x1a7, [FRONTEND - FIXED] = 0x3f7 };
	const struct family *f = family_of(m);
	unsigned int general = num_general(m, f);

	if (n < general)
		return general_address(f, general, pmd, n);
	if (pmd)
		return n >= FIXED ? 0x309 + (n - FIXED) : 0;
	if (n == FIXED)
		return 0x38d;
	return n >= LDLAT && n < SHARED_END ? shared[n - FIXED] : 0;
}

static const char *x86_reg_name(const struct pfl_model *m, unsigned int pmc)
{
	static const char *const names[] = {
		[LDLAT - FIXED] = "LOAD_LATENCY", [RSP0 - FIXED] = "OFFCORE_RSP_0",
		[RSP1 - FIXED] = "OFFCORE_RSP_1", [FRONTEND - FIXED] = "FRONTEND"
	};

	(void)m;
	return pmc >= LDLAT && pmc < SHARED_END ? names[pmc - FIXED] : NULL;
}

const struct pfl_ops pfl_x86_ops = {
	.event = pfl4_event,
	.attr = pfl4_attr,
	.encode = x86_encode,
	.amend = pfl_x86_amend,
	.narrow = pfl_x86_narrow,
	.finish = pfl_x86_finish,
	.registers = x86_registers,
	.address = x86_address,
	.reg_name = x86_reg_name,
};
