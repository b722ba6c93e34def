/* SPDX-License-Identifier: MIT */
/* fields.h - iterates over fields of samples. */
#ifndef LPFM_FIELDS_H
#define LPFM_FIELDS_H

#include "base/module.h"

/* Methods of buffers. */
int lpfm_buffer_fields(lua_State *L);
/* Makes the class of the loops' states. The module's table is on top of the stack. */
void lpfm_open_fields(lua_State *L);

#endif
