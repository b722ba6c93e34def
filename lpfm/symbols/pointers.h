/* SPDX-License-Identifier: MIT */
/* pointers.h - what the code of an ELF file says about call stacks: frame pointers, libraries, other programs. */
#ifndef LPFM_SYMBOLS_POINTERS_H
#define LPFM_SYMBOLS_POINTERS_H

#include <lua.h>

/* Adds frame_pointers() and needs() to the module's table, which is on top. */
void symbols_open_pointers(lua_State *L);

#endif
