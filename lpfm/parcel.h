/* SPDX-License-Identifier: MIT */
/*
 * parcel.h - Lua values on their way from one Lua state to another, as bytes.
 */
#ifndef LPFM_PARCEL_H
#define LPFM_PARCEL_H

#include "lpfm.h"

enum lpfm_parcel_kind {
	LPFM_DATA,	/* nil, booleans, numbers, strings, u64 objects, tables of these */
	LPFM_CODE,	/* and functions, with the values of their local variables outside */
};

/* Pushes a string: the n values from first on. Raises, naming what cannot travel. */
void lpfm_parcel_pack(lua_State *L, int first, int n, enum lpfm_parcel_kind kind,
		      const struct lpfm_site *site);
/* Pushes the values of a parcel; how many. */
int lpfm_parcel_open(lua_State *L, const char *bytes);

#endif
