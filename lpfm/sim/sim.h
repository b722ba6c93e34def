/* SPDX-License-Identifier: MIT */
/* sim.h - what the two files about the simulated computer share. */
#ifndef LPFM_SIM_H
#define LPFM_SIM_H

#include "lpfm.h"
#include "perfmon/sim.h"

/* The list of steps at idx as a program; pushes the userdata that it lives in. */
const struct pfm_sim_program *lpfm_sim_program(lua_State *L, int idx, const char *call);

#endif
