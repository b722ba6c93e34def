/* SPDX-License-Identifier: MIT */
/*
 * marshal.c - converts Lua values into bytes and back, to pass them from one Lua state to another.
 *
 * A table or function that is met again becomes a reference to the first occurrence, so that shared
 * values stay shared, and cycles end. A function becomes its bytecode with the values of its
 * upvalues; a function of the standard libraries, or a library, becomes its name. A value is a
 * letter, followed by:
 *
 *	n t f		nothing: nil, true, false
 *	d u		8 bytes: a number, a u64 object
 *	s L		4 bytes of length and the bytes: a string, the name of a library function
 *	r		4 bytes: the number, from 1, of a table or function that came before
 *	T ... e		keys and values: a table
 *	F		4 bytes of length, the bytecode, 1 byte: number of upvalues, the upvalues
 */
#include <string.h>

#include "base/args.h"
#include "base/marshal.h"
#include "base/u64.h"

enum { MAX_DEPTH = 100 };

/* --- packing -------------------------------------------------------------------------------- */

struct packer {
	lua_State		*L;
	const struct lpfm_site	*site;
	const char		*owner;		/* key of the function being packed; or NULL */
	/* name of the function's upvalue that is being packed, or NULL */
	const char		*upvalue;
	int			buffer;		/* stack index of a userdata with the bytes */
	/* stack index of a table that maps tables and functions to their numbers */
	int			met;
	/* stack index of a table that maps library values to their names; 0 with LPFM_DATA */
	int			names;
	int			depth;
	uint32_t		count;		/* number of tables and functions so far */
	size_t			n, room;
};

static void put(struct packer *p, const void *bytes, size_t n)
{
	if (p->room - p->n < n) {
		size_t room = 2 * p->room + n;
		void *bigger = lua_newuserdata(p->L, room);

		memcpy(bigger, lua_touserdata(p->L, p->buffer), p->n);
		lua_replace(p->L, p->buffer);
		p->room = room;
	}
	memcpy((char *)lua_touserdata(p->L, p->buffer) + p->n, bytes, n);
	p->n += n;
}

static void put_letter(struct packer *p, char letter)
{
	put(p, &letter, 1);
}

static void put_bytes(struct packer *p, char letter, const char *bytes, size_t n)
{
	uint32_t length = (uint32_t)n;

	if (n > UINT32_MAX)
		lpfm_bad(p->L, p->site, "a string is too long");
	put_letter(p, letter);
	put(p, &length, sizeof(length));
	put(p, bytes, n);
}

static int refuse(struct packer *p, int idx)
{
	const char *what = luaL_typename(p->L, idx);

	if (p->upvalue)
		return lpfm_bad(p->L, p->site, "variable '%s' of %s is or holds a %s, which cannot leave this "
				"Lua state", p->upvalue, p->owner ? p->owner : "a function", what);
	return lpfm_bad(p->L, p->site, "a %s cannot leave this Lua state", what);
}

/*
 * Returns true if the value on top has a library name, or has been packed before, and packs the
 * name or a reference.
 */
static bool put_known(struct packer *p)
{
	lua_State *L = p->L;
	bool known = false;

	if (p->names) {
		lua_pushvalue(L, -1);
		lua_rawget(L, p->names);
		known = lua_isstring(L, -1);
		if (known)
			put_bytes(p, 'L', lua_tostring(L, -1), lua_objlen(L, -1));
		lua_pop(L, 1);
	}
	if (known)
		return true;
	lua_pushvalue(L, -1);
	lua_rawget(L, p->met);
	known = lua_isnumber(L, -1);
	if (known) {
		uint32_t number = (uint32_t)lua_tonumber(L, -1);

		put_letter(p, 'r');
		put(p, &number, sizeof(number));
	}
	lua_pop(L, 1);
	return known;
}

static void note_met(struct packer *p)
{
	lua_pushvalue(p->L, -1);
	lua_pushnumber(p->L, ++p->count);
	lua_rawset(p->L, p->met);
}

static void put_value(struct packer *p);

static void put_table(struct packer *p)
{
	lua_State *L = p->L;

	if (lua_getmetatable(L, -1))
		lpfm_bad(L, p->site, "a table with a metatable cannot leave this Lua state");
	note_met(p);
	put_letter(p, 'T');
	for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
		lua_pushvalue(L, -2);
		put_value(p);
		lua_pop(L, 1);
		if (!p->upvalue)
			p->owner = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
		put_value(p);
	}
	put_letter(p, 'e');
}

static int put_chunk(lua_State *L, const void *bytes, size_t n, void *p)
{
	(void)L;
	put(p, bytes, n);
	return 0;
}

