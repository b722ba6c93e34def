// SPDX-License-Identifier: MIT
/*
 * core.c - accesses to a CPU's caches and TLBs, and the time that they wait; the system of all
 * CPUs.
 */
#include <stdlib.h>

#include "sim/cache/cache.h"

const char *const cache_part_names[CACHE_PARTS] = { "L1I", "L1D", "L2", "L3", "ITLB", "DTLB" };

/* --- accesses ------------------------------------------------------------------------------- */

/* Returns the cycles that an access which missed the first level waits in addition. */
static uint32_t beyond(struct cache_core *core, enum cache_kind kind, uint64_t addr, uint32_t size)
{
	for (int p = CACHE_L2; p <= CACHE_L3; p++) {
		unsigned int accesses = CACHE_EV_L2_ACCESSES + 2 * (p - CACHE_L2);

		if (!core->has[p])
			continue;
		core->count[accesses]++;
		if (!cache_access(&core->part[p], kind, addr, size))
			return core->part[p].latency;
		core->count[accesses + 1]++;
	}
	core->count[CACHE_EV_BUS]++;
	return core->system->shapes.memory;
}

static uint32_t translate(struct cache_core *core, int tlb, enum cache_kind kind, uint64_t addr, uint32_t size)
{
	struct cache *c = &core->part[tlb];

	if (!core->has[tlb] || !cache_access(c, kind, addr, size))
		return 0;
	core->count[tlb == CACHE_ITLB ? CACHE_EV_ITLB_MISSES : CACHE_EV_DTLB_MISSES]++;
	return c->latency;
}

uint32_t cache_fetch_line(struct cache_core *core, uint64_t addr, uint32_t size)
{
	uint32_t wait;

	core->last_fetch = (addr + size - 1) >> core->part[CACHE_L1I].bits;
	wait = translate(core, CACHE_ITLB, CACHE_FETCH, addr, size);

	core->count[CACHE_EV_L1I_ACCESSES]++;
	if (core->has[CACHE_L1I] && !cache_access(&core->part[CACHE_L1I], CACHE_FETCH, addr, size))
		return wait;
	core->count[CACHE_EV_L1I_MISSES]++;
	return wait + beyond(core, CACHE_FETCH, addr, size);
}

/*
 * Makes a store that goes past the cache; the lines of the store that are in the cache count as
 * used.
 */
static void renew(struct cache *c, uint64_t addr, uint32_t size)
{
	for (uint64_t block = addr >> c->bits; block <= (addr + size - 1) >> c->bits; block++)
		if (cache_has(c, block))
			cache_touch(c, block);
}

static bool first_level_misses(struct cache_core *core, enum cache_kind kind, uint64_t addr, uint32_t size)
{
	struct cache *c = &core->part[CACHE_L1D];

	if (!core->has[CACHE_L1D])
		return true;
	if (kind != CACHE_STORE || !core->system->shapes.write_around) {
		bool miss = cache_access(c, kind, addr, size);

		core->count[CACHE_EV_L1D_ACCESSES]++;
		core->count[CACHE_EV_L1D_MISSES] += miss;
		return miss;
	}
	renew(c, addr, size);
	return true;
}

/* --- prefetching ---------------------------------------------------------------------------- */

/* nothing is prefetched beyond a page, because the next page has another translation */
#define PAGE_BITS 12

bool cache_left_unused(struct cache_core *core, uint64_t block)
{
	uint64_t *unused = cache_blocks_at(&core->prefetched, block), was = unused ? *unused : 0;

	if (was)
		*unused = 0;
	return was;
}

/*
 * Called before the block, which is not in the L1D, replaces another one. Counts the replaced block
 * if it was prefetched and never used.
 */
static void replace(struct cache_core *core, uint64_t block)
{
	uint64_t victim = cache_victim(&core->part[CACHE_L1D], block);

	if (victim != CACHE_NO_BLOCK)
		core->count[CACHE_EV_UNUSED] += cache_left_unused(core, victim);
}

/*
 * Prefetches the block, in no time. If there is no memory, the block is not recorded as prefetched.
 */
static void prefetch(struct cache_core *core, uint64_t block)
{
	struct cache *c = &core->part[CACHE_L1D];
	uint64_t *unused;

	if (block << c->bits >> PAGE_BITS != (block - 1) << c->bits >> PAGE_BITS || cache_has(c, block))
		return;
	core->count[CACHE_EV_PREFETCHES]++;
	if (core->system->num_cores > 1)
		cache_cohere(core, CACHE_LOAD, block << c->bits, 1);
	replace(core, block);
	cache_bring(c, block);
	unused = cache_blocks_at(&core->prefetched, block);
	if (unused)
		*unused = 1;
	beyond(core, CACHE_LOAD, block << c->bits, 1);
}

/* Returns true if the line missed. The next line may be prefetched when the access is over. */
static bool touch_line(struct cache_core *core, uint64_t block)
{
	struct cache *c = &core->part[CACHE_L1D];
	bool miss = !cache_has(c, block), first_use = !miss && cache_left_unused(core, block);

	if (miss)
		replace(core, block);
	cache_touch(c, block);
	if (miss || (first_use && core->system->shapes.prefetch == CACHE_TAGGED))
		core->next[core->num_next++] = block + 1;
	return miss;
}

