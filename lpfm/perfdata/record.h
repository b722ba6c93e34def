/* SPDX-License-Identifier: MIT */
/* record.h - the records of a perf.data file as Lua tables. */
#ifndef LPFM_PERFDATA_RECORD_H
#define LPFM_PERFDATA_RECORD_H

#include "perfdata/sample.h"

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
