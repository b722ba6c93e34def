/* SPDX-License-Identifier: MIT */
/* counter.h - counting samples by their values. */
#ifndef LPFM_TALLY_H
#define LPFM_TALLY_H

#include <lua.h>

int lpfm_tally_new(lua_State *L);	/* lpfm.blocks.tally() */
void lpfm_open_tally(lua_State *L);

#endif
