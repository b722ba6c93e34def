/* SPDX-License-Identifier: MIT */
/* format.h - how a context deals with a format written in Lua. */
#ifndef LPFM_CONTEXT_FORMAT_H
#define LPFM_CONTEXT_FORMAT_H

#include "context/context.h"

/* Returns why the format has ended the context's session, or NULL. */
const char *lpfm_fmt_error(const struct lpfm_context *ctx);
/*
 * If the format has ended the context's session, pushes nil, "call: the format failed: traceback",
 * EIO, and returns the number of results; returns 0 otherwise.
 */
int lpfm_fmt_failure(lua_State *L, const struct lpfm_context *ctx, const char *call);
void lpfm_open_format(lua_State *L);

#endif
