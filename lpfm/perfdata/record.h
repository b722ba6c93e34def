/* SPDX-License-Identifier: MIT */
/* record.h - the records of a perf.data file as tables of Lua. */
#ifndef LPFM_PERFDATA_RECORD_H
#define LPFM_PERFDATA_RECORD_H

#include "perfdata/sample.h"

/*
 * Pushes a table with the fields of a record that is no sample; *time is 0 where it has none. False: it is too short
 * for them, and nothing is pushed.
 */
bool perf_record_push(lua_State *L, const struct perf_record *record, const struct perf_event_attr *attr,
		      uint64_t *time);
/* Pushes an event: the attributes that perf_event_open(2) was called with. */
void perf_attr_push(lua_State *L, const struct perf_event_attr *attr);
/* Pushes a sample of event number attr, from 1, without its time. */
void perf_sample_push(lua_State *L, const struct perf_record *record, const struct perf_event_attr *attr,
		      const struct perf_sample *s, uint32_t number);

#endif
