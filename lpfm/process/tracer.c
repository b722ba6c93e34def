/* SPDX-License-Identifier: MIT */
/*
 * tracer.c - followers (ptrace.c) as Lua objects.
 */
/***
Followers of a program's threads and children.

A new thread or process is held, stopped before its first instruction, until t:release(tid): time to
attach a context to it. Signals and job control work as if nobody watched.

@classmod tracer
*/
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/args.h"
#include "base/object.h"
#include "base/result.h"
#include "base/wait.h"
#include "process/proc.h"
#include "process/ptrace.h"

static const struct lpfm_class tracer_class = { "lpfm.tracer" };

struct tracer {
	struct lpfm_head	head;
	struct follow		*follow;	/* NULL: closed */
};

static struct tracer *any_tracer(lua_State *L)
{
	return lpfm_object_check(L, 1, &tracer_class);
}

static struct follow *open_follow(lua_State *L)
{
	struct tracer *t = any_tracer(L);

	if (!t->follow)
		luaL_error(L, "the tracer is closed");
	return t->follow;
}

static void release_follow(struct tracer *t)
{
	struct follow *f = t->follow;

	t->follow = NULL;
	if (f)
		follow_free(f);
}

/* Yama may forbid what the user's identity allows. */
static int ptrace_scope(void)
{
	FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (file && fscanf(file, "%d", &scope) != 1)
		scope = 0;
	if (file)
		fclose(file);
	return scope;
}

static int fail_attach(lua_State *L, int pid, int err)
{
	int scope = err == EPERM ? ptrace_scope() : 0;

	if (scope)
		return lpfm_fail_errno(L, err, "trace: process %d: %s (kernel.yama.ptrace_scope is %d: "
				       "only a program's own children may be traced; root may, or set "
				       "it to 0)", pid, strerror(err), scope);
	return lpfm_fail_errno(L, err, "trace: process %d: %s", pid, strerror(err));
}

static void read_options(lua_State *L, int idx, struct follow_options *options)
{
	struct lpfm_site site = { .call = "trace" };

	if (lua_isnoneornil(L, idx))
		return;
	if (!lua_istable(L, idx))
		lpfm_bad_value(L, &site, "table", idx);
	for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
		const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
		bool hold = !strcmp(name, "hold_exec");

		if (!hold && strcmp(name, "births_only"))
			lpfm_bad(L, &site, "unknown option (known: births_only, hold_exec)");
		site.field = hold ? "hold_exec" : "births_only";
		if (!lua_isboolean(L, -1))
			lpfm_bad_value(L, &site, "boolean", lua_gettop(L));
		*(hold ? &options->hold_exec : &options->births_only) = lua_toboolean(L, -1);
	}
}

/***
Follows a process: all its threads, those they make, and their child processes.
@function lpfm.proc.trace
@param target a child of proc.spawn, or a process id
@tparam[opt] table options
@bool[opt] options.hold_exec hold what has just called exec, too
@bool[opt] options.births_only report new threads and processes, and what else is held, but no other exec and no exit
@treturn[1] tracer
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: ESRCH, EPERM
@raise on wrong types
@usage
local proc = require "lpfm.proc"
local child = assert(proc.spawn { "sh", "-c", "true; true" })
local t = assert(proc.trace(child))
assert(child:go())
local event = t:next()
while event do
   if event.held then t:release(event.tid) end
   event = t:next()
end
t:close()
assert(child:wait().status == 0)
*/
int lpfm_proc_trace(lua_State *L)
{
	int pid = lpfm_child_pid(L, 1);
	struct tracer *t;
	struct follow_options options = { 0 };

	read_options(L, 2, &options);
	if (pid < 0)
		pid = (int)lpfm_arg_int(L, 1, "trace", "pid", 1, INT32_MAX);
	t = lpfm_object_new(L, sizeof(*t));
	lpfm_object_arm(L, t, &tracer_class);
	t->follow = follow_new(&options);
	if (!t->follow)
		return lpfm_fail_errno(L, errno, "trace: %s", strerror(errno));
	if (follow_attach(t->follow, pid)) {
		int err = errno;

		release_follow(t);
		return fail_attach(L, pid, err);
	}
	return 1;
}

static void set_int(lua_State *L, const char *name, int value)
{
	lua_pushinteger(L, value);
	lua_setfield(L, -2, name);
}

static void push_event(lua_State *L, const struct follow_event *e)
{
	static const char *const kinds[] = {
		[FOLLOW_THREAD] = "thread", [FOLLOW_FORK] = "fork", [FOLLOW_EXEC] = "exec",
		[FOLLOW_EXIT] = "exit",
	};

	lua_createtable(L, 0, 6);
	lua_pushstring(L, kinds[e->kind]);
	lua_setfield(L, -2, "kind");
	set_int(L, "tid", e->tid);
	set_int(L, "pid", e->pid);
	lua_pushboolean(L, e->held);
	lua_setfield(L, -2, "held");
	if (e->kind == FOLLOW_EXIT)
		lpfm_add_status(L, e->status);
	else if (e->kind == FOLLOW_EXEC)
		set_int(L, "former", e->former);
	else
		set_int(L, "parent", e->parent);
}

