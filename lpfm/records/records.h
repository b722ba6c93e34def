/* SPDX-License-Identifier: MIT */
/* records.h - what programs did, in buffers of the format stack (6.3.2). */
#ifndef LPFM_RECORDS_H
#define LPFM_RECORDS_H

#include "base/module.h"

int lpfm_buffer_records(lua_State *L);	/* a method of buffers */
void lpfm_open_records(lua_State *L);

#endif
