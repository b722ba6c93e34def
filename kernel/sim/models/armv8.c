// SPDX-License-Identifier: MIT
/* armv8.c - the events of ARMv8, as PMEVTYPER and PMCCFILTR select them. */
#include "sim/sim.h"

#define CYCLE_COUNTER	31
#define ARM_P		(1ULL << 31)	/* excludes EL1 */
#define ARM_U		(1ULL << 30)	/* excludes EL0 */
#define ARM_CYCLES	0x11

static const struct sim_encoding encodings[] = {
	{ ARM_CYCLES, 0xffff, SIM_EV_CYCLES, 0 },	/* CPU_CYCLES */
	{ 0x08, 0xffff, SIM_EV_INSTRUCTIONS, 0 },	/* INST_RETIRED */
	{ 0x1b, 0xffff, SIM_EV_UOPS, 0 },		/* INST_SPEC */
	{ 0x12, 0xffff, SIM_EV_BRANCHES, 0 },	/* BR_PRED */
	{ 0x21, 0xffff, SIM_EV_BRANCHES, 0 },	/* BR_RETIRED */
	{ 0x0c, 0xffff, SIM_EV_BRANCHES_TAKEN, 0 },	/* PC_WRITE_RETIRED */
	{ 0x10, 0xffff, SIM_EV_BRANCH_MISSES, 0 },	/* BR_MIS_PRED */
	{ 0x22, 0xffff, SIM_EV_BRANCH_MISSES, 0 },	/* BR_MIS_PRED_RETIRED */
	{ 0x06, 0xffff, SIM_EV_LOADS, 0 },		/* LD_RETIRED */
	{ 0x07, 0xffff, SIM_EV_STORES, 0 },	/* ST_RETIRED */
	{ 0x75, 0xffff, SIM_EV_FP_OPS, 0 },	/* VFP_SPEC */
	{ 0x24, 0xffff, SIM_EV_STALLS, 0 },	/* STALL_BACKEND */
	{ 0x04, 0xffff, SIM_EV_L1D_ACCESSES, 0 },	/* L1D_CACHE */
	{ 0x03, 0xffff, SIM_EV_L1D_MISSES, 0 },	/* L1D_CACHE_REFILL */
	{ 0x14, 0xffff, SIM_EV_L1I_ACCESSES, 0 },	/* L1I_CACHE */
	{ 0x01, 0xffff, SIM_EV_L1I_MISSES, 0 },	/* L1I_CACHE_REFILL */
	{ 0x16, 0xffff, SIM_EV_L2_ACCESSES, 0 },	/* L2D_CACHE */
	{ 0x17, 0xffff, SIM_EV_L2_MISSES, 0 },	/* L2D_CACHE_REFILL */
	{ 0x2b, 0xffff, SIM_EV_L3_ACCESSES, 0 },	/* L3D_CACHE */
	{ 0x2a, 0xffff, SIM_EV_L3_MISSES, 0 },	/* L3D_CACHE_REFILL */
	{ 0x05, 0xffff, SIM_EV_DTLB_MISSES, 0 },	/* L1D_TLB_REFILL */
	{ 0x02, 0xffff, SIM_EV_ITLB_MISSES, 0 },	/* L1I_TLB_REFILL */
	{ 0x19, 0xffff, SIM_EV_BUS_ACCESSES, 0 },	/* BUS_ACCESS */
	{ 0x09, 0xffff, SIM_EV_INTERRUPTS, 0 },	/* EXC_TAKEN */
	{ 0, 0, 0, 0 }
};

static bool decode(const uint64_t *pmcs, unsigned int pmd, uint64_t *code, unsigned int *levels)
{
	*code = pmd == CYCLE_COUNTER ? ARM_CYCLES : pmcs[pmd] & 0xffff;
	*levels = 0;
	if (!(pmcs[pmd] & ARM_U))
		*levels |= 1 << PFM_SIM_USER;
	if (!(pmcs[pmd] & ARM_P))
		*levels |= 1 << PFM_SIM_KERNEL | 1 << PFM_SIM_INTR;
	return true;
}

static uint64_t encode(unsigned int pmd, uint64_t code, unsigned int levels)
{
	uint64_t type = pmd == CYCLE_COUNTER ? 0 : code & 0xffff;

	if (!(levels >> PFM_SIM_USER & 1))
		type |= ARM_U;
	if (!(levels & ~(1U << PFM_SIM_USER)))
		type |= ARM_P;
	return type;
}

/* A Cortex-A72 with 1 MB of L2; its pages have 4 KB. */
static const struct cache_shapes a72 = {
	.part = {
		[CACHE_L1I] = { .size = 48 << 10, .assoc = 3, .line = 64 },
		[CACHE_L1D] = { .size = 32 << 10, .assoc = 2, .line = 64 },
		[CACHE_L2] = { .size = 1 << 20, .assoc = 16, .line = 64, .latency = 14 },
		[CACHE_ITLB] = { .size = 48 * 4096, .assoc = 48, .line = 4096, .latency = 20 },
		[CACHE_DTLB] = { .size = 32 * 4096, .assoc = 32, .line = 4096, .latency = 20 },
	},
	.memory = 150, .mispredicted = 15, .predictor = CACHE_GSHARE,
};

const struct sim_codes sim_codes_armv8 = {
	.caches = &a72,
	.encodings = encodings,
	.mask = 0xffff,
	.cycle_counter = CYCLE_COUNTER,
	.decode = decode,
	.encode = encode,
};
