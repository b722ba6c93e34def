/* SPDX-License-Identifier: MIT */
/*
 * wait.c - waiting for descriptors, with a deadline, through signals, and interruptible by Ctrl-C.
 */
/***
@submodule lpfm.proc
*/
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <time.h>

#include "base/wait.h"
#include "user/clock.h"

static volatile sig_atomic_t interrupted;
static const int caught[] = { SIGINT, SIGTERM, SIGHUP };
static struct sigaction saved_action[LPFM_COUNT(caught)];
static bool catching;
static const struct lpfm_wait_signal *brings;
/* signals that were ignored until lpfm_set_signal() set a handler, and that handler */
static bool was_ignored[NSIG];
static void (*handlers[NSIG])(int);

void lpfm_wait_signal(const struct lpfm_wait_signal *s)
{
	brings = s;
}

int64_t lpfm_now(void)
{
	return pfm_clock_ns();
}

int64_t lpfm_deadline(int64_t ns)
{
	return ns < 0 ? -1 : lpfm_now() + ns;
}

bool lpfm_stops(lua_State *L)
{
	return lua_gethook(L) && (lua_gethookmask(L) & LUA_MASKCOUNT) && lua_gethookcount(L) == 1;
}

/*
 * Returns true if a wait must end early: on_interrupt() has seen a signal, or the host has set a
 * hook with a count of 1. Hosts set such hooks to stop a script from a signal handler, and hooks
 * run only in Lua code.
 */
static bool interrupted_now(lua_State *L)
{
	return interrupted || (lpfm_stops(L) && !(brings && brings->hooked(L)));
}

static int poll_until(struct pollfd *fds, unsigned int n, int64_t deadline, const sigset_t *mask)
{
	struct timespec left = { 0 };
	int64_t ns = deadline < 0 ? 0 : deadline - lpfm_now();

	if (ns > 0) {
		left.tv_sec = ns / 1000000000;
		left.tv_nsec = ns % 1000000000;
	}
	return ppoll(fds, n, deadline < 0 ? NULL : &left, mask);
}

/*
 * Polls with the signals blocked except during ppoll(), so that none is missed: it comes either
 * before pending() is asked, or during ppoll(), which it ends.
 */
static int poll_with_signal(lua_State *L, struct pollfd *fds, unsigned int n, int64_t deadline)
{
	sigset_t set, saved;
	int ready = -1, err = EINTR;

	sigemptyset(&set);
	brings->signals(&set);
	pthread_sigmask(SIG_BLOCK, &set, &saved);
	if (!brings->pending()) {
		ready = poll_until(fds, n, deadline, &saved);
		err = errno;
	}
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	if (brings->pending())
		brings->dispatch(L);
	errno = err;
	return ready;
}

int lpfm_wait_fds(lua_State *L, struct pollfd *fds, unsigned int n, int64_t deadline)
{
	for (;;) {
		int ready = brings && brings->active() ? poll_with_signal(L, fds, n, deadline)
						      : poll_until(fds, n, deadline, NULL);

		if (ready >= 0 || errno != EINTR)
			return ready;
		if (interrupted_now(L)) {
			errno = EINTR;
			return -1;
		}
	}
}

int lpfm_wait_fd(lua_State *L, int fd, int64_t deadline)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return lpfm_wait_fds(L, &pfd, 1, deadline);
}

bool lpfm_was_ignored(int sig, void (*handler)(int))
{
	return was_ignored[sig] && handlers[sig] == handler;
}

int lpfm_set_signal(int sig, const struct sigaction *action)
{
	struct sigaction before;

	if (sigaction(sig, action, &before))
		return -1;
	was_ignored[sig] = before.sa_handler == SIG_IGN || lpfm_was_ignored(sig, before.sa_handler);
	handlers[sig] = action->sa_handler;
	return 0;
}

static void on_interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

/***
Chooses what Ctrl-C (SIGINT), SIGTERM, and the terminal's hangup (SIGHUP) do: with true they are
remembered for `lpfm.proc.interrupted`, and end a waiting call of this module with nil,
"...: interrupted", EINTR; with false they do what they did before. A SIGHUP that is ignored, as
under nohup, or handled stays so. Programs that are started by proc.spawn ignore those that this
process ignored before.
@function lpfm.proc.on_interrupt
@bool catch
@usage
local proc = require "lpfm.proc"
proc.on_interrupt(true)
assert(proc.kill(proc.getpid(), "INT"))
assert(proc.interrupted())
proc.on_interrupt(false)
*/
int lpfm_on_interrupt(lua_State *L)
{
	struct sigaction action = { .sa_handler = on_interrupt };

	luaL_checktype(L, 1, LUA_TBOOLEAN);
	if (lua_toboolean(L, 1) == catching)
		return 0;
	for (size_t i = 0; i < LPFM_COUNT(caught); i++) {
		if (catching)
			sigaction(caught[i], &saved_action[i], NULL);
		else if (!sigaction(caught[i], NULL, &saved_action[i]) &&
			 (caught[i] != SIGHUP || saved_action[i].sa_handler == SIG_DFL))
			lpfm_set_signal(caught[i], &action);
	}
	catching = !catching;
	interrupted = 0;
	return 0;
}

int lpfm_interrupted(void)
{
	return interrupted;
}

/***
Tells whether a signal of `lpfm.proc.on_interrupt` has come since the last call.
@function lpfm.proc.interrupted
@treturn boolean
@usage assert(require("lpfm.proc").interrupted() == false)
*/
int lpfm_take_interrupt(lua_State *L)
{
	lua_pushboolean(L, interrupted);
	interrupted = 0;
	return 1;
}

/* --- signals that are only remembered ------------------------------------------------------- */

static volatile sig_atomic_t came[NSIG];

static void on_signal(int sig)
{
	came[sig] = 1;
}

int lpfm_catch_signal(int sig)
{
	return lpfm_set_signal(sig, &(struct sigaction){ .sa_handler = on_signal, .sa_flags = SA_RESTART });
}

bool lpfm_take_signal(int sig)
{
	bool it_came = came[sig];

	came[sig] = 0;
	return it_came;
}
