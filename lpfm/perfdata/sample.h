/* SPDX-License-Identifier: MIT */
/* sample.h - a sample of a perf.data file, field by field. */
#ifndef LPFM_PERFDATA_SAMPLE_H
#define LPFM_PERFDATA_SAMPLE_H

#include "perfdata/file.h"

/*
 * What perf's samples may hold in addition to the fields that every sample of lpfm has. Recordings
 * store these values in this order.
 */
enum perf_value {
	PERF_VALUE_ADDR, PERF_VALUE_WEIGHT, PERF_VALUE_INS_LATENCY, PERF_VALUE_STAGE_CYCLES, PERF_VALUE_DATA_SRC,
	PERF_VALUE_TRANSACTION, PERF_VALUE_PHYS_ADDR, PERF_VALUE_DATA_PAGE_SIZE, PERF_VALUE_CODE_PAGE_SIZE,
	PERF_VALUE_CGROUP, PERF_VALUES
};

struct perf_value_name {
	const char	*name;
	uint64_t	type;		/* a set of PERF_SAMPLE_* bits */
};

extern const struct perf_value_name perf_values[PERF_VALUES];

/* 64-bit words in a record, which may be unaligned. */
struct perf_words {
	const unsigned char *at;
	uint64_t n;
};

struct perf_sample {
	uint64_t	ip, time, id, period;
	uint32_t	pid, tid, cpu;
	uint64_t	values[PERF_VALUES];
	struct perf_words callchain, regs;
	uint64_t	regs_abi;
	const unsigned char *stack;		/* the copy of the user's stack */
	uint64_t	stack_size;
	struct perf_words branches;		/* three words for each branch: from, to, flags */
	struct perf_words counts;		/* PERF_SAMPLE_READ: values and ids alternate */
	const unsigned char *raw;		/* the fields of a tracepoint */
	uint64_t	raw_size, aux_size;
};

/*
 * The place of the event's id: in samples, words from the start; in other records, words from the
 * end; -1: it is not there.
 */
struct perf_id_place {
	int in_sample, from_end;
};

struct perf_id_place perf_id_place(const struct perf_event_attr *attr);
/* Returns the size of the trailer that records other than samples have for this event. */
size_t perf_id_size(const struct perf_event_attr *attr);
/* Reads a sample of this event. Returns false if the record is too short for the fields. */
bool perf_sample_read(const struct perf_event_attr *attr, const struct perf_record *record, struct perf_sample *s);
/* Returns the time at the end of a record other than a sample, or 0 if it has none. */
uint64_t perf_id_time(const struct perf_event_attr *attr, const struct perf_record *record);

/* --- record.c: records as Lua tables ---------------------------------------------------------- */

/*
 * Pushes a table with the fields of a record that is not a sample; *time is 0 if the record has no
 * time. Returns false, and pushes nothing, if the record is too short.
 */
bool perf_record_push(lua_State *L, const struct perf_record *record, const struct perf_event_attr *attr,
		      uint64_t *time);
/* Pushes an event: the attributes with which perf_event_open(2) was called. */
void perf_attr_push(lua_State *L, const struct perf_event_attr *attr);
/* Pushes a sample of the event with number attr, from 1, without its time. */
void perf_sample_push(lua_State *L, const struct perf_record *record, const struct perf_event_attr *attr,
		      const struct perf_sample *s, uint32_t number);

#endif
