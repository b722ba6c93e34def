/* SPDX-License-Identifier: MIT */
/*
 * sigio.h - callbacks for messages, called where the signal interrupted the script.
 */
#ifndef LPFM_SIGIO_H
#define LPFM_SIGIO_H

#include "lpfm.h"

/* Are there callbacks? Then SIGIO means something. */
bool lpfm_sigio_active(void);
/* Did a signal come whose callbacks were not called yet? */
bool lpfm_sigio_pending(void);
/* Calls them; raises what they raise. */
void lpfm_sigio_dispatch(lua_State *L);
/* Is the hook that is set in L the one that calls them? */
bool lpfm_sigio_hooked(lua_State *L);

/* ctx:read(0) on the context at idx: pushes its results, returns how many. */
int lpfm_message_take(lua_State *L, const struct lpfm_context *ctx);

extern const luaL_Reg lpfm_sigio_methods[];
void lpfm_open_sigio(lua_State *L);

#endif
