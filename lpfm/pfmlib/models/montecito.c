// SPDX-License-Identifier: MIT
/*
 * montecito.c - the dual-core Itanium 2 (Montecito): twelve counters, PMC/PMD 4-15, and the rules
 * of Itanium 2 about groups of cache events. The events that matter most, from Intel's reference
 * manual for software development and optimization, document 308065.
 */
#include <stddef.h>

#include "ia64.h"
#include "perfmon/pfmlib_montecito.h"

#define L1	PFMLIB_MONT_EVT_L1D_CACHE_GRP
#define L2	PFMLIB_MONT_EVT_L2D_CACHE_GRP

enum { I = 1, IO = 3, IOD = 7 };

#define ANY	0xfff0
#define BUS	0x03f0	/* the counters for events of units that both cores share */
#define TRACE(event, what, es, mask, where, of, words) \
	{ IA64_FIELDS(event, what, es, mask, where, 1, PFMLIB_MONT_EVT_NO_GRP, IA64_NO_SET, words), .buffer = of }
#define DEAR(event, mask, of, words)	IA64_BUFFER(event, IOD, 0xc8, mask, ANY, of, words)
#define IEAR(event, mask, of, words)	IA64_BUFFER(event, I, 0x43, mask, ANY, of, words)
#define DEAR_LATENCY(n, mask) \
	DEAR("DATA_EAR_CACHE_LAT" #n, mask, IA64_DEAR_CACHE, "misses of at least " #n " cycles caught by the data EAR")
#define DEAR_TLB(name, mask, by) \
	DEAR("DATA_EAR_TLB_" name, mask, IA64_DEAR_TLB, "data TLB misses caught by the data EAR: " by)
#define IEAR_LATENCY(n, mask) \
	IEAR("L1I_EAR_CACHE_LAT" #n, mask, IA64_IEAR_CACHE, \
	     "misses of at least " #n " cycles caught by the instruction EAR")
#define IEAR_TLB(name, mask, by) \
	IEAR("L1I_EAR_TLB_" name, mask, IA64_IEAR_TLB, "instruction TLB misses caught by the EAR: " by)
/* A row with a type, which says which thread's occurrences are counted. */
#define TYPED(of, event, what, es, mask, where, most, words) \
	{ IA64_FIELDS(event, what, es, mask, where, most, PFMLIB_MONT_EVT_NO_GRP, IA64_NO_SET, words), \
	  .type = PFMLIB_MONT_EVT_##of }
#define GROUPED(event, what, es, mask, where, most, grp, st, words) \
	{ IA64_FIELDS(event, what, es, mask, where, most, grp, st, words), \
	  .type = (grp) == L2 ? PFMLIB_MONT_EVT_FLOATING : PFMLIB_MONT_EVT_ACTIVE }

static const struct ia64_event montecito_events[] = {
	TYPED(CAUSAL, "CPU_OP_CYCLES_ALL", 0, 0x12, 0, ANY, 1, "cycles"),
	IA64_ROW("IA64_INST_RETIRED", IO, 0x08, 0, ANY, 6, "IA-64 instructions retired"),
	IA64_ROW("IA64_TAGGED_INST_RETIRED_IBRP0_PMC32_33", IO, 0x08, 0, ANY, 6,
		 "instructions retired that PMC32 and 33 match, of code pair 0"),
	IA64_ROW("IA64_TAGGED_INST_RETIRED_IBRP1_PMC34_35", IO, 0x08, 1, ANY, 6,
		 "instructions retired that PMC34 and 35 match, of code pair 1"),
	IA64_ROW("IA64_TAGGED_INST_RETIRED_IBRP2_PMC32_33", IO, 0x08, 2, ANY, 6,
		 "instructions retired that PMC32 and 33 match, of code pair 2"),
	IA64_ROW("IA64_TAGGED_INST_RETIRED_IBRP3_PMC34_35", IO, 0x08, 3, ANY, 6,
		 "instructions retired that PMC34 and 35 match, of code pair 3"),
	IA64_ROW("BACK_END_BUBBLE_ALL", 0, 0x00, 0, ANY, 1, "cycles lost in the main pipe"),
	IA64_ROW("BACK_END_BUBBLE_FE", 0, 0x00, 1, ANY, 1, "cycles lost in the main pipe: front end"),
	IA64_ROW("BACK_END_BUBBLE_L1D_FPU_RSE", 0, 0x00, 2, ANY, 1, "cycles lost in the main pipe: L1D, FPU or RSE"),
	IA64_ROW("BE_EXE_BUBBLE_ALL", 0, 0x02, 0, ANY, 1, "cycles the back end waits for execution"),
	IA64_ROW("BE_FLUSH_BUBBLE_ALL", 0, 0x04, 0, ANY, 1, "cycles lost on pipeline flushes"),
	IA64_ROW("BE_RSE_BUBBLE_ALL", 0, 0x01, 0, ANY, 1, "cycles the back end waits for the register stack engine"),
	GROUPED("BE_L1D_FPU_BUBBLE_ALL", 0, 0xca, 0, ANY, 1, L1, 2,
		 "cycles the back end waits for the L1D or the FPU"),
	IA64_ROW("BE_LOST_BW_DUE_TO_FE_ALL", 0, 0x72, 0, ANY, 2, "bundles the front end failed to deliver"),
	IA64_ROW("BE_BR_MISPRED_DETAIL_ANY", IO, 0x61, 0, ANY, 1, "branches mispredicted in the back end"),
	IA64_ROW("BR_MISPRED_DETAIL_ALL_ALL_PRED", IO, 0x5b, 0, ANY, 3, "branches"),
	IA64_ROW("BR_MISPRED_DETAIL_ALL_CORRECT_PRED", IO, 0x5b, 1, ANY, 3, "branches predicted correctly"),
	IA64_ROW("BR_MISPRED_DETAIL_ALL_WRONG_PATH", IO, 0x5b, 2, ANY, 3, "branches with their direction mispredicted"),
	IA64_ROW("BR_MISPRED_DETAIL_ALL_WRONG_TARGET", IO, 0x5b, 3, ANY, 3, "branches with their target mispredicted"),
	TYPED(SELF_FLOATING, "BUS_ALL_ANY", 0, 0x87, 3, BUS, 1, "bus transactions, of any agent"),
	TYPED(SELF_FLOATING, "BUS_ALL_EITHER", 0, 0x87, 0, BUS, 1, "bus transactions, of both cores"),
	TYPED(SELF_FLOATING, "BUS_ALL_IO", 0, 0x87, 1, BUS, 1, "bus transactions, of agents that are no processors"),
	TYPED(FLOATING, "DATA_EAR_EVENTS", IOD, 0xc8, 0, ANY, 1, "events caught by the data EAR"),
	TRACE("ETB_EVENT", IO, 0x11, 0, ANY, IA64_BTB, "branches caught by the execution trace buffer"),
	IA64_ROW("EXTERN_DP_PINS_0_TO_3_ALL", 0, 0x9e, 15, ANY, 1, "external debug pins 0 to 3 asserted"),
	IA64_ROW("FP_OPS_RETIRED", I, 0x09, 0, ANY, 6, "floating-point operations retired"),
	IA64_ROW("ITLB_MISSES_FETCH_ALL", I, 0x47, 3, ANY, 1, "instruction TLB misses"),
	IA64_ROW("ITLB_MISSES_FETCH_L2ITLB", I, 0x47, 2, ANY, 1, "instruction TLB misses of the second TLB, too"),
	GROUPED("L1DTLB_TRANSFER", IOD, 0xc0, 0, ANY, 1, L1, 0, "L1DTLB misses that hit the L2DTLB"),
	GROUPED("L1D_READS_SET0", IOD, 0xc2, 0, ANY, 2, L1, 0, "L1 data cache reads"),
	GROUPED("L1D_READS_SET1", IOD, 0xc4, 0, ANY, 2, L1, 1, "L1 data cache reads"),
	GROUPED("L1D_READ_MISSES_ALL", IOD, 0xc7, 0, ANY, 2, L1, 1, "L1 data cache read misses"),
	TYPED(FLOATING, "L1I_EAR_EVENTS", I, 0x43, 0, ANY, 1, "events caught by the instruction EAR"),
	TYPED(FLOATING, "L1I_FILLS", I, 0x41, 0, ANY, 1, "lines brought into the L1 instruction cache"),
	IA64_ROW("L1I_READS", I, 0x40, 0, ANY, 1, "L1 instruction cache reads"),
	GROUPED("L2DTLB_MISSES", IOD, 0xc1, 0, ANY, 4, L1, 0, "misses of both data TLBs"),
	TYPED(FLOATING, "L2D_MISSES", IOD, 0xcb, 0, ANY, 1, "L2 data cache misses"),
	GROUPED("L2D_OZQ_RELEASE", 0, 0xe5, 0, ANY, 1, L2, 1, "cycles with a release in the L2D OZQ"),
	GROUPED("L2D_REFERENCES_ALL", IOD, 0xe6, 3, ANY, 4, L2, 2, "L2 data cache references"),
	{ IA64_FIELDS("L3_LINES_REPLACED", 0, 0xdf, 0, ANY, 1, PFMLIB_MONT_EVT_NO_GRP, IA64_NO_SET,
		      "lines replaced in the L3"), .type = PFMLIB_MONT_EVT_FLOATING, .mesi = true },
	TYPED(FLOATING, "L3_MISSES", IOD, 0xdc, 0, ANY, 1, "L3 misses"),
	TYPED(FLOATING, "L3_REFERENCES", IOD, 0xdb, 0, ANY, 1, "L3 references"),
	GROUPED("LOADS_RETIRED", IOD, 0xcd, 0, ANY, 4, L1, 3, "loads retired"),
	IA64_ROW("NOPS_RETIRED", IO, 0x50, 0, ANY, 6, "NOP instructions retired"),
	GROUPED("STORES_RETIRED", IOD, 0xd1, 0, ANY, 2, L1, 4, "stores retired"),
	DEAR("DATA_EAR_ALAT", 0, IA64_DEAR_ALAT, "ALAT misses caught by the data EAR"),
	DEAR_LATENCY(4, 0x0), DEAR_LATENCY(8, 0x1), DEAR_LATENCY(16, 0x2), DEAR_LATENCY(32, 0x3),
	DEAR_LATENCY(64, 0x4), DEAR_LATENCY(128, 0x5), DEAR_LATENCY(256, 0x6), DEAR_LATENCY(512, 0x7),
	DEAR_LATENCY(1024, 0x8), DEAR_LATENCY(2048, 0x9), DEAR_LATENCY(4096, 0xa),
	DEAR_TLB("ALL", 0xe, "all"), DEAR_TLB("FAULT", 0x8, "faults"),
	DEAR_TLB("L2DTLB", 0x2, "served by the L2DTLB"),
	DEAR_TLB("L2DTLB_OR_FAULT", 0xa, "served by the L2DTLB, or faults"),
	DEAR_TLB("L2DTLB_OR_VHPT", 0x6, "served by the L2DTLB or the VHPT walker"),
	DEAR_TLB("VHPT", 0x4, "served by the VHPT walker"),
	DEAR_TLB("VHPT_OR_FAULT", 0xc, "served by the VHPT walker, or faults"),
	IEAR_LATENCY(0, 0x40), IEAR_LATENCY(4, 0xff), IEAR_LATENCY(8, 0xfe), IEAR_LATENCY(16, 0xfc),
	IEAR_LATENCY(32, 0xf8), IEAR_LATENCY(128, 0xf0), IEAR_LATENCY(256, 0xe0), IEAR_LATENCY(1024, 0xc0),
	IEAR_LATENCY(4096, 0x80),
	IEAR("L1I_EAR_CACHE_RAB", 0, IA64_IEAR_CACHE, "hits in the request buffer caught by the instruction EAR"),
	IEAR_TLB("ALL", 0x7, "all"), IEAR_TLB("FAULT", 0x4, "faults"),
	IEAR_TLB("L2TLB", 0x1, "served by the L2ITLB"),
	IEAR_TLB("L2TLB_OR_FAULT", 0x5, "served by the L2ITLB, or faults"),
	IEAR_TLB("L2TLB_OR_VHPT", 0x3, "served by the L2ITLB or the VHPT walker"),
	IEAR_TLB("VHPT", 0x2, "served by the VHPT walker"),
	IEAR_TLB("VHPT_OR_FAULT", 0x6, "served by the VHPT walker, or faults"),
};

/* --- registers ------------------------------------------------------------------------------ */

static uint64_t dear_value(const pfmlib_ita2_ear_t *ear, unsigned int plm, bool pm)
{
	pfmlib_ita2_ear_t one_set = *ear;

	one_set.ear_ism = PFMLIB_ITA2_ISM_IA64;
	return ia64_model_itanium2.dear(&one_set, plm, pm);
}

static uint64_t iear_value(const pfmlib_ita2_ear_t *ear, unsigned int plm, bool pm)
{
	return ia64_model_itanium2.iear(ear, plm, pm);
}

static void montecito_registers(const struct pfl_model *m, pfmlib_regmask_t *pmcs, pfmlib_regmask_t *pmds,
				pfmlib_regmask_t *counters)
{
	const unsigned int last = IA64_FIRST_COUNTER - 1 + m->ncounters;

	ia64_add_range(counters, IA64_FIRST_COUNTER, last);
	ia64_add_range(pmcs, IA64_FIRST_COUNTER, last);
	ia64_add_range(pmcs, 32, 42);
	ia64_add_range(pmds, IA64_FIRST_COUNTER, last);
	ia64_add_range(pmds, 32, 36);
	ia64_add_range(pmds, 38, 39);
	ia64_add_range(pmds, 48, 63);
}

/* --- dispatch ------------------------------------------------------------------------------- */

static int one_thread(struct ia64_dispatch *x)
{
	for (unsigned int i = 0; i < x->in->pfp_event_count && i < PMU_MONT_NUM_COUNTERS; i++)
		if (x->counters[i].flags & PFMLIB_MONT_FL_EVT_ALL_THRD)
			return pfl_explain(PFMLIB_ERR_NOTSUPP, "counter %u: events of both threads", i);
	return PFMLIB_SUCCESS;
}

#define IPEAR_MODE	4
#define IPEAR_DELAY_MAX	255

/*
 * Sets up the IP-EAR: with it, the trace buffer holds the instructions that retire before a sample,
 * and no branches.
 */
static int ip_ear(struct ia64_dispatch *x)
{
	const pfmlib_mont_input_param_t *p = x->model_in;
	pfm_mont_pmc_reg_t reg = { 0 };
	int ret;

	if (!p || !p->pfp_mont_ipear.ipear_used)
		return PFMLIB_SUCCESS;
	if (ia64_traces_branches(x))
		return pfl_explain(PFMLIB_ERR_FEATCOMB, "the IP-EAR and the execution trace buffer exclude each other");
	if (p->pfp_mont_ipear.ipear_delay > IPEAR_DELAY_MAX)
		return pfl_explain(PFMLIB_ERR_INVAL, "a delay of %u cycles is above %u", p->pfp_mont_ipear.ipear_delay,
				   IPEAR_DELAY_MAX);
	reg.pmc42_mont_reg.ipear_plm = p->pfp_mont_ipear.ipear_plm ? p->pfp_mont_ipear.ipear_plm & 0xf :
		x->in->pfp_dfl_plm;
	reg.pmc42_mont_reg.ipear_pm = ia64_pm(x);
	reg.pmc42_mont_reg.ipear_mode = IPEAR_MODE;
	reg.pmc42_mont_reg.ipear_delay = p->pfp_mont_ipear.ipear_delay;
	ret = ia64_add_pmc(x, 42, reg.pmc_val);
	if (ret == PFMLIB_SUCCESS)
		ia64_add_trace(x);
	return ret;
}

static void take_ear(pfmlib_ita2_ear_t *to, const pfmlib_mont_ear_t *from)
{
	to->ear_used = from->ear_used;
	to->ear_mode = (pfmlib_ita2_ear_mode_t)from->ear_mode;
	to->ear_plm = from->ear_plm;
	to->ear_umask = from->ear_umask;
}

static void take(struct ia64_dispatch *x)
{
	const pfmlib_mont_input_param_t *p = x->model_in;

	for (unsigned int i = 0; i < PMU_MONT_NUM_COUNTERS; i++) {
		x->counters[i].flags = p->pfp_mont_counters[i].flags;
		x->counters[i].thres = p->pfp_mont_counters[i].thres;
	}
	take_ear(&x->iear, &p->pfp_mont_iear);
	take_ear(&x->dear, &p->pfp_mont_dear);
	x->btb.btb_used = p->pfp_mont_etb.etb_used;
	x->btb.btb_tm = p->pfp_mont_etb.etb_tm;
	x->btb.btb_ptm = p->pfp_mont_etb.etb_ptm;
	x->btb.btb_ppm = p->pfp_mont_etb.etb_ppm;
	x->btb.btb_brt = p->pfp_mont_etb.etb_brt;
	x->btb.btb_plm = p->pfp_mont_etb.etb_plm;
	x->code = p->pfp_mont_irange;
	x->data = p->pfp_mont_drange;
	x->opcode[0] = p->pfp_mont_opcm1.opcm_used;
	x->opcode[1] = p->pfp_mont_opcm2.opcm_used;
}

/*
 * Code ranges are handled before the steps that depend on them: data ranges (PMC41) and opcodes
 * (PMC32).
 */
static const ia64_step steps[] = {
	ia64_check_qualifiers, one_thread, ia64_tune_counters, ia64_iear, ia64_dear, ia64_code_ranges,
	ia64_data_ranges, mont_opcodes, ia64_btb, ip_ear
};

const struct ia64_model ia64_model_montecito = {
	.iear_pmc = 37, .dear_pmc = 40, .btb_pmc = 39, .code_pmc = 38, .data_pmc = 41,
	.iear_pmd = { 34, 35 }, .dear_pmd = { 32, 33, 36 }, .btb_pmd = { 38, 39 }, .btb_entries = { 48, 63 },
	.fine_bits = 16, .all_branches = 0x3f00, .dear_spoils_btb = true, .iear = iear_value, .dear = dear_value,
	.take = take, .steps = steps, .nsteps = PFL_COUNT(steps), .out_size = sizeof(pfmlib_mont_output_param_t),
	.code_out = offsetof(pfmlib_mont_output_param_t, pfp_mont_irange),
	.data_out = offsetof(pfmlib_mont_output_param_t, pfp_mont_drange),
};

static const struct pfl_ops montecito_ops = {
	.event = ia64_event,
	.attr = ia64_attr,
	.encode = ia64_encode,
	.registers = montecito_registers,
	.address = ia64_address,
	.check = ita2_check,
	.accept = ita2_accept,
	.judged = ita2_judged,
	.finish = ia64_finish,
};

struct pfl_model pfl_montecito = {
	.name = "montecito",
	.desc = "Intel dual-core Itanium 2 (Montecito)",
	.type = PFMLIB_MONTECITO_PMU,
	.nevents = PFL_COUNT(montecito_events),
	.ncounters = PMU_MONT_NUM_COUNTERS,
	.width = PMU_MONT_COUNTER_WIDTH,
	.ops = &montecito_ops,
	.data = montecito_events,
};
