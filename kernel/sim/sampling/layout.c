// SPDX-License-Identifier: MIT
/*
 * layout.c - the bits of Itanium's event address registers and branch trace buffer, in PMCs and
 * PMDs. Those of Itanium 2 and Montecito are described in Intel's reference manuals for software
 * development (251110, 308065), those of the first Itanium in document 245320 and in libpfm's
 * pfmlib_itanium.h.
 */
#include "sim/sim.h"

static const struct sim_ear nothing = { .threshold = SIM_NO_LATENCY };

static uint64_t at_most(uint64_t value, unsigned int bits)
{
	uint64_t most = (1ULL << bits) - 1;

	return value < most ? value : most;
}

static uint64_t latency_of(const struct sim_node *miss, const uint32_t *max)
{
	return max[miss->level] ? max[miss->level] - 1 : 0;
}

/*
 * Two bits of PMC12 form a filter: the upper one accepts branches for which "so" is true, the lower
 * one the others.
 */
static bool lets_pass(uint64_t pmc, unsigned int shift, bool so)
{
	return pmc >> (shift + so) & 1;
}

/*
 * Pairs of bits of PMC12 filter by: 8, 9 whether the branch is taken; 10, 11 whether its target was
 * predicted correctly; 12, 13 whether its outcome was. A pair with both bits clear accepts nothing
 * in the processor; here, if all bits are clear, everything is accepted.
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

/* Limits a latency to this many bits; the next bit says that it was longer. */
static uint64_t or_more(uint64_t latency, unsigned int bits)
{
	return at_most(latency, bits) | (uint64_t)(latency >> bits != 0) << bits;
}

/*
 * Bits 7, 8 of PMC11 are the mode. If it is 0, misses of the data cache are recorded that take at
 * least 4 << n cycles, where n is in bits 16-19. If it is 1 and bit 18 is set, misses of the TLB
 * are recorded, all of which the VHPT walker has handled.
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
 * If bit 13 of PMC10 is set, misses of the cache are recorded: the lowest bit that is set of bits
 * 5-12 gives their least latency. 0x40 in these bits means all misses. If bit 13 is clear and bit 6
 * is set, misses of the TLB are recorded, all of which the VHPT walker has handled.
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

/*
 * Bits 14, 15 of PMC12 are the type: 0 all, 1 relative, 2 returns (this computer has none), 3
 * indirect.
 */
static bool branch2(uint64_t pmc, unsigned int branch)
{
	unsigned int type = pmc >> 14 & 3;

	return (!type || type == (branch & SIM_INDIRECT ? 3 : 1)) && by_outcome(pmc, branch);
}

/*
 * Stores a miss. The first register has the latency in bits 0-12 (bit 13: it was longer) and the
 * status in bits 14-15; the second has the bundle's address, the valid bit 3, and the slot.
 */
static void put_data2(const struct sim_node *miss, bool walked, uint64_t *latency, uint64_t *ip)
{
	*latency = or_more(latency_of(miss, miss->max_data), 13) | (walked ? STAT_VHPT : STAT_CACHE) << 14;
	*ip = (miss->ip & ~0xfULL) | 1ULL << 3 | (miss->ip & 3);
}

/*
 * Stores a miss. The first register has the address of the line of 32 bytes, with the status in its
 * low bits; the second has the latency in bits 0-11 (bit 12: it was longer).
 */
static void put_fetch2(const struct sim_node *miss, bool walked, uint64_t *addr, uint64_t *latency)
{
	*addr = (miss->ip & ~0x1fULL) | (walked ? STAT_VHPT : STAT_CACHE);
	*latency = or_more(latency_of(miss, miss->max_fetch), 12);
}

const struct sim_layout sim_layout_itanium2 = {
	.data = data2, .fetch = fetch2, .branch = branch2, .put_data = put_data2, .put_fetch = put_fetch2,
};

/* --- the first Itanium ---------------------------------------------------------------------- */

#define LEVEL_VHPT	2ULL
#define NO_CYCLES	0xf

/*
 * Reads PMC10 or PMC11. If bits 7 and 18 are set, misses of the TLB are recorded, all of which the
 * VHPT walker has handled. If bit 7 is clear, misses of the cache are recorded that take at least 4
 * << n cycles, where n is in bits 16-19, or none if all these bits are set.
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

/*
 * Stores a miss. The first register has the latency in bits 0-11 and the level in bits 62-63; the
 * second has the bundle's address, the slot in bits 2-3, and the valid bit 0.
 */
static void put_data(const struct sim_node *miss, bool walked, uint64_t *latency, uint64_t *ip)
{
	*latency = at_most(latency_of(miss, miss->max_data), 12) | (walked ? LEVEL_VHPT << 62 : 0);
	*ip = (miss->ip & ~0xfULL) | (miss->ip & 3) << 2 | 1;
}

/*
 * Stores a miss. The first register has the address of the line of 32 bytes and the valid bit 0
 * (bit 1 would say that software handled the TLB miss); the second has the latency in bits 0-11.
 */
static void put_fetch(const struct sim_node *miss, bool walked, uint64_t *addr, uint64_t *latency)
{
	(void)walked;
	*addr = (miss->ip & ~0x1fULL) | 1;
	*latency = at_most(latency_of(miss, miss->max_fetch), 12);
}

/*
 * Bits 7, 14 and 15 of PMC12 choose branches by their predictor. There is only one here, so they
 * are ignored.
 */
const struct sim_layout sim_layout_itanium = {
	.data = either, .fetch = either, .branch = by_outcome, .put_data = put_data, .put_fetch = put_fetch,
};
