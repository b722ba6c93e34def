// SPDX-License-Identifier: MIT
/*
 * presets.c - generic names (those of perf) and PAPI's presets as formulas over a model's own
 * events. The formulas of a family of models take precedence over those for all models, which are
 * in terms of generic names.
 */
#include <stdlib.h>
#include <string.h>

#include "model.h"

struct entry {
	const char	*name, *formula;
};

struct family {
	/* names of models, with a space after each; NULL: all models */
	const char		*models;
	const struct entry	*entries;	/* an entry without a name ends the list */
};

#define INTEL_ARCH \
	{ "cycles", "UNHALTED_CORE_CYCLES" }, { "instructions", "INSTRUCTION_RETIRED" }, \
	{ "ref-cycles", "UNHALTED_REFERENCE_CYCLES" }, \
	{ "branches", "BRANCH_INSTRUCTIONS_RETIRED" }, \
	{ "branch-misses", "MISPREDICTED_BRANCH_RETIRED" }

static const struct entry itanium2[] = {
	{ "cycles", "CPU_CYCLES" },
	{ "instructions", "IA64_INST_RETIRED" },
	{ "branches", "BR_MISPRED_DETAIL_ALL_ALL_PRED" },
	{ "branch-misses", "BR_MISPRED_DETAIL_ALL_WRONG_PATH + BR_MISPRED_DETAIL_ALL_WRONG_TARGET" },
	{ "cache-references", "L3_REFERENCES" }, { "cache-misses", "L3_MISSES" },
	{ "stalled-cycles", "BACK_END_BUBBLE_ALL" },
	{ "L1-dcache-loads", "L1D_READS_SET1" }, { "L1-dcache-load-misses", "L1D_READ_MISSES_ALL" },
	{ "L1-icache-load-misses", "L2_INST_DEMAND_READS" },
	{ "dTLB-load-misses", "L2DTLB_MISSES" }, { "iTLB-load-misses", "ITLB_MISSES_FETCH_L2ITLB" },
	{ "PAPI_LD_INS", "LOADS_RETIRED" }, { "PAPI_SR_INS", "STORES_RETIRED" },
	{ "PAPI_FP_OPS", "FP_OPS_RETIRED" }, { "PAPI_RES_STL", "BACK_END_BUBBLE_ALL" },
	{ "PAPI_L2_TCM", "L2_MISSES" }, { "PAPI_L2_TCA", "L2_REFERENCES" },
	{ "PAPI_L3_DCR", "L3_READS_DATA_READ_ALL" }, { "PAPI_L3_DCW", "L3_WRITES_DATA_WRITE_ALL" },
	{ "PAPI_L3_LDM", "L3_READS_ALL_MISS" }, { "PAPI_STL_ICY", "DISP_STALLED" },
	{ 0 }
};

static const struct entry itanium[] = {
	{ "cycles", "CPU_CYCLES" }, { "instructions", "IA64_INST_RETIRED" },
	{ "branches", "BRANCH_MULTIWAY_ALL_PATHS_ALL_PREDICTIONS" },
	{ "branch-misses", "BRANCH_MULTIWAY_ALL_PATHS_WRONG_PATH" },
	{ "cache-references", "L3_REFERENCES" }, { "cache-misses", "L3_MISSES" },
	{ "stalled-cycles", "MEMORY_CYCLE" },
	{ "L1-dcache-loads", "L1D_READS_RETIRED" }, { "L1-dcache-load-misses", "L1D_READ_MISSES_RETIRED" },
	{ "L1-icache-loads", "L1I_DEMAND_READS" }, { "L1-icache-load-misses", "L1I_FILLS" },
	{ "dTLB-load-misses", "DTLB_MISSES" }, { "iTLB-load-misses", "ITLB_MISSES_FETCH" },
	{ "PAPI_LD_INS", "LOADS_RETIRED" }, { "PAPI_SR_INS", "STORES_RETIRED" },
	{ "PAPI_L2_TCM", "L2_MISSES" }, { "PAPI_L2_TCA", "L2_REFERENCES" },
	{ 0 }
};

static const struct entry montecito[] = {
	{ "cycles", "CPU_OP_CYCLES_ALL" }, { "instructions", "IA64_INST_RETIRED" },
	{ "branches", "BR_MISPRED_DETAIL_ALL_ALL_PRED" },
	{ "branch-misses", "BR_MISPRED_DETAIL_ALL_WRONG_PATH + BR_MISPRED_DETAIL_ALL_WRONG_TARGET" },
	{ "cache-references", "L3_REFERENCES" }, { "cache-misses", "L3_MISSES" },
	{ "stalled-cycles", "BACK_END_BUBBLE_ALL" },
	{ "L1-dcache-loads", "L1D_READS_SET1" }, { "L1-dcache-load-misses", "L1D_READ_MISSES_ALL" },
	{ "L1-icache-loads", "L1I_READS" }, { "L1-icache-load-misses", "L1I_FILLS" },
	{ "dTLB-load-misses", "L2DTLB_MISSES" }, { "iTLB-load-misses", "ITLB_MISSES_FETCH_ALL" },
	{ "PAPI_LD_INS", "LOADS_RETIRED" }, { "PAPI_SR_INS", "STORES_RETIRED" },
	{ "PAPI_FP_OPS", "FP_OPS_RETIRED" }, { "PAPI_RES_STL", "BACK_END_BUBBLE_ALL" },
	{ "PAPI_L2_TCM", "L2D_MISSES" }, { "PAPI_L2_TCA", "L2D_REFERENCES_ALL" },
	{ 0 }
};

