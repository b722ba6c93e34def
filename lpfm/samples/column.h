/* SPDX-License-Identifier: MIT */
/*
 * column.h - a value that every sample has, or may have: a field, a PMD's value, how much either grew
 * since the last sample of the same thread; as it is or by the number of its bin.
 */
#ifndef LPFM_COLUMN_H
#define LPFM_COLUMN_H

#include "samples/stored_walk.h"

enum column_field {
	COLUMN_PID, COLUMN_TID, COLUMN_CPU, COLUMN_PMD, COLUMN_SET, COLUMN_IP, COLUMN_TSTAMP, COLUMN_PERIOD,
	COLUMN_VALUE, COLUMN_NONE
};
extern const char *const column_names[];	/* of the fields, but VALUE; ended by NULL */

/* The last value of each stream of samples: an open hash table. */
struct column_streams {
	struct column_stream {
		uint64_t key;		/* + 1; 0: free */
		uint64_t last;
	} *slots;
	size_t used, room;
};

struct column {
	enum column_field field;
	unsigned int pmd;		/* of VALUE */
	enum column_field stream;	/* NONE: the value; else what it grew by in the same TID, PID, CPU */
	enum { COLUMN_PLAIN, COLUMN_LINEAR, COLUMN_LOG } scale;
	uint64_t from, step;		/* LINEAR */
	unsigned int bits;		/* LOG: 2^bits bins for each power of two */
	struct column_streams streams;
	bool plain;			/* a field as it is */
};

/* Reads the column at idx: a field's name, a PMD's number, or a table. */
void column_read(lua_State *L, int idx, const char *call, struct column *c);
/* column_get() of columns that are not plain. */
int column_compute(struct column *c, const struct sample *s, uint64_t *v);
void column_free(struct column *c);

static inline uint64_t column_field_of(const pfm_dfl_smpl_entry_t *e, enum column_field f)
{
	switch (f) {
	case COLUMN_PID:
		return e->tgid;
	case COLUMN_TID:
		return e->pid;
	case COLUMN_CPU:
		return e->cpu;
	case COLUMN_PMD:
		return e->ovfl_pmd;
	case COLUMN_SET:
		return e->set;
	case COLUMN_TSTAMP:
		return e->tstamp;
	case COLUMN_PERIOD:
		return -e->last_reset_val;
	default:
		return e->ip;
	}
}

/* 1: the sample has it; 0: it does not; -1: no memory. Of samples in their order: see stream. */
static inline int column_get(struct column *c, const struct sample *s, uint64_t *v)
{
	if (!c->plain)
		return column_compute(c, s, v);
	*v = column_field_of(&s->e, c->field);
	return 1;
}

#endif
