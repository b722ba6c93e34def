/* SPDX-License-Identifier: MIT */
/* registers.h - the methods of contexts for register vectors. */
#ifndef LPFM_REGISTERS_H
#define LPFM_REGISTERS_H

#include "base/module.h"

void lpfm_open_registers(lua_State *L);

#endif
