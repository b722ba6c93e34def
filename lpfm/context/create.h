/* SPDX-License-Identifier: MIT */
/* create.h - the making of contexts. */
#ifndef LPFM_CREATE_H
#define LPFM_CREATE_H

#include "base/module.h"
#include "base/perfmon.h"

/* lpfm.create with the options at idx, through fn: the format by name or, NULL, by the UUID in ctx. */
typedef int lpfm_create_fn(pfarg_ctx_t *ctx, const char *fmt_name, void *arg, size_t size);
int lpfm_create_with(lua_State *L, int idx, const char *call, lpfm_create_fn *fn);
void lpfm_open_create(lua_State *L);

#endif
