// SPDX-License-Identifier: MIT
/* x86.c - what the event codes of AMD's K8 and Intel's P6 count: PerfEvtSel. */
#include "sim/sim.h"

#define X86_USR	(1ULL << 16)
#define X86_OS	(1ULL << 17)
#define X86_EN	(1ULL << 22)

static const struct sim_encoding k8_encodings[] = {
	{ 0x76, 0xff, SIM_EV_CYCLES },		/* CPU_CLK_UNHALTED */
	{ 0xc0, 0xff, SIM_EV_INSTRUCTIONS },	/* RETIRED_INSTRUCTIONS */
	{ 0xc1, 0xff, SIM_EV_UOPS },		/* RETIRED_UOPS */
	{ 0xc2, 0xff, SIM_EV_BRANCHES },	/* RETIRED_BRANCH_INSTRUCTIONS */
	{ 0xc3, 0xff, SIM_EV_BRANCH_MISSES },	/* RETIRED_MISPREDICTED_BRANCH_INSTRUCTIONS */
	{ 0xc4, 0xff, SIM_EV_BRANCHES_TAKEN },	/* RETIRED_TAKEN_BRANCH_INSTRUCTIONS */
	{ 0x00, 0xff, SIM_EV_FP_OPS },		/* DISPATCHED_FPU */
	{ 0xd1, 0xff, SIM_EV_STALLS },		/* DISPATCH_STALLS */
	{ 0x40, 0xff, SIM_EV_L1D_ACCESSES },	/* DATA_CACHE_ACCESSES */
	{ 0x41, 0xff, SIM_EV_L1D_MISSES },	/* DATA_CACHE_MISSES */
	{ 0x80, 0xff, SIM_EV_L1I_ACCESSES },	/* INSTRUCTION_CACHE_FETCHES */
	{ 0x81, 0xff, SIM_EV_L1I_MISSES },	/* INSTRUCTION_CACHE_MISSES */
	{ 0x7d, 0xff, SIM_EV_L2_ACCESSES },	/* REQUESTS_TO_L2 */
	{ 0x7e, 0xff, SIM_EV_L2_MISSES },	/* L2_CACHE_MISS */
	{ 0x46, 0xff, SIM_EV_DTLB_MISSES },	/* L1_DTLB_MISS_AND_L2_DTLB_MISS */
	{ 0x85, 0xff, SIM_EV_ITLB_MISSES },	/* L1_ITLB_MISS_AND_L2_ITLB_MISS */
	{ 0x6c, 0xff, SIM_EV_BUS_ACCESSES },	/* SYSTEM_READ_RESPONSES */
	{ 0xcf, 0xff, SIM_EV_INTERRUPTS },	/* INTERRUPTS_TAKEN */
	{ 0, 0, 0 }
};

static const struct sim_encoding p6_encodings[] = {
	{ 0x79, 0xff, SIM_EV_CYCLES },		/* CPU_CLK_UNHALTED */
	{ 0xc0, 0xff, SIM_EV_INSTRUCTIONS },	/* INST_RETIRED */
	{ 0xc2, 0xff, SIM_EV_UOPS },		/* UOPS_RETIRED */
	{ 0xc4, 0xff, SIM_EV_BRANCHES },	/* BR_INST_RETIRED */
	{ 0xc5, 0xff, SIM_EV_BRANCH_MISSES },	/* BR_MISS_PRED_RETIRED */
	{ 0xc9, 0xff, SIM_EV_BRANCHES_TAKEN },	/* BR_TAKEN_RETIRED */
	{ 0xc1, 0xff, SIM_EV_FP_OPS },		/* FLOPS */
	{ 0xa2, 0xff, SIM_EV_STALLS },		/* RESOURCE_STALLS */
	{ 0x43, 0xff, SIM_EV_L1D_ACCESSES },	/* DATA_MEM_REFS */
	{ 0x45, 0xff, SIM_EV_L1D_MISSES },	/* DCU_LINES_IN */
	{ 0x80, 0xff, SIM_EV_L1I_ACCESSES },	/* IFU_IFETCH */
	{ 0x81, 0xff, SIM_EV_L1I_MISSES },	/* IFU_IFETCH_MISS */
	{ 0x2e, 0xff, SIM_EV_L2_ACCESSES },	/* L2_RQSTS */
	{ 0x24, 0xff, SIM_EV_L2_MISSES },	/* L2_LINES_IN */
	{ 0x85, 0xff, SIM_EV_ITLB_MISSES },	/* ITLB_MISS */
	{ 0x6f, 0xff, SIM_EV_BUS_ACCESSES },	/* BUS_TRAN_MEM */
	{ 0xc8, 0xff, SIM_EV_INTERRUPTS },	/* HW_INT_RX */
	{ 0, 0, 0 }
};

static void x86_fields(uint64_t sel, uint64_t *code, unsigned int *levels)
{
	*code = sel & 0xffff;
	*levels = 0;
	if (sel & X86_USR)
		*levels |= 1 << PFM_SIM_USER;
	if (sel & X86_OS)
		*levels |= 1 << PFM_SIM_KERNEL | 1 << PFM_SIM_INTR;
}

static bool k8_decode(const uint64_t *pmcs, unsigned int pmd, uint64_t *code, unsigned int *levels)
{
	x86_fields(pmcs[pmd], code, levels);
	return pmcs[pmd] & X86_EN;
}

/* The enable bit of PerfEvtSel0 is the one for both; counter 1 also accepts its own. */
static bool p6_decode(const uint64_t *pmcs, unsigned int pmd, uint64_t *code, unsigned int *levels)
{
	x86_fields(pmcs[pmd], code, levels);
	return (pmcs[0] | pmcs[pmd]) & X86_EN;
}

static uint64_t x86_encode(unsigned int pmd, uint64_t code, unsigned int levels)
{
	uint64_t sel = X86_EN | 1 << 20 | (code & 0xffff);

	(void)pmd;
	if (levels >> PFM_SIM_USER & 1)
		sel |= X86_USR;
	if (levels & ~(1U << PFM_SIM_USER))
		sel |= X86_OS;
	return sel;
}

const struct sim_codes sim_codes_k8 = {
	.encodings = k8_encodings,
	.mask = 0xff,
	.decode = k8_decode,
	.encode = x86_encode,
};

const struct sim_codes sim_codes_p6 = {
	.encodings = p6_encodings,
	.mask = 0xff,
	.decode = p6_decode,
	.encode = x86_encode,
};
