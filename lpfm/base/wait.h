/* SPDX-License-Identifier: MIT */
/*
 * wait.h - time, waiting, and Ctrl-C.
 */
#ifndef LPFM_WAIT_H
#define LPFM_WAIT_H

#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds of the monotonic clock. */
int64_t lpfm_now(void);
/* The moment ns from now; -1 (no limit) stays. */
int64_t lpfm_deadline(int64_t ns);

struct pollfd;
/* poll(2) until the deadline, through signals. > 0 ready, 0 timeout, -1 errno (EINTR: interrupted). */
int lpfm_wait_fds(lua_State *L, struct pollfd *fds, unsigned int n, int64_t deadline);
int lpfm_wait_fd(lua_State *L, int fd, int64_t deadline);

/* The functions proc.on_interrupt and proc.interrupted. */
int lpfm_on_interrupt(lua_State *L);
int lpfm_take_interrupt(lua_State *L);

#endif
