/* SPDX-License-Identifier: MIT */
/* cursor.h - samples as objects. */
#ifndef LPFM_CURSOR_H
#define LPFM_CURSOR_H

#include "base/module.h"

/* Methods of buffers. */
int lpfm_buffer_each(lua_State *L);
int lpfm_buffer_sample(lua_State *L);
void lpfm_open_cursor(lua_State *L);

#endif
