/* SPDX-License-Identifier: MIT */
/*
 * args.c - converts Lua values into C values, and checks them.
 *
 * Nothing is rounded, cut or wrapped silently. Messages name the call, the element of a vector, the
 * field, what was expected and what came. Tables are read raw: no Lua code runs in between.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/args.h"
#include "base/perfmon.h"
#include "base/u64.h"

#define LUAJIT_TCDATA	10
#define EXACT_MAX	9007199254740992.0	/* 2^53 */

static void push_site(lua_State *L, const struct lpfm_site *site)
{
	lua_pushfstring(L, "%s: ", site->call);
	if (site->arg) {
		lua_pushfstring(L, "%s: ", site->arg);
		lua_concat(L, 2);
	}
	if (site->element) {
		lua_pushfstring(L, "element %d: ", site->element);
		lua_concat(L, 2);
	}
	if (site->field) {
		lua_pushfstring(L, "field '%s': ", site->field);
		lua_concat(L, 2);
	}
}

int lpfm_bad(lua_State *L, const struct lpfm_site *site, const char *fmt, ...)
{
	va_list ap;

	luaL_where(L, 1);
	push_site(L, site);
	va_start(ap, fmt);
	lua_pushvfstring(L, fmt, ap);
	va_end(ap);
	lua_concat(L, 3);
	return lua_error(L);
}

/*
 * Describes the value for a message: numbers and short strings by their text, other values by their
 * type.
 */
static const char *describe(lua_State *L, int idx)
{
	switch (lua_type(L, idx)) {
	case LUA_TNUMBER:
		if (lua_tonumber(L, idx) != lua_tonumber(L, idx))
			return "nan";
		return lua_pushfstring(L, "%f", lua_tonumber(L, idx));
	case LUA_TSTRING:
		if (lua_objlen(L, idx) <= 40)
			return lua_pushfstring(L, "'%s'", lua_tostring(L, idx));
		return "a long string";
	case LUA_TUSERDATA:
		return lpfm_is_u64(L, idx, &(uint64_t){ 0 }) ? "a u64" : "userdata";
	default:
		return luaL_typename(L, idx);
	}
}

int lpfm_bad_value(lua_State *L, const struct lpfm_site *site, const char *expected, int idx)
{
	return lpfm_bad(L, site, "%s expected, got %s", expected, describe(L, idx));
}

bool lpfm_has_zero(lua_State *L, int idx)
{
	return strlen(lua_tostring(L, idx)) != lua_objlen(L, idx);
}

const char *lpfm_check_string(lua_State *L, int idx)
{
	luaL_checkstring(L, idx);
	luaL_argcheck(L, !lpfm_has_zero(L, idx), idx, "string without zero bytes expected");
	return lua_tostring(L, idx);
}

const char *lpfm_opt_string(lua_State *L, int idx, const char *dflt)
{
	return lua_isnoneornil(L, idx) ? dflt : lpfm_check_string(L, idx);
}

const char *lpfm_to_string(lua_State *L, int idx, const struct lpfm_site *site)
{
	if (lua_type(L, idx) != LUA_TSTRING)
		lpfm_bad_value(L, site, "string", idx);
	if (lpfm_has_zero(L, idx))
		lpfm_bad(L, site, "a string without zero bytes expected");
	return lua_tostring(L, idx);
}

const char *lpfm_field_name(lua_State *L, int idx, const struct lpfm_site *site)
{
	if (lua_type(L, idx) != LUA_TSTRING)
		lpfm_bad(L, site, "unexpected %s as the name of a field", luaL_typename(L, idx));
	return lpfm_to_string(L, idx, site);
}

void lpfm_check_fields(lua_State *L, int idx, const char *call, const char *const *names)
{
	luaL_checktype(L, idx, LUA_TTABLE);
	for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
		struct lpfm_site site = { .call = call };
		const char *const *known = names;

		site.field = lpfm_field_name(L, -2, &site);
		while (*known && strcmp(*known, site.field))
			known++;
		if (!*known)
			lpfm_bad(L, &site, "unknown field");
	}
}

static bool is_there(lua_State *L)
{
	if (!lua_isnil(L, -1))
		return true;
	lua_pop(L, 1);
	return false;
}

bool lpfm_get_field(lua_State *L, int idx, const char *name)
{
	lua_getfield(L, idx, name);
	return is_there(L);
}

bool lpfm_raw_field(lua_State *L, int idx, const char *name)
{
	lua_pushstring(L, name);
	lua_rawget(L, idx < 0 ? idx - 1 : idx);
	return is_there(L);
}

bool lpfm_bool_field(lua_State *L, int idx, const char *name)
{
	bool on;

	if (!lpfm_get_field(L, idx, name))
		return false;
	on = lua_toboolean(L, -1);
	lua_pop(L, 1);
	return on;
}

const char *lpfm_text_field(lua_State *L, int idx, const char *call, const char *name)
{
	const char *text;

	if (!lpfm_get_field(L, idx, name))
		return NULL;
	text = lpfm_to_string(L, -1, &(struct lpfm_site){ .call = call, .field = name });
	lua_pop(L, 1);
	return text;
}

static bool number_to_u64(double d, uint64_t *value)
{
	if (!(d >= -9223372036854775808.0 && d < 18446744073709551616.0))
		return false;
	*value = d < 0 ? (uint64_t)(int64_t)d : (uint64_t)d;
	return d == (d < 0 ? (double)(int64_t)*value : (double)*value);
}