static void put_upvalues(struct packer *p)
{
	lua_State *L = p->L;
	const char *outer = p->upvalue, *name;
	lua_Debug info;
	char n;

	lua_pushvalue(L, -1);
	lua_getinfo(L, ">u", &info);
	n = (char)info.nups;
	put(p, &n, 1);
	for (int i = 1; i <= info.nups; i++) {
		name = lua_getupvalue(L, -1, i);
		p->upvalue = outer ? outer : name;
		put_value(p);
		lua_pop(L, 1);
	}
	p->upvalue = outer;
}

static void put_function(struct packer *p)
{
	lua_State *L = p->L;
	size_t at;
	uint32_t length = 0;

	if (!p->names || lua_iscfunction(L, -1))
		refuse(p, -1);
	note_met(p);
	put_letter(p, 'F');
	at = p->n;
	put(p, &length, sizeof(length));
	if (lua_dump(L, put_chunk, p))
		refuse(p, -1);
	length = (uint32_t)(p->n - at - sizeof(length));
	memcpy((char *)lua_touserdata(L, p->buffer) + at, &length, sizeof(length));
	put_upvalues(p);
}

static void put_u64(struct packer *p)
{
	uint64_t value;

	if (!lpfm_is_u64(p->L, -1, &value))
		refuse(p, -1);
	put_letter(p, 'u');
	put(p, &value, sizeof(value));
}

static void put_number(struct packer *p)
{
	lua_Number value = lua_tonumber(p->L, -1);

	put_letter(p, 'd');
	put(p, &value, sizeof(value));
}

/* Packs the value on top, which stays on the stack. */
static void put_value(struct packer *p)
{
	lua_State *L = p->L;

	luaL_checkstack(L, 8, "too deep");
	if (p->depth++ > MAX_DEPTH)
		lpfm_bad(L, p->site, "tables are nested more than %d deep", MAX_DEPTH);
	switch (lua_type(L, -1)) {
	case LUA_TNIL:
		put_letter(p, 'n');
		break;
	case LUA_TBOOLEAN:
		put_letter(p, lua_toboolean(L, -1) ? 't' : 'f');
		break;
	case LUA_TNUMBER:
		put_number(p);
		break;
	case LUA_TSTRING:
		put_bytes(p, 's', lua_tostring(L, -1), lua_objlen(L, -1));
		break;
	case LUA_TTABLE:
		if (!put_known(p))
			put_table(p);
		break;
	case LUA_TFUNCTION:
		if (!put_known(p))
			put_function(p);
		break;
	case LUA_TUSERDATA:
		put_u64(p);
		break;
	default:
		refuse(p, -1);
	}
	p->depth--;
}

/* --- the standard libraries ----------------------------------------------------------------- */

/* Sets names[the value on top] = text; pops both. */
static void name_value(lua_State *L, int names, const char *library, const char *field)
{
	if (field)
		lua_pushfstring(L, "%s.%s", library, field);
	else
		lua_pushstring(L, library);
	lua_rawset(L, names);
}

/* Names the functions of the library on top. Of the globals, only functions in C are named. */
static void name_library(lua_State *L, int names, const char *library, bool globals)
{
	for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
		if (!lua_isfunction(L, -1) || lua_type(L, -2) != LUA_TSTRING ||
		    (globals && !lua_iscfunction(L, -1)))
			continue;
		lua_pushvalue(L, -1);
		name_value(L, names, library, lua_tostring(L, -3));
	}
	lua_pushvalue(L, -1);
	name_value(L, names, library, NULL);
}

static void push_names(lua_State *L)
{
	static const char *const libraries[] = { "_G", "bit", "coroutine", "debug", "io", "jit", "math",
						 "os", "string", "table" };
	int names;

	lua_newtable(L);
	names = lua_gettop(L);
	for (size_t i = 0; i < LPFM_COUNT(libraries); i++) {
		lua_pushstring(L, libraries[i]);
		lua_rawget(L, LUA_GLOBALSINDEX);
		if (lua_istable(L, -1))
			name_library(L, names, libraries[i], !i);
		lua_pop(L, 1);
	}
}

