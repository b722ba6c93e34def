/* SPDX-License-Identifier: MIT */
/* events.h - what the files of events by name share. */
#ifndef LPFM_EVENTS_H
#define LPFM_EVENTS_H

#include "base/module.h"
#include "perfmon/pfmlib.h"

/* Pushes a table; its fields are added to the module's. */
int luaopen_lpfm_events(lua_State *L);

/* The library's model follows the machine in use; raises if the library cannot be used. */
void lpfm_events_refresh(lua_State *L);
/* nil, "call: reason", errno, name of the library's error. */
int lpfm_events_fail(lua_State *L, const char *call, int error);
/* "EVENT:MASK", with "MODEL::" in front if the event is of another model than the current one. */
void lpfm_push_event_name(lua_State *L, const pfmlib_event_t *e);

/* A set of registers as a list of numbers. */
void lpfm_push_regmask(lua_State *L, const pfmlib_regmask_t *mask);

/* dispatch.c */
extern const luaL_Reg lpfm_dispatch_functions[];
/* {num=, value=} */
void lpfm_push_pmc(lua_State *L, unsigned int num, uint64_t value);

/* constants.c: the constants of pfmlib.h join the table on top. */
void lpfm_events_constants(lua_State *L);

/* pmu.c */
extern const luaL_Reg lpfm_pmu_functions[];
/* The number of an error by its name without PFMLIB_ERR_; 1: there is none. */
int lpfm_event_error_number(const char *name);

/* ia64.c: is it the field of a request for an Itanium's own options? */
bool lpfm_ia64_knows(const char *field);
/* model_in and model_out (NULL of NULL) in a userdata it pushes, from the request at idx; NULL: it has no options. */
struct lpfm_ia64;
struct lpfm_ia64 *lpfm_ia64_new(lua_State *L, int idx, const char *call, const pfmlib_input_param_t *in);
void *lpfm_ia64_in(struct lpfm_ia64 *x);
void *lpfm_ia64_out(struct lpfm_ia64 *x);
/* Debug registers as PMCs, appended to the list at pmcs; sets field "ranges" of the table on top. */
void lpfm_ia64_push(lua_State *L, int pmcs, struct lpfm_ia64 *x);

#endif
