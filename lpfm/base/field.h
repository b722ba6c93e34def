/* SPDX-License-Identifier: MIT */
/* field.h - functions that set the field `name` of the table on top of the stack. */
#ifndef LPFM_FIELD_H
#define LPFM_FIELD_H

#include <string.h>

#include "base/u64.h"

/* Sets the field to nil if text is NULL. */
static inline void lpfm_set_text(lua_State *L, const char *name, const char *text)
{
	lua_pushstring(L, text);
	lua_setfield(L, -2, name);
}

static inline void lpfm_set_bytes(lua_State *L, const char *name, const void *bytes, size_t n)
{
	lua_pushlstring(L, bytes, n);
	lua_setfield(L, -2, name);
}

/* Sets a text of at most max bytes, which may lack the terminating 0. */
static inline void lpfm_set_text_of(lua_State *L, const char *name, const char *text, size_t max)
{
	lpfm_set_bytes(L, name, text, strnlen(text, max));
}

static inline void lpfm_set_number(lua_State *L, const char *name, lua_Number value)
{
	lua_pushnumber(L, value);
	lua_setfield(L, -2, name);
}

static inline void lpfm_set_bool(lua_State *L, const char *name, bool value)
{
	lua_pushboolean(L, value);
	lua_setfield(L, -2, name);
}

static inline void lpfm_set_nat(lua_State *L, const char *name, uint64_t value)
{
	lpfm_push_nat(L, value);
	lua_setfield(L, -2, name);
}

static inline void lpfm_set_u64(lua_State *L, const char *name, uint64_t value)
{
	lpfm_push_u64(L, value);
	lua_setfield(L, -2, name);
}

static inline void lpfm_set_function(lua_State *L, const char *name, lua_CFunction function)
{
	lua_pushcfunction(L, function);
	lua_setfield(L, -2, name);
}

#endif
