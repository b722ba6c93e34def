/* SPDX-License-Identifier: MIT */
/*
 * starved.c - runs a script in a Lua state that can run out of memory: argv[1] with the other
 * arguments.
 *
 * The script gets a function starve(n, f, ...), a pcall(f, ...) in which n allocations succeed.
 */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>

#include "permitted.h"

static int starve(lua_State *L)
{
	long n = (long)luaL_checknumber(L, 1);
	int ret;

	/* room for results, which lua_pcall() could not get when starved */
	luaL_checkstack(L, 100, "starve");
	lua_pushboolean(L, 1);
	lua_replace(L, 1);
	permitted = n;
	ret = lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 0);
	permitted = -1;
	if (ret) {
		lua_pushboolean(L, 0);
		lua_replace(L, 1);
	}
	return lua_gettop(L);
}

static void set_arguments(lua_State *L, int argc, char **argv)
{
	lua_newtable(L);
	for (int i = 1; i < argc; i++) {
		lua_pushstring(L, argv[i]);
		lua_rawseti(L, -2, i - 1);
	}
	lua_setglobal(L, "arg");
	lua_register(L, "starve", starve);
}

int main(int argc, char **argv)
{
	lua_State *L = lua_newstate(allocate, NULL);
	int ret;

	if (argc < 2 || !L)
		return 2;
	luaL_openlibs(L);
	set_arguments(L, argc, argv);
	ret = luaL_loadfile(L, argv[1]) || lua_pcall(L, 0, 0, 0);
	if (ret)
		fprintf(stderr, "%s\n", lua_tostring(L, -1));
	lua_close(L);
	return ret;
}
