/* SPDX-License-Identifier: MIT */
/* message.h - notifications. */
#ifndef LPFM_MESSAGE_H
#define LPFM_MESSAGE_H

#include "context/context.h"

/* ctx:read(0) on the context: pushes its results, returns how many. */
int lpfm_message_take(lua_State *L, const struct lpfm_context *ctx);
void lpfm_open_message(lua_State *L);

#endif
