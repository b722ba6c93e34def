/* SPDX-License-Identifier: MIT */
/* context.c - contexts: their life, and the commands without a vector. */
/***
Perfmon contexts.

Methods have the names of the interface's calls. They return the call's result, or true; when the
call fails, nil, a message that names call, element and reason, and errno. Misuse (wrong types, a
closed context) raises. A context is closed by close(), and when it is collected.

@classmod context
*/
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/args.h"
#include "base/object.h"
#include "base/result.h"
#include "base/u64.h"
#include "context/context.h"
#include "context/programming.h"
#include "format/register.h"

static void collect(void *object)
{
	lpfm_context_put(((struct lpfm_context_object *)object)->ctx);
}

const struct lpfm_class lpfm_context_class = { "lpfm.context", collect };

static struct lpfm_context *context_any(lua_State *L, int idx)
{
	return ((struct lpfm_context_object *)lpfm_object_check(L, idx, &lpfm_context_class))->ctx;
}

struct lpfm_context *lpfm_context_refuse(lua_State *L, int idx)
{
	context_any(L, idx);
	luaL_error(L, "the context is closed");
	return NULL;
}

/* --- closing -------------------------------------------------------------------------------- */

static size_t mapped_size(const struct lpfm_context *ctx)
{
	return ctx->buf_offs + ctx->parts * ctx->buf_size;
}

static void unmap(struct lpfm_context *ctx)
{
	void *buf = (void *)(uintptr_t)ctx->buf;

	ctx->buf = NULL;
	if (buf)
		pfm_unmap_buffer((char *)buf - ctx->part * ctx->buf_size - ctx->buf_offs, mapped_size(ctx));
	ctx->part = 0;
}

static void release(struct lpfm_context *ctx)
{
	int fd = ctx->fd;

	ctx->fd = -1;
	ctx->epoch++;
	if (!ctx->pinned)
		unmap(ctx);
	while (ctx->views)
		lpfm_view_close(ctx->views);
	lpfm_programming_free(&ctx->programming);
	if (fd >= 0)
		close(fd);
	lpfm_fmt_use_put(ctx->use);
	ctx->use = NULL;
}

struct lpfm_context *lpfm_context_alloc(void)
{
	struct lpfm_context *ctx = calloc(1, sizeof(*ctx));

	if (!ctx)
		return NULL;
	ctx->refs = 1;
	ctx->fd = -1;
	lpfm_programming_init(&ctx->programming);
	return ctx;
}

struct lpfm_context *lpfm_context_get(const struct lpfm_context *ctx)
{
	struct lpfm_context *counted = (struct lpfm_context *)(uintptr_t)ctx;

	counted->refs++;
	return counted;
}

void lpfm_context_put(const struct lpfm_context *ctx)
{
	struct lpfm_context *counted = (struct lpfm_context *)(uintptr_t)ctx;

	if (!ctx || --counted->refs)
		return;
	if (ctx->copy) {
		free((void *)(uintptr_t)ctx->buf);
		lpfm_programming_free(&counted->programming);
	} else {
		release(counted);
		unmap(counted);
	}
	free(counted);
}

void lpfm_context_push(lua_State *L, struct lpfm_context *ctx)
{
	struct lpfm_context_object *object = lpfm_object_new(L, sizeof(*object));

	object->ctx = ctx;
	lpfm_object_arm(L, object, &lpfm_context_class);
}

/***
Closes the context: its session ends, its registers and messages are lost, its buffer and views of
it are closed. Closing a closed context does nothing.
@function context:close
@treturn boolean true
@usage
local ctx = assert(require("lpfm").create {})
ctx:close()
assert(ctx:closed())
*/
static int context_close(lua_State *L)
{
	release(context_any(L, 1));
	return lpfm_true(L);
}

/***
Tells whether the context is closed.
@function context:closed
@treturn boolean
@usage
local ctx = assert(require("lpfm").create {})
assert(not ctx:closed())
ctx:close()
assert(ctx:closed())
*/
static int context_closed(lua_State *L)
{
	lua_pushboolean(L, context_any(L, 1)->fd < 0);
	return 1;
}

/***
Returns the context's descriptor, for poll(2) and the like. It must not be closed by others.
@function context:fd
@treturn int
@usage
local ctx = assert(require("lpfm").create {})
assert(ctx:fd() > 2)
ctx:close()
*/
static int context_fd(lua_State *L)
{
	lua_pushinteger(L, lpfm_context_fd(L, 1));
	return 1;
}

