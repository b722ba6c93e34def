/* SPDX-License-Identifier: MIT */
/* object.c - userdata with a class. */
#include <string.h>

#include "base/object.h"

void lpfm_upvalue_get(lua_State *L)
{
	if (lua_istable(L, lua_upvalueindex(1))) {
		lua_rawget(L, lua_upvalueindex(1));
		return;
	}
	lua_pop(L, 1);
	lua_pushnil(L);
}

void lpfm_registry_table(lua_State *L, const char *name)
{
	lua_getfield(L, LUA_REGISTRYINDEX, name);
	if (lua_istable(L, -1))
		return;
	lua_pop(L, 1);
	lua_newtable(L);
	lua_pushvalue(L, -1);
	lua_setfield(L, LUA_REGISTRYINDEX, name);
}

static const luaL_Reg no_functions[] = { { NULL, NULL } };

/* The upvalue is the class. */
static int collect(lua_State *L)
{
	const struct lpfm_class *class = lua_touserdata(L, lua_upvalueindex(1));
	struct lpfm_head *object = lpfm_object_test(L, 1, class);

	if (object) {
		object->class = NULL;
		if (class->release)
			class->release(object);
	}
	return 0;
}

/*
 * The registry has under this key the names of all methods by function, because a function that is
 * called by pcall() has no name.
 */
static const char names_key[] = "lpfm.methods";

static void push_names(lua_State *L)
{
	lpfm_registry_table(L, names_key);
}

/* Adds methods to the metatable on top. */
static void add_methods(lua_State *L, const luaL_Reg *methods)
{
	lua_getfield(L, -1, "__index");
	luaL_register(L, NULL, methods);
	push_names(L);
	for (; methods->name; methods++) {
		lua_getfield(L, -2, methods->name);
		lua_pushstring(L, methods->name);
		lua_rawset(L, -3);
	}
	lua_pop(L, 2);
}

void lpfm_class_methods(lua_State *L, const struct lpfm_class *class, const luaL_Reg *methods)
{
	luaL_getmetatable(L, class->name);
	add_methods(L, methods);
	lua_pop(L, 1);
}

void lpfm_class_index(lua_State *L, const struct lpfm_class *class, lua_CFunction index)
{
	luaL_getmetatable(L, class->name);
	lua_getfield(L, -1, "__index");
	lua_pushcclosure(L, index, 1);
	lua_setfield(L, -2, "__index");
	lua_pop(L, 1);
}

void lpfm_class_new(lua_State *L, const struct lpfm_class *class, const luaL_Reg *methods,
		    const luaL_Reg *metas)
{
	luaL_newmetatable(L, class->name);
	lua_newtable(L);
	lua_setfield(L, -2, "__index");
	add_methods(L, methods ? methods : no_functions);
	lua_pushlightuserdata(L, (void *)(uintptr_t)class);
	lua_pushcclosure(L, collect, 1);
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
	if (!lua_istable(L, -1))
		luaL_error(L, "the registry has lost the class %s", class->name);
	lua_setmetatable(L, -2);
	((struct lpfm_head *)object)->class = class;
}

/* Returns the name of the running function if it is a method; the string stays on the stack. */
static const char *method_name(lua_State *L)
{
	lua_Debug ar;

	if (!lua_getstack(L, 0, &ar))
		return NULL;
	push_names(L);
	lua_getinfo(L, "f", &ar);
	lua_rawget(L, -2);
	return lua_tostring(L, -1);
}

void lpfm_object_refuse(lua_State *L, int idx, const struct lpfm_class *class)
{
	const char *got = luaL_typename(L, idx), *dot = strrchr(class->name, '.');
	const char *method = idx == 1 ? method_name(L) : NULL;

	if (!method)
		luaL_typerror(L, idx, class->name);
	luaL_error(L, "%s: %s expected, got %s: a method is called with a colon, as in %s:%s(...)", method,
		   class->name, got, dot ? dot + 1 : class->name, method);
}

void *lpfm_object_check(lua_State *L, int idx, const struct lpfm_class *class)
{
	void *object = lpfm_object_test(L, idx, class);

	if (!object)
		lpfm_object_refuse(L, idx, class);
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
