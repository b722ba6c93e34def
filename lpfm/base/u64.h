/* SPDX-License-Identifier: MIT */
/* u64.h - 64-bit values: numbers while that is exact, else objects. */
#ifndef LPFM_U64_H
#define LPFM_U64_H

#include "base/module.h"

void lpfm_push_u64_object(lua_State *L, uint64_t value);

/* A number if it is exact when read as signed (|v| <= 2^53), else a u64 object. */
static inline void lpfm_push_u64(lua_State *L, uint64_t value)
{
	if (value + (1ULL << 53) <= 1ULL << 54)
		lua_pushnumber(L, (lua_Number)(int64_t)value);
	else
		lpfm_push_u64_object(L, value);
}

/* A number if it is exact when read as unsigned, else a u64 object. */
void lpfm_push_nat(lua_State *L, uint64_t value);
bool lpfm_is_u64(lua_State *L, int idx, uint64_t *value);
void lpfm_open_u64(lua_State *L);

#endif