/***
Returns the size of the context's sampling buffer in bytes, as it is mapped.
@function context:buf_size
@treturn int 0: there is none
@usage
local ctx = assert(require("lpfm").create { format = "default", buf_size = 16384 })
assert(ctx:buf_size() == 16384)
ctx:close()
*/
static int context_buf_size(lua_State *L)
{
	lpfm_push_nat(L, mapped_size(lpfm_context_open(L, 1)));
	return 1;
}

/***
Returns the number of parts of the sampling buffer: with INHERIT on machine linux the number of
CPUs, otherwise 1. Each part is a buffer of its own, with the samples of the threads that ran on
that CPU. A message is about the part with the number `cpu` of the message, modulo the number of
parts.
@function context:buf_parts
@treturn int 0 if there is no buffer
@usage
local lpfm = require "lpfm"
local ctx = assert(lpfm.create { format = "default" })
for part = 0, ctx:buf_parts() - 1 do
   for s in ctx:buffer { part = part }:samples() do print(s.tid) end
end
ctx:close()
*/
static int context_buf_parts(lua_State *L)
{
	const struct lpfm_context *ctx = lpfm_context_open(L, 1);

	lua_pushinteger(L, ctx->buf_size ? ctx->parts : 0);
	return 1;
}

static int context_tostring(lua_State *L)
{
	const struct lpfm_context *ctx = context_any(L, 1);

	if (ctx->fd < 0)
		lua_pushliteral(L, "lpfm.context (closed)");
	else
		lua_pushfstring(L, "lpfm.context (fd %d)", ctx->fd);
	return 1;
}

/* --- commands without a vector: 3.1.5 - 3.1.9 ----------------------------------------------- */

/*
 * Loads the context. A thread can have only one. If it has one that is unreachable from Lua, but
 * not collected yet, EBUSY would mislead: so garbage is collected, and the call is made again.
 */
static int load_or_collect(lua_State *L, int fd, pfarg_load_t *load)
{
	int ret = pfm_load_context(fd, load);

	if (!ret || errno != EBUSY)
		return ret;
	lua_gc(L, LUA_GCCOLLECT, 0);
	return pfm_load_context(fd, load);
}

/***
Binds the context to a thread, or, if it is system-wide, to the current CPU (specification 3.1.7).
@function context:load
@int[opt] tid the thread; the calling one if left out. System-wide: the calling thread or the CPU
@int[opt=0] set the event set that is active first
@treturn[1] boolean true
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: ESRCH, EPERM, EBUSY, EINVAL
@usage
local lpfm = require "lpfm"
local ctx = assert(lpfm.create {})
assert(ctx:load())
assert(ctx:unload())
ctx:close()
*/
static int context_load(lua_State *L)
{
	struct lpfm_context *ctx = lpfm_context_open(L, 1);
	pfarg_load_t load = {
		.load_pid = (uint32_t)lpfm_arg_opt_int(L, 2, "load", "tid", 0, UINT32_MAX,
						       syscall(SYS_gettid)),
		.load_set = (uint16_t)lpfm_arg_opt_int(L, 3, "load", "set", 0, UINT16_MAX, 0),
	};
	bool has_tid = !lua_isnoneornil(L, 2);
	int results = lpfm_result(L, "load", load_or_collect(L, ctx->fd, &load));

	if (results == 1)
		lpfm_programming_load(&ctx->programming, has_tid, load.load_pid, load.load_set);
	snprintf(ctx->refused, sizeof(ctx->refused), "%s", results > 1 ? lua_tostring(L, -2) : "");
	return results;
}

/*
 * If a call has failed with EINVAL after a load that failed, adds the reason of the load to the
 * message, because the script may not have checked the load. Returns the number of results.
 */
static int add_refusal(lua_State *L, const struct lpfm_context *ctx, int results)
{
	if (results == 1 || !*ctx->refused || lua_tointeger(L, -1) != EINVAL)
		return results;
	lua_pushfstring(L, "%s (%s)", lua_tostring(L, -2), ctx->refused);
	lua_replace(L, -3);
	return results;
}

/***
Restricts a system-wide context that is not loaded yet to the tasks of a cgroup.
@function context:set_cgroup
@string[opt] path the cgroup's folder; without: all tasks again
@treturn[1] boolean true
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: EINVAL, EACCES; EOPNOTSUPP on other machines than perf
@usage
local ctx = assert(require("lpfm").create { flags = { "SYSTEM_WIDE", "ANY_CPU" } })
print(ctx:set_cgroup "/sys/fs/cgroup/system.slice")
ctx:close()
*/
static int context_set_cgroup(lua_State *L)
{
	int fd = lpfm_context_fd(L, 1);

	return lpfm_result(L, "set_cgroup", pfm_set_cgroup(fd, lpfm_opt_string(L, 2, NULL)));
}

