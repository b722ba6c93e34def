// SPDX-License-Identifier: MIT
/*
 * mips.c - the events that the codes of MIPS 20Kc and 5Kc count, which are in bits 5-8 of a control
 * register. A code in this file also has the counter's number, from bit 8 on, because the two
 * counters of 5Kc count different events by the same code. Codes: MIPS's software user's manuals of
 * both processors.
 */
#include "sim/sim.h"

#define EXL	1
#define KERNEL	2
#define USER	8
#define INT	0x10
#define ON(n)	((n) << 8)
#define CODE(code, pmd) ((code) | ON(pmd)), 0xfff

static const struct sim_encoding encodings_20k[] = {
	{ CODE(0x0, 0), SIM_EV_CYCLES, 0 },		/* CYCLES */
	{ CODE(0xf, 0), SIM_EV_INSTRUCTIONS, 0 },	/* INSNS_COMPLETED */
	{ CODE(0x1, 0), SIM_EV_UOPS, 0 },		/* INSN_ISSUED */
	{ CODE(0x3, 0), SIM_EV_FP_OPS, 0 },		/* FP_INSNS_COMPLETED */
	{ CODE(0x6, 0), SIM_EV_BRANCHES, 0 },		/* BRANCHES_COMPLETED */
	{ CODE(0x5, 0), SIM_EV_BRANCH_MISSES, 0 },	/* BRANCHES_MISSPREDICTED */
	{ CODE(0x9, 0), SIM_EV_L1I_MISSES, 0 },	/* INSN_REQ_FROM_IFU_TO_BIU */
	{ 0, 0, 0, 0 }
};

static const struct sim_encoding encodings_5k[] = {
	{ CODE(0x0, 0), SIM_EV_CYCLES, 0 },		/* CYCLES */
	{ CODE(0x0, 1), SIM_EV_CYCLES, 0 },
	{ CODE(0xf, 0), SIM_EV_INSTRUCTIONS, 0 },	/* INSNS_EXECED */
	{ CODE(0x1, 1), SIM_EV_INSTRUCTIONS, 0 },
	{ CODE(0x2, 0), SIM_EV_LOADS, 0 },		/* LOADS_EXECED */
	{ CODE(0x2, 1), SIM_EV_LOADS, 0 },
	{ CODE(0x3, 0), SIM_EV_STORES, 0 },		/* STORES_EXECED */
	{ CODE(0x3, 1), SIM_EV_STORES, 0 },
	{ CODE(0x5, 1), SIM_EV_FP_OPS, 0 },		/* FP_INSNS_EXECED */
	{ CODE(0x6, 0), SIM_EV_BRANCHES, 0 },		/* BRANCHES_EXECED */
	{ CODE(0x8, 1), SIM_EV_BRANCH_MISSES, 0 },	/* BRANCHES_MISSPREDICTED */
	{ CODE(0x1, 0), SIM_EV_L1I_ACCESSES, 0 },	/* INSN_FETCHED */
	{ CODE(0x9, 0), SIM_EV_L1I_MISSES, 0 },	/* ICACHE_MISS */
	{ CODE(0x9, 1), SIM_EV_L1D_MISSES, 0 },	/* DCACHE_MISS */
	{ CODE(0x8, 0), SIM_EV_DTLB_MISSES, 0 },	/* DTLB_MISSES */
	{ CODE(0x7, 0), SIM_EV_ITLB_MISSES, 0 },	/* ITLB_MISSES */
	{ 0, 0, 0, 0 }
};

static bool decode(const uint64_t *pmcs, unsigned int pmd, uint64_t *code, unsigned int *levels)
{
	uint64_t control = pmcs[pmd];

	*code = (control >> 5 & 0xf) | ON(pmd);
	*levels = 0;
	if (control & USER)
		*levels |= 1 << PFM_SIM_USER;
	if (control & KERNEL)
		*levels |= 1 << PFM_SIM_KERNEL;
	if (control & EXL)
		*levels |= 1 << PFM_SIM_INTR;
	return true;
}

static bool takes(unsigned int pmd, uint64_t code)
{
	return code >> 8 == pmd;
}

static uint64_t encode(unsigned int pmd, uint64_t code, unsigned int levels)
{
	uint64_t control = INT | (code & 0xf) << 5;

	(void)pmd;
	if (levels >> PFM_SIM_USER & 1)
		control |= USER;
	if (levels >> PFM_SIM_KERNEL & 1)
		control |= KERNEL;
	if (levels >> PFM_SIM_INTR & 1)
		control |= EXL;
	return control;
}

/* Neither has an L2. Their TLBs have 48 and 32 pairs of pages, for data and instructions alike. */
static const struct cache_shapes mips20kc = {
	.part = {
		[CACHE_L1I] = { .size = 32 << 10, .assoc = 4, .line = 32 },
		[CACHE_L1D] = { .size = 32 << 10, .assoc = 4, .line = 32 },
		[CACHE_ITLB] = { .size = 96 * 4096, .assoc = 96, .line = 4096, .latency = 20 },
		[CACHE_DTLB] = { .size = 96 * 4096, .assoc = 96, .line = 4096, .latency = 20 },
	},
	.memory = 60, .mispredicted = 5, .predictor = CACHE_BIMODAL,
};

static const struct cache_shapes mips5kc = {
	.part = {
		[CACHE_L1I] = { .size = 32 << 10, .assoc = 4, .line = 32 },
		[CACHE_L1D] = { .size = 32 << 10, .assoc = 4, .line = 32 },
		[CACHE_ITLB] = { .size = 64 * 4096, .assoc = 64, .line = 4096, .latency = 20 },
		[CACHE_DTLB] = { .size = 64 * 4096, .assoc = 64, .line = 4096, .latency = 20 },
	},
	.memory = 40, .mispredicted = 1, .predictor = CACHE_BIMODAL,
};

#define CODES(shapes, table) { \
	.caches = &(shapes), .encodings = table, .mask = 0xfff, .decode = decode, .encode = encode, .takes = takes }

const struct sim_codes sim_codes_mips20k = CODES(mips20kc, encodings_20k);
const struct sim_codes sim_codes_mips5k = CODES(mips5kc, encodings_5k);
