/* SPDX-License-Identifier: MIT */
/* sample.h - a sample of a perf.data file: what its record says, field by field. */
#ifndef LPFM_PERFDATA_SAMPLE_H
#define LPFM_PERFDATA_SAMPLE_H

#include "perfdata/file.h"

/* What follows the fields that all samples of lpfm have, in this order: recordings hold these as values. */
enum perf_value {
	PERF_VALUE_ADDR, PERF_VALUE_WEIGHT, PERF_VALUE_INS_LATENCY, PERF_VALUE_STAGE_CYCLES, PERF_VALUE_DATA_SRC,
	PERF_VALUE_TRANSACTION, PERF_VALUE_PHYS_ADDR, PERF_VALUE_DATA_PAGE_SIZE, PERF_VALUE_CODE_PAGE_SIZE,
	PERF_VALUE_CGROUP, PERF_VALUES
};

struct perf_value_name {
	const char	*name;
	uint64_t	type;		/* PERF_SAMPLE_* */
};

extern const struct perf_value_name perf_values[PERF_VALUES];

/* Words of 64 bits that lie in a record, at any address. */
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
	const unsigned char *stack;		/* copy of the user's stack */
	uint64_t	stack_size;
	struct perf_words branches;		/* three words each: from, to, flags */
	struct perf_words counts;		/* of READ: value and id, in turn */
	const unsigned char *raw;		/* of a tracepoint, its fields */
	uint64_t	raw_size, aux_size;
	bool		has_intr_regs;
};

/* Where the id of their event lies: in words from the start of samples, from the end of other records; -1: nowhere. */
struct perf_id_place {
	int in_sample, from_end;
};

struct perf_id_place perf_id_place(const struct perf_event_attr *attr);
/* Bytes that an event's records other than samples end with. */
size_t perf_id_size(const struct perf_event_attr *attr);
/* Reads a sample of this event; false: its record is too short for what it says. */
bool perf_sample_read(const struct perf_event_attr *attr, const struct perf_record *record, struct perf_sample *s);
/* The time at the end of another record, 0 where it is not there. */
uint64_t perf_id_time(const struct perf_event_attr *attr, const struct perf_record *record);

#endif
