/* SPDX-License-Identifier: MIT */
/* events.h - what the files about events by name share. */
#ifndef LPFM_EVENTS_H
#define LPFM_EVENTS_H

#include "base/module.h"
#include "perfmon/pfmlib.h"

/* constants.c: adds functions and constants to the module on top. */
void lpfm_open_events(lua_State *L);
extern const luaL_Reg lpfm_event_functions[], lpfm_dispatch_functions[], lpfm_pmu_functions[];

/*
 * Makes the library's model follow the machine in use. Raises an error if the library cannot be
 * used.
 */
void lpfm_events_refresh(lua_State *L);
/* Returns nil, "call: reason", errno, and the name of the library's error. */
int lpfm_events_fail(lua_State *L, const char *call, int error);
/* Pushes "EVENT:MASK", with "MODEL::" in front if the event is not of the current model. */
void lpfm_push_event_name(lua_State *L, const pfmlib_event_t *e);

/* Pushes a set of registers as a list of numbers. */
void lpfm_push_regmask(lua_State *L, const pfmlib_regmask_t *mask);

/* Pushes {num=, value=}. */
void lpfm_push_pmc(lua_State *L, unsigned int num, uint64_t value);

/*
 * pmu.c: returns the number of the error with that name, without PFMLIB_ERR_; 1 if there is no such
 * error.
 */
int lpfm_event_error_number(const char *name);

/* ia64.c */
/*
 * lpfm_ia64_new() reads the options of the request at idx into a userdata with the library's
 * model_in and model_out, and pushes it; returns NULL if the request has no such options.
 */
struct lpfm_ia64;
struct lpfm_ia64 *lpfm_ia64_new(lua_State *L, int idx, const char *call, const pfmlib_input_param_t *in);
void *lpfm_ia64_in(struct lpfm_ia64 *x);
void *lpfm_ia64_out(struct lpfm_ia64 *x);
/*
 * Appends debug registers as PMCs to the list at pmcs; sets the field "ranges" of the table on top.
 */
void lpfm_ia64_push(lua_State *L, int pmcs, struct lpfm_ia64 *x);

#endif
