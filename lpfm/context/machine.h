/* SPDX-License-Identifier: MIT */
/* machine.h - the machine. */
#ifndef LPFM_MACHINE_H
#define LPFM_MACHINE_H

#include "base/module.h"

bool lpfm_machine_is_sim(const char *name);
/* push_sim pushes a table: the methods that the simulator has besides. */
void lpfm_open_machine(lua_State *L, void (*push_sim)(lua_State *L));

#endif
