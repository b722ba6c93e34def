/* SPDX-License-Identifier: MIT */
/* stack.h - the call stack of a sample of the format stack. */
#ifndef LPFM_STACK_H
#define LPFM_STACK_H

#include "samples/walk.h"

/*
 * Pushes the view of the stack of the sample at which the cursor at idx is; w is the cursor's walk.
 * Pushes nil if samples have no stacks.
 */
void lpfm_stack_push(lua_State *L, int idx, const struct lpfm_walk *w);
/* Pushes the frames of the current sample as a list. */
void lpfm_stack_push_frames(lua_State *L, const struct lpfm_walk *w);
void lpfm_open_stack(lua_State *L);

#endif
