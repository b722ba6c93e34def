/* SPDX-License-Identifier: MIT */
/* registers.h - the register vectors of a context: methods. */
#ifndef LPFM_REGISTERS_H
#define LPFM_REGISTERS_H

#include "base/module.h"

void lpfm_open_registers(lua_State *L);

#endif
