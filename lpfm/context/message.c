/* SPDX-License-Identifier: MIT */
/* message.c - notifications: one by one, as an iterator, and waiting for several contexts (3.3). */
/***
@submodule context
*/
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/args.h"
#include "base/field.h"
#include "base/flags.h"
#include "base/object.h"
#include "base/result.h"
#include "base/wait.h"
#include "context/context.h"

static void push_preempted(lua_State *L, const pfarg_preempted_msg_t *msg)
{
	lpfm_set_nat(L, "set", msg->msg_active_set);
	lpfm_set_nat(L, "tid", msg->msg_preempt_tid);
	lpfm_set_nat(L, "cpu", msg->msg_preempt_cpu);
	lpfm_set_nat(L, "lost_at", msg->msg_lost_at);
	lpfm_set_nat(L, "regained_at", msg->msg_regained_at);
	lpfm_set_nat(L, "blind", msg->msg_blind);
}

static void push_message(lua_State *L, const pfarg_msg_t *msg)
{
	const pfarg_ovfl_msg_t *ovfl = &msg->pfm_ovfl_msg;

	lua_createtable(L, 0, 8);
	lpfm_push_type(L, msg->msg_type, lpfm_msg_types);
	lua_setfield(L, -2, "type");
	if (msg->msg_type == PFM_MSG_PREEMPTED)
		push_preempted(L, &msg->pfm_preempted_msg);
	if (msg->msg_type != PFM_MSG_OVFL)
		return;
	lpfm_set_nat(L, "set", ovfl->msg_active_set);
	lpfm_set_nat(L, "pid", ovfl->msg_ovfl_pid);
	lpfm_set_nat(L, "tid", ovfl->msg_ovfl_tid);
	lpfm_set_nat(L, "cpu", ovfl->msg_ovfl_cpu);
	lpfm_set_u64(L, "ip", ovfl->msg_ovfl_ip);
	lpfm_push_bits(L, ovfl->msg_ovfl_pmds);
	lua_setfield(L, -2, "pmds");
}

/*
 * Pushes the results for an empty queue. On the simulator, a wait without a limit would be endless,
 * because no message can come while the script waits.
 */
static int no_message(lua_State *L, const struct lpfm_context *ctx, int64_t timeout)
{
	if (!ctx->simulated || timeout >= 0)
		return lpfm_timeout(L);
	lua_pushnil(L);
	lua_pushliteral(L, "no message (the simulated machine advances only when told)");
	return 2;
}

/*
 * Fetches a message. Returns 0, or the number of results pushed that say why there is none. Waits
 * again if another reader of the descriptor has taken the message after the wait.
 */
static int fetch(lua_State *L, const struct lpfm_context *ctx, int64_t timeout, pfarg_msg_t *msg)
{
	int64_t deadline = lpfm_deadline(ctx->simulated ? 0 : timeout);

	for (;;) {
		int ready = lpfm_fmt_error(ctx) ? 0 : lpfm_wait_fd(L, ctx->fd, deadline), err = errno;
		int failed = lpfm_fmt_failure(L, ctx, "read");
		ssize_t got;

		if (failed)
			return failed;
		if (ready < 0)
			return lpfm_fail_errno(L, err, "read: %s", strerror(err));
		if (!ready)
			return no_message(L, ctx, timeout);
		got = read(ctx->fd, msg, sizeof(*msg));
		if (got == (ssize_t)sizeof(*msg))
			return 0;
		if (got > 0)
			return lpfm_fail_errno(L, EPROTO, "read: another reader has taken %d bytes of a message",
					       (int)(sizeof(*msg) - (size_t)got));
		if (!got)
			return lpfm_fail_errno(L, EPIPE, "read: no message comes any more: the context is gone, or "
					       "its CPU offline");
		if (errno != EINTR && errno != EAGAIN)
			return lpfm_fail_errno(L, errno, "read: %s", strerror(errno));
	}
}

int lpfm_message_take(lua_State *L, const struct lpfm_context *ctx, int64_t timeout)
{
	pfarg_msg_t msg = { 0 };
	int failed = fetch(L, ctx, timeout, &msg);

	if (failed)
		return failed;
	push_message(L, &msg);
	return 1;
}

/***
Takes the next message, waiting for it.
@function context:read
@number[opt] timeout seconds to wait at most; without, as long as it takes
@treturn[1] table {type="OVFL", set=, pid=, tid=, cpu=, ip=, pmds={...}}, {type="END"}, or
{type="PREEMPTED", set=, tid=, cpu=, lost_at=, regained_at=, blind=}, times in ns
@return[2] nil
@treturn[2] string "timeout", or "no message ..." on the simulator, where no time passes
@return[3] nil
@treturn[3] string message
@treturn[3] int errno: EINTR (Interrupted system call) after Ctrl-C, EIO when a format written in
Lua failed, EPIPE when no message comes any more, because the monitored CPU has gone offline
(machine linux)
@usage
local ctx = assert(require("lpfm").create {})
local msg, why = ctx:read(0)
assert(not msg and why == "timeout")
ctx:close()
*/
static int context_read(lua_State *L)
{
	struct lpfm_context *ctx = lpfm_context_open(L, 1);

	return lpfm_message_take(L, ctx, lpfm_arg_timeout(L, 2, "read"));
}

