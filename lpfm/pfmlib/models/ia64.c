// SPDX-License-Identifier: MIT
/*
 * ia64.c - the first Itanium and Montecito: the events that matter most, from Intel's manuals (documents 245320 and
 * 308065). The first Itanium has four counters, PMC/PMD 4-7, of which the first two alone count more than three
 * occurrences in a cycle; Montecito has twelve, 4-15, and the rules of Itanium 2 about groups of cache events.
 */
#include "itanium2.h"

#define L1	PFMLIB_ITA2_EVT_L1_CACHE_GRP
#define L2	PFMLIB_ITA2_EVT_L2_CACHE_GRP

#define EVENT(event, what, es, mask, where, most, grp, st, words) \
	{ .name = event, .desc = words, .code = es, .umask = mask, .counters = where, .maxincr = most, \
	  .group = grp, .set = st, .irange = (what) & 1, .opcode = (what) & 2, .drange = (what) & 4 }
#define PLAIN(event, what, es, mask, where, most, words) \
	EVENT(event, what, es, mask, where, most, PFMLIB_ITA2_EVT_NO_GRP, ITA2_NO_SET, words)

enum { I = 1, IO = 3, IOD = 7 };

/* --- the first Itanium ---------------------------------------------------------------------- */

#define ANY	0xf0
#define ADDERS	0x30

