/* SPDX-License-Identifier: MIT */
/* u64.h - 64-bit values: numbers if these are exact, otherwise objects. */
#ifndef LPFM_U64_H
#define LPFM_U64_H

#include "base/module.h"

void lpfm_push_u64_object(lua_State *L, uint64_t value);

/*
 * Pushes a number if it is exact when the value is read as signed (|v| <= 2^53), else a u64 object.
 */
static inline void lpfm_push_u64(lua_State *L, uint64_t value)
{
	if (value + (1ULL << 53) <= 1ULL << 54)
		lua_pushnumber(L, (lua_Number)(int64_t)value);
	else
		lpfm_push_u64_object(L, value);
}

/* Pushes a number if it is exact when the value is read as unsigned, else a u64 object. */
void lpfm_push_nat(lua_State *L, uint64_t value);
bool lpfm_is_u64(lua_State *L, int idx, uint64_t *value);
void lpfm_open_u64(lua_State *L);

#endif
