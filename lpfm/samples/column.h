/* SPDX-License-Identifier: MIT */
/*
 * column.h - a value that every sample has, or may have: a field, a PMD's value, how much either grew
 * since the last sample of the same thread; as it is or by the number of its bin.
 */
#ifndef LPFM_COLUMN_H
#define LPFM_COLUMN_H

#include "records/pid_reuse.h"
#include "samples/walk.h"

/* One of enum lpfm_smpl_field, or: */
enum {
	COLUMN_PERIOD = LPFM_SMPL_FIELDS,	/* last_reset as a number of events */
	COLUMN_VALUE,				/* of a PMD */
	COLUMN_NONE
};

/* The last value of each stream of samples: an open hash table. */
struct column_streams {
	struct column_stream {
		uint64_t key;		/* + 1; 0: free */
		uint64_t last;
	} *slots;
	size_t used, room;
};

struct column {
	unsigned int field;
	struct lpfm_place place;	/* of the field; of last_reset for PERIOD */
	unsigned int pmd;		/* of VALUE */
	unsigned int stream;		/* NONE: the value; else what it grew by in the same TID, PID, CPU */
	enum { COLUMN_PLAIN, COLUMN_LINEAR, COLUMN_LOG } scale;
	uint64_t shift;			/* added to the value: for clocks that are apart */
	uint64_t from, step;		/* LINEAR */
	unsigned int bits;		/* LOG: 2^bits bins for each power of two */
	struct column_streams streams;
	struct lives lives;		/* a pid in the life that it had at the time; list NULL: as it is */
	bool plain;			/* a field as it is */
	bool value;			/* a PMD's value as it is */
	uint64_t key;			/* VALUE: at rank in samples with this key (walk.h); column_forget() */
	unsigned int rank;
};

/* Reads the column at idx: a field's name, a PMD's number, or a table. */
void column_read(lua_State *L, int idx, const char *call, struct column *c);
/* column_get() of columns that are not plain. */
int column_compute(struct column *c, const struct lpfm_walk *w, uint64_t *v);
void column_free(struct column *c);

/* Samples with the same keys may hold other values from now on. */
static inline void column_forget(struct column *c)
{
	c->key = UINT64_MAX;	/* no sample's */
}

/* The field of the current sample. */
static inline uint64_t column_field(const struct column *c, const struct lpfm_walk *w)
{
	uint64_t v = lpfm_load(lpfm_walk_at(w) + c->place.offset, c->place.width);

	return c->field == COLUMN_PERIOD ? -v : v;
}

/* 1: the sample has it; 0: it does not; -1: no memory. Of samples in their order: see stream. */
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