static const struct ita2_event itanium_events[] = {
	PLAIN("CPU_CYCLES", 0, 0x12, 0, ANY, 1, "cycles"),
	PLAIN("IA64_INST_RETIRED", IO, 0x08, 0, ADDERS, 6, "IA-64 instructions retired"),
	PLAIN("IA64_TAGGED_INST_RETIRED_PMC8", IO, 0x08, 3, ADDERS, 6, "IA-64 instructions that PMC8 matches"),
	PLAIN("IA64_TAGGED_INST_RETIRED_PMC9", IO, 0x08, 2, ADDERS, 6, "IA-64 instructions that PMC9 matches"),
	PLAIN("BRANCH_EVENT", IO, 0x11, 0, ANY, 1, "branches caught by the branch trace buffer"),
	PLAIN("BRANCH_MULTIWAY_ALL_PATHS_ALL_PREDICTIONS", I, 0x0e, 0, ANY, 1, "branches"),
	PLAIN("BRANCH_MULTIWAY_ALL_PATHS_WRONG_PATH", I, 0x0e, 2, ANY, 1, "branches with a wrong predicate predicted"),
	PLAIN("BUS_ALL_ANY", 0, 0x47, 1, ANY, 1, "bus transactions, of any agent"),
	PLAIN("BUS_ALL_SELF", 0, 0x47, 2, ANY, 1, "bus transactions, of this processor"),
	PLAIN("CPU_CPL_CHANGES", 0, 0x34, 0, ANY, 1, "privilege level changes"),
	PLAIN("DATA_ACCESS_CYCLE", 0, 0x03, 0, ANY, 1, "cycles lost to data accesses"),
	PLAIN("DATA_EAR_EVENTS", IOD, 0x67, 0, ANY, 1, "events caught by the data EAR"),
	PLAIN("DATA_REFERENCES_RETIRED", IOD, 0x63, 0, ANY, 2, "data references retired"),
	PLAIN("DTC_MISSES", IOD, 0x60, 0, ANY, 1, "misses of the first data TLB"),
	PLAIN("DTLB_MISSES", IOD, 0x61, 0, ANY, 1, "misses of both data TLBs"),
	PLAIN("DTLB_INSERTS_HPW", IOD, 0x62, 0, ANY, 1, "data TLB entries from the hardware's walker"),
	PLAIN("FP_OPS_RETIRED_LO", I, 0x09, 0, ANY, 3, "floating-point operations retired, lower two bits"),
	PLAIN("FP_OPS_RETIRED_HI", I, 0x0a, 0, ANY, 3, "floating-point operations retired, upper bits"),
	PLAIN("INSTRUCTION_EAR_EVENTS", I, 0x23, 0, ANY, 1, "events caught by the instruction EAR"),
	PLAIN("INST_DISPERSED", 0, 0x2d, 0, ADDERS, 6, "instructions dispersed"),
	PLAIN("ITLB_MISSES_FETCH", I, 0x27, 0, ANY, 1, "instruction TLB misses"),
	PLAIN("L1D_READS_RETIRED", IOD, 0x64, 0, ANY, 2, "L1 data cache reads"),
	PLAIN("L1D_READ_MISSES_RETIRED", IOD, 0x66, 0, ANY, 2, "L1 data cache read misses"),
	PLAIN("L1I_DEMAND_READS", I, 0x20, 0, ANY, 1, "L1 instruction cache reads"),
	PLAIN("L1I_FILLS", I, 0x21, 0, ANY, 1, "lines brought into the L1 instruction cache"),
	PLAIN("L2_INST_DEMAND_READS", I, 0x22, 0, ANY, 1, "L2 reads of instructions"),
	PLAIN("L2_REFERENCES", IOD, 0x68, 0, ANY, 2, "L2 references"),
	PLAIN("L2_DATA_REFERENCES_ALL", IOD, 0x69, 3, ANY, 2, "L2 references to data"),
	PLAIN("L2_MISSES", IOD, 0x6a, 0, ANY, 2, "L2 misses"),
	PLAIN("L3_REFERENCES", IOD, 0x7b, 0, ANY, 1, "L3 references"),
	PLAIN("L3_MISSES", IOD, 0x7c, 0, ANY, 1, "L3 misses"),
	PLAIN("L3_LINES_REPLACED", 0, 0x7f, 0, ANY, 1, "lines replaced in the L3"),
	PLAIN("LOADS_RETIRED", IOD, 0x6c, 0, ANY, 2, "loads retired"),
	PLAIN("STORES_RETIRED", IOD, 0x6d, 0, ANY, 2, "stores retired"),
	PLAIN("MEMORY_CYCLE", 0, 0x07, 0, ANY, 1, "cycles lost to memory"),
	PLAIN("MISALIGNED_LOADS_RETIRED", IOD, 0x70, 0, ANY, 1, "misaligned loads retired"),
	PLAIN("MISALIGNED_STORES_RETIRED", IOD, 0x71, 0, ANY, 1, "misaligned stores retired"),
	PLAIN("NOPS_RETIRED", IO, 0x30, 0, ADDERS, 6, "NOP instructions retired"),
	PLAIN("PREDICATE_SQUASHED_RETIRED", IO, 0x31, 0, ADDERS, 6, "instructions retired whose predicate was off"),
	PLAIN("UNSTALLED_BACKEND_CYCLE", 0, 0x05, 0, ANY, 1, "cycles without a stall"),
};

/* --- Montecito ------------------------------------------------------------------------------ */

#undef ANY
#define ANY	0xfff0
#define BUS	0x03f0	/* events of what both cores share */

