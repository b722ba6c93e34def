/* SPDX-License-Identifier: MIT */
/* access.h - accesses and traces of simulated programs. */
#ifndef LPFM_SIM_ACCESS_H
#define LPFM_SIM_ACCESS_H

#include "base/module.h"
#include "perfmon/sim.h"

/* Is that a field about what a site accesses: load, store, taken, seed, bytes, fence? */
bool lpfm_sim_is_access(const char *name);
/* The value on top of the stack is field name of the site at path. */
void lpfm_sim_access(lua_State *L, const char *path, const char *name, struct pfm_sim_access *access);

/* Reads the file named on top of the stack: pushes what has its bytes. */
const void *lpfm_sim_read_trace(lua_State *L, const char *path, uint64_t *size);
/* The function on top of the stack, which returns an operation a call: pushes what has the trace's bytes. */
const void *lpfm_sim_call_trace(lua_State *L, const char *path, uint64_t *size);

/* Functions about traces, into the table on top of the stack. */
void lpfm_open_traces(lua_State *L);

#endif
