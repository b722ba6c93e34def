/* SPDX-License-Identifier: MIT */
/* args.h - arguments: messages about wrong ones, and conversion of numbers. */
#ifndef LPFM_ARGS_H
#define LPFM_ARGS_H

#include "base/module.h"

/* What an error message names; members that are 0 or NULL are omitted. */
struct lpfm_site {
	const char	*call;
	int		element;	/* number of a vector's element, from 1 */
	const char	*field;
	const char	*arg;		/* name of the argument */
};

/* Raises "call: element N: field 'F': <expected> expected, got <the value at idx>". */
int lpfm_bad_value(lua_State *L, const struct lpfm_site *site, const char *expected, int idx);
/* Raises "call: element N: field 'F': <text>". */
int lpfm_bad(lua_State *L, const struct lpfm_site *site, const char *fmt, ...) LPFM_PRINTF(3, 4);

/* Returns true if the string has a zero byte, at which C would cut it. */
bool lpfm_has_zero(lua_State *L, int idx);
/*
 * Return a string without zero bytes, at which C would cut it: argument idx of the function that is
 * called, or what site names. The second function returns dflt if the argument is absent or nil.
 */
const char *lpfm_check_string(lua_State *L, int idx);
const char *lpfm_opt_string(lua_State *L, int idx, const char *dflt);
const char *lpfm_to_string(lua_State *L, int idx, const struct lpfm_site *site);
/* Returns the key at idx of a table of fields; raises an error if it is no string. */
const char *lpfm_field_name(lua_State *L, int idx, const struct lpfm_site *site);
/* Checks that the value at idx is a table without fields other than these; NULL ends the list. */
void lpfm_check_fields(lua_State *L, int idx, const char *call, const char *const *names);
/* Pushes a field of the table at idx. Returns false, and pushes nothing, if it is nil. */
bool lpfm_get_field(lua_State *L, int idx, const char *name);
/*
 * The same without the metamethod __index, which could call the simulated computer that is being
 * used.
 */
bool lpfm_raw_field(lua_State *L, int idx, const char *name);
bool lpfm_bool_field(lua_State *L, int idx, const char *name);
/* Returns a string field of the table at idx, which keeps the string alive; NULL if it is nil. */
const char *lpfm_text_field(lua_State *L, int idx, const char *call, const char *name);

/*
 * Returns a 64-bit value from an integral number, a u64 object, a decimal or hexadecimal string, or
 * a 64-bit cdata.
 */
uint64_t lpfm_to_u64(lua_State *L, int idx, const struct lpfm_site *site);
/* Returns an integral number from min to max, within +-2^53. */
int64_t lpfm_to_int(lua_State *L, int idx, const struct lpfm_site *site, int64_t min, int64_t max);
/*
 * Returns argument idx of call as an integral number. The second function returns dflt if the
 * argument is absent or nil.
 */
int64_t lpfm_arg_int(lua_State *L, int idx, const char *call, const char *name, int64_t min,
		     int64_t max);
int64_t lpfm_arg_opt_int(lua_State *L, int idx, const char *call, const char *name, int64_t min,
			 int64_t max, int64_t dflt);
/*
 * Returns argument idx of call, a time in seconds, converted into nanoseconds; -1 (no limit) if it
 * is absent or nil.
 */
int64_t lpfm_arg_timeout(lua_State *L, int idx, const char *call);
/* Convert a list of numbers below limit into a bit-vector, and back. */
void lpfm_to_bits(lua_State *L, int idx, const struct lpfm_site *site, uint64_t *bv,
		  unsigned int limit);
void lpfm_push_bits(lua_State *L, const uint64_t *bv);
/* Pushes the hexadecimal digits of n bytes. */
void lpfm_push_hex(lua_State *L, const unsigned char *bytes, size_t n);

#endif
