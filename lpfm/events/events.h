/* SPDX-License-Identifier: MIT */
/* events.h - what the files of events by name share. */
#ifndef LPFM_EVENTS_H
#define LPFM_EVENTS_H

#include "base/module.h"
#include "perfmon/pfmlib.h"

/* Pushes a table whose fields join the module's. */
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

/* constants.c: the constants of pfmlib.h join the table on top. */
void lpfm_events_constants(lua_State *L);

/* pmu.c */
extern const luaL_Reg lpfm_pmu_functions[];
/* The number of an error by its name without PFMLIB_ERR_; 1: there is none. */
int lpfm_event_error_number(const char *name);

/* itanium2.c: model_in and model_out in a userdata it pushes, from the table at idx. */
struct lpfm_itanium2;
struct lpfm_itanium2 *lpfm_itanium2_new(lua_State *L, int idx, const char *call, const pfmlib_input_param_t *in);
void *lpfm_itanium2_in(struct lpfm_itanium2 *x);
void *lpfm_itanium2_out(struct lpfm_itanium2 *x);
/* Debug registers as PMCs, appended to the list at pmcs; sets field "ranges" of the table on top. */
void lpfm_itanium2_push(lua_State *L, int pmcs, struct lpfm_itanium2 *x);

#endif
