/* SPDX-License-Identifier: MIT */
/* context.h - access to contexts for the files that implement their methods. */
#ifndef LPFM_CONTEXT_H
#define LPFM_CONTEXT_H

#include "base/object.h"
#include "ffi/objects.h"

extern const struct lpfm_class lpfm_context_class;

/* Raises the error that the argument is not a context, or that it is closed. */
struct lpfm_context *lpfm_context_refuse(lua_State *L, int idx);

/* Returns argument idx, which must be an open context. */
static inline struct lpfm_context *lpfm_context_open(lua_State *L, int idx)
{
	struct lpfm_context *ctx = lpfm_object_test(L, idx, &lpfm_context_class);

	return __builtin_expect(ctx && ctx->fd >= 0, 1) ? ctx : lpfm_context_refuse(L, idx);
}

/* Returns a context's descriptor; raises an error if the context is closed. */
static inline int lpfm_context_fd(lua_State *L, int idx)
{
	return lpfm_context_open(L, idx)->fd;
}

/* Adds methods to the class of contexts. */
void lpfm_context_methods(lua_State *L, const luaL_Reg *methods);
void lpfm_open_context(lua_State *L);

#endif
