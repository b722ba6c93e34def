/* SPDX-License-Identifier: MIT */
/* buffer.h - views of sampling buffers. */
#ifndef LPFM_BUFFER_H
#define LPFM_BUFFER_H

#include "base/module.h"
#include "ffi/objects.h"

/* An open, decodable buffer's context; the buffer view is at idx. */
struct lpfm_context *lpfm_buffer_samples(lua_State *L, int idx);
/* Where at, in a part of its buffer, is in that part. */
size_t lpfm_buffer_offset(const struct lpfm_context *ctx, const unsigned char *at);
/* Has the context's buffer mapped; false, with errno: it cannot be. */
bool lpfm_buffer_map(struct lpfm_context *ctx);
void lpfm_open_buffer(lua_State *L);

/* The argument at idx, optional: how many regions are to be read before the one that is meant. */
unsigned int lpfm_arg_ahead(lua_State *L, int idx, const char *call);

#endif
