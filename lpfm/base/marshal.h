/* SPDX-License-Identifier: MIT */
/* marshal.h - converts Lua values into bytes and back, to pass them to another Lua state. */
#ifndef LPFM_MARSHAL_H
#define LPFM_MARSHAL_H

#include "base/args.h"

enum lpfm_marshal_kind {
	LPFM_DATA,	/* nil, booleans, numbers, strings, u64 objects, tables of these */
	LPFM_CODE,	/* these and functions, with the values of their upvalues */
};

/*
 * Pushes a string with the n values from first on. Raises with the name of a value that cannot be
 * converted.
 */
void lpfm_marshal_pack(lua_State *L, int first, int n, enum lpfm_marshal_kind kind,
		      const struct lpfm_site *site);
/* Pushes the values in the string; returns how many they are. */
int lpfm_marshal_open(lua_State *L, const char *bytes);

#endif