/* Parses an optional "-" and decimal or 0x digits; tail receives what follows. */
static bool parse(const char *text, const char **tail, uint64_t *value)
{
	bool negative = *text == '-';
	const char *digits = text + negative;
	bool hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
	char *end;

	digits += hex ? 2 : 0;
	if (!strchr(hex ? "0123456789abcdefABCDEF" : "0123456789", *digits) || !*digits)
		return false;
	errno = 0;
	*value = strtoull(digits, &end, hex ? 16 : 10);
	if (errno || (negative && *value > 1ULL << 63))
		return false;
	if (negative)
		*value = -*value;
	*tail = end;
	return true;
}

static bool parse_u64(const char *text, uint64_t *value)
{
	const char *tail;

	return parse(text, &tail, value) && !*tail;
}

/* LuaJIT prints 64-bit cdata as "123LL" and "123ULL"; other cdata are printed differently. */
static bool cdata_to_u64(lua_State *L, int idx, uint64_t *value)
{
	const char *text, *tail;
	bool ok;

	if (!luaL_callmeta(L, idx, "__tostring"))
		return false;
	text = lua_tostring(L, -1);
	ok = text && parse(text, &tail, value) && (!strcmp(tail, "LL") || !strcmp(tail, "ULL"));
	lua_pop(L, 1);
	return ok;
}

uint64_t lpfm_to_u64(lua_State *L, int idx, const struct lpfm_site *site)
{
	uint64_t value = 0;
	bool ok = false;

	switch (lua_type(L, idx)) {
	case LUA_TNUMBER:
		ok = number_to_u64(lua_tonumber(L, idx), &value);
		break;
	case LUA_TSTRING:
		ok = strlen(lua_tostring(L, idx)) == lua_objlen(L, idx) &&
		     parse_u64(lua_tostring(L, idx), &value);
		break;
	case LUA_TUSERDATA:
		ok = lpfm_is_u64(L, idx, &value);
		break;
	case LUAJIT_TCDATA:
		ok = cdata_to_u64(L, idx, &value);
		break;
	}
	if (!ok)
		lpfm_bad_value(L, site, "64-bit integer", idx);
	return value;
}

int64_t lpfm_to_int(lua_State *L, int idx, const struct lpfm_site *site, int64_t min, int64_t max)
{
	double d = lua_tonumber(L, idx);
	char expected[80];

	if (lua_type(L, idx) != LUA_TNUMBER || !(d >= -EXACT_MAX && d <= EXACT_MAX) ||
	    d != (double)(int64_t)d)
		lpfm_bad_value(L, site, "integer", idx);
	if (d < (double)min || d > (double)max) {
		snprintf(expected, sizeof(expected), "integer from %" PRId64 " to %" PRId64, min, max);
		lpfm_bad_value(L, site, expected, idx);
	}
	return (int64_t)d;
}

int64_t lpfm_arg_int(lua_State *L, int idx, const char *call, const char *name, int64_t min,
		     int64_t max)
{
	struct lpfm_site site = { .call = call, .arg = name };

	return lpfm_to_int(L, idx, &site, min, max);
}

int64_t lpfm_arg_opt_int(lua_State *L, int idx, const char *call, const char *name, int64_t min,
			 int64_t max, int64_t dflt)
{
	if (lua_isnoneornil(L, idx))
		return dflt;
	return lpfm_arg_int(L, idx, call, name, min, max);
}

int64_t lpfm_arg_timeout(lua_State *L, int idx, const char *call)
{
	struct lpfm_site site = { .call = call, .arg = "timeout" };
	double seconds;

	if (lua_isnoneornil(L, idx))
		return -1;
	seconds = lua_tonumber(L, idx);
	if (lua_type(L, idx) != LUA_TNUMBER || !(seconds >= 0))
		lpfm_bad_value(L, &site, "number of seconds", idx);
	return seconds > 1e9 ? -1 : (int64_t)(seconds * 1e9 + 0.5);
}

/* Returns true if the value at idx is an integer from 1 to n. */
static bool is_index(lua_State *L, int idx, size_t n)
{
	lua_Number key = lua_type(L, idx) == LUA_TNUMBER ? lua_tonumber(L, idx) : 0;

	return key >= 1 && key <= (double)n && key == (lua_Number)(size_t)key;
}

void lpfm_to_bits(lua_State *L, int idx, const struct lpfm_site *site, uint64_t *bv,
		  unsigned int limit)
{
	size_t n, i;

	if (!lua_istable(L, idx))
		lpfm_bad_value(L, site, "list of register numbers", idx);
	n = lua_objlen(L, idx);
	idx = idx < 0 ? lua_gettop(L) + idx + 1 : idx;
	/* lua_next() gives the elements of the list in any order, so each key is looked at */
	for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1))
		if (!is_index(L, -2, n))
			lpfm_bad(L, site, "list of register numbers expected, got a table with other keys or holes");
	memset(bv, 0, sizeof(uint64_t) * PFM_PMD_BV);
	for (i = 1; i <= n; i++) {
		unsigned int num;

		lua_rawgeti(L, idx, (int)i);
		num = (unsigned int)lpfm_to_int(L, -1, site, 0, limit - 1);
		bv[num / 64] |= 1ULL << (num % 64);
		lua_pop(L, 1);
	}
}

void lpfm_push_bits(lua_State *L, const uint64_t *bv)
{
	int n = 0;

	lua_newtable(L);
	for (unsigned int num = 0; num < PFM_MAX_PMDS; num++) {
		if (!(bv[num / 64] >> (num % 64) & 1))
			continue;
		lua_pushinteger(L, (lua_Integer)num);
		lua_rawseti(L, -2, ++n);
	}
}

void lpfm_push_hex(lua_State *L, const unsigned char *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	luaL_Buffer b;

	luaL_buffinit(L, &b);
	for (size_t i = 0; i < n; i++) {
		luaL_addchar(&b, digits[bytes[i] >> 4]);
		luaL_addchar(&b, digits[bytes[i] & 15]);
	}
	luaL_pushresult(&b);
}
