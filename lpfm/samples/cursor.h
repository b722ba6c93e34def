/* SPDX-License-Identifier: MIT */
/* cursor.h - samples and their call stacks as Lua objects. */
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

/* --- stack.c: the call stack of a sample ------------------------------------------------------ */

/*
 * Pushes the view of the stack of the sample at which the cursor at idx is; w is the cursor's walk.
 * Pushes nil if samples have no stacks.
 */
void lpfm_stack_push(lua_State *L, int idx, const struct lpfm_walk *w);
/* Pushes the frames of the current sample as a list. */
void lpfm_stack_push_frames(lua_State *L, const struct lpfm_walk *w);
void lpfm_open_stack(lua_State *L);

#endif