static const struct entry power5[] = {
	{ "cycles", "PM_RUN_CYC" }, { "instructions", "PM_INST_CMPL" }, { "branches", "PM_BR_ISSUED_GRP18" },
	{ "branch-misses", "PM_BR_MPRED_CR_GRP41 + PM_BR_MPRED_TA_GRP41" },
	{ "L1-dcache-loads", "PM_LD_REF_L1_GRP44" }, { "L1-dcache-load-misses", "PM_LD_MISS_L1_GRP44" },
	{ "L1-icache-load-misses", "PM_GRP_IC_MISS_GRP40" }, { "dTLB-load-misses", "PM_DTLB_MISS_GRP44" },
	{ "PAPI_FP_INS", "PM_FPU_FIN_GRP141" }, { "PAPI_SR_INS", "PM_ST_REF_L1_GRP144" },
	{ "PAPI_LD_INS", "PM_LD_REF_L1_GRP144" }, { "PAPI_L2_TCM", "PM_DATA_FROM_L2MISS_GRP50" },
	{ 0 }
};

static const struct entry mips20k[] = {
	{ "cycles", "CYCLES" }, { "instructions", "INSNS_COMPLETED" }, { "branches", "BRANCHES_COMPLETED" },
	{ "branch-misses", "BRANCHES_MISSPREDICTED" }, { "L1-icache-load-misses", "INSN_REQ_FROM_IFU_TO_BIU" },
	{ "PAPI_FP_INS", "FP_INSNS_COMPLETED" },
	{ 0 }
};

static const struct entry mips5k[] = {
	{ "cycles", "CYCLES" }, { "instructions", "INSNS_EXECED" }, { "branches", "BRANCHES_EXECED" },
	{ "branch-misses", "BRANCHES_MISSPREDICTED" }, { "L1-icache-loads", "INSN_FETCHED" },
	{ "L1-icache-load-misses", "ICACHE_MISS" }, { "L1-dcache-load-misses", "DCACHE_MISS" },
	{ "dTLB-load-misses", "DTLB_MISSES" }, { "iTLB-load-misses", "ITLB_MISSES" },
	{ "PAPI_LD_INS", "LOADS_EXECED" }, { "PAPI_SR_INS", "STORES_EXECED" }, { "PAPI_FP_INS", "FP_INSNS_EXECED" },
	{ 0 }
};

static const struct entry p6[] = {
	{ "cycles", "CPU_CLK_UNHALTED" }, { "instructions", "INST_RETIRED" },
	{ "branches", "BR_INST_RETIRED" }, { "branch-misses", "BR_MISS_PRED_RETIRED" },
	{ "cache-references", "L2_RQSTS:M:E:S:I" }, { "cache-misses", "L2_LINES_IN" },
	{ "stalled-cycles", "RESOURCE_STALLS" }, { "bus-cycles", "BUS_DRDY_CLOCKS:SELF" },
	{ "L1-dcache-loads", "DATA_MEM_REFS" }, { "L1-dcache-load-misses", "DCU_LINES_IN" },
	{ "L1-icache-loads", "IFU_IFETCH" }, { "L1-icache-load-misses", "IFU_IFETCH_MISS" },
	{ "iTLB-load-misses", "ITLB_MISS" },
	{ "PAPI_BR_TKN", "BR_TAKEN_RETIRED" }, { "PAPI_BR_NTK", "BR_INST_RETIRED - BR_TAKEN_RETIRED" },
	{ "PAPI_FP_INS", "FLOPS" }, { "PAPI_FP_OPS", "FLOPS" }, { "PAPI_FML_INS", "MUL" },
	{ "PAPI_FDV_INS", "DIV" }, { "PAPI_RES_STL", "RESOURCE_STALLS" },
	{ "PAPI_HW_INT", "HW_INT_RX" }, { "PAPI_L2_TCM", "L2_LINES_IN" },
	{ "PAPI_L2_TCA", "L2_RQSTS:M:E:S:I" },
	{ 0 }
};

static const struct entry pm[] = {
	{ "cache-misses", "L2_LINES_IN:I:S:E:M" }, { "PAPI_L2_TCM", "L2_LINES_IN:I:S:E:M" }, { 0 }
};

