/* SPDX-License-Identifier: MIT */
/* object.h - userdata with a class. */
#ifndef LPFM_OBJECT_H
#define LPFM_OBJECT_H

#include "base/class.h"
#include "base/module.h"

/*
 * Makes the class's metatable. Methods are found by name unless metas has an __index. Its
 * __gc calls the class's release(), after which no function accepts the object.
 */
void lpfm_class_new(lua_State *L, const struct lpfm_class *class, const luaL_Reg *methods,
		    const luaL_Reg *metas);
/* Has fields read by a function that gets the table of the methods as its first upvalue. */
void lpfm_class_index(lua_State *L, const struct lpfm_class *class, lua_CFunction index);
/* Adds methods to a class. */
void lpfm_class_methods(lua_State *L, const struct lpfm_class *class, const luaL_Reg *methods);
/*
 * Pushes a zeroed userdata, which is not an object yet. The caller first makes it safe for __gc,
 * then calls lpfm_object_arm(), and only then acquires resources for it.
 */
void *lpfm_object_new(lua_State *L, size_t size);
void lpfm_object_arm(lua_State *L, void *object, const struct lpfm_class *class);
/* Returns the object at idx; raises an error if it is not of this class. */
void *lpfm_object_check(lua_State *L, int idx, const struct lpfm_class *class);

/*
 * Raises because the value at idx is not of this class; the message names the method that was
 * called.
 */
void lpfm_object_refuse(lua_State *L, int idx, const struct lpfm_class *class);

/*
 * Returns the object at idx, or NULL if it is not of this class. The class is recognized by the
 * object's head.
 */
static inline void *lpfm_object_test(lua_State *L, int idx, const struct lpfm_class *class)
{
	struct lpfm_head *head = lua_touserdata(L, idx);

	if (!head || lua_objlen(L, idx) < sizeof(*head) || head->class != class)
		return NULL;
	return head;
}

/*
 * Replaces the key on top by its value in the first upvalue, a table, or by nil. debug.setupvalue()
 * can make the upvalue anything.
 */
void lpfm_upvalue_get(lua_State *L);
/* Pushes the table that the registry has under this name; makes it if there is none. */
void lpfm_registry_table(lua_State *L, const char *name);

/*
 * Keeps the value at idx alive as long as the userdata on top of the stack lives, unless a script
 * replaces the userdata's environment: memory that C reads must not depend on it.
 */
void lpfm_object_anchor(lua_State *L, int idx);

#endif
