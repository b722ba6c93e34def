/* SPDX-License-Identifier: MIT */
/* u64.c - 64-bit values that a Lua number does not hold exactly. */
/***
64-bit integers.

A 64-bit value comes out of this module as a Lua number, read as signed, while that is exact
(|v| <= 2^53): a period of 100000 is -100000. Beyond, it is a u64 object: 64 bits, read as unsigned,
that calculate modulo 2^64. Operands may be numbers, u64 objects, strings ("123", "-5", "0xff") and
LuaJIT's 64-bit cdata; what is not an integer of 64 bits raises an error.

@classmod u64
*/
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/args.h"
#include "base/object.h"
#include "base/field.h"

#define EXACT_MAX	(1LL << 53)

/*
 * u64 objects are short-lived and many, so they have no __gc, which would clear the head. Therefore
 * an object is recognized by its head and by its metatable.
 */
struct lpfm_u64 {
	struct lpfm_head	head;
	const void		*meta;
	uint64_t		value;
};

static const struct lpfm_class u64_class = { "lpfm.u64", NULL };

void lpfm_push_u64_object(lua_State *L, uint64_t value)
{
	struct lpfm_u64 *u = lpfm_object_new(L, sizeof(*u));

	lpfm_object_arm(L, u, &u64_class);
	lua_getmetatable(L, -1);
	u->meta = lua_topointer(L, -1);
	lua_pop(L, 1);
	u->value = value;
}

void lpfm_push_nat(lua_State *L, uint64_t value)
{
	if (value <= EXACT_MAX)
		lua_pushnumber(L, (lua_Number)value);
	else
		lpfm_push_u64_object(L, value);
}

bool lpfm_is_u64(lua_State *L, int idx, uint64_t *value)
{
	const struct lpfm_u64 *u = lpfm_object_test(L, idx, &u64_class);
	const void *meta;

	if (!u || !lua_getmetatable(L, idx))
		return false;
	meta = lua_topointer(L, -1);
	lua_pop(L, 1);
	*value = u->value;
	return meta == u->meta;
}

static uint64_t self(lua_State *L)
{
	uint64_t value = 0;

	if (!lpfm_is_u64(L, 1, &value))
		lpfm_object_refuse(L, 1, &u64_class);
	return value;
}

static uint64_t operand(lua_State *L, int idx)
{
	static const struct lpfm_site site = { .call = "u64" };

	return lpfm_to_u64(L, idx, &site);
}

static uint64_t divisor(lua_State *L)
{
	uint64_t value = operand(L, 2);

	if (!value)
		luaL_error(L, "u64: division by zero");
	return value;
}

/***
Makes a u64 object.
@function lpfm.u64
@param x an integral number, a u64, a string of decimal or (0x) hexadecimal digits, a 64-bit cdata
@treturn u64
@raise if x is not an integer of 64 bits
@usage
local lpfm = require "lpfm"
assert(tostring(lpfm.u64(-1)) == "18446744073709551615")
assert((lpfm.u64("0xffffffffffffffff") + 2):tonumber() == 1)
*/
static int u64_new(lua_State *L)
{
	lpfm_push_u64_object(L, operand(L, 1));
	return 1;
}

static int push(lua_State *L, uint64_t value)
{
	lpfm_push_u64_object(L, value);
	return 1;
}

static int u64_add(lua_State *L) { return push(L, operand(L, 1) + operand(L, 2)); }
static int u64_sub(lua_State *L) { return push(L, operand(L, 1) - operand(L, 2)); }
static int u64_mul(lua_State *L) { return push(L, operand(L, 1) * operand(L, 2)); }
static int u64_div(lua_State *L) { return push(L, operand(L, 1) / divisor(L)); }
static int u64_mod(lua_State *L) { return push(L, operand(L, 1) % divisor(L)); }
static int u64_unm(lua_State *L) { return push(L, -operand(L, 1)); }

static int u64_eq(lua_State *L)
{
	lua_pushboolean(L, operand(L, 1) == operand(L, 2));
	return 1;
}

static int u64_lt(lua_State *L)
{
	lua_pushboolean(L, operand(L, 1) < operand(L, 2));
	return 1;
}

static int u64_le(lua_State *L)
{
	lua_pushboolean(L, operand(L, 1) <= operand(L, 2));
	return 1;
}

static int push_text(lua_State *L, const char *fmt, uint64_t value)
{
	char text[32];
	int n = snprintf(text, sizeof(text), fmt, value);

	lua_pushlstring(L, text, (size_t)n);
	return 1;
}

static int u64_tostring(lua_State *L)
{
	return push_text(L, "%" PRIu64, self(L));
}

static int u64_concat(lua_State *L)
{
	for (int i = 1; i <= 2; i++) {
		uint64_t value;

		if (lpfm_is_u64(L, i, &value))
			push_text(L, "%" PRIu64, value);
		else
			lua_pushstring(L, luaL_checkstring(L, i));
	}
	lua_concat(L, 2);
	return 1;
}

