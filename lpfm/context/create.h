/* SPDX-License-Identifier: MIT */
/* create.h - creates contexts. */
#ifndef LPFM_CREATE_H
#define LPFM_CREATE_H

#include "base/module.h"
#include "base/perfmon.h"

/*
 * Implements lpfm.create with the options at idx. fn makes the context and returns its descriptor,
 * or -1 with errno. fmt_name is the format's name; if it is NULL, the UUID in ctx is the format's.
 */
typedef int lpfm_create_fn(pfarg_ctx_t *ctx, const char *fmt_name, void *arg, size_t size);
int lpfm_create_with(lua_State *L, int idx, const char *call, lpfm_create_fn *fn);
void lpfm_open_create(lua_State *L);

#endif
