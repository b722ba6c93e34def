// SPDX-License-Identifier: MIT
/*
 * x86.c - the events that the codes of AMD's K8 and of Intel's P6 and Pentium M count; and
 * PerfEvtSel, which other models use, too.
 */
#include "sim/models/x86.h"

#define X86_EDGE (1ULL << 18)
#define X86_INV	(1ULL << 23)

static const struct sim_encoding k8_encodings[] = {
	SIM_AMD_ENCODINGS(0xff),
	/* the processor has no event for these two: the codes are ones that it does not know */
	{ 0xfe, 0xff, SIM_EV_FORWARDS, 0 },
	{ 0xff, 0xff, SIM_EV_PREFETCHES_UNUSED, 0 },
	{ 0, 0, 0, 0 }
};

static const struct sim_encoding p6_encodings[] = {
	{ 0x79, 0xff, SIM_EV_CYCLES, 0 },		/* CPU_CLK_UNHALTED */
	{ 0xc0, 0xff, SIM_EV_INSTRUCTIONS, 0 },	/* INST_RETIRED */
	{ 0xc2, 0xff, SIM_EV_UOPS, 0 },		/* UOPS_RETIRED */
	{ 0xc4, 0xff, SIM_EV_BRANCHES, 0 },	/* BR_INST_RETIRED */
	{ 0xc5, 0xff, SIM_EV_BRANCH_MISSES, 0 },	/* BR_MISS_PRED_RETIRED */
	{ 0xc9, 0xff, SIM_EV_BRANCHES_TAKEN, 0 },	/* BR_TAKEN_RETIRED */
	{ 0xc1, 0xff, SIM_EV_FP_OPS, 0 },		/* FLOPS */
	{ 0xa2, 0xff, SIM_EV_STALLS, 0 },		/* RESOURCE_STALLS */
	{ 0x43, 0xff, SIM_EV_L1D_ACCESSES, 0 },	/* DATA_MEM_REFS */
	{ 0x45, 0xff, SIM_EV_L1D_MISSES, 0 },	/* DCU_LINES_IN */
	{ 0x80, 0xff, SIM_EV_L1I_ACCESSES, 0 },	/* IFU_IFETCH */
	{ 0x81, 0xff, SIM_EV_L1I_MISSES, 0 },	/* IFU_IFETCH_MISS */
	{ 0x2e, 0xff, SIM_EV_L2_ACCESSES, 0 },	/* L2_RQSTS */
	{ 0x24, 0xff, SIM_EV_L2_MISSES, 0 }, /* L2_LINES_IN; Pentium M's unit masks choose states */
	{ 0x85, 0xff, SIM_EV_ITLB_MISSES, 0 },	/* ITLB_MISS */
	{ 0x6f, 0xff, SIM_EV_BUS_ACCESSES, 0 },	/* BUS_TRAN_MEM */
	{ 0xc8, 0xff, SIM_EV_INTERRUPTS, 0 },	/* HW_INT_RX */
	{ 0, 0, 0, 0 }
};

void sim_x86_fields(uint64_t sel, uint64_t *code, unsigned int *levels)
{
	*code = sel & 0xffff;
	*levels = 0;
	if (sel & X86_USR)
		*levels |= 1 << PFM_SIM_USER;
	if (sel & X86_OS)
		*levels |= 1 << PFM_SIM_KERNEL | 1 << PFM_SIM_INTR;
}

bool sim_x86_decode(const uint64_t *pmcs, unsigned int pmd, uint64_t *code, unsigned int *levels)
{
	sim_x86_fields(pmcs[pmd], code, levels);
	return pmcs[pmd] & X86_EN;
}

/* The enable bit of PerfEvtSel0 enables both counters, that of PerfEvtSel1 only counter 1. */
static bool p6_decode(const uint64_t *pmcs, unsigned int pmd, uint64_t *code, unsigned int *levels)
{
	sim_x86_fields(pmcs[pmd], code, levels);
	return (pmcs[0] | pmcs[pmd]) & X86_EN;
}

uint64_t sim_x86_encode(unsigned int pmd, uint64_t code, unsigned int levels)
{
	uint64_t sel = X86_EN | 1 << 20 | (code & 0xffff);

	(void)pmd;
	if (levels >> PFM_SIM_USER & 1)
		sel |= X86_USR;
	if (levels & ~(1U << PFM_SIM_USER))
		sel |= X86_OS;
	return sel;
}

