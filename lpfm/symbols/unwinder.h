/* SPDX-License-Identifier: MIT */
/* unwinder.h - unwinders as Lua objects. */
#ifndef LPFM_SYMBOLS_UNWINDER_H
#define LPFM_SYMBOLS_UNWINDER_H

#include <lua.h>

struct symunwind;

/* Returns the unwinder at idx; NULL if the value is not an unwinder, or is closed. */
struct symunwind *symbols_unwinder_at(lua_State *L, int idx);

/* Adds unwinder() to the module's table, which is on top. */
void symbols_open_unwinder(lua_State *L);

/* pointers.c: adds frame_pointers() and needs() to the module's table, which is on top. */
void symbols_open_pointers(lua_State *L);

#endif
