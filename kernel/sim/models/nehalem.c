// SPDX-License-Identifier: MIT
/*
 * nehalem.c - the events that the codes of Nehalem count (Intel's Software Developer's Manual,
 * volume 3, events of the Core i7 and Xeon 5500). Unit masks matter. A core counts no bus accesses:
 * the bus ends in the uncore, which has counters of its own.
 */
#include "perfmon/perfmon_pebs_smpl.h"
#include "sim/models/x86.h"

static const struct sim_encoding encodings[] = {
	{ 0x003c, 0xffff, SIM_EV_CYCLES, 0 },		/* UNHALTED_CORE_CYCLES */
	{ X86_REF_CYCLES, 0xffff, SIM_EV_CYCLES, 0 },	/* UNHALTED_REFERENCE_CYCLES */
	{ 0x00c0, 0xffff, SIM_EV_INSTRUCTIONS, 0 },	/* INSTRUCTIONS_RETIRED */
	{ 0x010b, 0xffff, SIM_EV_LOADS, 0 },		/* MEM_INST_RETIRED:LOADS */
	{ 0x020b, 0xffff, SIM_EV_STORES, 0 },		/* MEM_INST_RETIRED:STORES */
	{ 0x100b, 0xffff, SIM_EV_DEAR, 0 },	/* MEM_INST_RETIRED:LATENCY_ABOVE_THRESHOLD */
	{ 0x01c2, 0xffff, SIM_EV_UOPS, 0 },		/* UOPS_RETIRED:ANY */
	{ 0x00c4, 0xffff, SIM_EV_BRANCHES, 0 },	/* BR_INST_RETIRED:ALL_BRANCHES */
	{ 0x7f88, 0xffff, SIM_EV_BRANCHES, 0 },	/* BR_INST_EXEC:ANY */
	{ 0x4088, 0xffff, SIM_EV_BRANCHES_TAKEN, 0 },	/* BR_INST_EXEC:TAKEN */
	{ 0x7f89, 0xffff, SIM_EV_BRANCH_MISSES, 0 },	/* BR_MISP_EXEC:ANY */
	{ 0x00c5, 0xffff, SIM_EV_BRANCH_MISSES, 0 },	/* MISPREDICTED_BRANCH_RETIRED */
	{ 0x0110, 0xffff, SIM_EV_FP_OPS, 0 },		/* FP_COMP_OPS_EXE:X87 */
	{ 0x01a2, 0xffff, SIM_EV_STALLS, 0 },		/* RESOURCE_STALLS:ANY */
	{ 0x0143, 0xffff, SIM_EV_L1D_ACCESSES, 0 },	/* L1D_ALL_REF:ANY */
	{ 0x0151, 0xffff, SIM_EV_L1D_MISSES, 0 },	/* L1D:REPL */
	{ 0x0380, 0xffff, SIM_EV_L1I_ACCESSES, 0 },	/* L1I:READS */
	{ 0x0280, 0xffff, SIM_EV_L1I_MISSES, 0 },	/* L1I:MISSES */
	{ 0xff24, 0xffff, SIM_EV_L2_ACCESSES, 0 },	/* L2_RQSTS:REFERENCES */
	{ 0xaa24, 0xffff, SIM_EV_L2_MISSES, 0 },	/* L2_RQSTS:MISS */
	{ 0x4f2e, 0xffff, SIM_EV_L3_ACCESSES, 0 },	/* LLC_REFERENCES */
	{ 0x412e, 0xffff, SIM_EV_L3_MISSES, 0 },	/* LLC_MISSES */
	{ 0x0149, 0xffff, SIM_EV_DTLB_MISSES, 0 },	/* DTLB_MISSES:ANY */
	{ 0x0185, 0xffff, SIM_EV_ITLB_MISSES, 0 },	/* ITLB_MISSES:ANY */
	{ 0x011d, 0xffff, SIM_EV_INTERRUPTS, 0 },	/* HW_INT:RCV */
	{ 0x014e, 0xffff, SIM_EV_PREFETCHES, 0 },	/* L1D_PREFETCH:REQUESTS */
	{ 0, 0, 0, 0 }
};

/*
 * A Core i7-920. Its four cores share the L3; here each has an L3 of its own. The DTLB here is the
 * processor's TLB of the second level, the ITLB its ITLB.
 */
static const struct cache_shapes bloomfield = {
	.part = {
		[CACHE_L1I] = { .size = 32 << 10, .assoc = 4, .line = 64, .policy = CACHE_PLRU },
		[CACHE_L1D] = { .size = 32 << 10, .assoc = 8, .line = 64, .policy = CACHE_PLRU },
		[CACHE_L2] = { .size = 256 << 10, .assoc = 8, .line = 64, .policy = CACHE_PLRU, .latency = 6 },
		[CACHE_L3] = { .size = 8 << 20, .assoc = 16, .line = 64, .policy = CACHE_PLRU, .latency = 35 },
		[CACHE_ITLB] = { .size = 128 * 4096, .assoc = 4, .line = 4096, .policy = CACHE_PLRU, .latency = 30 },
		[CACHE_DTLB] = { .size = 512 * 4096, .assoc = 4, .line = 4096, .policy = CACHE_PLRU, .latency = 30 },
	},
	.memory = 190, .mispredicted = 17, .predictor = CACHE_GSHARE,
};

#define PMC_LATENCY	18

/*
 * Records loads that the L1D does not answer and that take more cycles than PEBS_LD_LAT says; and
 * branches.
 */
static void wanted(const struct sim_cpu *cpu, unsigned int level, struct sim_wanted *wanted)
{
	wanted->data = (uint32_t)cpu->pmcs[PMC_LATENCY] + 1;
	sim_lbr_wanted(cpu, level, wanted);
}

const struct sim_codes sim_codes_nehalem = {
	.skid = 127,
	.caches = &bloomfield,
	.encodings = encodings,
	.mask = 0xff,
	.decode = sim_x86_fixed_decode,
	.encode = sim_x86_fixed_encode,
	.takes = sim_x86_fixed_takes,
	.filter = sim_x86_fixed_filter,
	.wanted = wanted,
	.trace = sim_lbr,
	.lbr = { .pmc = 30, .tos = 31, .first = 32, .size = 16, .selects = true },
	.pebs = { .enable = 17, .num = 4, .record = sizeof(pfm_pebs_nhm_record_t) },
};
