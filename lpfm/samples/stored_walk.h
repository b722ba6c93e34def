/* SPDX-License-Identifier: MIT */
/*
 * stored_walk.h - a walk over the samples of a block: a copy of a sampling buffer of the default
 * format (layout of 2.x) up to its cur_offs, in memory or in a file.
 */
#ifndef LPFM_STORED_WALK_H
#define LPFM_STORED_WALK_H

#include "recording/chunks.h"
#include "samples/walk.h"

enum { STORED_LAYOUTS_MAX = 64, STORED_WINDOW = 1 << 16 };

/*
 * Which values follow each sample's header, by the PMD that overflowed and, if it matters, the set.
 */
struct stored_layouts {
	struct lpfm_table	all;
	struct lpfm_layout	room[STORED_LAYOUTS_MAX];
};

struct stored_walk {
	struct lpfm_walk	walk;
	/* what is not in the window yet; empty for a block in memory */
	struct chunk_part	rest;
	unsigned char		*window;
};

/* Reads the argument arg, a table `sizes` of lpfm.samples (module.c). */
void stored_layouts_read(lua_State *L, int arg, struct stored_layouts *layouts);
/* Begins a walk over the block in the string arg. */
void stored_walk_string(lua_State *L, int arg, struct stored_walk *s, const struct stored_layouts *layouts);
/*
 * Begins a walk over the block in the file of chunks at idx; its offset and length are at idx + 1
 * and idx + 2.
 */
void stored_walk_file(lua_State *L, int idx, struct stored_walk *s, const struct stored_layouts *layouts,
		      unsigned char window[STORED_WINDOW]);
/* Reads more of the block into the window. Returns false if there is no more. */
bool stored_walk_refill(struct stored_walk *s);

/* Moves to the next sample. Returns false at the end, or if the block is truncated. */
static inline bool stored_walk_next(struct stored_walk *s)
{
	int got;

	do
		got = lpfm_walk_next(&s->walk);
	while (__builtin_expect(got < 0, 0) && stored_walk_refill(s));
	return got > 0;
}

#endif
