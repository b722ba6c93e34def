/* SPDX-License-Identifier: MIT */
/*
 * column.h - a value that every sample has, or may have: a field, a PMD's value, or the growth of
 * either since the last sample of the same thread; as a value, or as the number of its bin.
 */
#ifndef LPFM_COLUMN_H
#define LPFM_COLUMN_H

#include "samples/pid_reuse.h"
#include "samples/walk.h"

/* A field of enum lpfm_smpl_field, or one of these: */
enum {
	COLUMN_PERIOD = LPFM_SMPL_FIELDS,	/* last_reset as a number of events */
	COLUMN_VALUE,				/* the value of a PMD */
	COLUMN_NONE
};

/* The last value of each stream, such as the samples of a thread: an open hash table. */
struct column_streams {
	struct column_stream {
		uint64_t key;		/* the stream's number + 1; 0: the slot is free */
		uint64_t last;
	} *slots;
	size_t used, room;
};

struct column {
	unsigned int field;
	struct lpfm_place place;	/* place of the field, or of last_reset for COLUMN_PERIOD */
	unsigned int pmd;		/* number of the PMD for COLUMN_VALUE */
	/*
	 * COLUMN_NONE: the value itself; otherwise its growth since the last sample in which this
	 * field had the same value
	 */
	unsigned int stream;
	enum { COLUMN_PLAIN, COLUMN_LINEAR, COLUMN_LOG } scale;
	uint64_t shift;			/* added to the value, to align clocks that differ */
	uint64_t from, step;		/* for LINEAR bins */
	unsigned int bits;		/* for LOG bins: 2^bits bins for each power of two */
	struct column_streams streams;
	/*
	 * not empty: the field is a pid or tid, for which lives_at() gives the number of its life
	 */
	struct lives lives;
	bool plain;			/* the column is a field without changes */
	bool value;			/* the column is a PMD's value without changes */
	/*
	 * COLUMN_VALUE: the value is at rank in samples with this key (walk.h); column_forget()
	 * clears it
	 */
	uint64_t key;
	unsigned int rank;
};

/* Reads the column at idx: a field's name, a PMD's number, or a table. */
void column_read(lua_State *L, int idx, const char *call, struct column *c);
/* Does what column_get() does, for columns that are not plain. */
int column_compute(struct column *c, const struct lpfm_walk *w, uint64_t *v);
void column_free(struct column *c);

/* Forgets the rank, because in another block, samples with the same key may hold other values. */
static inline void column_forget(struct column *c)
{
	c->key = UINT64_MAX;	/* a key that no sample has */
}

/* Returns the field of the current sample. */
static inline uint64_t column_field(const struct column *c, const struct lpfm_walk *w)
{
	uint64_t v = lpfm_load(lpfm_walk_at(w) + c->place.offset, c->place.width);

	return c->field == COLUMN_PERIOD ? -v : v;
}

/*
 * Stores the column's value for the current sample in *v. Returns 1; 0 if the sample does not have
 * the value; -1 if there is no memory. For a column with a stream this must be called for all
 * samples, in their order.
 */
static inline int column_get(struct column *c, const struct lpfm_walk *w, uint64_t *v)
{
	if (c->plain) {
		*v = column_field(c, w);
		return 1;
	}
	if (c->value && c->key == w->key) {
		*v = lpfm_walk_value(w, c->rank);
		return 1;
	}
	return column_compute(c, w, v);
}

#endif
