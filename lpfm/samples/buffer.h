/* SPDX-License-Identifier: MIT */
/* buffer.h - views of sampling buffers, and functions on samples. */
#ifndef LPFM_BUFFER_H
#define LPFM_BUFFER_H

#include "base/module.h"
#include "ffi/objects.h"

/*
 * Returns the context of the buffer view at idx; raises unless the buffer is open and can be
 * decoded.
 */
struct lpfm_context *lpfm_buffer_samples(lua_State *L, int idx);
/* Converts an address in a part of the buffer into an offset in that part. */
size_t lpfm_buffer_offset(const struct lpfm_context *ctx, const unsigned char *at);
/* Maps the context's buffer. Returns false, with errno, if it cannot be mapped. */
bool lpfm_buffer_map(struct lpfm_context *ctx);
void lpfm_open_buffer(lua_State *L);

/*
 * Returns the optional argument at idx: how many regions must be read before the one that is meant.
 */
unsigned int lpfm_arg_ahead(lua_State *L, int idx, const char *call);

/* Methods of buffers. */
int lpfm_buffer_fields(lua_State *L);
int lpfm_buffer_count_by(lua_State *L);
int lpfm_buffer_records(lua_State *L);
/* Makes the class of the loops' states. The module's table is on top of the stack. */
void lpfm_open_fields(lua_State *L);
void lpfm_open_records(lua_State *L);

int lpfm_encode_head(lua_State *L);	/* lpfm.samples.head() */
int lpfm_encode_sample(lua_State *L);	/* lpfm.samples.sample() */
int lpfm_counter_new(lua_State *L);	/* lpfm.samples.counter() */
void lpfm_open_counter(lua_State *L);
int lpfm_stack_table_new(lua_State *L);		/* lpfm.samples.stack_table() */
int lpfm_stack_samples(lua_State *L);		/* lpfm.samples.samples() */
void lpfm_open_stack_table(lua_State *L);

#endif
