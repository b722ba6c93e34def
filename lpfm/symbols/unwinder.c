/* SPDX-License-Identifier: MIT */
/* unwinder.c - unwinders as Lua objects. */
/***
@submodule lpfm.symbols
*/
#include <lauxlib.h>
#include <string.h>

#include "base/field.h"
#include "base/object.h"
#include "symbols/unwind.h"
#include "symbols/unwinder.h"

#define FRAMES_MAX 512
#define EXACT 9007199254740992.0	/* 2^53 */

struct unwinder {
	struct lpfm_head head;
	struct symunwind *u;
};

static void release(void *unwinder)
{
	symunwind_close(((struct unwinder *)unwinder)->u);
}

static const struct lpfm_class unwinder_class = { "lpfm.symbols.unwinder", release };

static struct symunwind *check_unwinder(lua_State *L)
{
	return ((struct unwinder *)lpfm_object_check(L, 1, &unwinder_class))->u;
}

struct symunwind *symbols_unwinder_at(lua_State *L, int idx)
{
	struct unwinder *self = lpfm_object_test(L, idx, &unwinder_class);

	return self ? self->u : NULL;
}

static int no_memory(lua_State *L)
{
	return luaL_error(L, "not enough memory");
}

/* Returns argument idx, a pid or a time in ns. */
static uint64_t number(lua_State *L, int idx)
{
	lua_Number v = luaL_checknumber(L, idx);

	luaL_argcheck(L, v >= 0 && v < 2048 * EXACT, idx, "a number from 0 to 2^64 expected");
	return (uint64_t)v;
}

/* Returns element i of the mapping on top, an address; arg is the argument with the mappings. */
static uint64_t element(lua_State *L, int arg, int i)
{
	lua_Number v;

	lua_rawgeti(L, -1, i);
	v = lua_tonumber(L, -1);
	luaL_argcheck(L, lua_isnumber(L, -1) && v >= 0 && v <= EXACT, arg, "not a list of mappings");
	lua_pop(L, 1);
	return (uint64_t)v;
}

/* Adds the mapping on top, of argument arg: {start, stop, offset, path, build id}. */
static void add_mapping(lua_State *L, int arg, struct symunwind *u, uint64_t pid, uint64_t time)
{
	const char *path, *id;

	luaL_argcheck(L, lua_istable(L, -1), arg, "not a list of mappings");
	lua_rawgeti(L, -1, 4);
	lua_rawgeti(L, -2, 5);
	path = lua_tostring(L, -2);
	id = lua_tostring(L, -1);
	path = path ? path : "";
	lua_pushvalue(L, -3);	/* the strings must stay on the stack while C uses them */
	/* [vsyscall] is in the kernel's half of the address space */
	if (strcmp(path, "[vsyscall]") &&
	    !symmapped_add(symunwind_mapped(u), pid, time, element(L, arg, 1), element(L, arg, 2),
			   element(L, arg, 3), path, id))
		no_memory(L);
	lua_pop(L, 3);
}

static void add_mappings(lua_State *L, int idx, struct symunwind *u, uint64_t pid, uint64_t time)
{
	int n;

	luaL_checktype(L, idx, LUA_TTABLE);
	n = (int)lua_objlen(L, idx);
	for (int i = 1; i <= n; i++) {
		lua_rawgeti(L, idx, i);
		add_mapping(L, idx, u, pid, time);
		lua_pop(L, 1);
	}
}

/***
Makes an unwinder of user stacks: by the call frame information (.eh_frame, or DWARF) of what
processes have mapped.
@function unwinder
@tparam[opt] table maps the executable mappings of process 0, a list of
`{start, stop, offset, path}`
@bool[opt=false] pointers frame pointers may be followed, too
@treturn unwinder
@raise on what is no list of mappings, and if there is no memory
@usage local u = require("lpfm.symbols").unwinder {}
assert(u:frames("", "") == "")
*/
static int unwinder_new(lua_State *L)
{
	struct unwinder *self;

	lua_settop(L, 2);
	self = lpfm_object_new(L, sizeof(*self));
	lpfm_object_arm(L, self, &unwinder_class);
	self->u = symunwind_open(lua_toboolean(L, 2));
	if (!self->u)
		return no_memory(L);
	if (!lua_isnil(L, 1))
		add_mappings(L, 1, self->u, 0, 0);
	return 1;
}

