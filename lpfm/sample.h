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

#include "lpfm.h"

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
	const struct lpfm_place	*places;	/* of the fields in a sample's header */
	size_t			head_size;	/* of a sample's header */
	bool			fixed;		/* samples do not say what they hold: all hold body */
	const unsigned char	*at;		/* the current sample */
	const unsigned char	*next;		/* the next one, if there is one */
	const unsigned char	*end;		/* of the mapping */
	uint64_t		index;		/* of the current one, from 1; 0: not yet at one */
	uint64_t		count;
	unsigned int		epoch;		/* of the context: older walks are stale */
	struct lpfm_layout	body;		/* of the current sample; a copy, for layouts may change */
};

/* What a field name or a PMD number stands for in a walk. */
struct lpfm_ref {
	bool			is_pmd;
	uint16_t		pmd;
	struct lpfm_place	place;
};

enum { LPFM_TESTS_MAX = 8 };

/* Samples to be left out: those in which one of these differs. */
struct lpfm_filter {
	unsigned int	n;
	struct {
		struct lpfm_ref	ref;
		uint64_t	value;
	} test[LPFM_TESTS_MAX];
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
/* Raises: the next sample does not lie in the buffer. */
int lpfm_walk_broken(lua_State *L, const struct lpfm_walk *w);
/* The field name or PMD number at idx. */
void lpfm_ref_read(lua_State *L, int idx, const struct lpfm_walk *w, const struct lpfm_site *site,
		   struct lpfm_ref *ref);
/* The table of required values at idx, none: no filter. */
void lpfm_filter_read(lua_State *L, int idx, const struct lpfm_walk *w, const char *call,
		      struct lpfm_filter *filter);

static inline uint64_t lpfm_place_load(const unsigned char *at, struct lpfm_place place)
{
	uint16_t half;
	uint32_t word;
	uint64_t value;

	switch (place.width) {
	case 2:
		memcpy(&half, at + place.offset, sizeof(half));
		return half;
	case 4:
		memcpy(&word, at + place.offset, sizeof(word));
		return word;
	default:
		memcpy(&value, at + place.offset, sizeof(value));
		return value;
	}
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
	uint32_t key;

	if (w->fixed)
		return;
	memcpy(&set, w->next + w->places[LPFM_SMPL_SET].offset, sizeof(set));
	memcpy(&pmd, w->next + w->places[LPFM_SMPL_OVFL_PMD].offset, sizeof(pmd));
	key = (uint32_t)set << 16 | pmd;
	if (__builtin_expect(w->body.key == key, 1))
		return;
	w->body = *lpfm_layouts_find(&w->ctx->layouts, set, pmd);
	w->body.key = key;
}

/* To the next sample: 1; 0 after the last; -1 if it does not fit into the buffer. */
static inline int lpfm_walk_next(struct lpfm_walk *w)
{
	size_t left = (size_t)(w->end - w->next), size;

	if (w->index >= w->count)
		return 0;
	if (left < w->head_size)
		return -1;
	lpfm_walk_body(w);
	size = w->head_size + w->body.n * sizeof(uint64_t);
	if (left < size)
		return -1;
	w->at = w->next;
	w->next += size;
	w->index++;
	return 1;
}

/* The i-th value of the current sample, from 0; there are w->body.n. */
static inline uint64_t lpfm_walk_value(const struct lpfm_walk *w, unsigned int i)
{
	struct lpfm_place place = { 0, 8 };

	return lpfm_place_load(w->at + w->head_size + i * sizeof(uint64_t), place);
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

static inline bool lpfm_ref_get(const struct lpfm_walk *w, const struct lpfm_ref *ref, uint64_t *value)
{
	if (ref->is_pmd)
		return lpfm_walk_pmd(w, ref->pmd, value);
	*value = lpfm_place_load(w->at, ref->place);
	return true;
}

static inline bool lpfm_filter_passes(const struct lpfm_filter *filter, const struct lpfm_walk *w)
{
	for (unsigned int i = 0; i < filter->n; i++) {
		uint64_t value;

		if (!lpfm_ref_get(w, &filter->test[i].ref, &value) || value != filter->test[i].value)
			return false;
	}
	return true;
}

/* To the next sample that passes. */
static inline int lpfm_walk_filtered(struct lpfm_walk *w, const struct lpfm_filter *filter)
{
	int got;

	do
		got = lpfm_walk_next(w);
	while (got > 0 && !lpfm_filter_passes(filter, w));
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

#endif