static const struct entry core[] = {
	INTEL_ARCH,
	{ "cache-references", "LLC_REFERENCES" }, { "cache-misses", "LLC_MISSES" },
	{ "stalled-cycles", "RESOURCE_STALLS:ANY" },
	{ "L1-dcache-loads", "L1D_CACHE_LD:MESI" }, { "L1-dcache-load-misses", "L1D_REPL" },
	{ "L1-icache-loads", "L1I_READS" }, { "L1-icache-load-misses", "L1I_MISSES" },
	{ "dTLB-load-misses", "DTLB_MISSES:MISS_LD" }, { "iTLB-load-misses", "ITLB:MISSES" },
	{ "PAPI_L2_TCM", "LLC_MISSES" }, { "PAPI_L2_TCA", "LLC_REFERENCES" },
	{ "PAPI_LD_INS", "INST_RETIRED:LOADS" }, { "PAPI_SR_INS", "INST_RETIRED:STORES" },
	{ "PAPI_BR_TKN", "BR_INST_RETIRED:TAKEN" }, { "PAPI_RES_STL", "RESOURCE_STALLS:ANY" },
	{ 0 }
};

static const struct entry atom[] = {
	INTEL_ARCH,
	{ "cache-references", "LLC_REFERENCES" }, { "cache-misses", "LLC_MISSES" },
	{ "L1-dcache-loads", "L1D_CACHE:LD" }, { "L1-icache-loads", "ICACHE:ACCESSES" },
	{ "L1-icache-load-misses", "ICACHE:MISSES" },
	{ "dTLB-load-misses", "MEM_LOAD_RETIRED:DTLB_MISS" }, { "iTLB-load-misses", "ITLB:MISSES" },
	{ "PAPI_L2_TCM", "LLC_MISSES" }, { "PAPI_L2_TCA", "LLC_REFERENCES" },
	{ 0 }
};

static const struct entry silvermont[] = {
	INTEL_ARCH,
	{ "cache-references", "LLC_REFERENCES" }, { "cache-misses", "LLC_MISSES" },
	{ "L1-icache-loads", "ICACHE:ACCESSES" }, { "L1-icache-load-misses", "ICACHE:MISSES" },
	{ "dTLB-load-misses", "PAGE_WALKS:D_SIDE_WALKS" },
	{ "iTLB-load-misses", "PAGE_WALKS:I_SIDE_WALKS" },
	{ "PAPI_L2_TCM", "LLC_MISSES" }, { "PAPI_L2_TCA", "LLC_REFERENCES" },
	{ 0 }
};

static const struct entry goldmont[] = {
	INTEL_ARCH,
	{ "cache-references", "LONGEST_LAT_CACHE:REFERENCE" },
	{ "cache-misses", "LONGEST_LAT_CACHE:MISS" },
	{ "L1-dcache-loads", "MEM_UOPS_RETIRED:ALL_LOADS" },
	{ "L1-dcache-load-misses", "MEM_LOAD_UOPS_RETIRED:L1_MISS" },
	{ "L1-icache-loads", "ICACHE:ACCESSES" }, { "L1-icache-load-misses", "ICACHE:MISSES" },
	{ "dTLB-load-misses", "MEM_UOPS_RETIRED:DTLB_MISS_LOADS" }, { "iTLB-load-misses", "ITLB:MISS" },
	{ "PAPI_L2_TCM", "LONGEST_LAT_CACHE:MISS" }, { "PAPI_L2_TCA", "LONGEST_LAT_CACHE:REFERENCE" },
	{ "PAPI_LD_INS", "MEM_UOPS_RETIRED:ALL_LOADS" },
	{ "PAPI_SR_INS", "MEM_UOPS_RETIRED:ALL_STORES" },
	{ 0 }
};

/*
 * Alder Lake's efficient cores lack the architected names, and count misses of the last of three
 * caches.
 */
static const struct entry gracemont[] = {
	{ "cycles", "CPU_CLK_UNHALTED:CORE_P" }, { "instructions", "INST_RETIRED:ANY_P" },
	{ "ref-cycles", "CPU_CLK_UNHALTED:REF_TSC_P" },
	{ "branches", "BR_INST_RETIRED:ALL_BRANCHES" }, { "branch-misses", "BR_MISP_RETIRED:ALL_BRANCHES" },
	{ "cache-references", "LONGEST_LAT_CACHE:REFERENCE" },
	{ "cache-misses", "LONGEST_LAT_CACHE:MISS" },
	{ "L1-dcache-loads", "MEM_UOPS_RETIRED:ALL_LOADS" },
	{ "L1-icache-loads", "ICACHE:ACCESSES" }, { "L1-icache-load-misses", "ICACHE:MISSES" },
	{ "dTLB-load-misses", "DTLB_LOAD_MISSES:WALK_COMPLETED" },
	{ "iTLB-load-misses", "ITLB_MISSES:WALK_COMPLETED" },
	{ "PAPI_LD_INS", "MEM_UOPS_RETIRED:ALL_LOADS" }, { "PAPI_SR_INS", "MEM_UOPS_RETIRED:ALL_STORES" },
	{ "PAPI_BR_CN", "BR_INST_RETIRED:COND" }, { "PAPI_BR_TKN", "BR_INST_RETIRED:NEAR_TAKEN" },
	{ 0 }
};

/* Tremont's masks of page walks exclude each other, and it lacks two architected names. */
static const struct entry tremont[] = {
	{ "branches", "BR_INST_RETIRED:ALL_BRANCHES" },
	{ "branch-misses", "BR_MISP_RETIRED:ALL_BRANCHES" },
	{ "dTLB-load-misses", "DTLB_LOAD_MISSES:WALK_COMPLETED_4K + DTLB_LOAD_MISSES:WALK_COMPLETED_2M_4M" },
	{ "iTLB-load-misses", "ITLB_MISSES:WALK_COMPLETED_4K + ITLB_MISSES:WALK_COMPLETED_2M_4M" },
	{ 0 }
};

