/* SPDX-License-Identifier: MIT */
/* proc.c - the module lpfm.proc: processes, threads, CPUs, the clock, Ctrl-C. */
/***
What a monitoring tool needs from the system apart from counters: processes, CPUs, signals.

@module lpfm.proc
*/
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/args.h"
#include "base/result.h"
#include "base/wait.h"
#include "process/proc.h"
#include "process/process.h"

/***
Returns the threads of a process.
@function lpfm.proc.threads
@int pid
@treturn[1] table list of thread ids
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: ESRCH
@usage
local proc = require "lpfm.proc"
assert(#proc.threads(proc.getpid()) >= 1)
*/
static int proc_threads(lua_State *L)
{
	pid_t pid = (pid_t)lpfm_arg_int(L, 1, "threads", "pid", 1, INT32_MAX), *tids;
	int room = lpfm_process_threads(pid, NULL, 0) + 64, n;

	tids = lua_newuserdata(L, (size_t)room * sizeof(*tids));
	n = lpfm_process_threads(pid, tids, room);
	if (n < 0)
		return lpfm_fail_errno(L, errno, "threads: process %d: %s", (int)pid, strerror(errno));
	lua_createtable(L, n, 0);
	for (int i = 0; i < n && i < room; i++) {
		lua_pushinteger(L, tids[i]);
		lua_rawseti(L, -2, i + 1);
	}
	return 1;
}

/***
Returns the id of the calling thread.
@function lpfm.proc.gettid
@treturn int
@usage assert(require("lpfm.proc").gettid() > 0)
*/
static int proc_gettid(lua_State *L)
{
	lua_pushinteger(L, syscall(SYS_gettid));
	return 1;
}

/***
Returns the id of this process.
@function lpfm.proc.getpid
@treturn int
@usage assert(require("lpfm.proc").getpid() > 0)
*/
static int proc_getpid(lua_State *L)
{
	lua_pushinteger(L, getpid());
	return 1;
}

/***
Sends a process a signal.
@function lpfm.proc.kill
@int pid
@param[opt="TERM"] signal name or number; 0 only asks whether it can be sent
@treturn[1] boolean true
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: ESRCH, EPERM
@raise on wrong types and unknown signals
@usage
local proc = require "lpfm.proc"
assert(proc.kill(proc.getpid(), 0))
*/
static int proc_kill(lua_State *L)
{
	pid_t pid = (pid_t)lpfm_arg_int(L, 1, "kill", "pid", 1, INT32_MAX);
	int sig = lua_isnoneornil(L, 2) ? SIGTERM : lpfm_to_signal(L, 2, "kill");

	if (kill(pid, sig))
		return lpfm_fail_errno(L, errno, "kill: process %d: %s", (int)pid, strerror(errno));
	return lpfm_true(L);
}

/***
Catches a signal: from now on it is only remembered for `lpfm.proc.caught`. Use
`lpfm.proc.on_interrupt` for SIGINT and SIGTERM.
@function lpfm.proc.catch
@param signal name or number
@treturn[1] boolean true
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: EINVAL if the signal cannot be caught
@raise on wrong types and unknown signals
@see proc.caught
@usage
local proc = require "lpfm.proc"
assert(proc.catch "USR2" and not proc.caught "USR2")
assert(proc.kill(proc.getpid(), "USR2") and proc.caught "USR2")
*/
static int proc_catch(lua_State *L)
{
	int sig = lpfm_to_signal(L, 1, "catch");

	if (lpfm_catch_signal(sig))
		return lpfm_fail_errno(L, errno, "catch: signal %d: sigaction(2): %s", sig, strerror(errno));
	return lpfm_true(L);
}

/***
Tells whether a caught signal has come since the last call for that signal.
@function lpfm.proc.caught
@param signal name or number
@treturn boolean
@raise on wrong types and unknown signals
@see proc.catch
@usage assert(require("lpfm.proc").caught "URG" == false)
*/
static int proc_caught(lua_State *L)
{
	lua_pushboolean(L, lpfm_take_signal(lpfm_to_signal(L, 1, "caught")));
	return 1;
}

/***
Seconds of the monotonic clock, as samples have it: in all time namespaces the same.
@function lpfm.proc.clock
@treturn number
@usage
local clock = require("lpfm.proc").clock
local begin = clock()
assert(clock() >= begin)
*/
static int proc_clock(lua_State *L)
{
	lua_pushnumber(L, (lua_Number)lpfm_now() * 1e-9);
	return 1;
}

/***
Makes this process the parent of the processes that its children leave running, or stops that
(PR_SET_CHILD_SUBREAPER).
@function lpfm.proc.adopt
@tparam boolean on
@treturn[1] boolean what it was before
@return[2] nil
@treturn[2] string message
@treturn[2] int errno
@raise if on is no boolean
@usage
local proc = require "lpfm.proc"
local before = proc.adopt(true)
assert(proc.adopt(before) == true)
*/
static int proc_adopt(lua_State *L)
{
	int before = 0;

	luaL_checktype(L, 1, LUA_TBOOLEAN);
	if (prctl(PR_GET_CHILD_SUBREAPER, &before) ||
	    prctl(PR_SET_CHILD_SUBREAPER, (unsigned long)lua_toboolean(L, 1)))
		return lpfm_fail_errno(L, errno, "adopt: %s", strerror(errno));
	lua_pushboolean(L, before);
	return 1;
}

