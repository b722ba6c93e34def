/* SPDX-License-Identifier: MIT */
/* unwinder.c - unwinders as objects. */
/***
@submodule lpfm.symbols
*/
#include <lauxlib.h>
#include <string.h>

#include "symbols/unwind.h"
#include "symbols/unwinder.h"

#define UNWINDER_TYPE "lpfm.symbols.unwinder"
#define FRAMES_MAX 512
#define EXACT 9007199254740992.0	/* 2^53 */

struct unwinder {
	struct symunwind *u;	/* NULL: closed */
};

static struct symunwind *check_unwinder(lua_State *L)
{
	struct unwinder *self = luaL_checkudata(L, 1, UNWINDER_TYPE);

	if (!self->u)
		luaL_error(L, "the unwinder is closed");
	return self->u;
}

struct symunwind *symbols_unwinder_at(lua_State *L, int idx)
{
	struct unwinder *self = lua_touserdata(L, idx);
	bool is_one = self && lua_getmetatable(L, idx);

	if (!is_one)
		return NULL;
	luaL_getmetatable(L, UNWINDER_TYPE);
	is_one = lua_rawequal(L, -1, -2);
	lua_pop(L, 2);
	return is_one ? self->u : NULL;
}

/* Element i of the mapping on top, an address. */
static uint64_t element(lua_State *L, int i)
{
	lua_Number v;

	lua_rawgeti(L, -1, i);
	v = lua_tonumber(L, -1);
	luaL_argcheck(L, lua_isnumber(L, -1) && v >= 0 && v <= EXACT, 1, "not a list of mappings");
	lua_pop(L, 1);
	return (uint64_t)v;
}

/* The mapping on top: {start, stop, offset, path}; others than files and the vdso have no call frame information. */
static void add_mapping(lua_State *L, struct symunwind *u)
{
	const char *path;

	luaL_argcheck(L, lua_istable(L, -1), 1, "not a list of mappings");
	lua_rawgeti(L, -1, 4);
	path = lua_tostring(L, -1);
	lua_insert(L, -2);
	if (path && (path[0] == '/' || !strcmp(path, "[vdso]")))
		symunwind_map(u, path, element(L, 1), element(L, 3));
	lua_remove(L, -2);
}

/***
Makes an unwinder of user stacks for a process: by the call frame information of its objects (.eh_frame, or DWARF).
@function unwinder
@tparam table maps the process's executable mappings: a list of `{start, stop, offset, path}`
@treturn unwinder
@raise on what is no list of mappings, and without memory
@usage local u = require("lpfm.symbols").unwinder {}
assert(u:frames("", "") == "")
*/
static int unwinder_new(lua_State *L)
{
	struct unwinder *self;
	int n;

	luaL_checktype(L, 1, LUA_TTABLE);
	n = (int)lua_objlen(L, 1);
	self = lua_newuserdata(L, sizeof(*self));
	self->u = NULL;
	luaL_getmetatable(L, UNWINDER_TYPE);
	lua_setmetatable(L, -2);
	self->u = symunwind_open();
	if (!self->u)
		return luaL_error(L, "not enough memory");
	for (int i = 1; i <= n; i++) {
		lua_rawgeti(L, 1, i);
		add_mapping(L, self->u);
		lua_pop(L, 1);
	}
	return 1;
}

/***
Unwinds the copy of a stack.
@function unwinder:frames
@string registers words of 64 bits, as Linux' asm/perf_regs.h numbers them
@string memory the stack's bytes from the stack pointer on
@treturn string the frames, words of 64 bits, the innermost first; "" where they cannot be told
@usage local u = require("lpfm.symbols").unwinder {}
assert(u:frames("", "") == "")
*/
static int unwinder_frames(lua_State *L)
{
	struct symunwind *u = check_unwinder(L);
	size_t num, size, n;
	const char *bytes = luaL_checklstring(L, 2, &num), *copy = luaL_checklstring(L, 3, &size);
	uint64_t regs[64] = { 0 }, frames[FRAMES_MAX];

	luaL_argcheck(L, num % sizeof(uint64_t) == 0 && num <= sizeof(regs), 2, "not registers");
	memcpy(regs, bytes, num);
	n = symunwind_frames(u, regs, num / sizeof(uint64_t), copy, size, frames, FRAMES_MAX);
	lua_pushlstring(L, (const char *)frames, n * sizeof(uint64_t));
	return 1;
}

/***
Do the functions of an ELF file keep frame pointers? A guess, by their first instructions.
@function frame_pointers
@string path
@return boolean, or nil: that is not to be told
@usage print(require("lpfm.symbols").frame_pointers "/bin/sh")
*/
static int frame_pointers(lua_State *L)
{
	int answer = symunwind_frame_pointers(luaL_checkstring(L, 1));

	if (answer < 0)
		return 0;
	lua_pushboolean(L, answer);
	return 1;
}

static int unwinder_gc(lua_State *L)
{
	struct unwinder *self = luaL_checkudata(L, 1, UNWINDER_TYPE);

	symunwind_close(self->u);
	self->u = NULL;
	return 0;
}

void symbols_open_unwinder(lua_State *L)
{
	luaL_newmetatable(L, UNWINDER_TYPE);
	lua_newtable(L);
	lua_pushcfunction(L, unwinder_frames);
	lua_setfield(L, -2, "frames");
	lua_setfield(L, -2, "__index");
	lua_pushcfunction(L, unwinder_gc);
	lua_setfield(L, -2, "__gc");
	lua_pushliteral(L, UNWINDER_TYPE);
	lua_setfield(L, -2, "__metatable");
	lua_pop(L, 1);
	lua_pushcfunction(L, unwinder_new);
	lua_setfield(L, -2, "unwinder");
	lua_pushcfunction(L, frame_pointers);
	lua_setfield(L, -2, "frame_pointers");
}
