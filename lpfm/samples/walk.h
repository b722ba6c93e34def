/* SPDX-License-Identifier: MIT */
/*
 * walk.h - walking over the samples of the default format, in all its layouts (3.6).
 *
 * A walk trusts nothing it finds in the buffer: a sample that does not lie within it ends the walk.
 * It believes the header's count, not its offset, as the specification wants it (3.6.3).
 */
#ifndef LPFM_WALK_H
#define LPFM_WALK_H

#include <string.h>

#include "base/module.h"
#include "samples/entry.h"

/*
 * The members that stepping needs. They are a macro because LuaJIT reads them, too: the loops that
 * it compiles (ffi/step.lua) step by themselves.
 */
#define LPFM_STEP \
	const unsigned char *next;	/* where the current sample ends and the next one begins */ \
	const unsigned char *limit;	/* end of the samples' memory */ \
	uint64_t size;			/* size of a sample with the PMDs of body */ \
	uint64_t index;			/* number of the current sample, from 1; 0: the walk is not at one */ \
	uint64_t count; \
	const unsigned int *now;	/* points to the context's epoch */ \
	unsigned int epoch;		/* the epoch when the walk began; an older walk is stale */ \
	uint32_t key;			/* set << 16 | pmd to which body belongs; all ones: none yet */ \
	uint8_t head_size;		/* size of a sample's header */ \
	uint8_t set_at, pmd_at;		/* offsets of set and PMD in the header */ \
	uint8_t fixed;			/* all samples hold the same PMDs: no look-up is needed */

struct lpfm_walk {
	LPFM_STEP
	bool			turned;		/* body has changed: lpfm_walk_settle() must run */
	bool			varies;		/* samples are records, each of its own size */
	uint16_t		kernel, user;	/* numbers of frames of the sample, if varies */
	uint32_t		frames_at;	/* offset of the frames in the sample, if varies */
	enum lpfm_entry		entry;		/* what samples begin with */
	const struct lpfm_context *ctx;		/* NULL: the buffer is a recorded one */
	const struct lpfm_table	*layouts;	/* each entry begins with a struct lpfm_layout */
	bool			any_set;	/* sets without layouts have those of set 0 */
	struct lpfm_layout	body;		/* the sample's layout: a copy, as layouts change */
};

/* Begins a walk over no samples; the caller then sets next, limit and count. */
void lpfm_walk_begin(struct lpfm_walk *w, enum lpfm_entry entry, const struct lpfm_table *layouts);
/*
 * Begins a walk over a context's buffer. Raises an error if the layout of samples cannot be known.
 */
void lpfm_walk_start(lua_State *L, struct lpfm_walk *w, const struct lpfm_context *ctx);
/* Raises the error that the walk's context has been closed or restarted. */
int lpfm_walk_stale(lua_State *L, const struct lpfm_walk *w);
/*
 * Raises the error that the next sample does not lie in the buffer. The walk is then at its end,
 * and at no sample.
 */
int lpfm_walk_broken(lua_State *L, struct lpfm_walk *w);
/* Sets what the next sample holds: the smpl_pmds of the PMD that overflowed, in this set. */
void lpfm_walk_turn(struct lpfm_walk *w, uint16_t set, uint16_t pmd);

/* Returns the unsigned value of width bytes (2, 4 or 8) at a place that may be unaligned. */
static inline uint64_t lpfm_load(const unsigned char *at, unsigned int width)
{
	uint16_t half;
	uint32_t word;
	uint64_t value;

	if (__builtin_expect(width == sizeof(value), 1)) {
		memcpy(&value, at, sizeof(value));
		return value;
	}
	if (width == sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		return word;
	}
	memcpy(&half, at, sizeof(half));
	return half;
}

/*
 * Raises an error if the walk's context was restarted or closed after the walk began. Both change
 * the epoch, so that one comparison serves for both.
 */
static inline void lpfm_walk_check(lua_State *L, const struct lpfm_walk *w)
{
	if (__builtin_expect(w->epoch != *w->now, 0))
		lpfm_walk_stale(L, w);
}