void lpfm_marshal_pack(lua_State *L, int first, int n, enum lpfm_marshal_kind kind,
		      const struct lpfm_site *site)
{
	struct packer p = { .L = L, .site = site, .room = 256 };
	char count = (char)n;

	luaL_checkstack(L, 12, "too many values");
	lua_newuserdata(L, p.room);
	p.buffer = lua_gettop(L);
	lua_newtable(L);
	p.met = lua_gettop(L);
	if (kind == LPFM_CODE) {
		push_names(L);
		p.names = lua_gettop(L);
	}
	if (n > 100)
		lpfm_bad(L, site, "too many values");
	put(&p, &count, 1);
	for (int i = 0; i < n; i++) {
		lua_pushvalue(L, first + i);
		put_value(&p);
		lua_pop(L, 1);
	}
	lua_pushlstring(L, lua_touserdata(L, p.buffer), p.n);
	lua_replace(L, p.buffer);
	lua_settop(L, p.buffer);
}

/* --- opening what was packed ---------------------------------------------------------------- */

struct opener {
	lua_State	*L;
	const char	*at;
	/* stack index of a table that maps numbers to tables and functions */
	int		met;
	int		count;
};

static void get(struct opener *o, void *to, size_t n)
{
	memcpy(to, o->at, n);
	o->at += n;
}

static const char *get_bytes(struct opener *o, size_t *n)
{
	const char *bytes;
	uint32_t length;

	get(o, &length, sizeof(length));
	bytes = o->at;
	o->at += length;
	*n = length;
	return bytes;
}

static void note_opened(struct opener *o)
{
	lua_pushvalue(o->L, -1);
	lua_rawseti(o->L, o->met, ++o->count);
}

static void open_value(struct opener *o);

static void open_table(struct opener *o)
{
	lua_newtable(o->L);
	note_opened(o);
	while (*o->at != 'e') {
		open_value(o);
		open_value(o);
		lua_rawset(o->L, -3);
	}
	o->at++;
}

static void open_function(struct opener *o)
{
	size_t n;
	const char *bytes = get_bytes(o, &n);
	unsigned char nups;

	if (luaL_loadbuffer(o->L, bytes, n, "=function"))
		lua_error(o->L);
	note_opened(o);
	get(o, &nups, 1);
	for (int i = 1; i <= nups; i++) {
		open_value(o);
		if (!lua_setupvalue(o->L, -2, i))
			lua_pop(o->L, 1);
	}
}

/* Opens a value by its name: "string" or "string.format". */
static void open_library(struct opener *o)
{
	size_t n;
	const char *name = get_bytes(o, &n), *dot = memchr(name, '.', n);
	size_t head = dot ? (size_t)(dot - name) : n;

	lua_pushlstring(o->L, name, head);
	lua_rawget(o->L, LUA_GLOBALSINDEX);
	if (dot && lua_istable(o->L, -1)) {
		lua_pushlstring(o->L, dot + 1, n - head - 1);
		lua_rawget(o->L, -2);
		lua_remove(o->L, -2);
	}
	if (lua_isnil(o->L, -1)) {
		lua_pushlstring(o->L, name, n);
		luaL_error(o->L, "%s is not there in the other Lua state", lua_tostring(o->L, -1));
	}
}

static void open_number(struct opener *o)
{
	lua_Number value;

	get(o, &value, sizeof(value));
	lua_pushnumber(o->L, value);
}

static void open_u64(struct opener *o)
{
	uint64_t value;

	get(o, &value, sizeof(value));
	lpfm_push_u64_object(o->L, value);
}

static void open_string(struct opener *o)
{
	size_t n;
	const char *bytes = get_bytes(o, &n);

	lua_pushlstring(o->L, bytes, n);
}

static void open_reference(struct opener *o)
{
	uint32_t number;

	get(o, &number, sizeof(number));
	lua_rawgeti(o->L, o->met, (int)number);
}

static void open_value(struct opener *o)
{
	luaL_checkstack(o->L, 8, "too deep");
	switch (*o->at++) {
	case 'n':
		lua_pushnil(o->L);
		break;
	case 't':
		lua_pushboolean(o->L, 1);
		break;
	case 'f':
		lua_pushboolean(o->L, 0);
		break;
	case 'd':
		open_number(o);
		break;
	case 'u':
		open_u64(o);
		break;
	case 's':
		open_string(o);
		break;
	case 'r':
		open_reference(o);
		break;
	case 'T':
		open_table(o);
		break;
	case 'F':
		open_function(o);
		break;
	case 'L':
		open_library(o);
		break;
	}
}

int lpfm_marshal_open(lua_State *L, const char *bytes)
{
	struct opener o = { .L = L, .at = bytes };
	unsigned char n;

	luaL_checkstack(L, 108, "too many values");
	get(&o, &n, 1);
	lua_newtable(L);
	o.met = lua_gettop(L);
	for (int i = 0; i < n; i++)
		open_value(&o);
	lua_remove(L, o.met);
	return n;
}