static const struct ita2_event montecito_events[] = {
	PLAIN("CPU_OP_CYCLES_ALL", 0, 0x12, 0, ANY, 1, "cycles"),
	PLAIN("IA64_INST_RETIRED", IO, 0x08, 0, ANY, 6, "IA-64 instructions retired"),
	PLAIN("BACK_END_BUBBLE_ALL", 0, 0x00, 0, ANY, 1, "cycles lost in the main pipe"),
	PLAIN("BACK_END_BUBBLE_FE", 0, 0x00, 1, ANY, 1, "cycles lost in the main pipe: front end"),
	PLAIN("BACK_END_BUBBLE_L1D_FPU_RSE", 0, 0x00, 2, ANY, 1, "cycles lost in the main pipe: L1D, FPU or RSE"),
	PLAIN("BE_EXE_BUBBLE_ALL", 0, 0x02, 0, ANY, 1, "cycles the back end waits for execution"),
	PLAIN("BE_FLUSH_BUBBLE_ALL", 0, 0x04, 0, ANY, 1, "cycles lost on pipeline flushes"),
	PLAIN("BE_RSE_BUBBLE_ALL", 0, 0x01, 0, ANY, 1, "cycles the back end waits for the register stack engine"),
	EVENT("BE_L1D_FPU_BUBBLE_ALL", 0, 0xca, 0, ANY, 1, L1, 2, "cycles the back end waits for the L1D or the FPU"),
	PLAIN("BE_LOST_BW_DUE_TO_FE_ALL", 0, 0x72, 0, ANY, 2, "bundles the front end failed to deliver"),
	PLAIN("BE_BR_MISPRED_DETAIL_ANY", IO, 0x61, 0, ANY, 1, "branches mispredicted in the back end"),
	PLAIN("BR_MISPRED_DETAIL_ALL_ALL_PRED", IO, 0x5b, 0, ANY, 3, "branches"),
	PLAIN("BR_MISPRED_DETAIL_ALL_CORRECT_PRED", IO, 0x5b, 1, ANY, 3, "branches predicted correctly"),
	PLAIN("BR_MISPRED_DETAIL_ALL_WRONG_PATH", IO, 0x5b, 2, ANY, 3, "branches whose direction was mispredicted"),
	PLAIN("BR_MISPRED_DETAIL_ALL_WRONG_TARGET", IO, 0x5b, 3, ANY, 3, "branches whose target was mispredicted"),
	PLAIN("BUS_ALL_ANY", 0, 0x87, 3, BUS, 1, "bus transactions, of any agent"),
	PLAIN("BUS_ALL_EITHER", 0, 0x87, 0, BUS, 1, "bus transactions, of both cores"),
	PLAIN("BUS_ALL_IO", 0, 0x87, 1, BUS, 1, "bus transactions, of agents that are no processors"),
	PLAIN("DATA_EAR_EVENTS", IOD, 0xc8, 0, ANY, 1, "events caught by the data EAR"),
	PLAIN("ETB_EVENT", IO, 0x11, 0, ANY, 1, "branches caught by the execution trace buffer"),
	PLAIN("EXTERN_DP_PINS_0_TO_3_ALL", 0, 0x9e, 15, ANY, 1, "external debug pins 0 to 3 asserted"),
	PLAIN("FP_OPS_RETIRED", I, 0x09, 0, ANY, 6, "floating-point operations retired"),
	PLAIN("ITLB_MISSES_FETCH_ALL", I, 0x47, 3, ANY, 1, "instruction TLB misses"),
	PLAIN("ITLB_MISSES_FETCH_L2ITLB", I, 0x47, 2, ANY, 1, "instruction TLB misses of the second TLB, too"),
	EVENT("L1DTLB_TRANSFER", IOD, 0xc0, 0, ANY, 1, L1, 0, "L1DTLB misses that hit the L2DTLB"),
	EVENT("L1D_READS_SET0", IOD, 0xc2, 0, ANY, 2, L1, 0, "L1 data cache reads"),
	EVENT("L1D_READS_SET1", IOD, 0xc4, 0, ANY, 2, L1, 1, "L1 data cache reads"),
	EVENT("L1D_READ_MISSES_ALL", IOD, 0xc7, 0, ANY, 2, L1, 1, "L1 data cache read misses"),
	PLAIN("L1I_EAR_EVENTS", I, 0x43, 0, ANY, 1, "events caught by the instruction EAR"),
	PLAIN("L1I_FILLS", I, 0x41, 0, ANY, 1, "lines brought into the L1 instruction cache"),
	PLAIN("L1I_READS", I, 0x40, 0, ANY, 1, "L1 instruction cache reads"),
	EVENT("L2DTLB_MISSES", IOD, 0xc1, 0, ANY, 4, L1, 0, "misses of both data TLBs"),
	PLAIN("L2D_MISSES", IOD, 0xcb, 0, ANY, 1, "L2 data cache misses"),
	EVENT("L2D_OZQ_RELEASE", 0, 0xe5, 0, ANY, 1, L2, 1, "cycles with a release in the L2D OZQ"),
	EVENT("L2D_REFERENCES_ALL", IOD, 0xe6, 3, ANY, 4, L2, 2, "L2 data cache references"),
	PLAIN("L3_LINES_REPLACED", 0, 0xdf, 0, ANY, 1, "lines replaced in the L3"),
	PLAIN("L3_MISSES", IOD, 0xdc, 0, ANY, 1, "L3 misses"),
	PLAIN("L3_REFERENCES", IOD, 0xdb, 0, ANY, 1, "L3 references"),
	EVENT("LOADS_RETIRED", IOD, 0xcd, 0, ANY, 4, L1, 3, "loads retired"),
	PLAIN("NOPS_RETIRED", IO, 0x50, 0, ANY, 6, "NOP instructions retired"),
	EVENT("STORES_RETIRED", IOD, 0xd1, 0, ANY, 2, L1, 4, "stores retired"),
};

