/* SPDX-License-Identifier: MIT */
/***
Functions and source lines of programs, shared libraries, the vdso and the kernel.
This module knows one object at a time; `pfm.symbols` finds the objects that processes have mapped.
@module lpfm.symbols
*/
#include <stdbool.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "base/args.h"
#include "base/field.h"
#include "base/object.h"
#include "demangle/demangle.h"
#include "symbols/object.h"
#include "symbols/unwinder.h"

#define INLINE_MAX 16
#define EXACT (1ULL << 53)
#define NOWHERE (1ULL << 62)	/* an address that is neither a user's nor the kernel's */

struct object {
	struct lpfm_head head;
	struct symobj *o;	/* NULL: the object is closed */
};

static void release(void *object)
{
	struct object *self = object;

	symobj_close(self->o);
	self->o = NULL;
}

static const struct lpfm_class object_class = { "lpfm.symbols.object", release };

static struct symobj *check_object(lua_State *L)
{
	struct object *self = lpfm_object_check(L, 1, &object_class);

	if (!self->o)
		luaL_error(L, "the object is closed");
	return self->o;
}

/*
 * Addresses are numbers in two's complement, as everywhere in lpfm: those of the kernel are
 * negative. An address from another machine or a damaged file may exceed what a number holds
 * exactly. It becomes NOWHERE, where nothing is found.
 */
static uint64_t check_address(lua_State *L, int arg)
{
	lua_Number v = luaL_checknumber(L, arg);

	luaL_argcheck(L, v == floor(v), arg, "not an address");
	return fabs(v) <= (lua_Number)EXACT ? (uint64_t)(int64_t)v : NOWHERE;
}

static void push_address(lua_State *L, uint64_t addr)
{
	lua_pushnumber(L, (lua_Number)(int64_t)addr);
}

/***
Opens an object.
@function object
@string path an ELF file, "[vdso]" or "[kernel]"
@string[opt=path] file where the contents are read, if not at path; the debug information is
searched by path
@treturn[1] object
@return[2] nil
@treturn[2] string why not
@usage local o = symbols.object("/proc/self/exe"); print(o:functions())
*/
static int symbols_object(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1), *file = luaL_optstring(L, 2, path);
	struct object *self = lpfm_object_new(L, sizeof(*self));
	char why[SYMOBJ_ERROR_LEN];

	if (lpfm_has_zero(L, 1) || (file != path && lpfm_has_zero(L, 2))) {
		/* no error is raised, because the path may come from a recording */
		lua_pushnil(L);
		lua_pushfstring(L, "%s: its path has a zero byte", path);
		return 2;
	}
	lpfm_object_arm(L, self, &object_class);
	self->o = symobj_open(path, file, why);
	if (self->o)
		return 1;
	lua_pushnil(L);
	lua_pushfstring(L, "%s: %s", path, why);
	return 2;
}

/***
Converts an offset in the file into the object's own address.
@function object:address
@number offset in bytes
@return the address, or nil where the offset is not in a loaded segment
@usage local o = require("lpfm.symbols").object("/proc/self/exe")
return o:address(0)
*/
static int object_address(lua_State *L)
{
	struct symobj *o = check_object(L);
	uint64_t addr;

	if (symobj_offset_to_addr(o, check_address(L, 2), &addr))
		push_address(L, addr);
	else
		lua_pushnil(L);
	return 1;
}

/* Pushes a readable name, without the version of a library's symbol ("f@@V_1"), but with "@plt". */
static void push_name(lua_State *L, const char *name)
{
	size_t len = strcspn(name, "@");
	const char *base = name;
	char *plain;

	if (name[len]) {
		lua_pushlstring(L, name, len);
		base = lua_tostring(L, -1);
	}
	plain = demangle(base);
	lua_pushfstring(L, "%s%s", plain ? plain : base, strcmp(name + len, "@plt") == 0 ? "@plt" : "");
	free(plain);
	if (name[len])
		lua_remove(L, -2);
}

/*
 * Pushes name, address and size of the function at an address. Returns false, and pushes nothing,
 * if no function is known there.
 */
static bool push_function(lua_State *L, struct symobj *o, uint64_t addr)
{
	const struct symtab_entry *e = symobj_function(o, addr);
	struct symdwarf_frame own;
	uint64_t start, size;

	if (e) {
		push_name(L, e->name);
		push_address(L, e->addr);
		push_address(L, e->size);
		return true;
	}
	if (symobj_frames(o, addr, &own, 1) == 1) {	/* there is only debug information */
		push_name(L, own.name);
		push_address(L, addr);
		lua_pushnumber(L, 0);
		return true;
	}
	if (symobj_range(o, addr, &start, &size)) {
		lua_pushliteral(L, "");
		push_address(L, start);
		push_address(L, size);
		return true;
	}
	return false;
}

