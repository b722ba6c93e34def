/* SPDX-License-Identifier: MIT */
/*
 * marshal.h - Lua values on their way from one Lua state to another, as bytes.
 */
#ifndef LPFM_MARSHAL_H
#define LPFM_MARSHAL_H

#include "base/args.h"

enum lpfm_marshal_kind {
	LPFM_DATA,	/* nil, booleans, numbers, strings, u64 objects, tables of these */
	LPFM_CODE,	/* and functions, with the values of their local variables outside */
};

/* Pushes a string: the n values from first on. Raises, naming what cannot travel. */
void lpfm_marshal_pack(lua_State *L, int first, int n, enum lpfm_marshal_kind kind,
		      const struct lpfm_site *site);
/* Pushes the marshalled values; returns how many. */
int lpfm_marshal_open(lua_State *L, const char *bytes);

#endif
