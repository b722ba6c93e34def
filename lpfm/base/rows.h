/* SPDX-License-Identifier: MIT */
/* rows.h - a list of records that prints as a table. */
#ifndef LPFM_ROWS_H
#define LPFM_ROWS_H

#include "base/module.h"

/*
 * tostring() of the list on top of the stack is a table from now on. Columns are names of fields with spaces between
 * them, "FIELD=TITLE" where the title is another.
 */
void lpfm_rows_print(lua_State *L, const char *columns);

#endif
