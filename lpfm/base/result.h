/* SPDX-License-Identifier: MIT */
/* result.h - what calls return: true, or nil, a message and errno. */
#ifndef LPFM_RESULT_H
#define LPFM_RESULT_H

#include "base/structs.h"

/* nil, "call: reason", errno for a perfmon call that failed just now. */
int lpfm_fail(lua_State *L, const char *call);
/* true, or the failure, by what the call returned. */
int lpfm_result(lua_State *L, const char *call, int ret);
/* nil, "call: element N: reason", errno: the element is the one the call marked. */
int lpfm_fail_vector(lua_State *L, const char *call, const struct lpfm_struct *rec, void *base, int n);
/* nil, formatted message, err: for what is not a perfmon call. */
int lpfm_fail_errno(lua_State *L, int err, const char *fmt, ...) LPFM_PRINTF(3, 4);
/* nil, "timeout" */
int lpfm_timeout(lua_State *L);

#endif
