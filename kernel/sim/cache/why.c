// SPDX-License-Identifier: MIT
/*
 * why.c - why a data access missed the L1D. Compulsory: the line was never there. Coherence:
 * another CPU has taken the line. Capacity: a fully associative LRU cache of the same size would
 * not have it either. Conflict: such a cache would have it.
 */
#include <stdlib.h>

#include "sim/cache/cache.h"

#define SEEN	1ULL
#define LOST	2ULL
#define ENTRY	2	/* the bits from this one on have the index of the block's entry + 1 */

struct cache_entry {
	uint64_t	block;
	uint32_t	newer, older;	/* index of the entry + 1; 0: none */
};

bool cache_why_init(struct cache_why *w, const struct cache_shape *shape)
{
	w->room = shape->size / shape->line;
	w->entry = calloc(w->room, sizeof(*w->entry));
	return w->entry;
}

void cache_why_free(struct cache_why *w)
{
	cache_blocks_free(&w->seen);
	free(w->entry);
}

static void take_out(struct cache_why *w, uint32_t n)
{
	struct cache_entry *e = &w->entry[n - 1];

	if (e->newer)
		w->entry[e->newer - 1].older = e->older;
	else
		w->first = e->older;
	if (e->older)
		w->entry[e->older - 1].newer = e->newer;
	else
		w->last = e->newer;
}

static void put_first(struct cache_why *w, uint32_t n, uint64_t block)
{
	struct cache_entry *e = &w->entry[n - 1];

	e->block = block;
	e->newer = 0;
	e->older = w->first;
	if (w->first)
		w->entry[w->first - 1].newer = n;
	else
		w->last = n;
	w->first = n;
}

/*
 * Gets an entry for a block that has none: a free one, or that of the block which was unused for
 * the longest time.
 */
static uint32_t entry_for(struct cache_why *w)
{
	uint32_t n = w->last;
	uint64_t *old;

	if (w->num < w->room)
		return ++w->num;
	take_out(w, n);
	old = cache_blocks_at(&w->seen, w->entry[n - 1].block);
	*old &= SEEN | LOST;	/* no memory is needed, because the block is in the table */
	return n;
}

enum cache_cause cache_why(struct cache_why *w, uint64_t block)
{
	uint64_t *value = cache_blocks_at(&w->seen, block), was = value ? *value : 0;
	uint32_t n = was >> ENTRY;

	if (!value)
		return CACHE_COMPULSORY;
	*value = SEEN;
	if (n)
		take_out(w, n);
	else
		n = entry_for(w);
	put_first(w, n, block);
	*value |= (uint64_t)n << ENTRY;
	if (!(was & SEEN))
		return CACHE_COMPULSORY;
	if (was & LOST)
		return CACHE_COHERENCE;
	return was >> ENTRY ? CACHE_CONFLICT : CACHE_CAPACITY;
}

void cache_why_lost(struct cache_why *w, uint64_t block)
{
	uint64_t *value = cache_blocks_at(&w->seen, block);

	if (value)
		*value |= LOST;
}
