/* SPDX-License-Identifier: MIT */
/*
 * wait.h - time, waiting, and Ctrl-C.
 */
#ifndef LPFM_WAIT_H
#define LPFM_WAIT_H

#include "base/module.h"

/* Nanoseconds of the monotonic clock. */
int64_t lpfm_now(void);
/* The moment ns from now; -1 (no limit) stays. */
int64_t lpfm_deadline(int64_t ns);

/* A signal that means something to this module: what it brings is dealt with while waiting. */
struct lpfm_wait_signal {
	int	number;
	bool	(*active)(void);		/* does it mean something now? */
	bool	(*pending)(void);		/* did it come, and was not dispatched yet? */
	void	(*dispatch)(lua_State *L);	/* deals with it; may raise */
	bool	(*hooked)(lua_State *L);	/* is the hook that is set in L its own? */
};
void lpfm_wait_signal(const struct lpfm_wait_signal *s);

struct pollfd;
/* poll(2) until the deadline, through signals. > 0 ready, 0 timeout, -1 errno (EINTR: interrupted). */
int lpfm_wait_fds(lua_State *L, struct pollfd *fds, unsigned int n, int64_t deadline);
int lpfm_wait_fd(lua_State *L, int fd, int64_t deadline);

/* Has Ctrl-C come, where it is caught, and lpfm_take_interrupt() has not taken it yet? */
int lpfm_interrupted(void);
/* The functions proc.on_interrupt and proc.interrupted. */
int lpfm_on_interrupt(lua_State *L);
int lpfm_take_interrupt(lua_State *L);

/* From now on a signal is remembered, instead of what it did before. 0 or -1, errno. */
int lpfm_catch_signal(int sig);
/* Did one that is caught come since the last call? */
bool lpfm_take_signal(int sig);

#endif
