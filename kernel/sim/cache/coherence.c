// SPDX-License-Identifier: MIT
/*
 * coherence.c - MESI between the CPUs, each with caches of its own on one bus. A line is modified
 * or exclusive in one CPU, or shared by several. If a CPU reads a line that another one has
 * changed, both share it. If a CPU writes a line, the line is taken from all others. Either is a
 * transaction on the bus, which takes as long as one with memory, or no time if the other CPU has
 * replaced the line by another. The unit is the largest line of the caches.
 */
#include "sim/cache/cache.h"

/* the bit which says that the only CPU in the set has changed the line; CPUs are bits 0 - 62 */
#define CHANGED	63
#define CPUS	(~(1ULL << CHANGED))

static uint64_t bit_of(const struct cache_core *core)
{
	return 1ULL << core->num;
}

/* Iterates over the blocks of a cache that lie in a line of coherence. */
#define each_block(core, p, line, block)						\
	for (uint64_t shift_ = (core)->system->line_bits - (core)->part[p].bits,	\
	     block = (line) << shift_; block < ((line) + 1) << shift_; block++)

static bool holds(const struct cache_core *core, uint64_t line)
{
	for (int p = CACHE_L1D; p <= CACHE_L3; p++) {
		if (!core->has[p])
			continue;
		each_block(core, p, line, block)
			if (cache_has(&core->part[p], block))
				return true;
	}
	return false;
}

static bool take(struct cache_core *core, uint64_t line)
{
	bool had = false;

	for (int p = CACHE_L1D; p <= CACHE_L3; p++) {
		if (!core->has[p])
			continue;
		each_block(core, p, line, block) {
			bool dropped = cache_drop(&core->part[p], block);

			if (dropped && p == CACHE_L1D && core->system->explain)
				cache_why_lost(&core->why, block);
			if (dropped && p == CACHE_L1D && core->system->shapes.prefetch)
				core->lost_unused += cache_left_unused(core, block);
			had |= dropped;
		}
	}
	core->invalidated += had;
	return had;
}

/* Removes the line from the other CPUs that have it; returns true if any had it. */
static bool take_from(struct cache_core *core, uint64_t others, uint64_t line)
{
	bool had = false;

	for (; others; others &= others - 1)
		had |= take(&core->system->cores[__builtin_ctzll(others)], line);
	return had;
}

static bool write_line(struct cache_core *core, uint64_t *state, uint64_t line)
{
	uint64_t others = *state & CPUS & ~bit_of(core);

	*state = bit_of(core) | 1ULL << CHANGED;
	return take_from(core, others, line);
}

static bool read_line(struct cache_core *core, uint64_t *state, uint64_t line)
{
	uint64_t other = *state & CPUS & ~bit_of(core);
	bool theirs = *state >> CHANGED && other;

	if (!theirs) {
		*state |= bit_of(core);
		return false;
	}
	*state = other | bit_of(core);
	return holds(&core->system->cores[__builtin_ctzll(other)], line);
}

uint32_t cache_cohere(struct cache_core *core, enum cache_kind kind, uint64_t addr, uint32_t size)
{
	uint32_t bits = core->system->line_bits, moved = 0;

	for (uint64_t line = addr >> bits; line <= (addr + size - 1) >> bits; line++) {
		uint64_t *state = cache_blocks_at(&core->system->lines, line);

		if (!state)
			continue;
		moved += kind == CACHE_STORE ? write_line(core, state, line) : read_line(core, state, line);
	}
	core->count[CACHE_EV_BUS] += moved;
	return moved ? core->system->shapes.memory : 0;
}
