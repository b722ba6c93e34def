/* SPDX-License-Identifier: MIT */
/* fields.h - iterates over fields of samples. */
#ifndef LPFM_FIELDS_H
#define LPFM_FIELDS_H

#include "base/module.h"

/* Methods of buffers. */
int lpfm_buffer_fields(lua_State *L);
/* The module's table is on top. */
void lpfm_open_fields(lua_State *L);

#endif
