/* SPDX-License-Identifier: MIT */
/*
 * stored_walk.h - a walk over the samples of a block: a copy of a sampling buffer of the default format (layout
 * of 2.x) up to its cur_offs, in memory or in a file.
 */
#ifndef LPFM_BLOCK_H
#define LPFM_BLOCK_H

#include <string.h>

#include "ffi/objects.h"
#include "perfmon/perfmon_dfl_smpl.h"
#include "recording/chunks.h"

enum { BLOCK_LAYOUTS_MAX = 64, BLOCK_VALUES_MAX = PFM_MAX_PMDS, BLOCK_WINDOW = 1 << 16 };

/* What follows each sample, by the PMD that overflowed and, where it matters, the set. */
struct block_layouts {
	int n;
	struct block_layout {
		int set, pmd;			/* set -1: any */
		unsigned int n;			/* values */
		uint64_t pmds[PFM_PMD_BV];	/* whose values; empty where that is not known */
	} list[BLOCK_LAYOUTS_MAX];
};

struct block {
	const char *at, *end;
	uint64_t left;			/* samples, by the header */
	const struct block_layouts *layouts;
	struct chunk_part rest;		/* what is not in the window yet; nothing of a block in memory */
	char *window;			/* NULL: in memory */
};

struct sample {
	pfm_dfl_smpl_entry_t e;
	const char *values;
	const struct block_layout *layout;
};

/*
 * Reads a table, the argument arg: number of the PMD, or set * 65536 + number, to how many values follow
 * or to the list of the PMDs whose values follow.
 */
void block_layouts_read(lua_State *L, int arg, struct block_layouts *layouts);
/* The block that is the string arg. */
void block_from_string(lua_State *L, int arg, struct block *b, const struct block_layouts *layouts);
/* The block in the file of chunks at idx; where it lies and its length are at idx + 1 and idx + 2. */
void block_from_file(lua_State *L, int idx, struct block *b, const struct block_layouts *layouts,
		     char window[BLOCK_WINDOW]);
/* To the next sample; false at the end, or where the block is cut. */
bool block_next(struct block *b, struct sample *s);

static inline uint64_t sample_value(const struct sample *s, unsigned int i)
{
	uint64_t v;

	memcpy(&v, s->values + (size_t)i * sizeof(v), sizeof(v));
	return v;
}

/* The value of PMD num, if the sample has it. */
static inline bool sample_pmd(const struct sample *s, unsigned int num, uint64_t *value)
{
	const uint64_t *pmds = s->layout->pmds;
	unsigned int rank = 0;

	if (!(pmds[num / 64] >> (num % 64) & 1))
		return false;
	for (unsigned int i = 0; i < num / 64; i++)
		rank += (unsigned int)__builtin_popcountll(pmds[i]);
	rank += (unsigned int)__builtin_popcountll(pmds[num / 64] & ((1ULL << num % 64) - 1));
	*value = sample_value(s, rank);
	return true;
}

#endif
