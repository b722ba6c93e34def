/* SPDX-License-Identifier: MIT */
/*
 * sample.h - walking over the samples of the default format, in all its layouts (3.6).
 *
 * A walk trusts nothing it finds in the buffer: a sample that does not lie within the mapping ends
 * it. It believes the header's count, not its offset, as the specification wants it (3.6.3).
 */
#ifndef LPFM_SAMPLE_H
#define LPFM_SAMPLE_H

#include <string.h>

#include "base/args.h"
#include "ffi/objects.h"
#include "perfmon/perfmon_dfl_smpl.h"

enum lpfm_smpl_field {
	LPFM_SMPL_IP, LPFM_SMPL_TID, LPFM_SMPL_PID, LPFM_SMPL_CPU, LPFM_SMPL_TSTAMP, LPFM_SMPL_SET,
	LPFM_SMPL_OVFL_PMD, LPFM_SMPL_LAST_RESET, LPFM_SMPL_FIELDS
};

extern const char *const lpfm_smpl_names[LPFM_SMPL_FIELDS];

/* Where a field lies in a sample; width 0: this layout does not have it. */
struct lpfm_place {
	uint8_t	offset, width;		/* bytes */
};

struct lpfm_walk {
	const struct lpfm_context *ctx;
	const unsigned char	*next;		/* where the current sample ends, the next begins */
	const unsigned char	*end;		/* of the mapping */
	size_t			size;		/* of a sample that holds body */
	uint64_t		index;		/* of the current one, from 1; 0: not at one */
	uint64_t		count;
	unsigned int		epoch;		/* of the context: older walks are stale */
	bool			fixed;		/* all samples hold body: no need to look */
	bool			turned;		/* body has changed: refs have to be settled */
	uint8_t			head_size;	/* of a sample's header */
	uint8_t			set_at, pmd_at;	/* where it says what the sample holds */
	const struct lpfm_place	*places;	/* of the fields in a sample's header */
	struct lpfm_layout	body;		/* of the current sample; a copy, for layouts may change */
};

/* What a field name or a PMD number stands for in a walk, and where it is in the current sample. */
struct lpfm_ref {
	bool			is_pmd;
	uint8_t			width;		/* 0: the sample does not hold this PMD */
	uint16_t		offset;
	uint16_t		pmd;
};

enum { LPFM_TESTS_MAX = 8 };

/* Samples to be left out: those in which one of these differs. */
struct lpfm_filter {
	unsigned int	n;
	struct lpfm_ref	refs[LPFM_TESTS_MAX];
	uint64_t	values[LPFM_TESTS_MAX];
};

/* The buffer's header, whichever layout it has; of n-way, with the region to be read next. */
struct lpfm_smpl_hdr {
	uint64_t	count, cur_offs, overflows, size;
	uint32_t	version, flags;
	uint64_t	first;		/* offset of the first sample */
	uint64_t	lost;		/* n-way: samples overwritten */
	uint32_t	regions;	/* n-way; 0: it has none */
};

void lpfm_smpl_hdr_read(const struct lpfm_context *ctx, struct lpfm_smpl_hdr *hdr);

/* A walk before the first sample; raises if the samples cannot be told apart. */
void lpfm_walk_start(lua_State *L, struct lpfm_walk *w, const struct lpfm_context *ctx);
/* Raises, the walk's context having been closed or restarted since. */
int lpfm_walk_stale(lua_State *L, const struct lpfm_walk *w);
/* Raises: the next sample does not lie in the buffer. The walk is at its end, and at no sample. */
int lpfm_walk_broken(lua_State *L, struct lpfm_walk *w);
/* The next sample holds what this PMD of this set has it hold. */
void lpfm_walk_turn(struct lpfm_walk *w, uint16_t set, uint16_t pmd);
/* Finds the places of what the filter and n refs name in samples as they are now. */
void lpfm_walk_settle(struct lpfm_walk *w, struct lpfm_filter *filter, struct lpfm_ref *refs,
		      unsigned int n);
/* The field name or PMD number at idx. */
void lpfm_ref_read(lua_State *L, int idx, const struct lpfm_walk *w, const struct lpfm_site *site,
		   struct lpfm_ref *ref);
/* The table of required values at idx, none: no filter. */
void lpfm_filter_read(lua_State *L, int idx, const struct lpfm_walk *w, const char *call,
		      struct lpfm_filter *filter);

