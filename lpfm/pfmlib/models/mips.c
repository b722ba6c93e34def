// SPDX-License-Identifier: MIT
/*
 * mips.c - the events of MIPS 20Kc and 5Kc, from MIPS's software user's manuals; names are libpfm
 * 3's. PMC n controls PMD n: bits 0-3 when it counts (EXL, kernel, supervisor, user), 4 interrupt,
 * 5-8 what. Counters can count the same event by different codes.
 */
#include "model.h"

#define NOT	0xff	/* this counter cannot count it */

struct mips_event {
	const char	*name, *desc;
	uint8_t		code[2];	/* the code for each counter */
};

static const struct mips_event events_20k[] = {
	{ "CYCLES", "cycles", { 0x0, NOT } },
	{ "INSN_ISSUED", "instructions issued", { 0x1, NOT } },
	{ "FETCH_GROUPS", "fetch groups that entered the pipes", { 0x2, NOT } },
	{ "FP_INSNS_COMPLETED", "floating-point instructions completed", { 0x3, NOT } },
	{ "TLB_REFILLS_TAKEN", "TLB refill exceptions", { 0x4, NOT } },
	{ "BRANCHES_MISSPREDICTED", "branches mispredicted", { 0x5, NOT } },
	{ "BRANCHES_COMPLETED", "branches completed", { 0x6, NOT } },
	{ "JTLB_EXCEPTIONS", "joint TLB exceptions", { 0x7, NOT } },
	{ "REPLAY_DUE_TO_LOAD_DEPENDENT_SPEC_DISPATCH", "replays after speculation on a load", { 0x8, NOT } },
	{ "INSN_REQ_FROM_IFU_TO_BIU", "instruction fetches past the cache", { 0x9, NOT } },
	{ "FPU_EXCEPTIONS_TAKEN", "floating-point exceptions", { 0xa, NOT } },
	{ "REPLAYS", "replays of any cause", { 0xb, NOT } },
	{ "RPS_MISSPREDICTS", "returns mispredicted", { 0xc, NOT } },
	{ "JR_INSNS_COMPLETED", "JR instructions completed", { 0xd, NOT } },
	{ "LSU_REPLAYS", "replays that the load/store unit asked for", { 0xe, NOT } },
	{ "INSNS_COMPLETED", "instructions completed", { 0xf, NOT } },
};

static const struct mips_event events_5k[] = {
	{ "CYCLES", "cycles", { 0x0, 0x0 } },
	{ "INSNS_EXECED", "instructions executed", { 0xf, 0x1 } },
	{ "INSN_FETCHED", "instructions fetched", { 0x1, NOT } },
	{ "LOADS_EXECED", "loads, prefetches, cache operations executed", { 0x2, 0x2 } },
	{ "STORES_EXECED", "stores executed", { 0x3, 0x3 } },
	{ "COND_STORES_EXECED", "conditional stores executed", { 0x4, 0x4 } },
	{ "FAILED_COND_STORES", "conditional stores that failed", { 0x5, NOT } },
	{ "FP_INSNS_EXECED", "floating-point instructions executed", { NOT, 0x5 } },
	{ "BRANCHES_EXECED", "branches executed", { 0x6, NOT } },
	{ "DCACHE_LINE_EVICTED", "data cache lines evicted", { NOT, 0x6 } },
	{ "ITLB_MISSES", "instruction TLB misses", { 0x7, NOT } },
	{ "TLB_MISS_EXCEPTIONS", "TLB miss exceptions", { NOT, 0x7 } },
	{ "DTLB_MISSES", "data TLB misses", { 0x8, NOT } },
	{ "BRANCHES_MISSPREDICTED", "branches mispredicted", { NOT, 0x8 } },
	{ "ICACHE_MISS", "instruction cache misses", { 0x9, NOT } },
	{ "DCACHE_MISS", "data cache misses", { NOT, 0x9 } },
	{ "INSN_SCHEDULED", "instructions scheduled", { 0xa, NOT } },
	{ "CONFLICT_STALL_M_STAGE", "stalls in the M stage by scheduling conflicts", { NOT, 0xa } },
	{ "DUAL_ISSUED_INSNS", "instructions issued in pairs", { 0xe, NOT } },
	{ "COP2_INSNS_EXECED", "coprocessor 2 instructions executed", { NOT, 0xf } },
};

