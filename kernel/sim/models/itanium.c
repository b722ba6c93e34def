// SPDX-License-Identifier: MIT
/*
 * itanium.c - the event codes in PMC4-7 of the first Itanium, and the restrictions of its events:
 * code ranges (the IBRs, if bit 0 of PMC13 is clear), data ranges (the DBRs, if bit 28 of PMC11 is
 * clear), opcode matchers (PMC8, 9). Codes: Intel's Itanium processor reference manual for software
 * development, document 245320.
 */
#include "pmu/ia64.h"
#include "sim/models/ia64.h"

static const struct sim_encoding encodings[] = {
	{ 0x12, 0xff, SIM_EV_CYCLES, 0 },		/* CPU_CYCLES */
	{ 0x08, 0xff, SIM_EV_INSTRUCTIONS, IO },	/* IA64_INST_RETIRED */
	{ 0x20e, 0xfff, SIM_EV_BRANCH_MISSES, I },	/* BRANCH_MULTIWAY.ALL_PATHS.WRONG_PATH */
	{ 0x00e, 0xfff, SIM_EV_BRANCHES, I },	/* BRANCH_MULTIWAY.ALL_PATHS.ALL_PREDICTIONS */
	{ 0x6c, 0xff, SIM_EV_LOADS, IOD },		/* LOADS_RETIRED */
	{ 0x6d, 0xff, SIM_EV_STORES, IOD },		/* STORES_RETIRED */
	{ 0x09, 0xff, SIM_EV_FP_OPS, I },		/* FP_OPS_RETIRED_LO */
	{ 0x30, 0xff, SIM_EV_NOPS, IO },		/* NOPS_RETIRED */
	{ 0x07, 0xff, SIM_EV_STALLS, 0 },		/* MEMORY_CYCLE */
	{ 0x64, 0xff, SIM_EV_L1D_ACCESSES, IOD },	/* L1D_READS_RETIRED */
	{ 0x66, 0xff, SIM_EV_L1D_MISSES, IOD },	/* L1D_READ_MISSES_RETIRED */
	{ 0x20, 0xff, SIM_EV_L1I_ACCESSES, I },	/* L1I_DEMAND_READS */
	{ 0x21, 0xff, SIM_EV_L1I_MISSES, I },	/* L1I_FILLS */
	{ 0x68, 0xff, SIM_EV_L2_ACCESSES, IOD },	/* L2_REFERENCES */
	{ 0x6a, 0xff, SIM_EV_L2_MISSES, IOD },	/* L2_MISSES */
	{ 0x7b, 0xff, SIM_EV_L3_ACCESSES, IOD },	/* L3_REFERENCES */
	{ 0x7c, 0xff, SIM_EV_L3_MISSES, IOD },	/* L3_MISSES */
	{ 0x61, 0xff, SIM_EV_DTLB_MISSES, IOD },	/* DTLB_MISSES */
	{ 0x27, 0xff, SIM_EV_ITLB_MISSES, I },	/* ITLB_MISSES_FETCH */
	{ 0x47, 0xff, SIM_EV_BUS_ACCESSES, 0 },	/* BUS_ALL */
	{ 0x67, 0xff, SIM_EV_DEAR, IOD },		/* DATA_EAR_EVENTS */
	{ 0x23, 0xff, SIM_EV_IEAR, I },		/* INSTRUCTION_EAR_EVENTS */
	{ 0x11, 0xff, SIM_EV_BTB, IO },		/* BRANCH_EVENT */
	{ 0, 0, 0, 0 }
};

/* the unit mask of this event: 3 counts matches of PMC8, 2 those of PMC9 */
#define RETIRED	0x08
#define NOPS	0x30
#define PAIRS	4

/* Only PMC4 and 5 have adders for events of which several can happen in a cycle. */
static bool takes(unsigned int pmd, uint64_t code)
{
	return ((code & 0xff) != RETIRED && (code & 0xff) != NOPS) || pmd < 6;
}

static void add_pairs(struct sim_ranges *ranges, const uint64_t *br)
{
	for (unsigned int p = 0; p < PAIRS; p++)
		sim_ia64_pair(ranges, br + 2 * p);
}

/* A matcher compares 27 bits of an instruction: 40-27 and 12-0. */
static struct sim_ia64_matcher matcher(uint64_t pmc)
{
	uint64_t mask = ~pmc >> 3 & 0x7ffffff, match = pmc >> 33 & 0x7ffffff;

	return (struct sim_ia64_matcher){
		.mask = (mask & 0x1fff) | mask >> 13 << 27, .match = (match & 0x1fff) | match >> 13 << 27,
		.units = pmc >> 60,
	};
}

/*
 * Combines two matchers: compares all bits that either compares, for units that both accept;
 * matches nothing if they contradict each other.
 */
static struct sim_ia64_matcher both(struct sim_ia64_matcher a, struct sim_ia64_matcher b)
{
	bool apart = (a.match ^ b.match) & a.mask & b.mask;

	return (struct sim_ia64_matcher){
		.mask = a.mask | b.mask, .match = (a.match & a.mask) | (b.match & b.mask),
		.units = apart ? 0 : a.units & b.units,
	};
}

static void filter(const uint64_t *pmcs, uint64_t pmc, uint64_t code, struct sim_filter *f)
{
	unsigned int by = sim_ia64_restricted_by(encodings, code), umask = code >> 8 & 0xf;

	sim_ia64_threshold(pmc, f);
	if (by & SIM_BY_CODE && !(pmcs[13] & 1))
		add_pairs(&f->code, &pmcs[PFM_ITA_IBR]);
	if (by & SIM_BY_DATA && !(pmcs[11] >> 28 & 1))
		add_pairs(&f->data, &pmcs[PFM_ITA_DBR]);
	if ((code & 0xff) == RETIRED && umask & 2)
		sim_ia64_match(matcher(pmcs[umask & 1 ? 8 : 9]), f);
	else if (by & SIM_BY_OPCODE)
		sim_ia64_match(both(matcher(pmcs[8]), matcher(pmcs[9])), f);
}

/* Merced with 4 MB of L3 in the cartridge. Stores go past the L1D to the L2. Pages have 16 KB. */
static const struct cache_shapes merced = {
	.part = {
		[CACHE_L1I] = { .size = 16 << 10, .assoc = 4, .line = 32 },
		[CACHE_L1D] = { .size = 16 << 10, .assoc = 4, .line = 32 },
		[CACHE_L2] = { .size = 96 << 10, .assoc = 6, .line = 64, .latency = 5 },
		[CACHE_L3] = { .size = 4 << 20, .assoc = 4, .line = 64, .latency = 20 },
		[CACHE_ITLB] = { .size = 64 * 16384, .assoc = 64, .line = 16384, .latency = 25 },
		[CACHE_DTLB] = { .size = 96 * 16384, .assoc = 96, .line = 16384, .latency = 25 },
	},
	.memory = 120, .mispredicted = 9, .predictor = CACHE_TWO_LEVEL, .write_around = true,
};

static const struct sim_traces traces = {
	.layout = &sim_layout_itanium,
	.data = { .pmc = 11, .addr = 2, .latency = 3, .ip = 17, .code = 0x67 },
	.fetch = { .pmc = 10, .addr = 0, .latency = 1, .code = 0x23 },
	.branch = { .pmc = 12, .first = 8, .size = 8, .index = 16, .full = 3, .code = 0x11 },
};

const struct sim_codes sim_codes_itanium = {
	.caches = &merced,
	.decode = sim_ia64_decode,
	.encode = sim_ia64_encode,
	.takes = takes,
	SIM_IA64_CODES,
};
