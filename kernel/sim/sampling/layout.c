// SPDX-License-Identifier: MIT
/*
 * layout.c - what the bits of Itanium's event address registers and branch trace buffer say, as PMC and PMD. Those of
 * Itanium 2 and Montecito are in Intel's reference manuals for software development (251110, 308065), those of the
 * first Itanium in document 245320 and in libpfm's pfmlib_itanium.h.
 */
#include "sim/sim.h"

static const struct sim_ear nothing = { .threshold = SIM_NO_LATENCY };

static uint64_t at_most(uint64_t value, unsigned int bits)
{
	uint64_t most = (1ULL << bits) - 1;

	return value < most ? value : most;
}

static uint64_t data_latency(const struct sim_node *miss)
{
	uint32_t max = miss->max_data[miss->level];

	return max ? max - 1 : 0;
}

static uint64_t fetch_latency(const struct sim_node *miss)
{
	uint32_t max = miss->max_fetch[miss->level];

	return max ? max - 1 : 0;
}

/* Two bits of PMC12: the upper one lets pass what is so, the lower one what is not. */
static bool lets_pass(uint64_t pmc, unsigned int shift, bool so)
{
	return pmc >> (shift + so) & 1;
}

/*
 * Bits 8, 9 of PMC12: taken; 10, 11: target predicted rightly; 12, 13: so was whether it is taken. Without any of these
 * the processor would keep nothing; this one keeps all, as if all were set.
 */
static bool by_outcome(uint64_t pmc, unsigned int branch)
{
	bool wrong = branch & SIM_WRONG, indirect = branch & SIM_INDIRECT;

	if (!(pmc >> 8 & 0x3f))
		return true;
	return lets_pass(pmc, 8, branch & SIM_TAKEN) && lets_pass(pmc, 10, !wrong || !indirect) &&
	       lets_pass(pmc, 12, !wrong || indirect);
}

/* --- Itanium 2, Montecito ------------------------------------------------------------------- */

#define STAT_CACHE	1ULL
#define STAT_VHPT	2ULL

/* A latency is in so many bits; the next one says that there were more. */
static uint64_t or_more(uint64_t latency, unsigned int bits)
{
	return at_most(latency, bits) | (uint64_t)(latency >> bits != 0) << bits;
}

/*
 * Bits 7, 8 of PMC11, the mode: 0, misses of the data cache, by bits 16-19 from 4 << n cycles on; 1, of the TLB, those
 * that the VHPT walker served if bit 18 is set.
 */
static struct sim_ear data2(uint64_t pmc)
{
	struct sim_ear ear = nothing;

	if (!(pmc >> 7 & 3))
		ear.threshold = 4U << (pmc >> 16 & 0xf);
	ear.walks = (pmc >> 7 & 3) == 1 && pmc >> 18 & 1;
	return ear;
}

/*
 * Bit 13 of PMC10: misses of the cache; bits 5-12, all those from the lowest 1 on being set, say how long. Else of the
 * TLB; bit 6: those that the walker served.
 */
static struct sim_ear fetch2(uint64_t pmc)
{
	static const uint32_t cycles[] = { 4, 8, 16, 32, 128, 256, 1024, 4096 };
	unsigned int umask = pmc >> 5 & 0xff;
	struct sim_ear ear = nothing;

	if (!(pmc >> 13 & 1))
		ear.walks = pmc >> 6 & 1;
	else if (umask)
		ear.threshold = umask == 0x40 ? 1 : cycles[__builtin_ctz(umask)];
	return ear;
}

/* Bits 14, 15 of PMC12, the type: 0 all, 1 relative, 2 returns (there are none), 3 indirect. */
static bool branch2(uint64_t pmc, unsigned int branch)
{
	unsigned int type = pmc >> 14 & 3;

	return (!type || type == (branch & SIM_INDIRECT ? 3 : 1)) && by_outcome(pmc, branch);
}

/* 13 bits of latency, status in 14-15; the bundle, a valid bit 3, the slot. */
static void put_data2(const struct sim_node *miss, bool walked, uint64_t *latency, uint64_t *ip)
{
	*latency = or_more(data_latency(miss), 13) | (walked ? STAT_VHPT : STAT_CACHE) << 14;
	*ip = (miss->ip & ~0xfULL) | 1ULL << 3 | (miss->ip & 3);
}

/* The line of 32 bytes, status in its low bits; 12 bits of latency. */
static void put_fetch2(const struct sim_node *miss, bool walked, uint64_t *addr, uint64_t *latency)
{
	*addr = (miss->ip & ~0x1fULL) | (walked ? STAT_VHPT : STAT_CACHE);
	*latency = or_more(fetch_latency(miss), 12);
}

const struct sim_layout sim_layout_itanium2 = {
	.data = data2, .fetch = fetch2, .branch = branch2, .put_data = put_data2, .put_fetch = put_fetch2,
};

/* --- the first Itanium ---------------------------------------------------------------------- */

#define LEVEL_VHPT	2ULL
#define NO_CYCLES	0xf

/*
 * PMC10 and PMC11 alike: bit 7, misses of the TLB, those that the VHPT walker served if bit 18 is set; else of the
 * cache, by bits 16-19 from 4 << n cycles on, or none if all are set.
 */
static struct sim_ear either(uint64_t pmc)
{
	unsigned int umask = pmc >> 16 & 0xf;
	struct sim_ear ear = nothing;

	if (pmc >> 7 & 1)
		ear.walks = umask >> 2 & 1;
	else if (umask != NO_CYCLES)
		ear.threshold = 4U << umask;
	return ear;
}

/* 12 bits of latency, the level in 62-63; the bundle, the slot in 2-3, a valid bit 0. */
static void put_data(const struct sim_node *miss, bool walked, uint64_t *latency, uint64_t *ip)
{
	*latency = at_most(data_latency(miss), 12) | (walked ? LEVEL_VHPT << 62 : 0);
	*ip = (miss->ip & ~0xfULL) | (miss->ip & 3) << 2 | 1;
}

/* The line of 32 bytes, a valid bit 0; bit 1 would say that software served the TLB. 12 bits of latency. */
static void put_fetch(const struct sim_node *miss, bool walked, uint64_t *addr, uint64_t *latency)
{
	(void)walked;
	*addr = (miss->ip & ~0x1fULL) | 1;
	*latency = at_most(fetch_latency(miss), 12);
}

/* Bits 7, 14 and 15 of PMC12 choose by what predicted the branch, of which there is one. */
const struct sim_layout sim_layout_itanium = {
	.data = either, .fetch = either, .branch = by_outcome, .put_data = put_data, .put_fetch = put_fetch,
};
