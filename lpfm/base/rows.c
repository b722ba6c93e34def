// SPDX-License-Identifier: MIT
/* rows.c - lists of records that print as tables; lists with equal columns share a metatable. */
#include "base/rows.h"

static const char rows[] =
#include "rows.inc"
	;

/* Pushes the function of rows.lua that makes a text of a list. */
static void push_tostring(lua_State *L, const char *columns)
{
	if (luaL_loadbuffer(L, rows, sizeof(rows) - 1, "=lpfm.rows"))
		lua_error(L);
	lua_pushstring(L, columns);
	lua_call(L, 1, 1);
}

void lpfm_rows_print(lua_State *L, const char *columns)
{
	lua_pushfstring(L, "lpfm.rows %s", columns);
	if (luaL_newmetatable(L, lua_tostring(L, -1))) {
		push_tostring(L, columns);
		lua_setfield(L, -2, "__tostring");
	}
	lua_remove(L, -2);
	if (lua_istable(L, -1))
		lua_setmetatable(L, -2);
	else
		lua_pop(L, 1);
}