/* --- operations ----------------------------------------------------------------------------- */

static const struct ita2_event *at(const struct pfl_model *m, unsigned int idx)
{
	return (const struct ita2_event *)m->data + idx;
}

static void ia64_event(const struct pfl_model *m, unsigned int idx, struct pfl_event *ev)
{
	ev->name = at(m, idx)->name;
	ev->desc = at(m, idx)->desc;
	ev->code = at(m, idx)->code;
	ev->nmods = 3;
}

static int ia64_encode(const struct pfl_model *m, unsigned int idx, const pfmlib_event_t *e, unsigned int plm,
		       unsigned int flags, struct pfl_demand *d)
{
	const struct ita2_event *ie = at(m, idx);
	unsigned int thres;
	int ret = ita2_threshold(ie, e, &thres);

	if (ret != PFMLIB_SUCCESS)
		return ret;
	d->tag = ie;
	d->nvalues = 1;
	d->values[0] = ita2_pmc(ie, plm, flags & PFMLIB_PFP_SYSTEMWIDE, thres);
	for (unsigned int i = 0; i < 16; i++)
		if (ie->counters >> i & 1)
			pfl_demand_counter(d, i, i);
	return PFMLIB_SUCCESS;
}

static void add_range(pfmlib_regmask_t *mask, unsigned int first, unsigned int last)
{
	for (unsigned int i = first; i <= last; i++)
		pfm_regmask_set(mask, i);
}

static void ia64_registers(const struct pfl_model *m, pfmlib_regmask_t *pmcs, pfmlib_regmask_t *pmds,
			   pfmlib_regmask_t *counters)
{
	add_range(counters, 4, 3 + m->ncounters);
	add_range(pmcs, 4, m == &pfl_montecito ? 15 : 13);
	add_range(pmds, m == &pfl_montecito ? 4 : 0, m == &pfl_montecito ? 15 : 17);
	if (m != &pfl_montecito)
		return;
	add_range(pmcs, 32, 42);
	add_range(pmds, 32, 36);
	add_range(pmds, 38, 39);
	add_range(pmds, 48, 63);
}

static uint64_t ia64_address(const struct pfl_model *m, bool pmd, unsigned int n)
{
	(void)m, (void)pmd;
	return n;
}

const struct pfl_ops pfl_ia64_ops = {
	.event = ia64_event,
	.attr = ita2_attr,
	.encode = ia64_encode,
	.registers = ia64_registers,
	.address = ia64_address,
	.check = ita2_check,
	.accept = ita2_accept,
	.judged = ita2_judged,
};

struct pfl_model pfl_itanium = {
	.name = "itanium",
	.desc = "Intel Itanium",
	.type = PFMLIB_ITANIUM_PMU,
	.nevents = PFL_COUNT(itanium_events),
	.ncounters = 4,
	.width = 32,
	.ops = &pfl_ia64_ops,
	.data = itanium_events,
};

struct pfl_model pfl_montecito = {
	.name = "montecito",
	.desc = "Intel dual-core Itanium 2 (Montecito)",
	.type = PFMLIB_MONTECITO_PMU,
	.nevents = PFL_COUNT(montecito_events),
	.ncounters = 12,
	.width = 47,
	.ops = &pfl_ia64_ops,
	.data = montecito_events,
};
