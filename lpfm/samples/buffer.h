/* SPDX-License-Identifier: MIT */
/* buffer.h - views of sampling buffers. */
#ifndef LPFM_BUFFER_H
#define LPFM_BUFFER_H

#include "base/module.h"
#include "ffi/objects.h"

/* An open, decodable buffer's context; the buffer view is at idx. */
struct lpfm_context *lpfm_buffer_samples(lua_State *L, int idx);
void lpfm_open_buffer(lua_State *L);

#endif