/***
Returns the function at an address.
@function object:func
@number address the object's own
@return[1] its name, demangled; "" if only its beginning and its end are known
@return[1] the function's address; the given address if the size is 0
@return[1] its size in bytes; 0 if only the debug information names the function
@return[2] nil if no function is known there
@usage local o = require("lpfm.symbols").object("/proc/self/exe")
return o:func(o:address(4096) or 0)
*/
static int object_func(lua_State *L)
{
	struct symobj *o = check_object(L);

	if (push_function(L, o, check_address(L, 2)))
		return 3;
	lua_pushnil(L);
	return 1;
}

/***
Returns the source file and line of an address.
@function object:line
@number address the object's own
@return[1] file
@return[1] line
@return[2] nil without debug information
@usage local o = require("lpfm.symbols").object("/proc/self/exe")
return o:line(o:address(4096) or 0)
*/
static int object_line(lua_State *L)
{
	struct symobj *o = check_object(L);
	int line = 0;
	const char *file = symobj_line(o, check_address(L, 2), &line);

	if (!file) {
		lua_pushnil(L);
		return 1;
	}
	lua_pushstring(L, file);
	lua_pushinteger(L, line);
	return 2;
}

static void push_frame(lua_State *L, const struct symdwarf_frame *frame)
{
	lua_createtable(L, 0, 3);
	push_name(L, frame->name);
	lua_setfield(L, -2, "name");
	if (!frame->file)
		return;
	lpfm_set_text(L, "file", frame->file);
	lpfm_set_number(L, "line", frame->line);
}

/***
Returns the functions at an address: the innermost inlined one first, and last the function into
which the others are inlined.
@function object:frames
@number address the object's own
@treturn table a list of tables with `name`, `file` and `line`; the line is that of the address, or
that of the call of the function before. The list is empty without debug information
@usage local o = require("lpfm.symbols").object("/proc/self/exe")
return #o:frames(o:address(4096) or 0)
*/
static int object_frames(lua_State *L)
{
	struct symobj *o = check_object(L);
	struct symdwarf_frame frames[INLINE_MAX];
	int n = symobj_frames(o, check_address(L, 2), frames, INLINE_MAX);

	lua_createtable(L, n, 0);
	for (int i = 0; i < n; i++) {
		push_frame(L, &frames[i]);
		lua_rawseti(L, -2, i + 1);
	}
	return 1;
}

/* --- describing many addresses at once -------------------------------------------------------- */

/* Stack indices while addresses are described. */
enum { FUNCTIONS = 3, LINES, FRAMES, FILES, STARTS, NUMBERS };