static bool access_prefetching(struct cache_core *core, enum cache_kind kind, uint64_t addr, uint32_t size)
{
	struct cache *c = &core->part[CACHE_L1D];
	uint64_t first = addr >> c->bits, last = (addr + size - 1) >> c->bits;
	bool miss = touch_line(core, first);

	if (last != first)
		miss |= touch_line(core, last);
	c->accesses[kind]++;
	c->misses[kind] += miss;
	core->count[CACHE_EV_L1D_ACCESSES]++;
	core->count[CACHE_EV_L1D_MISSES] += miss;
	return miss;
}

/* Makes a store that goes past the L1D, so it causes no prefetch. */
static bool pass_prefetched(struct cache_core *core, uint64_t addr, uint32_t size)
{
	struct cache *c = &core->part[CACHE_L1D];

	for (uint64_t block = addr >> c->bits; block <= (addr + size - 1) >> c->bits; block++)
		cache_left_unused(core, block);
	renew(c, addr, size);
	return true;
}

/* Makes a data access in a CPU with a prefetcher. */
static uint32_t data_prefetching(struct cache_core *core, enum cache_kind kind, uint64_t addr, uint32_t size)
{
	bool around = kind == CACHE_STORE && core->system->shapes.write_around;
	bool miss = around ? pass_prefetched(core, addr, size) : access_prefetching(core, kind, addr, size);
	uint32_t wait = miss ? beyond(core, kind, addr, size) : 0;

	for (uint32_t i = 0; i < core->num_next; i++)
		prefetch(core, core->next[i]);
	core->num_next = 0;
	core->count[CACHE_EV_UNUSED] += core->lost_unused;
	core->lost_unused = 0;
	return wait;
}

/* --- data accesses -------------------------------------------------------------------------- */

static void explain(struct cache_core *core, uint64_t addr, uint32_t size)
{
	uint32_t bits = core->part[CACHE_L1D].bits;

	core->cause = cache_why(&core->why, addr >> bits);
	if ((addr + size - 1) >> bits != addr >> bits)
		cache_why(&core->why, (addr + size - 1) >> bits);
}

uint32_t cache_data(struct cache_core *core, enum cache_kind kind, uint64_t addr, uint32_t size)
{
	uint32_t wait = translate(core, CACHE_DTLB, kind, addr, size);

	core->count[kind == CACHE_STORE ? CACHE_EV_STORES : CACHE_EV_LOADS]++;
	if (size > core->clip)
		size = core->clip;
	if (core->system->num_cores > 1)
		wait += cache_cohere(core, kind, addr, size);
	if (core->system->explain && core->has[CACHE_L1D])
		explain(core, addr, size);
	if (core->system->shapes.prefetch && core->has[CACHE_L1D])
		return wait + data_prefetching(core, kind, addr, size);
	if (!first_level_misses(core, kind, addr, size))
		return wait;
	return wait + beyond(core, kind, addr, size);
}

/* --- the system of all CPUs ----------------------------------------------------------------- */

static bool is_tlb(int part)
{
	return part == CACHE_ITLB || part == CACHE_DTLB;
}

static bool core_init(struct cache_core *core, struct cache_system *s, uint32_t num)
{
	core->system = s;
	core->num = num;
	core->clip = 1 << 30;
	core->last_fetch = CACHE_NO_BLOCK;
	core->branches.kind = s->shapes.predictor;
	for (int p = 0; p < CACHE_PARTS; p++) {
		const struct cache_shape *shape = &s->shapes.part[p];

		core->has[p] = shape->size;
		if (!shape->size)
			continue;
		if (!is_tlb(p) && shape->line < core->clip)
			core->clip = shape->line;
		if (!cache_init(&core->part[p], shape))
			return false;
	}
	core->in_page = core->has[CACHE_L1I] &&
			(!core->has[CACHE_ITLB] || core->part[CACHE_ITLB].bits >= core->part[CACHE_L1I].bits);
	return !s->explain || !core->has[CACHE_L1D] || cache_why_init(&core->why, &s->shapes.part[CACHE_L1D]);
}

static uint32_t largest_line(const struct cache_shapes *shapes)
{
	uint32_t line = 0;

	for (int p = CACHE_L1D; p <= CACHE_L3; p++)
		if (shapes->part[p].size && shapes->part[p].line > line)
			line = shapes->part[p].line;
	return line ? line : 64;	/* without caches the size of a line does not matter */
}

struct cache_system *cache_system_new(const struct cache_shapes *shapes, uint32_t cores, bool explain)
{
	struct cache_system *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->shapes = *shapes;
	s->explain = explain;
	s->line_bits = __builtin_ctz(largest_line(shapes));
	s->cores = calloc(cores, sizeof(*s->cores));
	for (; s->cores && s->num_cores < cores; s->num_cores++)
		if (!core_init(&s->cores[s->num_cores], s, s->num_cores))
			break;
	if (s->num_cores == cores)
		return s;
	/* the core that could not be created has some parts, too */
	s->num_cores += s->cores != NULL;
	cache_system_free(s);
	return NULL;
}

void cache_system_free(struct cache_system *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->num_cores; i++) {
		for (int p = 0; p < CACHE_PARTS; p++)
			cache_free(&s->cores[i].part[p]);
		cache_why_free(&s->cores[i].why);
		cache_blocks_free(&s->cores[i].prefetched);
	}
	cache_blocks_free(&s->lines);
	free(s->cores);
	free(s);
}