static const struct entry nehalem[] = {
	INTEL_ARCH,
	{ "cache-references", "LLC_REFERENCES" }, { "cache-misses", "LLC_MISSES" },
	{ "branch-misses", "BR_MISP_EXEC:ANY" },
	{ "stalled-cycles", "RESOURCE_STALLS:ANY" },
	{ "L1-dcache-loads", "L1D_CACHE_LD:MESI" }, { "L1-dcache-load-misses", "L1D_CACHE_LD:I_STATE" },
	{ "L1-icache-loads", "L1I:READS" }, { "L1-icache-load-misses", "L1I:MISSES" },
	{ "dTLB-load-misses", "DTLB_LOAD_MISSES:ANY" }, { "iTLB-load-misses", "ITLB_MISSES:ANY" },
	{ "PAPI_L2_TCM", "L2_RQSTS:MISS" }, { "PAPI_L2_TCA", "L2_RQSTS:REFERENCES" },
	{ "PAPI_L3_TCM", "LLC_MISSES" }, { "PAPI_L3_TCA", "LLC_REFERENCES" },
	{ "PAPI_LD_INS", "MEM_INST_RETIRED:LOADS" }, { "PAPI_SR_INS", "MEM_INST_RETIRED:STORES" },
	{ "PAPI_RES_STL", "RESOURCE_STALLS:ANY" },
	{ 0 }
};

static const struct entry westmere[] = {
	{ "L1-dcache-loads", "MEM_INST_RETIRED:LOADS" }, { "L1-dcache-load-misses", "L1D:REPL" },
	{ "branch-misses", "MISPREDICTED_BRANCH_RETIRED" }, { 0 }
};

#define SANDY_BRIDGE_UP \
	INTEL_ARCH, \
	{ "L1-dcache-load-misses", "L1D:REPLACEMENT" }, \
	{ "PAPI_LST_INS", "PAPI_LD_INS + PAPI_SR_INS" }

static const struct entry sandy_bridge[] = {
	SANDY_BRIDGE_UP,
	{ "cache-references", "LAST_LEVEL_CACHE_REFERENCES" },
	{ "cache-misses", "LAST_LEVEL_CACHE_MISSES" },
	{ "stalled-cycles", "RESOURCE_STALLS:ANY" },
	{ "L1-dcache-loads", "MEM_UOPS_RETIRED:ALL_LOADS" },
	{ "L1-icache-load-misses", "ICACHE:MISSES" },
	{ "dTLB-load-misses", "DTLB_LOAD_MISSES:MISS_CAUSES_A_WALK" },
	{ "iTLB-load-misses", "ITLB_MISSES:MISS_CAUSES_A_WALK" },
	{ "PAPI_L2_ICM", "L2_RQSTS:CODE_RD_MISS" }, { "PAPI_L2_ICA", "L2_RQSTS:ALL_CODE_RD" },
	{ "PAPI_L3_TCM", "LAST_LEVEL_CACHE_MISSES" }, { "PAPI_L3_TCA", "LAST_LEVEL_CACHE_REFERENCES" },
	{ "PAPI_LD_INS", "MEM_UOPS_RETIRED:ALL_LOADS" },
	{ "PAPI_SR_INS", "MEM_UOPS_RETIRED:ALL_STORES" },
	{ "PAPI_BR_CN", "BR_INST_RETIRED:CONDITIONAL" }, { "PAPI_RES_STL", "RESOURCE_STALLS:ANY" },
	{ 0 }
};

/* Ivy Bridge differs in one name. */
static const struct entry ivy_bridge[] = {
	{ "dTLB-load-misses", "DTLB_LOAD_MISSES:MISS_CAUSES_A_WALK" }, { 0 }
};

static const struct entry haswell[] = {
	SANDY_BRIDGE_UP,
	{ "cache-references", "LONGEST_LAT_CACHE:REFERENCE" },
	{ "cache-misses", "LONGEST_LAT_CACHE:MISS" },
	{ "stalled-cycles", "RESOURCE_STALLS:ANY" },
	{ "L1-dcache-loads", "MEM_UOPS_RETIRED:ALL_LOADS" },
	{ "L1-icache-load-misses", "ICACHE:MISSES" },
	{ "dTLB-load-misses", "DTLB_LOAD_MISSES:MISS_CAUSES_A_WALK" },
	{ "iTLB-load-misses", "ITLB_MISSES:MISS_CAUSES_A_WALK" },
	{ "PAPI_L2_ICM", "L2_RQSTS:CODE_RD_MISS" },
	{ "PAPI_L3_TCM", "LONGEST_LAT_CACHE:MISS" }, { "PAPI_L3_TCA", "LONGEST_LAT_CACHE:REFERENCE" },
	{ "PAPI_LD_INS", "MEM_UOPS_RETIRED:ALL_LOADS" },
	{ "PAPI_SR_INS", "MEM_UOPS_RETIRED:ALL_STORES" },
	{ "PAPI_BR_CN", "BR_INST_RETIRED:CONDITIONAL" }, { "PAPI_RES_STL", "RESOURCE_STALLS:ANY" },
	{ 0 }
};