/* Looks up what the sample at w->next holds, unless it is the same as for the last one. */
static inline void lpfm_walk_body(struct lpfm_walk *w)
{
	uint16_t set, pmd;

	memcpy(&set, w->next + w->set_at, sizeof(set));
	memcpy(&pmd, w->next + w->pmd_at, sizeof(pmd));
	if (__builtin_expect(w->key != ((uint32_t)set << 16 | pmd), 0))
		lpfm_walk_turn(w, set, pmd);
}

/* Implements lpfm_walk_next() if samples vary in size. */
int lpfm_walk_record(struct lpfm_walk *w);
/*
 * Begins a walk over the records of a buffer of the format stack from its byte `from` on; 0 means
 * from the first. With regions, the walk is over the region that is read after `ahead` other ones;
 * raises an error if there is no such region.
 */
void lpfm_walk_from(lua_State *L, struct lpfm_walk *w, const struct lpfm_context *ctx, uint64_t from,
		    unsigned int ahead);
/*
 * Skips samples up to the next record of another kind. Returns 1, and *at is where the record
 * begins; 0 at the end; -1 if a record does not fit into the buffer.
 */
int lpfm_walk_other(struct lpfm_walk *w, const unsigned char **at);

/* Moves to the next sample. Returns 1; 0 at the end; -1 if it does not fit into the buffer. */
static inline int lpfm_walk_next(struct lpfm_walk *w)
{
	size_t left = (size_t)(w->limit - w->next);

	if (w->index >= w->count)
		return 0;
	if (!w->fixed) {
		if (__builtin_expect(w->varies, 0))
			return lpfm_walk_record(w);
		if (left >= w->head_size)
			lpfm_walk_body(w);
	}
	if (__builtin_expect(left < w->size, 0))
		return -1;
	w->next += w->size;
	w->index++;
	return 1;
}

/* Returns the current sample. */
static inline const unsigned char *lpfm_walk_at(const struct lpfm_walk *w)
{
	return w->next - w->size;
}

/* Returns the i-th value of the current sample, from 0; there are w->body.n. */
static inline uint64_t lpfm_walk_value(const struct lpfm_walk *w, unsigned int i)
{
	return lpfm_load(lpfm_walk_at(w) + w->head_size + i * sizeof(uint64_t), sizeof(uint64_t));
}

/* Returns the i-th frame of the current sample, from 0; there are w->kernel + w->user. */
static inline uint64_t lpfm_walk_frame(const struct lpfm_walk *w, unsigned int i)
{
	return lpfm_load(lpfm_walk_at(w) + w->frames_at + i * sizeof(uint64_t), sizeof(uint64_t));
}

/* Returns field f of the current sample; 0 if it has none. */
static inline uint64_t lpfm_walk_field(const struct lpfm_walk *w, enum lpfm_smpl_field f)
{
	struct lpfm_place place = lpfm_smpl_names[f].at[w->entry];

	return place.width ? lpfm_load(lpfm_walk_at(w) + place.offset, place.width) : 0;
}

static inline bool lpfm_walk_holds(const struct lpfm_walk *w, unsigned int num)
{
	return w->body.pmds[num / 64] >> (num % 64) & 1;
}

/* Returns how many PMDs below num the sample holds. */
static inline unsigned int lpfm_walk_rank(const struct lpfm_walk *w, unsigned int num)
{
	unsigned int rank = 0, i;

	for (i = 0; i < num / 64; i++)
		rank += (unsigned int)__builtin_popcountll(w->body.pmds[i]);
	return rank + (unsigned int)__builtin_popcountll(w->body.pmds[i] & ((1ULL << num % 64) - 1));
}

/* Gets the value of PMD num in the current sample, if it is there. */
static inline bool lpfm_walk_pmd(const struct lpfm_walk *w, unsigned int num, uint64_t *value)
{
	if (num >= PFM_MAX_PMDS || !lpfm_walk_holds(w, num))
		return false;
	*value = lpfm_walk_value(w, lpfm_walk_rank(w, num));
	return true;
}

#endif