/* The width bytes at. */
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

/* Closing counts as a restart here: one comparison for both. */
static inline void lpfm_walk_check(lua_State *L, const struct lpfm_walk *w)
{
	if (__builtin_expect(w->epoch != w->ctx->epoch, 0))
		lpfm_walk_stale(L, w);
}

/* Looks up what the sample at w->next holds, if that is not what the last one held. */
static inline void lpfm_walk_body(struct lpfm_walk *w)
{
	uint16_t set, pmd;

	memcpy(&set, w->next + w->set_at, sizeof(set));
	memcpy(&pmd, w->next + w->pmd_at, sizeof(pmd));
	if (__builtin_expect(w->body.key != ((uint32_t)set << 16 | pmd), 0))
		lpfm_walk_turn(w, set, pmd);
}

/* To the next sample: 1; 0 after the last; -1 if it does not fit into the buffer. */
static inline int lpfm_walk_next(struct lpfm_walk *w)
{
	size_t left = (size_t)(w->end - w->next);

	if (w->index >= w->count)
		return 0;
	if (!w->fixed && left >= w->head_size)
		lpfm_walk_body(w);
	if (__builtin_expect(left < w->size, 0))
		return -1;
	w->next += w->size;
	w->index++;
	return 1;
}

/* The current sample. */
static inline const unsigned char *lpfm_walk_at(const struct lpfm_walk *w)
{
	return w->next - w->size;
}

/* The i-th value of the current sample, from 0; there are w->body.n. */
static inline uint64_t lpfm_walk_value(const struct lpfm_walk *w, unsigned int i)
{
	return lpfm_load(lpfm_walk_at(w) + w->head_size + i * sizeof(uint64_t), sizeof(uint64_t));
}

/* How many PMDs below num the sample holds. */
static inline unsigned int lpfm_walk_rank(const struct lpfm_walk *w, unsigned int num)
{
	unsigned int rank = 0, i;

	for (i = 0; i < num / 64; i++)
		rank += (unsigned int)__builtin_popcountll(w->body.pmds[i]);
	return rank + (unsigned int)__builtin_popcountll(w->body.pmds[i] & ((1ULL << num % 64) - 1));
}

/* The value of PMD num in the current sample, if it is there. */
static inline bool lpfm_walk_pmd(const struct lpfm_walk *w, unsigned int num, uint64_t *value)
{
	if (num >= PFM_MAX_PMDS || !(w->body.pmds[num / 64] >> (num % 64) & 1))
		return false;
	*value = lpfm_walk_value(w, lpfm_walk_rank(w, num));
	return true;
}

/* Of the sample at, to which the refs are settled. */
static inline bool lpfm_ref_get(const unsigned char *at, struct lpfm_ref ref, uint64_t *value)
{
	*value = ref.width ? lpfm_load(at + ref.offset, ref.width) : 0;
	return ref.width;
}

static inline bool lpfm_filter_passes(const struct lpfm_filter *filter, const unsigned char *at)
{
	for (unsigned int i = 0; i < filter->n; i++) {
		uint64_t value;

		if (!lpfm_ref_get(at, filter->refs[i], &value) || value != filter->values[i])
			return false;
	}
	return true;
}

/* To the next sample that passes, to which filter and refs are settled. */
static inline int lpfm_walk_filtered(struct lpfm_walk *w, struct lpfm_filter *filter,
				     struct lpfm_ref *refs, unsigned int n)
{
	int got;

	do {
		got = lpfm_walk_next(w);
		if (__builtin_expect(w->turned, 0))
			lpfm_walk_settle(w, filter, refs, n);
	} while (got > 0 && filter->n && !lpfm_filter_passes(filter, lpfm_walk_at(w)));
	return got;
}

/* An open, decodable buffer's context; the buffer view is at idx. */
struct lpfm_context *lpfm_buffer_samples(lua_State *L, int idx);

/* buffer methods from other files */
int lpfm_buffer_each(lua_State *L);		/* cursor.c: samples */
int lpfm_buffer_sample(lua_State *L);
int lpfm_buffer_fields(lua_State *L);		/* fields.c */
int lpfm_buffer_count_by(lua_State *L);		/* histogram.c */
void lpfm_open_cursor(lua_State *L);
void lpfm_open_fields(lua_State *L);

#endif