static const struct entry skylake[] = {
	SANDY_BRIDGE_UP,
	{ "cache-references", "LONGEST_LAT_CACHE:REFERENCE" },
	{ "cache-misses", "LONGEST_LAT_CACHE:MISS" },
	{ "stalled-cycles", "CYCLE_ACTIVITY:STALLS_TOTAL" },
	{ "L1-dcache-loads", "MEM_INST_RETIRED:ALL_LOADS" },
	{ "L1-icache-load-misses", "ICACHE_64B:IFTAG_MISS" },
	{ "dTLB-load-misses", "DTLB_LOAD_MISSES:WALK_COMPLETED" },
	{ "iTLB-load-misses", "ITLB_MISSES:WALK_COMPLETED" },
	{ "PAPI_L2_ICM", "L2_RQSTS:CODE_RD_MISS" },
	{ "PAPI_L3_TCM", "LONGEST_LAT_CACHE:MISS" }, { "PAPI_L3_TCA", "LONGEST_LAT_CACHE:REFERENCE" },
	{ "PAPI_LD_INS", "MEM_INST_RETIRED:ALL_LOADS" },
	{ "PAPI_SR_INS", "MEM_INST_RETIRED:ALL_STORES" },
	{ "PAPI_BR_CN", "BR_INST_RETIRED:COND" },
	{ 0 }
};

static const struct entry ice_lake[] = {
	{ "branches", "BR_INST_RETIRED:ALL_BRANCHES" },
	{ "branch-misses", "BR_MISP_RETIRED:ALL_BRANCHES" },
	{ "cache-references", "LONGEST_LAT_CACHE:REFERENCES" },
	{ "PAPI_L3_TCA", "LONGEST_LAT_CACHE:REFERENCES" },
	{ 0 }
};

static const struct entry sapphire_rapids[] = {
	{ "branches", "BR_INST_RETIRED:ALL_BRANCHES" },
	{ "branch-misses", "BR_MISP_RETIRED:ALL_BRANCHES" },
	{ "L1-icache-load-misses", "L2_RQSTS:ALL_CODE_RD" },
	{ 0 }
};

static const struct entry knc[] = {
	{ "cycles", "CPU_CLK_UNHALTED" }, { "instructions", "INSTRUCTIONS_EXECUTED" },
	{ "branches", "BRANCHES" }, { "branch-misses", "BRANCHES_MISPREDICTED" },
	{ "L1-dcache-loads", "DATA_READ" }, { "L1-dcache-load-misses", "DATA_READ_MISS" },
	{ "L1-icache-loads", "CODE_READ" }, { "L1-icache-load-misses", "CODE_CACHE_MISS" },
	{ 0 }
};

static const struct entry netburst[] = {
	{ "cycles", "global_power_events:RUNNING" }, { "instructions", "instr_retired:NBOGUSNTAG:NBOGUSTAG" },
	{ "branches", "branch_retired:MMNP:MMNM:MMTP:MMTM" },
	{ "branch-misses", "branch_retired:MMNM:MMTM" },
	{ "cache-references", "BSQ_cache_reference:RD_2ndL_HITS:RD_2ndL_HITE:RD_2ndL_HITM:RD_2ndL_MISS" },
	{ "cache-misses", "BSQ_cache_reference:RD_2ndL_MISS" },
	{ "dTLB-load-misses", "page_walk_type:DTMISS" }, { "iTLB-load-misses", "page_walk_type:ITMISS" },
	{ "L1-icache-load-misses", "BPU_fetch_request:TCMISS" },
	{ "PAPI_BR_TKN", "branch_retired:MMTP:MMTM" }, { "PAPI_BR_NTK", "branch_retired:MMNP:MMNM" },
	{ "PAPI_RES_STL", "resource_stall:SBFULL" },
	{ 0 }
};

#define AMD_OLD \
	{ "cycles", "CPU_CLK_UNHALTED" }, { "instructions", "RETIRED_INSTRUCTIONS" }, \
	{ "branches", "RETIRED_BRANCH_INSTRUCTIONS" }, \
	{ "branch-misses", "RETIRED_MISPREDICTED_BRANCH_INSTRUCTIONS" }, \
	{ "L1-dcache-loads", "DATA_CACHE_ACCESSES" }, { "PAPI_L1_DCA", "DATA_CACHE_ACCESSES" }, \
	{ "L1-icache-loads", "INSTRUCTION_CACHE_FETCHES" }, \
	{ "L1-icache-load-misses", "INSTRUCTION_CACHE_MISSES" }