static const struct mips_event *at(const struct pfl_model *m, unsigned int idx)
{
	return (const struct mips_event *)m->data + idx;
}

static void mips_event(const struct pfl_model *m, unsigned int idx, struct pfl_event *ev)
{
	const struct mips_event *e = at(m, idx);

	ev->name = e->name;
	ev->desc = e->desc;
	ev->code = e->code[0] == NOT ? e->code[1] : e->code[0];
	ev->nmods = 2;
}

static void mips_attr(const struct pfl_model *m, unsigned int idx, unsigned int a, struct pfl_attr *attr)
{
	static const struct pfl_attr attrs[] = {
		{ "k", "in kernel mode and exceptions", 0, PFMLIB_MASK_BOOLEAN, 'k' },
		{ "u", "in user mode", 1, PFMLIB_MASK_BOOLEAN, 'u' },
	};

	(void)m, (void)idx;
	*attr = attrs[a];
}

/* PLM0 is the kernel and exceptions, PLM1 the supervisor, PLM3 the user. */
static int mips_encode(const struct pfl_model *m, unsigned int idx, const pfmlib_event_t *e, unsigned int plm,
		       unsigned int flags, struct pfl_demand *d)
{
	const struct mips_event *me = at(m, idx);
	uint64_t levels = 0x10;

	(void)flags;
	if (plm & PFM_PLM2)
		return pfl_explain(PFMLIB_ERR_INVAL, "%s: this PMU has no privilege level 2", me->name);
	if (e->num_masks)
		return pfl_explain(PFMLIB_ERR_UMASK, "%s has no unit masks", me->name);
	levels |= (plm & PFM_PLM0 ? 3 : 0) | (plm & PFM_PLM1 ? 4 : 0) | (plm & PFM_PLM3 ? 8 : 0);
	for (unsigned int i = 0; i < m->ncounters; i++) {
		if (me->code[i] == NOT)
			continue;
		pfl_demand_counter(d, i, i);
		d->alts[d->nalts - 1].field = levels | (uint64_t)me->code[i] << 5;
	}
	return PFMLIB_SUCCESS;
}

static void mips_registers(const struct pfl_model *m, pfmlib_regmask_t *pmcs, pfmlib_regmask_t *pmds,
			   pfmlib_regmask_t *counters)
{
	for (unsigned int i = 0; i < m->ncounters; i++)
		pfm_regmask_set(counters, i);
	*pmcs = *pmds = *counters;
}

/* Returns the address: 25, the register of coprocessor 0, times 8, plus the select. */
static uint64_t mips_address(const struct pfl_model *m, bool pmd, unsigned int n)
{
	(void)m;
	return 25 << 3 | (2 * n + pmd);
}

static const struct pfl_ops mips_ops = {
	.event = mips_event,
	.attr = mips_attr,
	.encode = mips_encode,
	.registers = mips_registers,
	.address = mips_address,
};

#define MODEL(variable, short_name, words, number, counters, table) \
	struct pfl_model variable = { \
		.name = short_name, .desc = words, .type = number, .width = 31, .ncounters = counters, \
		.nevents = PFL_COUNT(table), .ops = &mips_ops, .data = table }

MODEL(pfl_mips20k, "mips20k", "MIPS 20Kc", PFMLIB_MIPS_20KC_PMU, 1, events_20k);
MODEL(pfl_mips5k, "mips5k", "MIPS 5Kc", PFMLIB_MIPS_5KC_PMU, 2, events_5k);