static int compare_addresses(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * Pushes the object's own addresses for the offsets in the list at index 2, as memory that Lua
 * frees. Offsets in no loaded segment are left out.
 */
static uint64_t *push_addresses(lua_State *L, const struct symobj *o, size_t *num)
{
	size_t n = lua_objlen(L, 2), used = 0;
	uint64_t *addresses = lua_newuserdata(L, (n + 1) * sizeof(*addresses));

	for (size_t i = 0; i < n; i++) {
		lua_rawgeti(L, 2, (int)i + 1);
		luaL_argcheck(L, lua_isnumber(L, -1) && lua_tonumber(L, -1) == floor(lua_tonumber(L, -1)), 2,
			      "a list of whole numbers expected");
		used += symobj_offset_to_addr(o, check_address(L, -1), &addresses[used]);
		lua_pop(L, 1);
	}
	qsort(addresses, used, sizeof(*addresses), compare_addresses);
	*num = used;
	return addresses;
}

/* Returns the file's number in the list FILES, to which it is added; 0 for NULL. */
static lua_Integer number_file(lua_State *L, const char *file)
{
	lua_Integer number;

	if (!file)
		return 0;
	lua_pushstring(L, file);
	lua_pushvalue(L, -1);
	lua_rawget(L, NUMBERS);
	number = lua_tointeger(L, -1);
	lua_pop(L, 1);
	if (number) {
		lua_pop(L, 1);
		return number;
	}
	number = (lua_Integer)lua_objlen(L, FILES) + 1;
	lua_pushvalue(L, -1);
	lua_rawseti(L, FILES, (int)number);
	lua_pushinteger(L, number);
	lua_rawset(L, NUMBERS);
	return number;
}

/* Moves the n values on top into a table, which is appended to the list. */
static void append_row(lua_State *L, int list, int n)
{
	lua_createtable(L, n, 0);
	lua_insert(L, -n - 1);
	for (int i = n; i; i--)
		lua_rawseti(L, -i - 1, i);
	lua_rawseti(L, list, (int)lua_objlen(L, list) + 1);
}

/* Adds the function at an address, unless it was added before. Returns false if there is none. */
static bool describe_function(lua_State *L, struct symobj *o, uint64_t addr)
{
	bool is_new;

	if (!push_function(L, o, addr))
		return false;
	lua_pushvalue(L, -2);
	lua_rawget(L, STARTS);
	is_new = lua_isnil(L, -1);
	lua_pop(L, 1);
	if (!is_new) {
		lua_pop(L, 3);
		return true;
	}
	lua_pushvalue(L, -2);
	lua_pushboolean(L, 1);
	lua_rawset(L, STARTS);
	/* debug information gives no size: only this address is covered */
	if (lua_tonumber(L, -1) == 0 && lua_tonumber(L, -2) == (lua_Number)(int64_t)addr) {
		lua_pop(L, 1);
		lua_pushnumber(L, 1);
	}
	lua_pushvalue(L, -3);	/* address, size, name */
	lua_remove(L, -4);
	append_row(L, FUNCTIONS, 3);
	return true;
}

static void describe_line(lua_State *L, struct symobj *o, uint64_t addr)
{
	int line = 0;
	const char *file = symobj_line(o, addr, &line);

	if (!file)
		return;
	push_address(L, addr);
	lua_pushinteger(L, number_file(L, file));
	lua_pushinteger(L, line);
	append_row(L, LINES, 3);
}

static void describe_frames(lua_State *L, struct symobj *o, uint64_t addr)
{
	struct symdwarf_frame frames[INLINE_MAX];
	int n = symobj_frames(o, addr, frames, INLINE_MAX);

	if (n < 2)
		return;
	push_address(L, addr);
	for (int i = 0; i < n; i++) {
		push_name(L, frames[i].name);
		lua_pushinteger(L, number_file(L, frames[i].file));
		lua_pushinteger(L, frames[i].file ? frames[i].line : 0);
	}
	append_row(L, FRAMES, 3 * n + 1);
}

/***
Describes many places in the object's file.
@function object:describe
@tparam table offsets in the file, in bytes; those in no loaded segment, or in no known function,
are left out
@treturn table `functions` of `{address, size, name}`; `lines` of `{address, file, line}`; `frames` of
`{address, name, file, line, name, file, line...}` where functions are inlined, the innermost first;
`files`: their paths. Addresses are the object's own; a file is a number in `files`, 0 where it is
not known
@raise on offsets that are no whole numbers
@usage local o = require("lpfm.symbols").object("/proc/self/exe")
return #o:describe({ 4096 }).lines
*/
static int object_describe(lua_State *L)
{
	static const char *const lists[] = { "functions", "lines", "frames", "files" };
	struct symobj *o = check_object(L);
	const uint64_t *addresses;
	size_t n;

	luaL_checktype(L, 2, LUA_TTABLE);
	lua_settop(L, 2);
	luaL_checkstack(L, 3 * INLINE_MAX + LUA_MINSTACK, NULL);
	for (int i = FUNCTIONS; i <= NUMBERS; i++)
		lua_newtable(L);
	addresses = push_addresses(L, o, &n);
	for (size_t i = 0; i < n; i++) {
		if ((i && addresses[i] == addresses[i - 1]) || !describe_function(L, o, addresses[i]))
			continue;
		describe_line(L, o, addresses[i]);
		describe_frames(L, o, addresses[i]);
	}
	lua_createtable(L, 0, LPFM_COUNT(lists));
	for (int i = 0; i < (int)LPFM_COUNT(lists); i++) {
		lua_pushvalue(L, FUNCTIONS + i);
		lua_setfield(L, -2, lists[i]);
	}
	return 1;
}

/***
Returns the parts of the file that are loaded.
@function object:segments
@treturn table of `{offset, size, address}`: where in the file, how many bytes, the object's own
address; empty for the kernel
@usage local o = require("lpfm.symbols").object("/proc/self/exe")
return #o:segments()
*/
static int object_segments(lua_State *L)
{
	struct symobj *o = check_object(L);
	struct symobj_segment seg;

	lua_newtable(L);
	for (size_t i = 0; symobj_segment(o, &i, &seg);) {
		const uint64_t values[] = { seg.offset, seg.size, seg.addr };

		lua_createtable(L, 3, 0);
		for (int k = 0; k < 3; k++) {
			push_address(L, values[k]);
			lua_rawseti(L, -2, k + 1);
		}
		lua_rawseti(L, -2, (int)lua_objlen(L, -2) + 1);
	}
	return 1;
}

/***
Returns how many functions the object's symbol table names; 0 if the object is stripped.
@function object:functions
@treturn number
@usage local o = require("lpfm.symbols").object("/proc/self/exe")
return o:functions()
*/
static int object_functions(lua_State *L)
{
	lua_pushnumber(L, (lua_Number)symobj_functions(check_object(L)));
	return 1;
}

/***
Returns why the object's debug information cannot be read.
@function object:trouble
@return string in words, or nil if it can be read, or if there is none
@usage local o = require("lpfm.symbols").object("/proc/self/exe")
return o:trouble()
*/
static int object_trouble(lua_State *L)
{
	lua_pushstring(L, symobj_trouble(check_object(L)));
	return 1;
}

/***
Returns the build id in hexadecimal.
@function object:build_id
@return string, or nil
@usage local o = require("lpfm.symbols").object("/proc/self/exe")
return o:build_id()
*/
static int object_build_id(lua_State *L)
{
	int len;
	const unsigned char *id = symobj_build_id(check_object(L), &len);

	if (id)
		lpfm_push_hex(L, id, (size_t)len);
	else
		lua_pushnil(L);
	return 1;
}

/***
Returns the build id of a file that is not opened for its symbols.
@function build_id
@string file
@return string in hexadecimal, or nil if the file has none, or is no ELF file
@usage print(require("lpfm.symbols").build_id "/bin/sh")
*/
static int symbols_build_id(lua_State *L)
{
	unsigned char id[SYMOBJ_BUILD_ID];
	const char *path = luaL_checkstring(L, 1);
	int len = lpfm_has_zero(L, 1) ? 0 : symobj_read_build_id(path, id);

	if (len)
		lpfm_push_hex(L, id, (size_t)len);
	else
		lua_pushnil(L);
	return 1;
}

/***
Releases the object; also done on collection.
@function object:close
@usage local o = require("lpfm.symbols").object("/proc/self/exe")
o:close()
*/
static int object_close(lua_State *L)
{
	release(lpfm_object_check(L, 1, &object_class));
	return 0;
}

static int object_tostring(lua_State *L)
{
	struct object *self = lpfm_object_check(L, 1, &object_class);

	if (self->o)
		lua_pushfstring(L, "symbols of an object (%d functions)",
				(int)symobj_functions(self->o));
	else
		lua_pushliteral(L, "symbols of an object (closed)");
	return 1;
}

/***
Converts the name of a symbol of C++, D, OCaml or Rust into the function's name in the source.
@function demangle
@string name
@treturn string the function's name; the given name if it is of none of these languages
@usage assert(require("lpfm.symbols").demangle "_ZN3foo3barEv" == "foo::bar()")
*/
static int symbols_demangle(lua_State *L)
{
	const char *name = luaL_checkstring(L, 1);
	char *plain = lpfm_has_zero(L, 1) ? NULL : demangle(name);

	if (plain)
		lua_pushstring(L, plain);
	else
		lua_settop(L, 1);
	free(plain);
	return 1;
}

static const luaL_Reg methods[] = {
	{ "address", object_address },
	{ "func", object_func },
	{ "line", object_line },
	{ "frames", object_frames },
	{ "segments", object_segments },
	{ "functions", object_functions },
	{ "build_id", object_build_id },
	{ "trouble", object_trouble },
	{ "close", object_close },
	{ "describe", object_describe },
	{ NULL, NULL },
};

LPFM_EXPORT int luaopen_lpfm_symbols(lua_State *L);

int luaopen_lpfm_symbols(lua_State *L)
{
	static const luaL_Reg metas[] = { { "__tostring", object_tostring }, { NULL, NULL } };
	static const luaL_Reg functions[] = {
		{ "object", symbols_object }, { "build_id", symbols_build_id },
		{ "demangle", symbols_demangle }, { NULL, NULL }
	};

	lpfm_class_new(L, &object_class, methods, metas);
	lua_newtable(L);
	luaL_register(L, NULL, functions);
	symbols_open_pointers(L);
	symbols_open_unwinder(L);
	return 1;
}
