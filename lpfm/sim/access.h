/* SPDX-License-Identifier: MIT */
/* access.h - accesses and traces of simulated programs. */
#ifndef LPFM_SIM_ACCESS_H
#define LPFM_SIM_ACCESS_H

#include "base/module.h"
#include "perfmon/sim.h"

/* Returns true for a field about what a site accesses: load, store, taken, seed, bytes, fence. */
bool lpfm_sim_is_access(const char *name);
/* Reads the value on top of the stack, which is the field "name" of the site that path names. */
void lpfm_sim_access(lua_State *L, const char *path, const char *name, struct pfm_sim_access *access);

/* Reads the file named on top of the stack; pushes an object that holds its bytes. */
const void *lpfm_sim_read_trace(lua_State *L, const char *path, uint64_t *size);
/*
 * Calls the function on top of the stack, which returns an operation at each call; pushes an object
 * that holds the trace's bytes.
 */
const void *lpfm_sim_call_trace(lua_State *L, const char *path, uint64_t *size);

/* Adds functions about traces to the table on top of the stack. */
void lpfm_open_traces(lua_State *L);

#endif
