/* SPDX-License-Identifier: MIT */
/*
 * object.c - userdata with a class.
 */
#include <string.h>

#include "base/object.h"

static const luaL_Reg no_functions[] = { { NULL, NULL } };

void lpfm_object_retire(void *object)
{
	((struct lpfm_head *)object)->class = NULL;
}

/* Upvalue: the class. */
static int retire(lua_State *L)
{
	void *object = lpfm_object_test(L, 1, lua_touserdata(L, lua_upvalueindex(1)));

	if (object)
		lpfm_object_retire(object);
	return 0;
}

void lpfm_class_new(lua_State *L, const struct lpfm_class *class, const luaL_Reg *methods,
		    const luaL_Reg *metas)
{
	luaL_newmetatable(L, class->name);
	lua_newtable(L);
	luaL_register(L, NULL, methods ? methods : no_functions);
	lua_setfield(L, -2, "__index");
	lua_pushlightuserdata(L, (void *)(uintptr_t)class);
	lua_pushcclosure(L, retire, 1);
	lua_setfield(L, -2, "__gc");
	luaL_register(L, NULL, metas ? metas : no_functions);
	lua_pushstring(L, class->name);
	lua_setfield(L, -2, "__metatable");
	lua_pop(L, 1);
}

void *lpfm_object_new(lua_State *L, size_t size)
{
	return memset(lua_newuserdata(L, size), 0, size);
}

void lpfm_object_arm(lua_State *L, void *object, const struct lpfm_class *class)
{
	luaL_getmetatable(L, class->name);
	lua_setmetatable(L, -2);
	((struct lpfm_head *)object)->class = class;
}

void *lpfm_object_check(lua_State *L, int idx, const struct lpfm_class *class)
{
	void *object = lpfm_object_test(L, idx, class);

	if (!object)
		luaL_typerror(L, idx, class->name);
	return object;
}

void lpfm_object_anchor(lua_State *L, int idx)
{
	lua_pushvalue(L, idx);
	lua_createtable(L, 1, 0);
	lua_insert(L, -2);
	lua_rawseti(L, -2, 1);
	lua_setfenv(L, -2);
}