/***
Starts monitoring (specification 3.1.5).
@function context:start
@int[opt] set the event set to start with; the active one if left out
@treturn[1] boolean true
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: EINVAL, ESRCH, EBUSY; what counted before goes on, unless the message says that
monitoring has stopped, because the set that counted could not be put back
@usage
local ctx = assert(require("lpfm").create {})
assert(ctx:write_pmcs { { num = 66, value = 9 } })
assert(ctx:load())
assert(ctx:start())
ctx:close()
*/
static int context_start(lua_State *L)
{
	struct lpfm_context *ctx = lpfm_context_open(L, 1);
	pfarg_start_t start = { 0 };
	bool given = !lua_isnoneornil(L, 2);
	int results;

	start.start_set = (uint16_t)lpfm_arg_opt_int(L, 2, "start", "set", 0, UINT16_MAX, 0);
	results = lpfm_result(L, "start", pfm_start(ctx->fd, given ? &start : NULL));
	ctx->programming.running |= results == 1;
	return add_refusal(L, ctx, results);
}

/***
Stops monitoring (specification 3.1.6).
@function context:stop
@treturn[1] boolean true
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: EINVAL if it is not loaded, EBUSY from another CPU than its own
@usage
local ctx = assert(require("lpfm").create {})
assert(ctx:write_pmcs { { num = 66, value = 9 } })
assert(ctx:load() and ctx:start())
assert(ctx:stop())
print(ctx:read_pmds { 66 }[1].value)
ctx:close()
*/
static int context_stop(lua_State *L)
{
	struct lpfm_context *ctx = lpfm_context_open(L, 1);
	int results = lpfm_result(L, "stop", pfm_stop(ctx->fd));

	ctx->programming.running &= results != 1;
	return results;
}

/***
Ends the handling of an overflow notification: registers are reset, monitoring resumes, the sampling
buffer is emptied and cursors in it become stale (specification 3.1.9).
@function context:restart
@treturn[1] boolean true
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: EBUSY if it is not loaded or monitoring is not masked; EIO after an error of
a format in Lua
@usage
local lpfm = require "lpfm"
local m = lpfm.machine("sim:k8")
local tid = m:spawn { program = { { loop = "forever", { ip = 0x1000, ns = 10 } } } }
local ctx = assert(lpfm.create {})
assert(ctx:write_pmcs { { num = 0, value = m:encode("instructions", 0) } })
assert(ctx:write_pmds { { num = 0, value = -100, long_reset = -100, flags = { "OVFL_NOTIFY" } } })
assert(ctx:load(tid) and ctx:start())
for _ = 1, 3 do
   assert(m:run { until_message = ctx })
   print(("%#x"):format(ctx:read(0).ip))
   assert(ctx:restart())
end
ctx:close()
*/
static int context_restart(lua_State *L)
{
	struct lpfm_context *ctx = lpfm_context_open(L, 1);

	if (pfm_restart(ctx->fd)) {
		int results = lpfm_fmt_failure(L, ctx, "restart");

		return results ? results : lpfm_fail(L, "restart");
	}
	ctx->epoch++;
	return lpfm_true(L);
}

/***
Takes the context from its thread or CPU; its registers can still be read (specification 3.1.8).
@function context:unload
@treturn[1] boolean true
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: EINVAL if it is not loaded, EBUSY from another CPU than its own
@usage
local ctx = assert(require("lpfm").create {})
assert(ctx:load())
assert(ctx:unload())
ctx:close()
*/
static int context_unload(lua_State *L)
{
	struct lpfm_context *ctx = lpfm_context_open(L, 1);
	int results = lpfm_result(L, "unload", pfm_unload_context(ctx->fd));

	if (results == 1)
		ctx->programming.loaded = ctx->programming.running = false;
	return results;
}

static const luaL_Reg methods[] = {
	{ "buf_parts", context_buf_parts },
	{ "buf_size", context_buf_size },
	{ "close", context_close },
	{ "closed", context_closed },
	{ "fd", context_fd },
	{ "load", context_load },
	{ "restart", context_restart },
	{ "set_cgroup", context_set_cgroup },
	{ "start", context_start },
	{ "stop", context_stop },
	{ "unload", context_unload },
	{ NULL, NULL }
};

static const luaL_Reg metas[] = {
	{ "__tostring", context_tostring },
	{ NULL, NULL }
};

void lpfm_open_context(lua_State *L)
{
	lpfm_class_new(L, &lpfm_context_class, methods, metas);
}
