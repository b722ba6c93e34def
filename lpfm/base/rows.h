/* SPDX-License-Identifier: MIT */
/* rows.h - lists of records that print as tables. */
#ifndef LPFM_ROWS_H
#define LPFM_ROWS_H

#include "base/module.h"

/*
 * Makes tostring() of the list on top of the stack return a printed table. columns has names of
 * fields, separated by spaces; "FIELD=TITLE" gives a title that is different from the name.
 */
void lpfm_rows_print(lua_State *L, const char *columns);

#endif
