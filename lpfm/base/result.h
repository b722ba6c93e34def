/* SPDX-License-Identifier: MIT */
/* result.h - what calls return: true, or nil, a message and errno. */
#ifndef LPFM_RESULT_H
#define LPFM_RESULT_H

#include "base/structs.h"

/*
 * The functions push the results of a call, and return how many there are. This one pushes nil,
 * "call: reason", errno for a perfmon call that has just failed.
 */
int lpfm_fail(lua_State *L, const char *call);
int lpfm_true(lua_State *L);
/* Pushes true, or the failure if ret, which the call returned, is negative. */
int lpfm_result(lua_State *L, const char *call, int ret);
/* Pushes nil, "call: element N: reason", errno; the element is the one that the call has marked. */
int lpfm_fail_vector(lua_State *L, const char *call, const struct lpfm_struct *rec, void *base, int n);
/* Pushes nil, the formatted message, err: for what is not a perfmon call. */
int lpfm_fail_errno(lua_State *L, int err, const char *fmt, ...) LPFM_PRINTF(3, 4);
/* Pushes nil, "timeout". */
int lpfm_timeout(lua_State *L);

#endif
