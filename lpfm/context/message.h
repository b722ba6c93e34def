/* SPDX-License-Identifier: MIT */
/* message.h - messages of contexts. */
#ifndef LPFM_MESSAGE_H
#define LPFM_MESSAGE_H

#include "context/context.h"

/* Does what ctx:read(0) does on the context: pushes the results, and returns how many. */
int lpfm_message_take(lua_State *L, const struct lpfm_context *ctx);
void lpfm_open_message(lua_State *L);

#endif
