/* SPDX-License-Identifier: MIT */
/* machine.h - the Lua functions about the machine. */
#ifndef LPFM_MACHINE_H
#define LPFM_MACHINE_H

#include "base/module.h"

bool lpfm_machine_is_sim(const char *name);
/* push_sim pushes a table of the additional methods that the simulator's machine has. */
void lpfm_open_machine(lua_State *L, void (*push_sim)(lua_State *L));

#endif