/* The upvalues are the context, the timeout in ns, and whether END has been seen. */
static int next_message(lua_State *L)
{
	struct lpfm_context *ctx = lpfm_context_test(L, lua_upvalueindex(1));
	pfarg_msg_t msg = { 0 };
	int failed;

	if (lua_toboolean(L, lua_upvalueindex(3)))
		return 0;
	if (!ctx || ctx->fd < 0)
		return luaL_error(L, "messages: the context is closed");
	failed = fetch(L, ctx, (int64_t)lua_tonumber(L, lua_upvalueindex(2)), &msg);
	if (failed == 2)
		return 0;
	if (failed) {
		lua_pop(L, 1);
		return lua_error(L);
	}
	lua_pushboolean(L, msg.msg_type == PFM_MSG_END);
	lua_replace(L, lua_upvalueindex(3));
	push_message(L, &msg);
	return 1;
}

/***
Iterates over messages. The loop ends after the END message, or when the timeout passes without a
message.
@function context:messages
@number[opt] timeout seconds to wait at most for each
@return iterator
@raise in the loop, if reading fails
@usage
local ctx = assert(require("lpfm").create {})
for msg in ctx:messages(0) do error(msg.type) end
ctx:close()
*/
static int context_messages(lua_State *L)
{
	int64_t timeout;

	lpfm_context_open(L, 1);
	timeout = lpfm_arg_timeout(L, 2, "messages");
	lua_pushvalue(L, 1);
	lua_pushnumber(L, (lua_Number)timeout);
	lua_pushboolean(L, 0);
	lua_pushcclosure(L, next_message, 3);
	return 1;
}

/* --- waiting for several contexts ----------------------------------------------------------- */

/* Returns the descriptor of a context, a number, or any object with a method fd(). */
static int fd_of(lua_State *L, int idx, const struct lpfm_site *site)
{
	int fd;

	if (lua_type(L, idx) == LUA_TNUMBER)
		return (int)lpfm_to_int(L, idx, site, 0, INT32_MAX);
	if (lpfm_context_test(L, idx))
		return lpfm_context_fd(L, idx);
	if (lua_type(L, idx) != LUA_TUSERDATA || !luaL_getmetafield(L, idx, "__index"))
		lpfm_bad_value(L, site, "context or descriptor", idx);
	lua_pop(L, 1);
	lua_getfield(L, idx, "fd");
	if (!lua_isfunction(L, -1))
		lpfm_bad_value(L, site, "context or descriptor", idx);
	lua_pushvalue(L, idx);
	lua_call(L, 1, 1);
	fd = (int)lpfm_to_int(L, -1, site, 0, INT32_MAX);
	lua_pop(L, 1);
	return fd;
}

static bool all_simulated(lua_State *L, int idx, int n)
{
	bool all = n > 0;

	for (int i = 1; i <= n && all; i++) {
		const struct lpfm_context *ctx;

		lua_rawgeti(L, idx, i);
		ctx = lpfm_context_test(L, -1);
		all = ctx && ctx->simulated;
		lua_pop(L, 1);
	}
	return all;
}

static void push_ready(lua_State *L, int idx, const struct pollfd *fds, int n)
{
	int ready = 0;

	lua_newtable(L);
	for (int i = 0; i < n; i++) {
		if (!fds[i].revents)
			continue;
		lua_rawgeti(L, idx, i + 1);
		lua_rawseti(L, -2, ++ready);
	}
}

/***
Waits until one of several contexts has a message.
@function lpfm.poll
@tparam table list contexts, objects of lpfm.proc with a method fd(), descriptors (numbers)
@number[opt] timeout seconds to wait at most; without, as long as it takes
@treturn[1] table those of the list that are ready
@return[2] nil
@treturn[2] string "timeout"
@return[3] nil
@treturn[3] string message
@treturn[3] int errno: EINTR (Interrupted system call) after Ctrl-C, EBADF (Bad file descriptor)
for a number that is no open descriptor
@raise on wrong types and closed contexts
@usage
local lpfm = require "lpfm"
local a, b = assert(lpfm.create {}), assert(lpfm.create {})
local ready, why = lpfm.poll({ a, b }, 0)
assert(not ready and why == "timeout")
a:close() b:close()
*/
static int poll_contexts(lua_State *L)
{
	struct lpfm_site site = { .call = "poll" };
	int64_t timeout = lpfm_arg_timeout(L, 2, "poll");
	struct pollfd *fds;
	int n, ready;

	if (!lua_istable(L, 1))
		lpfm_bad_value(L, &site, "list", 1);
	if (lua_objlen(L, 1) > 1000000)
		lpfm_bad(L, &site, "the list is too long");
	n = (int)lua_objlen(L, 1);
	fds = lua_newuserdata(L, (size_t)(n + 1) * sizeof(*fds));
	for (int i = 0; i < n; i++) {
		site.element = i + 1;
		lua_rawgeti(L, 1, i + 1);
		fds[i] = (struct pollfd){ .fd = fd_of(L, lua_gettop(L), &site), .events = POLLIN };
		lua_pop(L, 1);
	}
	if (all_simulated(L, 1, n))
		timeout = 0;
	ready = lpfm_wait_fds(L, fds, (unsigned int)n, lpfm_deadline(timeout));
	if (ready < 0)
		return lpfm_fail_errno(L, errno, "poll: %s", strerror(errno));
	if (!ready)
		return lpfm_timeout(L);
	for (int i = 0; i < n; i++)
		if (fds[i].revents & POLLNVAL)
			return lpfm_fail_errno(L, EBADF, "poll: there is no descriptor %d", fds[i].fd);
	push_ready(L, 1, fds, n);
	return 1;
}

static const luaL_Reg methods[] = {
	{ "messages", context_messages },
	{ "read", context_read },
	{ NULL, NULL }
};

void lpfm_open_message(lua_State *L)
{
	lpfm_class_methods(L, &lpfm_context_class, methods);
	lpfm_set_function(L, "poll", poll_contexts);
}
