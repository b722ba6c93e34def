// SPDX-License-Identifier: MIT
/* blocks.c - a hash table with open addressing that maps blocks to values. */
#include <stdlib.h>

#include "sim/cache/cache.h"

static struct cache_block *place(const struct cache_blocks *b, uint64_t block)
{
	/* The product's upper bits depend on all bits of the block. */
	uint64_t i = ((block * 0x9e3779b97f4a7c15ULL) >> 32) * b->room >> 32;

	while (b->at[i & (b->room - 1)].block && b->at[i & (b->room - 1)].block != block + 1)
		i++;
	return &b->at[i & (b->room - 1)];
}

static bool grow(struct cache_blocks *b)
{
	struct cache_blocks bigger = { .room = b->room ? 2 * b->room : 1024, .num = b->num };

	bigger.at = calloc(bigger.room, sizeof(*bigger.at));
	if (!bigger.at)
		return false;
	for (uint64_t i = 0; i < b->room; i++)
		if (b->at[i].block)
			*place(&bigger, b->at[i].block - 1) = b->at[i];
	free(b->at);
	*b = bigger;
	return true;
}

uint64_t *cache_blocks_at(struct cache_blocks *b, uint64_t block)
{
	struct cache_block *at = b->room ? place(b, block) : NULL;

	if (at && at->block)
		return &at->value;
	if (b->num >= b->room / 2 && !grow(b))
		return NULL;
	at = place(b, block);
	at->block = block + 1;
	b->num++;
	return &at->value;
}

void cache_blocks_free(struct cache_blocks *b)
{
	free(b->at);
}
