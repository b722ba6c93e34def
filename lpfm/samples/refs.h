/* SPDX-License-Identifier: MIT */
/* refs.h - fields and PMDs of samples by name, and filters. */
#ifndef LPFM_REFS_H
#define LPFM_REFS_H

#include "base/args.h"
#include "samples/walk.h"

/*
 * What a field's name or a PMD's number refers to in a walk, and its place in the current sample.
 */
#define LPFM_REF \
	uint8_t is_pmd; \
	uint8_t width;			/* 0: the sample does not hold this PMD */ \
	uint16_t offset; \
	uint16_t pmd;

struct lpfm_ref { LPFM_REF };

enum { LPFM_TESTS_MAX = 8 };

/* A filter: samples in which one of these values differs are skipped. */
struct lpfm_filter {
	unsigned int	n;
	struct lpfm_ref	refs[LPFM_TESTS_MAX];
	uint64_t	values[LPFM_TESTS_MAX];
};

/* Sets the places of the fields and PMDs of the filter and n refs for the walk's current layout. */
void lpfm_walk_settle(struct lpfm_walk *w, struct lpfm_filter *filter, struct lpfm_ref *refs,
		      unsigned int n);
/* Reads the field name or PMD number at idx. */
void lpfm_ref_read(lua_State *L, int idx, const struct lpfm_walk *w, const struct lpfm_site *site,
		   struct lpfm_ref *ref);
/* Reads the table of required values at idx; if there is none, there is no filter. */
void lpfm_filter_read(lua_State *L, int idx, const struct lpfm_walk *w, const char *call,
		      struct lpfm_filter *filter);

/*
 * Reads the value of ref in the sample at `at`; the refs must have been settled for the walk's
 * current layout.
 */
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

/*
 * Moves to the next sample that passes the filter, and settles filter and refs for it. Returns what
 * lpfm_walk_next() returns.
 */
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

#endif
