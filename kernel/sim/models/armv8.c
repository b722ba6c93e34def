// SPDX-License-Identifier: MIT
/* armv8.c - what the events of ARMv8 count: PMEVTYPER, PMCCFILTR. */
#include "sim/sim.h"

#define CYCLE_COUNTER	31
#define ARM_P		(1ULL << 31)	/* not EL1 */
#define ARM_U		(1ULL << 30)	/* not EL0 */
#define ARM_CYCLES	0x11

static const struct sim_encoding encodings[] = {
	{ ARM_CYCLES, 0xffff, SIM_EV_CYCLES },	/* CPU_CYCLES */
	{ 0x08, 0xffff, SIM_EV_INSTRUCTIONS },	/* INST_RETIRED */
	{ 0x1b, 0xffff, SIM_EV_UOPS },		/* INST_SPEC */
	{ 0x12, 0xffff, SIM_EV_BRANCHES },	/* BR_PRED */
	{ 0x21, 0xffff, SIM_EV_BRANCHES },	/* BR_RETIRED */
	{ 0x0c, 0xffff, SIM_EV_BRANCHES_TAKEN },	/* PC_WRITE_RETIRED */
	{ 0x10, 0xffff, SIM_EV_BRANCH_MISSES },	/* BR_MIS_PRED */
	{ 0x22, 0xffff, SIM_EV_BRANCH_MISSES },	/* BR_MIS_PRED_RETIRED */
	{ 0x06, 0xffff, SIM_EV_LOADS },		/* LD_RETIRED */
	{ 0x07, 0xffff, SIM_EV_STORES },	/* ST_RETIRED */
	{ 0x75, 0xffff, SIM_EV_FP_OPS },	/* VFP_SPEC */
	{ 0x24, 0xffff, SIM_EV_STALLS },	/* STALL_BACKEND */
	{ 0x04, 0xffff, SIM_EV_L1D_ACCESSES },	/* L1D_CACHE */
	{ 0x03, 0xffff, SIM_EV_L1D_MISSES },	/* L1D_CACHE_REFILL */
	{ 0x14, 0xffff, SIM_EV_L1I_ACCESSES },	/* L1I_CACHE */
	{ 0x01, 0xffff, SIM_EV_L1I_MISSES },	/* L1I_CACHE_REFILL */
	{ 0x16, 0xffff, SIM_EV_L2_ACCESSES },	/* L2D_CACHE */
	{ 0x17, 0xffff, SIM_EV_L2_MISSES },	/* L2D_CACHE_REFILL */
	{ 0x2b, 0xffff, SIM_EV_L3_ACCESSES },	/* L3D_CACHE */
	{ 0x2a, 0xffff, SIM_EV_L3_MISSES },	/* L3D_CACHE_REFILL */
	{ 0x05, 0xffff, SIM_EV_DTLB_MISSES },	/* L1D_TLB_REFILL */
	{ 0x02, 0xffff, SIM_EV_ITLB_MISSES },	/* L1I_TLB_REFILL */
	{ 0x19, 0xffff, SIM_EV_BUS_ACCESSES },	/* BUS_ACCESS */
	{ 0x09, 0xffff, SIM_EV_INTERRUPTS },	/* EXC_TAKEN */
	{ 0, 0, 0 }
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

const struct sim_codes sim_codes_armv8 = {
	.encodings = encodings,
	.mask = 0xffff,
	.cycle_counter = CYCLE_COUNTER,
	.decode = decode,
	.encode = encode,
};
