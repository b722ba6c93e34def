/* SPDX-License-Identifier: MIT */
/* format.h - what a context has to do with its format, when that is written in Lua. */
#ifndef LPFM_CONTEXT_FORMAT_H
#define LPFM_CONTEXT_FORMAT_H

#include "context/context.h"

/* Why the context's format has ended its session, or NULL. */
const char *lpfm_fmt_error(const struct lpfm_context *ctx);
/* nil, "call: the format failed: traceback", EIO, if that is why; 0: it is not. */
int lpfm_fmt_failure(lua_State *L, const struct lpfm_context *ctx, const char *call);
void lpfm_open_format(lua_State *L);

#endif
