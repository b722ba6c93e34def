// SPDX-License-Identifier: MIT
/*
 * itanium2.c - the event codes in PMC4-7 of the Itanium 2, and the restrictions of its events
 * (5.6): code ranges (PMC14 and the IBRs), data ranges (PMC13 and the DBRs), opcode matchers (PMC8,
 * 9, 15).
 */
#include "sim/models/ia64.h"

static const struct sim_encoding encodings[] = {
	SIM_ITANIUM2_ENCODINGS(0xb1, 0xff)	/* L2_REFERENCES */
	{ 0, 0, 0, 0 }
};

static bool decode(const uint64_t *pmcs, unsigned int pmd, uint64_t *code, unsigned int *levels)
{
	return sim_ia64_decode(pmcs, pmd, code, levels) && pmcs[4] >> 23 & 1;
}

static uint64_t encode(unsigned int pmd, uint64_t code, unsigned int levels)
{
	return sim_ia64_encode(pmd, code, levels) | (pmd == 4 ? 1 << 23 : 0);
}

/* --- restrictions of an event --------------------------------------------------------------- */

/*
 * PMC8 belongs to pairs 0 and 2, PMC9 to pairs 1 and 3. They compare 27 bits of an instruction:
 * 40-27 and 12-0.
 */
static struct sim_ia64_matcher matcher(const uint64_t *pmcs, unsigned int pair)
{
	uint64_t pmc = pmcs[8 + (pair & 1)], mask = ~pmc >> 3 & 0x7ffffff, match = pmc >> 33 & 0x7ffffff;

	return (struct sim_ia64_matcher){
		.mask = (mask & 0x1fff) | mask >> 13 << 27, .match = (match & 0x1fff) | match >> 13 << 27,
		.units = pmc >> 60,
	};
}

/* PMC8, bit 1: code pair 0 selects code outside of it; bit 0: code pair 0 is not used. */
static void filter(const uint64_t *pmcs, uint64_t pmc, uint64_t code, struct sim_filter *f)
{
	struct sim_ia64_restriction r = {
		.code = pmcs[14], .data = pmcs[13], .free = pmcs[15], .matcher = matcher,
		.inverted = pmcs[8] >> 1 & 1, .no_pair0 = pmcs[8] & 1,
	};

	sim_ia64_filter(pmcs, &r, sim_ia64_restricted_by(encodings, code), pmc, code, f);
}

/*
 * A Madison with 3 MB of L3: the L1D answers loads in one cycle, L2 in 5, L3 in 12; stores bypass
 * the L1D. Pages have 16 KB.
 */
static const struct cache_shapes madison = {
	.part = {
		[CACHE_L1I] = { .size = 16 << 10, .assoc = 4, .line = 64 },
		[CACHE_L1D] = { .size = 16 << 10, .assoc = 4, .line = 64 },
		[CACHE_L2] = { .size = 256 << 10, .assoc = 8, .line = 128, .latency = 4 },
		[CACHE_L3] = { .size = 3 << 20, .assoc = 12, .line = 128, .latency = 11 },
		[CACHE_ITLB] = { .size = 128 * 16384, .assoc = 128, .line = 16384, .latency = 25 },
		[CACHE_DTLB] = { .size = 128 * 16384, .assoc = 128, .line = 16384, .latency = 25 },
	},
	.memory = 200, .mispredicted = 6, .predictor = CACHE_GSHARE, .write_around = true,
};

static const struct sim_traces traces = {
	.layout = &sim_layout_itanium2,
	.data = { .pmc = 11, .addr = 2, .latency = 3, .ip = 17, .code = 0xc8 },
	.fetch = { .pmc = 10, .addr = 0, .latency = 1, .code = 0x43 },
	.branch = { .pmc = 12, .first = 8, .size = 8, .index = 16, .full = 3, .code = 0x11 },
};

const struct sim_codes sim_codes_itanium2 = {
	.skid = 47,
	.caches = &madison,
	.decode = decode,
	.encode = encode,
	SIM_IA64_CODES,
};