/***
Keeps processes of the same user from tracing this one and from reading or writing its memory and
descriptors, or allows it again (PR_SET_DUMPABLE).
@function lpfm.proc.shield
@tparam boolean on
@treturn[1] boolean what it was before
@return[2] nil
@treturn[2] string message
@treturn[2] int errno
@raise if on is no boolean
@usage
local proc = require "lpfm.proc"
local before = proc.shield(true)
assert(proc.shield(before) == true)
*/
static int proc_shield(lua_State *L)
{
	int before = prctl(PR_GET_DUMPABLE);

	luaL_checktype(L, 1, LUA_TBOOLEAN);
	if (before < 0 || prctl(PR_SET_DUMPABLE, lua_toboolean(L, 1) ? 0UL : 1UL))
		return lpfm_fail_errno(L, errno, "shield: %s", strerror(errno));
	lua_pushboolean(L, before != 1);
	return 1;
}

/* --- CPUs ----------------------------------------------------------------------------------- */

static void push_cpus(lua_State *L, const cpu_set_t *set)
{
	int n = 0;

	lua_newtable(L);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, set))
			continue;
		lua_pushinteger(L, cpu);
		lua_rawseti(L, -2, ++n);
	}
}

/* Reads the list of online CPUs, such as "0-3,8". Returns false if there is none. */
static bool read_online(cpu_set_t *set)
{
	FILE *file = fopen("/sys/devices/system/cpu/online", "re");
	unsigned int from, to;
	char sep = ',';

	CPU_ZERO(set);
	while (file && sep == ',' && fscanf(file, "%u", &from) == 1) {
		to = from;
		if (fscanf(file, "%c", &sep) != 1)
			sep = '\n';
		if (sep == '-' && fscanf(file, "%u%c", &to, &sep) < 2)
			sep = '\n';
		for (; from <= to && from < CPU_SETSIZE; from++)
			CPU_SET(from, set);
	}
	if (file)
		fclose(file);
	return CPU_COUNT(set) > 0;
}

/***
Returns the CPUs that are online.
@function lpfm.proc.cpus
@treturn table list of numbers
@usage assert(#require("lpfm.proc").cpus() >= 1)
*/
static int proc_cpus(lua_State *L)
{
	cpu_set_t set;

	if (!read_online(&set) && sched_getaffinity(0, sizeof(set), &set))
		return lpfm_fail_errno(L, errno, "cpus: %s", strerror(errno));
	push_cpus(L, &set);
	return 1;
}

/***
Returns the CPUs that the calling thread may run on.
@function lpfm.proc.getaffinity
@treturn[1] table list of numbers
@return[2] nil
@treturn[2] string message
@treturn[2] int errno
@usage
local proc = require "lpfm.proc"
local before = proc.getaffinity()
assert(proc.setaffinity(before[1]))
assert(proc.setaffinity(before))
*/
static int proc_getaffinity(lua_State *L)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return lpfm_fail_errno(L, errno, "getaffinity: %s", strerror(errno));
	push_cpus(L, &set);
	return 1;
}

/***
Binds the calling thread to a CPU, or to several.
@function lpfm.proc.setaffinity
@param cpu number of a CPU, or list of numbers
@treturn[1] boolean true
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: EINVAL if none of them is there
@raise on wrong types
@see proc.getaffinity
@usage
local proc = require "lpfm.proc"
local cpus = proc.getaffinity()
assert(proc.setaffinity(cpus))
*/
static int proc_setaffinity(lua_State *L)
{
	struct lpfm_site site = { .call = "setaffinity" };
	cpu_set_t set;

	CPU_ZERO(&set);
	if (lua_istable(L, 1)) {
		for (int i = 1; i <= (int)lua_objlen(L, 1); i++) {
			site.element = i;
			lua_rawgeti(L, 1, i);
			CPU_SET((size_t)lpfm_to_int(L, -1, &site, 0, CPU_SETSIZE - 1), &set);
			lua_pop(L, 1);
		}
	} else {
		CPU_SET((size_t)lpfm_arg_int(L, 1, "setaffinity", "cpu", 0, CPU_SETSIZE - 1), &set);
	}
	if (sched_setaffinity(0, sizeof(set), &set))
		return lpfm_fail_errno(L, errno, "setaffinity: %s", strerror(errno));
	return lpfm_true(L);
}

static const luaL_Reg functions[] = {
	{ "adopt", proc_adopt },
	{ "catch", proc_catch },
	{ "caught", proc_caught },
	{ "clock", proc_clock },
	{ "cpus", proc_cpus },
	{ "getaffinity", proc_getaffinity },
	{ "getpid", proc_getpid },
	{ "gettid", proc_gettid },
	{ "interrupted", lpfm_take_interrupt },
	{ "kill", proc_kill },
	{ "on_interrupt", lpfm_on_interrupt },
	{ "raise_nofile", lpfm_proc_raise_nofile },
	{ "setaffinity", proc_setaffinity },
	{ "shield", proc_shield },
	{ "spawn", lpfm_proc_spawn },
	{ "threads", proc_threads },
	{ NULL, NULL }
};

int luaopen_lpfm_proc(lua_State *L)
{
	lpfm_open_child(L);
	lua_newtable(L);
	luaL_register(L, NULL, functions);
	return 1;
}
