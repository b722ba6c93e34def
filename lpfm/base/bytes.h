/* SPDX-License-Identifier: MIT */
/* bytes.h - single values in memory, by type ("u8", "u16", "u32", "u64", "double") and offset. */
#ifndef LPFM_BYTES_H
#define LPFM_BYTES_H

#include "base/module.h"

/*
 * Arguments idx and idx + 1 are type and offset. Pushes the value at the offset; raises an error if
 * the value does not lie within size bytes.
 */
int lpfm_bytes_get(lua_State *L, int idx, const char *call, const void *at, size_t size);
/* Writes argument idx + 2 at the place given by arguments idx and idx + 1. */
void lpfm_bytes_put(lua_State *L, int idx, const char *call, void *at, size_t size);

#endif