static const struct entry k7[] = {
	{ "cycles", "CPU_CLK_UNHALTED" }, { "instructions", "RETIRED_INSTRUCTIONS" },
	{ "branches", "RETIRED_BRANCH_INSTRUCTIONS" },
	{ "branch-misses", "RETIRED_MISPREDICTED_BRANCH_INSTRUCTIONS" },
	{ "L1-dcache-loads", "DATA_CACHE_ACCESSES" }, { "L1-dcache-load-misses", "DATA_CACHE_MISSES" },
	{ "L1-icache-loads", "INSTRUCTION_CACHE_FETCHES" },
	{ "L1-icache-load-misses", "INSTRUCTION_CACHE_MISSES" },
	{ "dTLB-load-misses", "L1_DTLB_AND_L2_DTLB_MISS" },
	{ "iTLB-load-misses", "L1_ITLB_MISS_AND_L2_ITLB_MISS" },
	{ 0 }
};

static const struct entry k8[] = {
	AMD_OLD,
	{ "L1-dcache-load-misses", "DATA_CACHE_MISSES" },
	{ "cache-references", "REQUESTS_TO_L2:INSTRUCTIONS:DATA:TLB_WALK" },
	{ "cache-misses", "L2_CACHE_MISS:ALL" },
	{ "dTLB-load-misses", "L1_DTLB_AND_L2_DTLB_MISS" },
	{ "iTLB-load-misses", "L1_ITLB_MISS_AND_L2_ITLB_MISS" },
	{ "stalled-cycles-frontend", "DECODER_EMPTY" }, { "stalled-cycles-backend", "DISPATCH_STALLS" },
	{ "PAPI_L2_TCM", "L2_CACHE_MISS:ALL" }, { "PAPI_L2_DCM", "L2_CACHE_MISS:DATA" },
	{ "PAPI_L2_ICM", "L2_CACHE_MISS:INSTRUCTIONS" },
	{ "PAPI_L2_TCA", "REQUESTS_TO_L2:INSTRUCTIONS:DATA:TLB_WALK" },
	{ "PAPI_BR_TKN", "RETIRED_TAKEN_BRANCH_INSTRUCTIONS" },
	{ "PAPI_RES_STL", "DISPATCH_STALLS" }, { "PAPI_STL_ICY", "DECODER_EMPTY" },
	{ 0 }
};

static const struct entry fam15h[] = {
	AMD_OLD,
	{ "L1-dcache-load-misses", "DATA_CACHE_MISSES:DC_MISS_STREAMING_STORE" },
	{ "cache-references", "REQUESTS_TO_L2:INSTRUCTIONS:DATA:TLB_WALK" },
	{ "cache-misses", "L2_CACHE_MISS:INSTRUCTIONS:DATA:TLB_WALK" },
	{ "dTLB-load-misses", "UNIFIED_TLB_MISS:4K_DATA" },
	{ "iTLB-load-misses", "L1_ITLB_MISS_AND_L2_ITLB_MISS:ALL" },
	{ "PAPI_L2_TCM", "L2_CACHE_MISS:ALL" },
	{ 0 }
};

static const struct entry bobcat[] = {
	AMD_OLD,
	{ "L1-dcache-load-misses", "DATA_CACHE_MISSES" }, { "dTLB-load-misses", "DTLB_MISS:ALL" },
	{ "iTLB-load-misses", "L1_ITLB_MISS_AND_L2_ITLB_MISS:ALL" }, { "iTLB-load-misses", "ITLB_MISS:ALL" },
	{ "cache-references", "REQUESTS_TO_L2:INSTRUCTIONS:DATA" }, { "cache-misses", "L2_CACHE_MISS:ALL" },
	{ 0 }
};

static const struct entry zen[] = {
	{ "cycles", "CYCLES_NOT_IN_HALT" }, { "instructions", "RETIRED_INSTRUCTIONS" },
	{ "branches", "RETIRED_BRANCH_INSTRUCTIONS" },
	{ "branch-misses", "RETIRED_BRANCH_INSTRUCTIONS_MISPREDICTED" },
	{ "L1-dcache-loads", "LS_DISPATCH:LD_DISPATCH" },
	{ "L1-icache-load-misses", "INSTRUCTION_CACHE_REFILLS_FROM_L2 + INSTRUCTION_CACHE_REFILLS_FROM_SYSTEM" },
	{ "cache-references", "REQUESTS_TO_L2_GROUP1:RD_BLK_L:RD_BLK_X:LS_RD_BLK_C_S:CACHEABLE_IC_READ:CHANGE_TO_X" },
	{ "cache-misses", "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C:IC_FILL_MISS" },
	{ "L1-dcache-load-misses", "MAB_ALLOCATION_BY_PIPE:DATA_PIPE" },
	{ "dTLB-load-misses", "L1_DTLB_MISS:TLB_RELOAD_4K_L2_MISS" },
	{ "iTLB-load-misses", "L1_ITLB_MISS_L2_ITLB_MISS:IF4K:IF2M:IF1G" },
	{ "PAPI_BR_TKN", "RETIRED_TAKEN_BRANCH_INSTRUCTIONS" },
	{ "PAPI_BR_CN", "RETIRED_CONDITIONAL_BRANCH_INSTRUCTIONS" },
	{ "PAPI_FP_OPS", "RETIRED_SSE_AVX_FLOPS:ANY" },
	{ 0 }
};

static const struct entry zen3[] = {
	{ "L1-icache-loads", "IC_TAG_HIT_MISS:ALL_IC_ACCESS" },
	{ "L1-icache-load-misses", "IC_TAG_HIT_MISS:IC_MISS" },
	{ "L1-dcache-load-misses", "MAB_ALLOCATION_BY_TYPE:LS" },
	{ 0 }
};

