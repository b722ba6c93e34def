/* SPDX-License-Identifier: MIT */
/* stack.c - the call stack of a sample, viewed in place: of the sample that a cursor is on. */
/***
The call stack of a sample of the format stack.

#s.stack is the number of its frames, s.stack[i] the address of frame i: that of the sample, then
those to which the functions return. The frames of the kernel come first, s.stack.kernel of them.
Nothing is copied: the view moves with the cursor; s.stack:copy() stays.

@classmod stack
*/
#include <string.h>

#include "base/object.h"
#include "base/u64.h"
#include "perfmon/perfmon_stack_smpl.h"
#include "samples/cursor.h"

static const struct lpfm_class stack_class = { "lpfm.stack", NULL };

struct stack {
	struct lpfm_head	head;
};

enum { ENV_STACK = 2 };		/* index in the environment of a cursor */

void lpfm_stack_push(lua_State *L, int idx, const struct lpfm_walk *w)
{
	struct stack *s;

	if (!w->varies) {
		lua_pushnil(L);
		return;
	}
	lua_getfenv(L, idx);
	lua_rawgeti(L, -1, ENV_STACK);
	if (!lpfm_object_test(L, -1, &stack_class)) {
		lua_pop(L, 1);
		s = lpfm_object_new(L, sizeof(*s));
		lpfm_object_anchor(L, idx);
		lpfm_object_arm(L, s, &stack_class);
		lua_pushvalue(L, -1);
		lua_rawseti(L, -3, ENV_STACK);
	}
	lua_remove(L, -2);
}

void lpfm_stack_push_frames(lua_State *L, const struct lpfm_walk *w)
{
	unsigned int n = (unsigned int)w->kernel + w->user;

	lua_createtable(L, (int)n, 0);
	for (unsigned int i = 0; i < n; i++) {
		lpfm_push_u64(L, lpfm_walk_frame(w, i));
		lua_rawseti(L, -2, (int)i + 1);
	}
}

/* Returns the walk of the stack at 1, which must be on a sample. */
static const struct lpfm_walk *self(lua_State *L)
{
	const struct lpfm_walk *w;

	if (!lpfm_object_test(L, 1, &stack_class))
		lpfm_object_refuse(L, 1, &stack_class);
	lua_getfenv(L, 1);
	lua_rawgeti(L, -1, 1);
	w = lpfm_cursor_walk(L, -1);
	lua_pop(L, 2);
	if (!w->varies)
		luaL_error(L, "the sample has no stack");
	return w;
}

/***
Returns the frames as a list, which does not change when the cursor moves.
@function stack:copy
@treturn table
@usage
local ctx = assert(require("lpfm").create { format = "stack" })
local all = {}
for s in ctx:buffer():samples() do all[#all + 1] = s.stack:copy() end
ctx:close()
*/
static int stack_copy(lua_State *L)
{
	lpfm_stack_push_frames(L, self(L));
	return 1;
}

static pfm_stack_smpl_sample_t head_of(const struct lpfm_walk *w)
{
	pfm_stack_smpl_sample_t s;

	memcpy(&s, lpfm_walk_at(w), sizeof(s));
	return s;
}

static const unsigned char *after_frames(const struct lpfm_walk *w)
{
	return lpfm_walk_at(w) + w->frames_at + ((size_t)w->kernel + w->user) * sizeof(uint64_t);
}

/***
Returns the user's registers at the sample, with COPY, in the order of Linux' asm/perf_regs.h. The
list is empty if the thread has no user level.
@function stack:registers
@treturn table a list
@usage
local ctx = assert(require("lpfm").create { format = "stack" })
for s in ctx:buffer():samples() do print(#s.stack:registers()) end
ctx:close()
*/
static int stack_registers(lua_State *L)
{
	const struct lpfm_walk *w = self(L);
	pfm_stack_smpl_sample_t s = head_of(w);

	lua_createtable(L, s.num_regs, 0);
	for (unsigned int i = 0; i < s.num_regs; i++) {
		lpfm_push_u64(L, lpfm_load(after_frames(w) + i * sizeof(uint64_t), sizeof(uint64_t)));
		lua_rawseti(L, -2, (int)i + 1);
	}
	return 1;
}

/***
Returns the copy of the user's stack, with COPY: its bytes from the stack pointer on.
@function stack:memory
@treturn string
@usage
local ctx = assert(require("lpfm").create { format = "stack" })
for s in ctx:buffer():samples() do print(#s.stack:memory()) end
ctx:close()
*/
static int stack_memory(lua_State *L)
{
	const struct lpfm_walk *w = self(L);
	pfm_stack_smpl_sample_t s = head_of(w);

	lua_pushlstring(L, (const char *)after_frames(w) + s.num_regs * sizeof(uint64_t), s.stack_size);
	return 1;
}

/* The upvalue is the table of methods. */
static int stack_index(lua_State *L)
{
	const struct lpfm_walk *w = self(L);
	lua_Number i;

	if (lua_type(L, 2) == LUA_TNUMBER) {
		i = lua_tonumber(L, 2);
		if (!(i >= 1 && i <= w->kernel + w->user && i == (unsigned int)i))
			return 0;
		lpfm_push_u64(L, lpfm_walk_frame(w, (unsigned int)i - 1));
		return 1;
	}
	if (lua_type(L, 2) == LUA_TSTRING && !strcmp(lua_tostring(L, 2), "kernel")) {
		lua_pushinteger(L, w->kernel);
		return 1;
	}
	lua_pushvalue(L, 2);
	lpfm_upvalue_get(L);
	return 1;
}

static int stack_len(lua_State *L)
{
	const struct lpfm_walk *w = self(L);

	lua_pushinteger(L, (lua_Integer)w->kernel + w->user);
	return 1;
}

static int stack_tostring(lua_State *L)
{
	const struct lpfm_walk *w = self(L);

	lua_pushfstring(L, "lpfm.stack (%d frames, %d of the kernel)", w->kernel + w->user, w->kernel);
	return 1;
}

void lpfm_open_stack(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "copy", stack_copy }, { "memory", stack_memory }, { "registers", stack_registers }, { NULL, NULL }
	};
	static const luaL_Reg metas[] = {
		{ "__len", stack_len }, { "__tostring", stack_tostring }, { NULL, NULL }
	};

	lpfm_class_new(L, &stack_class, methods, metas);
	lpfm_class_index(L, &stack_class, stack_index);
}