/***
Returns the hexadecimal digits, with 0x.
@function u64:hex
@treturn string
@usage assert(require("lpfm").u64(255):hex() == "0xff")
*/
static int u64_hex(lua_State *L)
{
	return push_text(L, "0x%" PRIx64, self(L));
}

/***
Returns the decimal digits of the value read as signed (two's complement).
@function u64:signed
@treturn string
@usage assert(require("lpfm").u64("0xffffffffffffffff"):signed() == "-1")
*/
static int u64_signed(lua_State *L)
{
	return push_text(L, "%" PRId64, self(L));
}

static bool exact(uint64_t value)
{
	return !value || (value >> __builtin_ctzll(value)) <= EXACT_MAX;
}

/***
Returns the value as a Lua number: read as signed if |v| <= 2^53, as this module does everywhere,
else as unsigned.
@function u64:tonumber
@treturn number
@raise if a number does not hold it exactly
@usage assert(require("lpfm").u64(42):tonumber() == 42)
*/
static int u64_tonumber(lua_State *L)
{
	uint64_t value = self(L);
	int64_t v = (int64_t)value;

	if (v >= -EXACT_MAX && v <= EXACT_MAX)
		lua_pushnumber(L, (lua_Number)v);
	else if (exact(value))
		lua_pushnumber(L, (lua_Number)value);
	else
		return luaL_error(L, "u64: a Lua number does not hold this value exactly");
	return 1;
}

/***
Compares, unsigned, with any 64-bit value; Lua's own < and == work between u64 objects only.
@function u64:compare
@param x the other value
@treturn int -1, 0 or 1
@usage assert(require("lpfm").u64(3):compare(4) == -1)
*/
static int u64_compare(lua_State *L)
{
	uint64_t a = self(L), b = operand(L, 2);

	lua_pushinteger(L, (a > b) - (a < b));
	return 1;
}

/***
Returns the bitwise and.
@function u64:band
@param x the other value
@return u64 object
@usage assert(require("lpfm").u64(6):band(3):tonumber() == 2)
*/
static int u64_band(lua_State *L) { return push(L, self(L) & operand(L, 2)); }

/***
Returns the bitwise or.
@function u64:bor
@param x the other value
@return u64 object
@usage assert(require("lpfm").u64(6):bor(3):tonumber() == 7)
*/
static int u64_bor(lua_State *L) { return push(L, self(L) | operand(L, 2)); }

/***
Returns the bitwise exclusive or.
@function u64:bxor
@param x the other value
@return u64 object
@usage assert(require("lpfm").u64(6):bxor(3):tonumber() == 5)
*/
static int u64_bxor(lua_State *L) { return push(L, self(L) ^ operand(L, 2)); }

/***
Returns the bitwise complement.
@function u64:bnot
@return u64 object
@usage assert(require("lpfm").u64(0):bnot():hex() == "0xffffffffffffffff")
*/
static int u64_bnot(lua_State *L) { return push(L, ~self(L)); }

static unsigned int shift(lua_State *L, const char *call)
{
	return (unsigned int)lpfm_arg_int(L, 2, call, "bits", 0, 63);
}

/***
Shifts left; bits that leave are lost.
@function u64:lshift
@int bits 0 to 63
@return u64 object
@usage assert(require("lpfm").u64(1):lshift(63):hex() == "0x8000000000000000")
*/
static int u64_lshift(lua_State *L) { return push(L, self(L) << shift(L, "lshift")); }

/***
Shifts right; zeros enter.
@function u64:rshift
@int bits 0 to 63
@return u64 object
@usage assert(require("lpfm").u64(256):rshift(8):tonumber() == 1)
*/
static int u64_rshift(lua_State *L) { return push(L, self(L) >> shift(L, "rshift")); }

static const luaL_Reg methods[] = {
	{ "band", u64_band },
	{ "bnot", u64_bnot },
	{ "bor", u64_bor },
	{ "bxor", u64_bxor },
	{ "compare", u64_compare },
	{ "hex", u64_hex },
	{ "lshift", u64_lshift },
	{ "rshift", u64_rshift },
	{ "signed", u64_signed },
	{ "tonumber", u64_tonumber },
	{ NULL, NULL }
};

static const luaL_Reg metas[] = {
	{ "__add", u64_add },
	{ "__concat", u64_concat },
	{ "__div", u64_div },
	{ "__eq", u64_eq },
	{ "__le", u64_le },
	{ "__lt", u64_lt },
	{ "__mod", u64_mod },
	{ "__mul", u64_mul },
	{ "__sub", u64_sub },
	{ "__tostring", u64_tostring },
	{ "__unm", u64_unm },
	{ NULL, NULL }
};

void lpfm_open_u64(lua_State *L)
{
	lpfm_class_new(L, &u64_class, methods, metas);
	luaL_getmetatable(L, u64_class.name);
	lua_pushnil(L);
	lua_setfield(L, -2, "__gc");
	lua_pop(L, 1);
	lpfm_set_function(L, "u64", u64_new);
}