/* Zen 5 lacks CHANGE_TO_X: it counts changes of a line to writable among the stores (RD_BLK_X). */
static const struct entry zen5[] = {
	{ "cache-references", "REQUESTS_TO_L2_GROUP1:RD_BLK_L:RD_BLK_X:LS_RD_BLK_C_S:CACHEABLE_IC_READ" },
	{ 0 }
};

static const struct entry armv8[] = {
	{ "cycles", "CPU_CYCLES" }, { "instructions", "INST_RETIRED" },
	{ "branches", "BR_PRED" }, { "branch-misses", "BR_MIS_PRED" },
	{ "cache-references", "L1D_CACHE" }, { "cache-misses", "L1D_CACHE_REFILL" },
	{ "bus-cycles", "BUS_CYCLES" },
	{ "stalled-cycles-frontend", "STALL_FRONTEND" }, { "stalled-cycles-backend", "STALL_BACKEND" },
	{ "L1-dcache-loads", "L1D_CACHE" }, { "L1-dcache-load-misses", "L1D_CACHE_REFILL" },
	{ "L1-icache-loads", "L1I_CACHE" }, { "L1-icache-load-misses", "L1I_CACHE_REFILL" },
	{ "dTLB-load-misses", "L1D_TLB_REFILL" }, { "iTLB-load-misses", "L1I_TLB_REFILL" },
	{ "LLC-loads", "LL_CACHE_RD" }, { "LLC-load-misses", "LL_CACHE_MISS_RD" },
	{ "PAPI_L2_DCM", "L2D_CACHE_REFILL" }, { "PAPI_L2_DCA", "L2D_CACHE" },
	{ "PAPI_LD_INS", "LD_RETIRED" }, { "PAPI_SR_INS", "ST_RETIRED" },
	{ 0 }
};

/* libpfm4 spells the architected events of ARM cores a little differently. */
static const struct entry arm_libpfm4[] = {
	{ "cache-references", "L1D_CACHE_ACCESS" }, { "L1-dcache-loads", "L1D_CACHE_ACCESS" },
	{ "branches", "BRANCH_PRED" }, { "branch-misses", "BRANCH_MISPRED" },
	{ "L1-icache-loads", "L1I_CACHE_ACCESS" },
	{ 0 }
};

static const struct entry common[] = {
	{ "cpu-cycles", "cycles" }, { "branch-instructions", "branches" },
	{ "faults", "PAGE_FAULTS" }, { "cs", "CONTEXT_SWITCHES" }, { "migrations", "CPU_MIGRATIONS" },
	{ "LLC-loads", "cache-references" }, { "LLC-load-misses", "cache-misses" },
	{ "PAPI_TOT_CYC", "cycles" }, { "PAPI_TOT_INS", "instructions" }, { "PAPI_REF_CYC", "ref-cycles" },
	{ "PAPI_BR_INS", "branches" }, { "PAPI_BR_MSP", "branch-misses" },
	{ "PAPI_BR_PRC", "branches - branch-misses" },
	{ "PAPI_BR_NTK", "branches - PAPI_BR_TKN" }, { "PAPI_BR_UCN", "branches - PAPI_BR_CN" },
	{ "PAPI_L1_DCM", "L1-dcache-load-misses" }, { "PAPI_L1_ICM", "L1-icache-load-misses" },
	{ "PAPI_L1_DCA", "L1-dcache-loads" }, { "PAPI_L1_ICA", "L1-icache-loads" },
	{ "PAPI_L1_TCM", "L1-dcache-load-misses + L1-icache-load-misses" },
	{ "PAPI_L1_TCA", "L1-dcache-loads + L1-icache-loads" },
	{ "PAPI_L1_DCH", "L1-dcache-loads - L1-dcache-load-misses" },
	{ "PAPI_L1_ICH", "L1-icache-loads - L1-icache-load-misses" },
	{ "PAPI_L2_TCH", "PAPI_L2_TCA - PAPI_L2_TCM" }, { "PAPI_L3_TCH", "PAPI_L3_TCA - PAPI_L3_TCM" },
	{ "PAPI_L2_DCM", "PAPI_L2_TCM - PAPI_L2_ICM" },
	{ "PAPI_L3_TCA", "cache-references" }, { "PAPI_L3_TCM", "cache-misses" },
	{ "PAPI_TLB_DM", "dTLB-load-misses" }, { "PAPI_TLB_IM", "iTLB-load-misses" },
	{ "PAPI_TLB_TL", "dTLB-load-misses + iTLB-load-misses" },
	{ "PAPI_LST_INS", "PAPI_LD_INS + PAPI_SR_INS" },
	{ 0 }
};

/*
 * The generic names and presets that are not in the table `common`, but only in tables of families.
 * pfm_generic_name() lists these first.
 */
