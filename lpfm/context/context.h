/* SPDX-License-Identifier: MIT */
/* context.h - contexts, as the files about them have them at hand. */
#ifndef LPFM_CONTEXT_H
#define LPFM_CONTEXT_H

#include "base/object.h"
#include "ffi/objects.h"

extern const struct lpfm_class lpfm_context_class;

/* Raises: the argument is no context, or a closed one. */
struct lpfm_context *lpfm_context_refuse(lua_State *L, int idx);

/* Argument idx: an open context. */
static inline struct lpfm_context *lpfm_context_open(lua_State *L, int idx)
{
	struct lpfm_context *ctx = lpfm_object_test(L, idx, &lpfm_context_class);

	return __builtin_expect(ctx && ctx->fd >= 0, 1) ? ctx : lpfm_context_refuse(L, idx);
}

/* Its descriptor. */
static inline int lpfm_context_fd(lua_State *L, int idx)
{
	return lpfm_context_open(L, idx)->fd;
}

/* The methods join those of contexts. */
void lpfm_context_methods(lua_State *L, const luaL_Reg *methods);
void lpfm_open_context(lua_State *L);

#endif