/***
Notes what a process has mapped.
@function unwinder:maps
@int pid
@int time ns, since when
@tparam table maps its executable mappings, a list of `{start, stop, offset, path, build id}`; without
the last, in hexadecimal, the file that is at the path now is taken to be the one that was mapped
@raise on what is no list of mappings, and if there is no memory
@usage require("lpfm.symbols").unwinder():maps(7, 0, { { 4096, 8192, 0, "/bin/sh" } })
*/
static int unwinder_maps(lua_State *L)
{
	add_mappings(L, 4, check_unwinder(L), number(L, 2), number(L, 3));
	return 0;
}

/***
Notes that a process executes a program: from that time on it has nothing mapped any more.
@function unwinder:exec
@int pid
@int time ns
@usage require("lpfm.symbols").unwinder():exec(7, 1000)
*/
static int unwinder_exec(lua_State *L)
{
	return symmapped_clear(symunwind_mapped(check_unwinder(L)), number(L, 2), number(L, 3)) ? 0 : no_memory(L);
}

/***
Notes that a process is new: it begins with the mappings that its parent has at that time.
@function unwinder:fork
@int pid
@int time ns
@int parent its pid
@usage require("lpfm.symbols").unwinder():fork(8, 1000, 7)
*/
static int unwinder_fork(lua_State *L)
{
	struct symmapped *m = symunwind_mapped(check_unwinder(L));

	return symmapped_fork(m, number(L, 2), number(L, 4), number(L, 3)) ? 0 : no_memory(L);
}

/***
Tells whether anything is known of what a process has mapped.
@function unwinder:knows
@int pid
@treturn boolean
@usage assert(not require("lpfm.symbols").unwinder():knows(7))
*/
static int unwinder_knows(lua_State *L)
{
	lua_pushboolean(L, symmapped_knows(symunwind_mapped(check_unwinder(L)), number(L, 2)));
	return 1;
}

static const uint64_t *words(lua_State *L, int idx, const char *what, uint64_t *to, size_t max, size_t *num)
{
	size_t size;
	const char *bytes = luaL_optlstring(L, idx, "", &size);

	luaL_argcheck(L, size % sizeof(uint64_t) == 0 && size <= max * sizeof(uint64_t), idx, what);
	memcpy(to, bytes, size);
	*num = size / sizeof(uint64_t);
	return to;
}

/***
Unwinds the copy of a stack.
@function unwinder:frames
@string registers words of 64 bits, as Linux' asm/perf_regs.h numbers them
@string memory the stack's bytes from the stack pointer on
@string[opt] chain words of 64 bits: the address, and where frame pointers say that functions return
to
@int[opt=0] pid the process
@int[opt=0] time ns, when
@treturn string the frames, words of 64 bits, the innermost first; "" if it is not known where the
thread is
@return string why the stack ends before the program's start: "copy", "table", "code", "stack",
"pointers", "mappings", "frames" or "registers"; else nil
@usage local u = require("lpfm.symbols").unwinder {}
assert(u:frames("", "") == "")
*/
static int unwinder_frames(lua_State *L)
{
	static const char *const ends[SYMUNWIND_NUM_ENDS] = {
#define X(number, name, word, words) [number] = (word),
		SYMUNWIND_ENDS(X)
#undef X
	};
	struct symunwind *u = check_unwinder(L);
	uint64_t regs[64], chain[FRAMES_MAX], frames[FRAMES_MAX];
	struct symunwind_stack s = {
		.pid = lua_isnoneornil(L, 5) ? 0 : number(L, 5), .time = lua_isnoneornil(L, 6) ? 0 : number(L, 6),
	};
	enum symunwind_end end;
	size_t n;

	s.regs = words(L, 2, "not registers", regs, 64, &s.num_regs);
	s.copy = luaL_checklstring(L, 3, &s.size);
	s.chain = words(L, 4, "not a chain", chain, FRAMES_MAX, &s.num_chain);
	n = symunwind_frames(u, &s, frames, FRAMES_MAX, &end);
	lua_pushlstring(L, (const char *)frames, n * sizeof(uint64_t));
	lua_pushstring(L, ends[end]);	/* pushes nil for NULL */
	return 2;
}

void symbols_open_unwinder(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "exec", unwinder_exec }, { "fork", unwinder_fork }, { "frames", unwinder_frames },
		{ "knows", unwinder_knows }, { "maps", unwinder_maps }, { NULL, NULL }
	};

	lpfm_class_new(L, &unwinder_class, methods, NULL);
	lpfm_set_function(L, "unwinder", unwinder_new);
}
