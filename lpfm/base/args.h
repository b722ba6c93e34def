/* SPDX-License-Identifier: MIT */
/* args.h - arguments: what is wrong with one, and numbers. */
#ifndef LPFM_ARGS_H
#define LPFM_ARGS_H

#include "base/module.h"

/* What an error message has to name; what is 0 or NULL is left out. */
struct lpfm_site {
	const char	*call;
	int		element;	/* of a vector, from 1 */
	const char	*field;
	const char	*arg;		/* name of an argument */
};

/* Raises "call: element N: field 'F': <expected> expected, got <the value at idx>". */
int lpfm_bad_value(lua_State *L, const struct lpfm_site *site, const char *expected, int idx);
/* Raises "call: element N: field 'F': <text>". */
int lpfm_bad(lua_State *L, const struct lpfm_site *site, const char *fmt, ...) LPFM_PRINTF(3, 4);

/* A 64-bit value: integral number, u64 object, decimal or hexadecimal string, 64-bit cdata. */
uint64_t lpfm_to_u64(lua_State *L, int idx, const struct lpfm_site *site);
/* An integral number from min to max, within +-2^53. */
int64_t lpfm_to_int(lua_State *L, int idx, const struct lpfm_site *site, int64_t min, int64_t max);
/* Argument idx of call as an integral number; opt: dflt if absent or nil. */
int64_t lpfm_arg_int(lua_State *L, int idx, const char *call, const char *name, int64_t min,
		     int64_t max);
int64_t lpfm_arg_opt_int(lua_State *L, int idx, const char *call, const char *name, int64_t min,
			 int64_t max, int64_t dflt);
/* Argument idx of call as a time in seconds: nanoseconds, or -1 if absent or nil (no limit). */
int64_t lpfm_arg_timeout(lua_State *L, int idx, const char *call);
/* A list of numbers below limit as a bit-vector, and back. */
void lpfm_to_bits(lua_State *L, int idx, const struct lpfm_site *site, uint64_t *bv,
		  unsigned int limit);
void lpfm_push_bits(lua_State *L, const uint64_t *bv);

#endif
