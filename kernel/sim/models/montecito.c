// SPDX-License-Identifier: MIT
/*
 * montecito.c - the event codes in PMC4-15 of Montecito, and the restrictions of its events: code
 * ranges (PMC38), data ranges (PMC41), opcode matchers (PMC32 and 33 are one, PMC34 and 35 another;
 * PMC36 frees pairs from them). Codes: Intel's reference manual for software development and
 * optimization of the dual-core Itanium 2, document 308065.
 */
#include "sim/models/ia64.h"

static const struct sim_encoding encodings[] = {
	SIM_ITANIUM2_ENCODINGS(0x3e6, 0xfff)	/* L2D_REFERENCES.ALL */
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

/* PMC32, bit 56: code pair 0 selects code outside of it; bit 57: code pair 0 is not used. */
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
	.decode = sim_ia64_decode,
	.encode = sim_ia64_encode,
	.takes = takes,
	SIM_IA64_CODES,
};