/*
 * If CMASK is not 0, the counter counts cycles with at least CMASK events or, with INV, cycles with
 * fewer. With the edge bit, for which a CMASK of 0 means 1, it counts only the first of a run of
 * such cycles.
 */
void sim_x86_filter(const uint64_t *pmcs, uint64_t pmc, uint64_t code, struct sim_filter *f)
{
	(void)pmcs, (void)code;
	f->edge = pmc & X86_EDGE;
	f->at_least = pmc >> 24 & 0xff;
	f->inverted = f->at_least && pmc & X86_INV;
	if (f->edge && !f->at_least)
		f->at_least = 1;
}

/* An Opteron with 1 MB of L2; the TLBs are those of the second level. */
static const struct cache_shapes opteron = {
	.part = {
		[CACHE_L1I] = { .size = 64 << 10, .assoc = 2, .line = 64 },
		[CACHE_L1D] = { .size = 64 << 10, .assoc = 2, .line = 64 },
		[CACHE_L2] = { .size = 1 << 20, .assoc = 16, .line = 64, .latency = 12 },
		[CACHE_ITLB] = { .size = 512 * 4096, .assoc = 4, .line = 4096, .latency = 30 },
		[CACHE_DTLB] = { .size = 512 * 4096, .assoc = 4, .line = 4096, .latency = 30 },
	},
	.memory = 150, .mispredicted = 11, .predictor = CACHE_GSHARE,
};

/* A Pentium III with 256 KB of L2. */
static const struct cache_shapes coppermine = {
	.part = {
		[CACHE_L1I] = { .size = 16 << 10, .assoc = 4, .line = 32, .policy = CACHE_PLRU },
		[CACHE_L1D] = { .size = 16 << 10, .assoc = 4, .line = 32, .policy = CACHE_PLRU },
		[CACHE_L2] = { .size = 256 << 10, .assoc = 8, .line = 32, .policy = CACHE_PLRU, .latency = 7 },
		[CACHE_ITLB] = { .size = 32 * 4096, .assoc = 4, .line = 4096, .policy = CACHE_PLRU, .latency = 20 },
		[CACHE_DTLB] = { .size = 64 * 4096, .assoc = 4, .line = 4096, .policy = CACHE_PLRU, .latency = 20 },
	},
	.memory = 70, .mispredicted = 12, .predictor = CACHE_GSHARE,
};

/* A Pentium M of the first kind, Banias, with 1 MB of L2. */
static const struct cache_shapes banias = {
	.part = {
		[CACHE_L1I] = { .size = 32 << 10, .assoc = 8, .line = 64, .policy = CACHE_PLRU },
		[CACHE_L1D] = { .size = 32 << 10, .assoc = 8, .line = 64, .policy = CACHE_PLRU },
		[CACHE_L2] = { .size = 1 << 20, .assoc = 8, .line = 64, .policy = CACHE_PLRU, .latency = 7 },
		[CACHE_ITLB] = { .size = 128 * 4096, .assoc = 4, .line = 4096, .policy = CACHE_PLRU, .latency = 20 },
		[CACHE_DTLB] = { .size = 128 * 4096, .assoc = 4, .line = 4096, .policy = CACHE_PLRU, .latency = 20 },
	},
	.memory = 120, .mispredicted = 12, .predictor = CACHE_GSHARE,
};

const struct sim_codes sim_codes_k8 = {
	.skid = 71,
	.caches = &opteron,
	.encodings = k8_encodings,
	.mask = 0xff,
	.decode = sim_x86_decode,
	.encode = sim_x86_encode,
	.filter = sim_x86_filter,
};

const struct sim_codes sim_codes_p6 = {
	.skid = 37,
	.caches = &coppermine,
	.encodings = p6_encodings,
	.mask = 0xff,
	.decode = p6_decode,
	.encode = sim_x86_encode,
	.filter = sim_x86_filter,
};

const struct sim_codes sim_codes_pentium_m = {
	.caches = &banias,
	.encodings = p6_encodings,
	.mask = 0xff,
	.decode = p6_decode,
	.encode = sim_x86_encode,
	.filter = sim_x86_filter,
};
