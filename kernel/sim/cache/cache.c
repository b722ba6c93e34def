// SPDX-License-Identifier: MIT
/*
 * cache.c - a set-associative cache and its replacement policies. LRU and FIFO keep the lines of a
 * set in order, the latest first. PLRU keeps a binary tree of bits that point away from the last
 * use; RANDOM takes a free way first. All caches start empty.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/cache/cache.h"

#define SEED 0x9e3779b97f4a7c15ULL

static bool power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

const char *cache_shape_wrong(const struct cache_shape *s)
{
	if (!s->size)
		return NULL;
	if (!power_of_two(s->line) || s->line < 16)
		return "a line has 16 bytes or more, a power of two";
	if (!s->assoc || s->assoc > 65536 || s->size > 1ULL << 34)
		return "there are 1 to 65536 lines in a set, and up to 16 GB";
	if (s->size % ((uint64_t)s->line * s->assoc) || !power_of_two(s->size / s->line / s->assoc))
		return "size / line / associativity is the number of sets, a power of two";
	if (s->policy == CACHE_PLRU && (!power_of_two(s->assoc) || s->assoc > 64))
		return "pseudo-LRU needs 2, 4, 8 ... 64 lines in a set";
	return NULL;
}

bool cache_init(struct cache *c, const struct cache_shape *s)
{
	uint64_t lines = s->size / s->line;

	memset(c, 0, sizeof(*c));
	c->mask = lines / s->assoc - 1;
	c->assoc = s->assoc;
	c->bits = __builtin_ctz(s->line);
	c->policy = s->policy;
	c->lru = s->policy == CACHE_LRU;
	c->latency = s->latency;
	c->random = SEED;
	c->tags = malloc(lines * sizeof(*c->tags));
	c->tree = calloc(c->mask + 1, sizeof(*c->tree));
	c->missed = calloc(c->mask + 1, sizeof(*c->missed));
	if (!c->tags || !c->tree || !c->missed)
		return false;
	/* fills the tags with CACHE_NO_BLOCK */
	memset(c->tags, 0xff, lines * sizeof(*c->tags));
	return true;
}

void cache_free(struct cache *c)
{
	free(c->tags);
	free(c->tree);
	free(c->missed);
}

static uint32_t find(const struct cache *c, const uint64_t *set, uint64_t block)
{
	uint32_t way = 0;

	while (way < c->assoc && set[way] != block)
		way++;
	return way;
}

static void to_front(uint64_t *set, uint32_t way, uint64_t block)
{
	for (; way; way--)
		set[way] = set[way - 1];
	set[0] = block;
}

/*
 * Tree-PLRU: after a use of way, each node of the tree from its leaf to the root points to the half
 * without way, where the next victim is looked for.
 */
static void point_away(struct cache *c, uint64_t *tree, uint32_t way)
{
	for (uint32_t node = way + c->assoc; node > 1; node /= 2) {
		uint64_t bit = 1ULL << (node / 2);

		/* 1 means that the victim is on the right */
		*tree = node & 1 ? *tree & ~bit : *tree | bit;
	}
}

static uint32_t pointed_at(const struct cache *c, uint64_t tree)
{
	uint32_t node = 1;

	while (node < c->assoc)
		node = 2 * node + (tree >> node & 1);
	return node - c->assoc;
}

static uint32_t any_way(struct cache *c)
{
	c->random ^= c->random << 13;
	c->random ^= c->random >> 7;
	c->random ^= c->random << 17;
	return c->random % c->assoc;
}

static inline uint32_t victim(struct cache *c, const uint64_t *set)
{
	uint32_t way = find(c, set, CACHE_NO_BLOCK);

	if (way < c->assoc)
		return way;
	return c->policy == CACHE_PLRU ? pointed_at(c, c->tree[(set - c->tags) / c->assoc]) : any_way(c);
}

static bool touch_unordered(struct cache *c, uint64_t *set, uint64_t block)
{
	uint32_t way = find(c, set, block);
	bool miss = way == c->assoc;

	if (miss) {
		way = victim(c, set);
		set[way] = block;
	}
	if (c->policy == CACHE_PLRU)
		point_away(c, &c->tree[(set - c->tags) / c->assoc], way);
	return miss;
}

static bool touch_ordered(struct cache *c, uint64_t *set, uint64_t block)
{
	uint32_t way = find(c, set, block);
	bool miss = way == c->assoc;

	if (miss || c->lru)
		to_front(set, miss ? way - 1 : way, block);
	return miss;
}

bool cache_touch_set(struct cache *c, uint64_t *set, uint64_t block)
{
	bool miss = c->policy == CACHE_PLRU || c->policy == CACHE_RANDOM ? touch_unordered(c, set, block)
									 : touch_ordered(c, set, block);

	c->missed[block & c->mask] += miss;
	return miss;
}

uint64_t cache_victim(const struct cache *c, uint64_t block)
{
	const uint64_t *set = c->tags + (block & c->mask) * c->assoc;
	struct cache copy = *c;	/* the copy makes the same random choice as the cache will */

	return set[c->policy == CACHE_LRU || c->policy == CACHE_FIFO ? c->assoc - 1 : victim(&copy, set)];
}

void cache_bring(struct cache *c, uint64_t block)
{
	cache_touch_set(c, c->tags + (block & c->mask) * c->assoc, block);
	c->missed[block & c->mask]--;
}

bool cache_has(const struct cache *c, uint64_t block)
{
	return find(c, c->tags + (block & c->mask) * c->assoc, block) < c->assoc;
}

/* Removes a block. An ordered set closes the gap, so that free ways are at its end. */
bool cache_drop(struct cache *c, uint64_t block)
{
	uint64_t *set = c->tags + (block & c->mask) * c->assoc;
	uint32_t way = find(c, set, block);

	if (way == c->assoc)
		return false;
	if (c->policy == CACHE_LRU || c->policy == CACHE_FIFO)
		for (; way + 1 < c->assoc; way++)
			set[way] = set[way + 1];
	set[way] = CACHE_NO_BLOCK;
	return true;
}