static const char *const family_names[] = {
	"cycles", "instructions", "ref-cycles", "bus-cycles", "cache-references", "cache-misses",
	"branches", "branch-misses", "stalled-cycles", "stalled-cycles-frontend",
	"stalled-cycles-backend", "L1-dcache-loads", "L1-dcache-load-misses", "L1-icache-loads",
	"L1-icache-load-misses", "dTLB-load-misses", "iTLB-load-misses",
	"PAPI_BR_CN", "PAPI_BR_TKN", "PAPI_FDV_INS", "PAPI_FML_INS", "PAPI_FP_INS", "PAPI_FP_OPS",
	"PAPI_HW_INT", "PAPI_L2_DCA", "PAPI_L2_ICA", "PAPI_L2_ICM", "PAPI_L2_TCA", "PAPI_L2_TCM",
	"PAPI_L3_DCR", "PAPI_L3_DCW", "PAPI_L3_LDM", "PAPI_LD_INS", "PAPI_RES_STL", "PAPI_SR_INS",
	"PAPI_STL_ICY",
};

#define SILVERMONTS	"slm knl knm "
#define SAPPHIRE_RAPIDS	"spr emr gnr adl_glc "
#define SKYLAKES	"skl skx clx icl icx " SAPPHIRE_RAPIDS
#define ZENS_FROM_3	"amd64_fam19h_zen3 amd64_fam19h_zen4 amd64_fam1ah_zen5 "
#define ZENS		"amd64_fam17h amd64_fam17h_zen1 amd64_fam17h_zen2 " ZENS_FROM_3

static const struct family families[] = {
	{ "itanium ", itanium }, { "itanium2 ", itanium2 }, { "montecito ", montecito },
	{ "power5 ", power5 }, { "mips20k ", mips20k }, { "mips5k ", mips5k },
	{ "pm ", pm },
	{ "p6 pm pii ppro ", p6 },
	{ "core ", core },
	{ "atom ", atom },
	{ SILVERMONTS, silvermont },
	{ "adl_grt ", gracemont },
	{ "tmt ", tremont },
	{ "glm tmt ", goldmont },
	{ "wsm wsm_dp ", westmere },
	{ "nhm nhm_ex wsm wsm_dp ", nehalem },
	{ "ivb ivb_ep ", ivy_bridge },
	{ "snb snb_ep ivb ivb_ep ", sandy_bridge },
	{ "hsw hsw_ep bdw bdw_ep ", haswell },
	{ "icl icx ", ice_lake },
	{ SAPPHIRE_RAPIDS, sapphire_rapids },
	{ SKYLAKES, skylake },
	{ "knc ", knc },
	{ "netburst netburst_p ", netburst },
	{ "amd64_k7 ", k7 },
	{ "amd64_k8_revb amd64_k8_revc amd64_k8_revd amd64_k8_reve amd64_k8_revf amd64_k8_revg "
	  "amd64_fam10h_barcelona amd64_fam10h_shanghai amd64_fam10h_istanbul amd64_fam11h_turion "
	  "amd64_fam12h_llano ", k8 },
	{ "amd64_fam15h_interlagos ", fam15h },
	{ "amd64_fam14h_bobcat amd64_fam16h ", bobcat },
	{ "amd64_fam1ah_zen5 ", zen5 },
	{ ZENS_FROM_3, zen3 },
	{ ZENS, zen },
	{ "armv8 ", armv8 },
	{ NULL, common },
};

static const struct family arm_families[] = {
	{ NULL, arm_libpfm4 }, { NULL, armv8 }, { NULL, common },
};

/*
 * Limits the depth, because formulas may refer to each other: CPU_CYCLES is cycles if the model has
 * no such event, and cycles may be CPU_CYCLES.
 */
#define DEEPEST 8

static const char *find(const struct pfl_model *m, const char *name, size_t len, int depth);

/* Returns true if the first term of a formula is available on the model. */
static bool has_first_term(const struct pfl_model *m, const char *formula, int depth)
{
	size_t len = strcspn(formula, " ");
	pfmlib_event_t e;

	return pfl_parse_event(m, formula, len, &e) == PFMLIB_SUCCESS ||
		(depth < DEEPEST && find(m, formula, len, depth + 1) != NULL);
}

static const char *find_entry(const struct pfl_model *m, const struct entry *entries,
			      const char *name, size_t len, int depth)
{
	for (; entries->name; entries++)
		if (pfl_same_name(name, len, entries->name) && has_first_term(m, entries->formula, depth))
			return entries->formula;
	return NULL;
}

static const char *find(const struct pfl_model *m, const char *name, size_t len, int depth)
{
	bool arm = m->ops == &pfl_arm_ops;
	const struct family *f = arm ? arm_families : families;
	size_t n = arm ? PFL_COUNT(arm_families) : PFL_COUNT(families);
	const char *formula = NULL;

	for (size_t i = 0; !formula && i < n; i++)
		if (!f[i].models || pfl_lists(f[i].models, m->name))
			formula = find_entry(m, f[i].entries, name, len, depth);
	return formula;
}

const char *pfl_preset(const struct pfl_model *m, const char *name, size_t len)
{
	return find(m, name, len, 0);
}

const char *pfm_generic_name(unsigned int i)
{
	if (i < PFL_COUNT(family_names))
		return family_names[i];
	i -= PFL_COUNT(family_names);
	return i < PFL_COUNT(common) - 1 ? common[i].name : NULL;
}
