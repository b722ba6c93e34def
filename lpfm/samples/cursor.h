/* SPDX-License-Identifier: MIT */
/* cursor.h - samples as Lua objects. */
#ifndef LPFM_CURSOR_H
#define LPFM_CURSOR_H

#include "base/module.h"
#include "samples/walk.h"

/* Methods of buffers. */
int lpfm_buffer_each(lua_State *L);
int lpfm_buffer_sample(lua_State *L);
/* Returns the walk of the cursor at idx; raises unless it is a cursor on a sample. */
const struct lpfm_walk *lpfm_cursor_walk(lua_State *L, int idx);
void lpfm_open_cursor(lua_State *L);

#endif
