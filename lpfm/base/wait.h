/* SPDX-License-Identifier: MIT */
/* wait.h - time, waiting, and Ctrl-C. */
#ifndef LPFM_WAIT_H
#define LPFM_WAIT_H

#include <signal.h>

#include "base/module.h"

/* Returns the time of the monotonic clock in nanoseconds. */
int64_t lpfm_now(void);
/* Returns the moment ns nanoseconds from now; -1 (no limit) stays -1. */
int64_t lpfm_deadline(int64_t ns);

/* Signals that this module handles: their event is processed while the module waits. */
struct lpfm_wait_signal {
	void	(*signals)(sigset_t *set);	/* adds the signals to the set */
	bool	(*active)(void);		/* returns true if the module handles it now */
	/* returns true if a signal has come, and is not handled yet */
	bool	(*pending)(void);
	void	(*dispatch)(lua_State *L);	/* handles the signal; may raise */
	bool	(*hooked)(lua_State *L);	/* returns true if its handler has set L's hook */
};
void lpfm_wait_signal(const struct lpfm_wait_signal *s);

struct pollfd;
/*
 * Calls poll(2) until the deadline, and again after signals. Returns how many descriptors are
 * ready, 0 after a timeout, or -1 with errno, which is EINTR if the wait was interrupted.
 */
int lpfm_wait_fds(lua_State *L, struct pollfd *fds, unsigned int n, int64_t deadline);
int lpfm_wait_fd(lua_State *L, int fd, int64_t deadline);

/* Returns true if the host has set a hook that stops the script at its next instruction. */
bool lpfm_stops(lua_State *L);

/* Returns true if Ctrl-C is caught and has come, and lpfm_take_interrupt() has not taken it yet. */
int lpfm_interrupted(void);
/* The Lua functions proc.on_interrupt and proc.interrupted. */
int lpfm_on_interrupt(lua_State *L);
int lpfm_take_interrupt(lua_State *L);

/*
 * Sets what a signal does, and notes whether it was ignored until now. Returns 0, or -1 with errno.
 */
int lpfm_set_signal(int sig, const struct sigaction *action);
/*
 * Returns true if the signal was ignored until lpfm_set_signal() set this handler: programs must
 * then be started with the signal ignored. It is async-signal-safe.
 */
bool lpfm_was_ignored(int sig, void (*handler)(int));
/* From now on the signal is only remembered. Returns 0, or -1 with errno. */
int lpfm_catch_signal(int sig);
/* Returns true if a caught signal has come since the last call. */
bool lpfm_take_signal(int sig);

#endif
