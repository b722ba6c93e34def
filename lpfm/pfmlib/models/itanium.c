// SPDX-License-Identifier: MIT
/*
 * itanium.c - the first Itanium: four counters, PMC/PMD 4-7, of which the first two alone count
 * more than three occurrences in a cycle. The events that matter most, from Intel's Itanium
 * processor reference manual for software development, document 245320.
 */
#include <stddef.h>

#include "ia64.h"
#include "perfmon/pfmlib_itanium.h"

enum { I = 1, IO = 3, IOD = 7 };

#define ANY	0xf0
#define ADDERS	0x30
#define DEAR(event, mask, of, words)	IA64_BUFFER(event, IOD, 0x67, mask, ANY, of, words)
#define IEAR(event, mask, of, words)	IA64_BUFFER(event, I, 0x23, mask, ANY, of, words)
#define DEAR_LATENCY(n, mask) \
	DEAR("DATA_EAR_CACHE_LAT" #n, mask, IA64_DEAR_CACHE, "misses of at least " #n " cycles caught by the data EAR")
#define DEAR_TLB(name, mask, by) \
	DEAR("DATA_EAR_TLB_" name, mask, IA64_DEAR_TLB, "data TLB misses caught by the data EAR, that " by " served")
#define IEAR_LATENCY(n, mask) \
	IEAR("INSTRUCTION_EAR_CACHE_LAT" #n, mask, IA64_IEAR_CACHE, \
	     "misses of at least " #n " cycles caught by the instruction EAR")
#define IEAR_TLB(name, mask, by) \
	IEAR("INSTRUCTION_EAR_TLB_" name, mask, IA64_IEAR_TLB, \
	     "instruction TLB misses caught by the instruction EAR, that " by " served")

static const struct ia64_event itanium_events[] = {
	IA64_ROW("CPU_CYCLES", 0, 0x12, 0, ANY, 1, "cycles"),
	IA64_ROW("IA64_INST_RETIRED", IO, 0x08, 0, ADDERS, 6, "IA-64 instructions retired"),
	IA64_ROW("IA64_TAGGED_INST_RETIRED_PMC8", IO, 0x08, 3, ADDERS, 6, "IA-64 instructions that PMC8 matches"),
	IA64_ROW("IA64_TAGGED_INST_RETIRED_PMC9", IO, 0x08, 2, ADDERS, 6, "IA-64 instructions that PMC9 matches"),
	IA64_BUFFER("BRANCH_EVENT", IO, 0x11, 0, ANY, IA64_BTB, "branches caught by the branch trace buffer"),
	IA64_ROW("BRANCH_MULTIWAY_ALL_PATHS_ALL_PREDICTIONS", I, 0x0e, 0, ANY, 1, "branches"),
	IA64_ROW("BRANCH_MULTIWAY_ALL_PATHS_WRONG_PATH", I, 0x0e, 2, ANY, 1,
		 "branches with a wrong predicate predicted"),
	IA64_ROW("BUS_ALL_ANY", 0, 0x47, 1, ANY, 1, "bus transactions, of any agent"),
	IA64_ROW("BUS_ALL_SELF", 0, 0x47, 2, ANY, 1, "bus transactions, of this processor"),
	IA64_ROW("CPU_CPL_CHANGES", 0, 0x34, 0, ANY, 1, "privilege level changes"),
	IA64_ROW("DATA_ACCESS_CYCLE", 0, 0x03, 0, ANY, 1, "cycles lost to data accesses"),
	IA64_ROW("DATA_EAR_EVENTS", IOD, 0x67, 0, ANY, 1, "events caught by the data EAR"),
	IA64_ROW("DATA_REFERENCES_RETIRED", IOD, 0x63, 0, ANY, 2, "data references retired"),
	IA64_ROW("DTC_MISSES", IOD, 0x60, 0, ANY, 1, "misses of the first data TLB"),
	IA64_ROW("DTLB_MISSES", IOD, 0x61, 0, ANY, 1, "misses of both data TLBs"),
	IA64_ROW("DTLB_INSERTS_HPW", IOD, 0x62, 0, ANY, 1, "data TLB entries from the hardware's walker"),
	IA64_ROW("FP_OPS_RETIRED_LO", I, 0x09, 0, ANY, 3, "floating-point operations retired, lower two bits"),
	IA64_ROW("FP_OPS_RETIRED_HI", I, 0x0a, 0, ANY, 3, "floating-point operations retired, upper bits"),
	IA64_ROW("INSTRUCTION_EAR_EVENTS", I, 0x23, 0, ANY, 1, "events caught by the instruction EAR"),
	IA64_ROW("INST_DISPERSED", 0, 0x2d, 0, ADDERS, 6, "instructions dispersed"),
	IA64_ROW("ITLB_MISSES_FETCH", I, 0x27, 0, ANY, 1, "instruction TLB misses"),
	IA64_ROW("L1D_READS_RETIRED", IOD, 0x64, 0, ANY, 2, "L1 data cache reads"),
	IA64_ROW("L1D_READ_MISSES_RETIRED", IOD, 0x66, 0, ANY, 2, "L1 data cache read misses"),
	IA64_ROW("L1I_DEMAND_READS", I, 0x20, 0, ANY, 1, "L1 instruction cache reads"),
	IA64_ROW("L1I_FILLS", I, 0x21, 0, ANY, 1, "lines brought into the L1 instruction cache"),
	IA64_ROW("L2_INST_DEMAND_READS", I, 0x22, 0, ANY, 1, "L2 reads of instructions"),
	IA64_ROW("L2_REFERENCES", IOD, 0x68, 0, ANY, 2, "L2 references"),
	IA64_ROW("L2_DATA_REFERENCES_ALL", IOD, 0x69, 3, ANY, 2, "L2 references to data"),
	IA64_ROW("L2_MISSES", IOD, 0x6a, 0, ANY, 2, "L2 misses"),
	IA64_ROW("L3_REFERENCES", IOD, 0x7b, 0, ANY, 1, "L3 references"),
	IA64_ROW("L3_MISSES", IOD, 0x7c, 0, ANY, 1, "L3 misses"),
	IA64_ROW("L3_LINES_REPLACED", 0, 0x7f, 0, ANY, 1, "lines replaced in the L3"),
	IA64_ROW("LOADS_RETIRED", IOD, 0x6c, 0, ANY, 2, "loads retired"),
	IA64_ROW("STORES_RETIRED", IOD, 0x6d, 0, ANY, 2, "stores retired"),
	IA64_ROW("MEMORY_CYCLE", 0, 0x07, 0, ANY, 1, "cycles lost to memory"),
	IA64_ROW("MISALIGNED_LOADS_RETIRED", IOD, 0x70, 0, ANY, 1, "misaligned loads retired"),
	IA64_ROW("MISALIGNED_STORES_RETIRED", IOD, 0x71, 0, ANY, 1, "misaligned stores retired"),
	IA64_ROW("NOPS_RETIRED", IO, 0x30, 0, ADDERS, 6, "NOP instructions retired"),
	IA64_ROW("PREDICATE_SQUASHED_RETIRED", IO, 0x31, 0, ADDERS, 6, "instructions retired with their predicate off"),
	IA64_ROW("UNSTALLED_BACKEND_CYCLE", 0, 0x05, 0, ANY, 1, "cycles without a stall"),
	DEAR_LATENCY(4, 0), DEAR_LATENCY(8, 1), DEAR_LATENCY(16, 2), DEAR_LATENCY(32, 3), DEAR_LATENCY(64, 4),
	DEAR_LATENCY(128, 5), DEAR_LATENCY(256, 6), DEAR_LATENCY(512, 7), DEAR_LATENCY(1024, 8),
	DEAR_LATENCY(2048, 9),
	DEAR("DATA_EAR_CACHE_LAT_NONE", 15, IA64_DEAR_CACHE, "no misses: the data EAR at rest"),
	DEAR_TLB("L2", 2, "the L2 data TLB"), DEAR_TLB("VHPT", 4, "the VHPT walker"),
	DEAR_TLB("SW", 8, "software"),
	IEAR_LATENCY(4, 0), IEAR_LATENCY(8, 1), IEAR_LATENCY(16, 2), IEAR_LATENCY(32, 3), IEAR_LATENCY(64, 4),
	IEAR_LATENCY(128, 5), IEAR_LATENCY(256, 6), IEAR_LATENCY(512, 7), IEAR_LATENCY(1024, 8),
	IEAR_LATENCY(2048, 9), IEAR_LATENCY(4096, 10),
	IEAR("INSTRUCTION_EAR_CACHE_LAT_NONE", 15, IA64_IEAR_CACHE, "no misses: the instruction EAR at rest"),
	IEAR_TLB("VHPT", 4, "the VHPT walker"), IEAR_TLB("SW", 8, "software"),
};

/* --- registers ------------------------------------------------------------------------------ */

/* the bit of PMC11 that makes data ranges restrict nothing */
#define PASS_TAGS	(1ULL << 28)

static uint64_t iear_value(const pfmlib_ita2_ear_t *ear, unsigned int plm, bool pm)
{
	pfm_ita_pmc_reg_t reg = { 0 };

	reg.pmc10_ita_reg.iear_plm = plm;
	reg.pmc10_ita_reg.iear_pm = pm;
	reg.pmc10_ita_reg.iear_tlb = ear->ear_mode == PFMLIB_ITA2_EAR_TLB_MODE;
	reg.pmc10_ita_reg.iear_umask = ear->ear_umask;
	reg.pmc10_ita_reg.iear_ism = ear->ear_ism;
	return reg.pmc_val;
}

static uint64_t dear_value(const pfmlib_ita2_ear_t *ear, unsigned int plm, bool pm)
{
	return iear_value(ear, plm, 0) | (uint64_t)pm << 6 | PASS_TAGS;
}

static void itanium_registers(const struct pfl_model *m, pfmlib_regmask_t *pmcs, pfmlib_regmask_t *pmds,
			      pfmlib_regmask_t *counters)
{
	ia64_add_range(counters, IA64_FIRST_COUNTER, IA64_FIRST_COUNTER - 1 + m->ncounters);
	ia64_add_range(pmcs, IA64_FIRST_COUNTER, PMU_ITA_NUM_PMCS - 1);
	ia64_add_range(pmds, 0, PMU_ITA_NUM_PMDS - 1);
}

/* --- dispatch ------------------------------------------------------------------------------- */

static int no_alat(struct ia64_dispatch *x)
{
	const pfmlib_ita_input_param_t *p = x->model_in;

	if (x->dear.ear_used && (unsigned int)p->pfp_ita_dear.ear_mode > PFMLIB_ITA_EAR_TLB_MODE)
		return pfl_explain(PFMLIB_ERR_INVAL, "invalid mode %u of the data EAR", p->pfp_ita_dear.ear_mode);
	return PFMLIB_SUCCESS;
}

static int opcodes(struct ia64_dispatch *x)
{
	const pfmlib_ita_input_param_t *p = x->model_in;
	int ret = PFMLIB_SUCCESS;

	if (x->opcode[0])
		ret = ia64_add_pmc(x, 8, p->pfp_ita_pmc8.pmc_val);
	if (ret == PFMLIB_SUCCESS && x->opcode[1])
		ret = ia64_add_pmc(x, 9, p->pfp_ita_pmc9.pmc_val);
	return ret;
}

/* Every event uses all register pairs. They restrict if bit 0 of PMC13 is clear. */
static int code_ranges(struct ia64_dispatch *x)
{
	unsigned int n;
	int ret;

	if (!x->code.rr_used)
		return PFMLIB_SUCCESS;
	ret = ia64_count_ranges(&x->code, true, &n);
	if (ret == PFMLIB_SUCCESS)
		ret = ia64_add_ranges(x, &x->code, n, x->code_out);
	return ret == PFMLIB_SUCCESS ? ia64_add_pmc(x, x->regs->code_pmc, 0) : ret;
}

/* The data EAR's register enables data ranges, even if the EAR is not in use. */
static int data_ranges(struct ia64_dispatch *x)
{
	pfmlib_reg_t *dear = pfl_find_pmc(x->out, x->regs->dear_pmc);
	unsigned int n;
	int ret;

	if (!x->data.rr_used)
		return PFMLIB_SUCCESS;
	ret = ia64_count_ranges(&x->data, false, &n);
	if (ret == PFMLIB_SUCCESS)
		ret = ia64_add_ranges(x, &x->data, n, x->data_out);
	if (ret != PFMLIB_SUCCESS)
		return ret;
	return ia64_add_pmc(x, x->regs->dear_pmc, dear ? dear->reg_value & ~PASS_TAGS : x->in->pfp_dfl_plm);
}

static void take_ear(pfmlib_ita2_ear_t *to, const pfmlib_ita_ear_t *from)
{
	to->ear_used = from->ear_used;
	to->ear_mode = (pfmlib_ita2_ear_mode_t)from->ear_mode;
	to->ear_ism = (pfmlib_ita2_ism_t)from->ear_ism;
	to->ear_plm = from->ear_plm;
	to->ear_umask = from->ear_umask;
}

static void take_ranges(pfmlib_ita2_input_rr_t *to, const pfmlib_ita_input_rr_t *from)
{
	to->rr_used = from->rr_used;
	for (unsigned int i = 0; i < PFL_COUNT(to->rr_limits); i++) {
		to->rr_limits[i].rr_plm = from->rr_limits[i].rr_plm;
		to->rr_limits[i].rr_start = from->rr_limits[i].rr_start;
		to->rr_limits[i].rr_end = from->rr_limits[i].rr_end;
	}
}

/*
 * Target register, target cache and address calculator are in bits 7, 14 and 15, where the Itanium
 * 2 has other fields.
 */
static void take_branches(pfmlib_ita2_btb_t *to, const pfmlib_ita_btb_t *from)
{
	to->btb_used = from->btb_used;
	to->btb_ds = from->btb_tar & 1;
	to->btb_tm = from->btb_tm;
	to->btb_ptm = from->btb_ptm;
	to->btb_ppm = from->btb_ppm;
	to->btb_brt = (from->btb_tac & 1) | (from->btb_bac & 1) << 1;
	to->btb_plm = from->btb_plm;
}

static void take(struct ia64_dispatch *x)
{
	const pfmlib_ita_input_param_t *p = x->model_in;

	for (unsigned int i = 0; i < PMU_ITA_NUM_COUNTERS; i++) {
		x->counters[i].flags = p->pfp_ita_counters[i].flags;
		x->counters[i].thres = p->pfp_ita_counters[i].thres;
		x->counters[i].ism = (pfmlib_ita2_ism_t)p->pfp_ita_counters[i].ism;
	}
	take_ear(&x->iear, &p->pfp_ita_iear);
	take_ear(&x->dear, &p->pfp_ita_dear);
	take_branches(&x->btb, &p->pfp_ita_btb);
	take_ranges(&x->code, &p->pfp_ita_irange);
	take_ranges(&x->data, &p->pfp_ita_drange);
	x->opcode[0] = p->pfp_ita_pmc8.opcm_used;
	x->opcode[1] = p->pfp_ita_pmc9.opcm_used;
}

static const ia64_step steps[] = {
	ia64_check_qualifiers, ia64_tune_counters, no_alat, ia64_iear, ia64_dear, opcodes, ia64_btb,
	code_ranges, data_ranges
};

const struct ia64_model ia64_model_itanium = {
	.iear_pmc = 10, .dear_pmc = 11, .btb_pmc = 12, .code_pmc = 13,
	.iear_pmd = { 0, 1 }, .dear_pmd = { 2, 3, 17 }, .btb_pmd = { 16, 16 }, .btb_entries = { 8, 15 },
	.all_branches = 0xff80, .iear = iear_value, .dear = dear_value,
	.take = take, .steps = steps, .nsteps = PFL_COUNT(steps), .out_size = sizeof(pfmlib_ita_output_param_t),
	.code_out = offsetof(pfmlib_ita_output_param_t, pfp_ita_irange),
	.data_out = offsetof(pfmlib_ita_output_param_t, pfp_ita_drange),
};

static const struct pfl_ops itanium_ops = {
	.event = ia64_event,
	.attr = ia64_attr,
	.encode = ia64_encode,
	.registers = itanium_registers,
	.address = ia64_address,
	.finish = ia64_finish,
};

struct pfl_model pfl_itanium = {
	.name = "itanium",
	.desc = "Intel Itanium",
	.type = PFMLIB_ITANIUM_PMU,
	.nevents = PFL_COUNT(itanium_events),
	.ncounters = PMU_ITA_NUM_COUNTERS,
	.width = PMU_ITA_COUNTER_WIDTH,
	.ops = &itanium_ops,
	.data = itanium_events,
};