/***
The next event.
@function tracer:next
@number[opt] timeout seconds to wait at most; without, as long as it takes
@treturn[1] table {kind="thread"|"fork"|"exec"|"exit", tid=, pid=, held=boolean}; for thread and fork
also parent= (the thread that made it), for exec former= (the id it had before), for exit status= or
signal=, signal_name=
@return[2] nil
@treturn[2] string "timeout", or "ended" when nobody is left to follow
@return[3] nil
@treturn[3] string message
@treturn[3] int errno: EINTR after Ctrl-C, ENOMEM if events were lost
@usage
local proc = require "lpfm.proc"
local child = assert(proc.spawn { "true" })
local t = assert(proc.trace(child))
assert(child:go())
for event in function() return t:next() end do print(event.kind, event.tid) end
t:close()
*/
static int tracer_next(lua_State *L)
{
	struct follow *f = open_follow(L);
	int64_t deadline = lpfm_deadline(lpfm_arg_timeout(L, 2, "next"));
	struct follow_event event;
	int got, ready;

	while (!(got = follow_next(f, &event))) {
		ready = lpfm_wait_fd(L, follow_fd(f), deadline);
		if (ready < 0)
			return lpfm_fail_errno(L, errno, "next: %s", strerror(errno));
		if (!ready)
			return lpfm_timeout(L);
	}
	if (got > 0) {
		push_event(L, &event);
		return 1;
	}
	if (errno != ECHILD)
		return lpfm_fail_errno(L, errno, "next: events were lost: %s", strerror(errno));
	lua_pushnil(L);
	lua_pushliteral(L, "ended");
	return 2;
}

/***
Lets a held thread run.
@function tracer:release
@int tid
@treturn[1] boolean true
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: ESRCH if the thread is not held
@usage
local proc = require "lpfm.proc"
local child = assert(proc.spawn { "sh", "-c", "(true); true" })
local t = assert(proc.trace(child))
assert(child:go())
for event in function() return t:next() end do
   if event.held then assert(t:release(event.tid)) end
end
t:close()
*/
static int tracer_release(lua_State *L)
{
	struct follow *f = open_follow(L);
	int tid = (int)lpfm_arg_int(L, 2, "release", "tid", 1, INT32_MAX);

	if (follow_release(f, tid))
		return lpfm_fail_errno(L, errno, "release: thread %d is not held", tid);
	lua_pushboolean(L, 1);
	return 1;
}

/***
The threads that are followed: those of the beginning, and those that next() has reported.
@function tracer:threads
@treturn table list of thread ids
@usage
local proc = require "lpfm.proc"
local child = assert(proc.spawn { "true" })
local t = assert(proc.trace(child))
assert(#t:threads() == 1)
t:close()
*/
static int tracer_threads(lua_State *L)
{
	struct follow *f = open_follow(L);
	int room = follow_threads(f, NULL, 0) + 64, n;
	pid_t *tids = lua_newuserdata(L, (size_t)room * sizeof(*tids));

	n = follow_threads(f, tids, room);
	lua_createtable(L, n, 0);
	for (int i = 0; i < n && i < room; i++) {
		lua_pushinteger(L, tids[i]);
		lua_rawseti(L, -2, i + 1);
	}
	return 1;
}

/***
A descriptor that is readable while next() has something to say, for lpfm.poll.
@function tracer:fd
@treturn int
@usage
local proc = require "lpfm.proc"
local child = assert(proc.spawn { "true" })
local t = assert(proc.trace(child))
assert(child:go())
assert(require("lpfm").poll({ t }, 60))
t:close()
*/
static int tracer_fd(lua_State *L)
{
	lua_pushinteger(L, follow_fd(open_follow(L)));
	return 1;
}

/***
Stops following: all threads keep running untraced, held ones too.
@function tracer:close
@treturn boolean true
@usage
local proc = require "lpfm.proc"
local child = assert(proc.spawn { "true" })
local t = assert(proc.trace(child))
assert(child:go())
t:close()                                  -- nobody watches it any more
assert(child:wait().status == 0)
*/
static int tracer_close(lua_State *L)
{
	release_follow(any_tracer(L));
	lua_pushboolean(L, 1);
	return 1;
}

static int tracer_gc(lua_State *L)
{
	struct tracer *t = any_tracer(L);

	release_follow(t);
	lpfm_object_retire(t);
	return 0;
}

static int tracer_tostring(lua_State *L)
{
	const struct tracer *t = any_tracer(L);

	if (!t->follow)
		lua_pushliteral(L, "lpfm.tracer (closed)");
	else
		lua_pushfstring(L, "lpfm.tracer (%d threads)", follow_threads(t->follow, NULL, 0));
	return 1;
}

static const luaL_Reg methods[] = {
	{ "close", tracer_close },
	{ "fd", tracer_fd },
	{ "next", tracer_next },
	{ "release", tracer_release },
	{ "threads", tracer_threads },
	{ NULL, NULL }
};

static const luaL_Reg metas[] = {
	{ "__gc", tracer_gc },
	{ "__tostring", tracer_tostring },
	{ NULL, NULL }
};

void lpfm_open_tracer(lua_State *L)
{
	lpfm_class_new(L, &tracer_class, methods, metas);
}
