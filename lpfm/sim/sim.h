/* SPDX-License-Identifier: MIT */
/* sim.h - the simulated computer. */
#ifndef LPFM_SIM_H
#define LPFM_SIM_H

#include "base/module.h"
#include "perfmon/sim.h"

/*
 * Pushes the table of the simulator's methods. lpfm.machine() makes them methods of the table it
 * returns, so their first argument is that table.
 */
void lpfm_push_sim(lua_State *L);

/* Reads the list of steps at idx as a program; pushes the userdata that contains it. */
const struct pfm_sim_program *lpfm_sim_program(lua_State *L, int idx, const char *call);

#endif
