// SPDX-License-Identifier: MIT
/*
 * montecito.c - what the event codes of Montecito count, PMC4-15, and what restricts them: code ranges (PMC38), data
 * ranges (PMC41), opcode matchers (PMC32 and 33, 34 and 35, 36). Codes: Intel's reference manual for software
 * development and optimization of the dual-core Itanium 2, document 308065.
 */
#include "sim/models/ia64.h"

static const struct sim_encoding encodings[] = {
	{ 0x12, 0xff, SIM_EV_CYCLES, 0 },		/* CPU_OP_CYCLES */
	{ 0x08, 0xff, SIM_EV_INSTRUCTIONS, IO },	/* IA64_INST_RETIRED */
	{ 0x25b, 0xfff, SIM_EV_BRANCH_MISSES, IO },	/* BR_MISPRED_DETAIL.ALL.WRONG_PATH */
	{ 0x35b, 0xfff, SIM_EV_NEVER, IO },	/* .WRONG_TARGET: what is mispredicted here is the path */
	{ 0x5b, 0xfff, SIM_EV_BRANCHES, IO },	/* BR_MISPRED_DETAIL.ALL.ALL_PRED */
	{ 0xcd, 0xff, SIM_EV_LOADS, IOD },		/* LOADS_RETIRED */
	{ 0xd1, 0xff, SIM_EV_STORES, IOD },		/* STORES_RETIRED */
	{ 0x09, 0xff, SIM_EV_FP_OPS, I },		/* FP_OPS_RETIRED */
	{ 0x50, 0xff, SIM_EV_NOPS, IO },		/* NOPS_RETIRED */
	{ 0x00, 0xff, SIM_EV_STALLS, 0 },		/* BACK_END_BUBBLE */
	{ 0xc2, 0xff, SIM_EV_L1D_ACCESSES, IOD },	/* L1D_READS_SET0 */
	{ 0xc7, 0xff, SIM_EV_L1D_MISSES, IOD },	/* L1D_READ_MISSES */
	{ 0x40, 0xff, SIM_EV_L1I_ACCESSES, I },	/* L1I_READS */
	{ 0x41, 0xff, SIM_EV_L1I_MISSES, I },	/* L1I_FILLS */
	{ 0x3e6, 0xfff, SIM_EV_L2_ACCESSES, IOD },	/* L2D_REFERENCES.ALL */
	{ 0xcb, 0xff, SIM_EV_L2_MISSES, IOD },	/* L2D_MISSES */
	{ 0xdb, 0xff, SIM_EV_L3_ACCESSES, IOD },	/* L3_REFERENCES */
	{ 0xdc, 0xff, SIM_EV_L3_MISSES, IOD },	/* L3_MISSES */
	{ 0xc1, 0xff, SIM_EV_DTLB_MISSES, IOD },	/* L2DTLB_MISSES */
	{ 0x47, 0xff, SIM_EV_ITLB_MISSES, I },	/* ITLB_MISSES_FETCH */
	{ 0x87, 0xff, SIM_EV_BUS_ACCESSES, 0 },	/* BUS_ALL */
	{ 0x9e, 0xff, SIM_EV_INTERRUPTS, 0 },	/* EXTERN_DP_PINS_0_TO_3 */
	{ 0xc8, 0xff, SIM_EV_DEAR, IOD },		/* DATA_EAR_EVENTS */
	{ 0x43, 0xff, SIM_EV_IEAR, I },		/* L1I_EAR_EVENTS */
	{ 0x11, 0xff, SIM_EV_BTB, IO },		/* ETB_EVENT */
	{ 0, 0, 0, 0 }
};

/* Two cores share one bus: its events can be counted only by PMD4-9. */
static bool takes(unsigned int pmd, uint64_t code)
{
	return (code & 0xff) != 0x87 || pmd < 10;
}

/* In a mask, a set bit excludes a bit of the instruction from the comparison. */
static struct sim_ia64_matcher matcher(const uint64_t *pmcs, unsigned int pair)
{
	const uint64_t *pmc = &pmcs[32 + 2 * (pair & 1)];

	return (struct sim_ia64_matcher){
		.mask = ~pmc[0] & 0x1ffffffffffULL, .match = pmc[1], .units = pmc[0] >> 48 & 0xf,
	};
}

/* PMC32, bit 56: code pair 0 selects what is outside of it; bit 57: code pair 0 is not used. */
static void filter(const uint64_t *pmcs, uint64_t pmc, uint64_t code, struct sim_filter *f)
{
	struct sim_ia64_restriction r = {
		.code = pmcs[38], .data = pmcs[41], .free = pmcs[36], .matcher = matcher,
		.inverted = pmcs[32] >> 56 & 1, .no_pair0 = pmcs[32] >> 57 & 1,
	};

	sim_ia64_filter(pmcs, &r, sim_ia64_restricted_by(encodings, code), pmc, code, f);
}

/*
 * One core of a dual-core Itanium 2 9050 with 12 MB of L3. The L2 is that for data, which
 * instructions use here, too; the real one has a separate L2 of 1 MB for instructions. Pages have
 * 16 KB.
 */
static const struct cache_shapes montecito = {
	.part = {
		[CACHE_L1I] = { .size = 16 << 10, .assoc = 4, .line = 64 },
		[CACHE_L1D] = { .size = 16 << 10, .assoc = 4, .line = 64 },
		[CACHE_L2] = { .size = 256 << 10, .assoc = 8, .line = 128, .latency = 4 },
		[CACHE_L3] = { .size = 12 << 20, .assoc = 12, .line = 128, .latency = 13 },
		[CACHE_ITLB] = { .size = 128 * 16384, .assoc = 128, .line = 16384, .latency = 25 },
		[CACHE_DTLB] = { .size = 128 * 16384, .assoc = 128, .line = 16384, .latency = 25 },
	},
	.memory = 230, .mispredicted = 6, .predictor = CACHE_GSHARE, .write_around = true,
};

static const struct sim_traces traces = {
	.layout = &sim_layout_itanium2,
	.data = { .pmc = 40, .addr = 32, .latency = 33, .ip = 36, .code = 0xc8 },
	.fetch = { .pmc = 37, .addr = 34, .latency = 35, .code = 0x43 },
	.branch = { .pmc = 39, .first = 48, .size = 16, .index = 38, .full = 5, .code = 0x11 },
};

const struct sim_codes sim_codes_montecito = {
	.skid = 47,
	.caches = &montecito,
	.encodings = encodings,
	.mask = 0xff,
	.decode = sim_ia64_decode,
	.encode = sim_ia64_encode,
	.takes = takes,
	.filter = filter,
	.ctx_flags = PFM_ITA_FL_INSECURE | PFM_ITA_FL_PRIV_MONITORS,
	.set_flags = PFM_ITA_SETFL_EXCL_INTR | PFM_ITA_SETFL_INTR_ONLY | PFM_ITA_SETFL_IDLE_EXCL,
	.ia64 = true,
	.traces = &traces,
	.wanted = sim_trace_wanted,
	.trace = sim_trace,
};
