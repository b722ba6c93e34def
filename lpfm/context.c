/* SPDX-License-Identifier: MIT */
/*
 * context.c - contexts: creation, life, and the commands without a vector.
 */
/***
Perfmon contexts.

Methods carry the interface's names. They return what the call yields, or true; when the call fails
nil, a message that names call, element and reason, and errno. Misuse (wrong types, a closed context)
raises. A context is closed by close(), and when it is collected.

@classmod context
*/
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lpfm.h"

#define DEFAULT_BUF_SIZE	65536

const struct lpfm_class lpfm_context_class = { "lpfm.context" };

struct lpfm_context *lpfm_context_any(lua_State *L, int idx)
{
	return lpfm_object_check(L, idx, &lpfm_context_class);
}

struct lpfm_context *lpfm_context_open(lua_State *L, int idx)
{
	struct lpfm_context *ctx = lpfm_context_any(L, idx);

	if (ctx->fd < 0)
		luaL_error(L, "the context is closed");
	return ctx;
}

int lpfm_context_fd(lua_State *L, int idx)
{
	return lpfm_context_open(L, idx)->fd;
}

/* --- creation: 3.1.1 ------------------------------------------------------------------------ */

/* What create{} was asked for. */
struct request {
	pfarg_ctx_t	ctx;
	const char	*fmt_name;	/* NULL: none, or by UUID */
	const char	*raw_arg;
	size_t		raw_size;
	uint64_t	buf_size;
	uint32_t	buf_flags;
	enum lpfm_format format;
	union {
		pfm_dfl_smpl_arg_t	dfl_2x;
		pfm_default_smpl_arg_t	dfl_06;
	} arg;
};

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* 4d72bec0-0664-4143-82b4-d3fd27243c97, dashes where they are or left out. */
static bool parse_uuid(const char *text, unsigned char *uuid)
{
	int n = 0;

	for (; *text; text++) {
		int digit = hex_digit(*text);

		if (*text == '-')
			continue;
		if (digit < 0 || n == 32)
			return false;
		uuid[n / 2] = (unsigned char)(uuid[n / 2] << 4 | digit);
		n++;
	}
	return n == 32;
}

static enum lpfm_format format_of(const struct request *req)
{
	static const pfm_uuid_t dfl_2x = PFM_DFL_SMPL_UUID, dfl_06 = PFM_DEFAULT_SMPL_UUID;
	const char *name = req->fmt_name;

	if (name ? !strcmp(name, PFM_DFL_SMPL_NAME) : !memcmp(req->ctx.ctx_smpl_buf_id, dfl_2x, 16))
		return LPFM_DFL_2X;
	if (name ? !strcmp(name, PFM_DEFAULT_SMPL_NAME) : !memcmp(req->ctx.ctx_smpl_buf_id, dfl_06, 16))
		return LPFM_DFL_06;
	return LPFM_RAW_BUFFER;
}

static void read_format(lua_State *L, int idx, struct request *req, const struct lpfm_site *site)
{
	if (lua_type(L, idx) != LUA_TSTRING)
		lpfm_bad_value(L, site, "name or UUID of a format", idx);
	req->fmt_name = lua_tostring(L, idx);
	if (parse_uuid(req->fmt_name, req->ctx.ctx_smpl_buf_id))
		req->fmt_name = NULL;
	else
		memset(req->ctx.ctx_smpl_buf_id, 0, sizeof(pfm_uuid_t));
	req->format = format_of(req);
}

static void read_option(lua_State *L, const char *key, struct request *req, struct lpfm_site *site)
{
	int idx = lua_gettop(L);

	site->field = key;
	if (!strcmp(key, "flags")) {
		req->ctx.ctx_flags = lpfm_to_flags(L, idx, site, lpfm_ctx_flags);
	} else if (!strcmp(key, "format")) {
		read_format(L, idx, req, site);
	} else if (!strcmp(key, "buf_size")) {
		req->buf_size = (uint64_t)lpfm_to_int(L, idx, site, 1, 1LL << 53);
	} else if (!strcmp(key, "buf_flags")) {
		req->buf_flags = lpfm_to_flags(L, idx, site, lpfm_buf_flags);
	} else if (!strcmp(key, "format_arg")) {
		if (lua_type(L, idx) != LUA_TSTRING)
			lpfm_bad_value(L, site, "string", idx);
		req->raw_arg = lua_tolstring(L, idx, &req->raw_size);
	} else {
		site->field = NULL;
		lpfm_bad(L, site, "unknown field '%s'", key);
	}
	site->field = NULL;
}

/* Strings stay alive in the table at idx, which the caller's frame holds. */
static void read_request(lua_State *L, int idx, struct request *req)
{
	struct lpfm_site site = { .call = "create" };

	if (lua_isnoneornil(L, idx))
		return;
	if (!lua_istable(L, idx))
		lpfm_bad_value(L, &site, "table", idx);
	lua_pushnil(L);
	while (lua_next(L, idx)) {
		if (lua_type(L, -2) != LUA_TSTRING)
			lpfm_bad(L, &site, "unexpected %s as the name of a field", luaL_typename(L, -2));
		read_option(L, lua_tostring(L, -2), req, &site);
		lua_pop(L, 1);
	}
	if ((req->buf_size || req->buf_flags) && (req->raw_arg || req->format == LPFM_NO_BUFFER ||
						  req->format == LPFM_RAW_BUFFER))
		lpfm_bad(L, &site, "buf_size and buf_flags belong to the default format; "
			 "other formats take format_arg");
}

/* The format's argument: the default format's made from the fields, others' as given. */
static void *format_arg(struct request *req, size_t *size)
{
	uint64_t bytes = req->buf_size ? req->buf_size : DEFAULT_BUF_SIZE;

	if (req->raw_arg || req->format == LPFM_RAW_BUFFER || req->format == LPFM_NO_BUFFER) {
		*size = req->raw_size;
		return (void *)(uintptr_t)req->raw_arg;
	}
	if (req->format == LPFM_DFL_2X) {
		req->arg.dfl_2x.buf_size = bytes;
		req->arg.dfl_2x.buf_flags = req->buf_flags;
		*size = sizeof(req->arg.dfl_2x);
		return &req->arg.dfl_2x;
	}
	req->arg.dfl_06.buf_size = bytes;
	req->arg.dfl_06.buf_flags = req->buf_flags;
	*size = sizeof(req->arg.dfl_06);
	return &req->arg.dfl_06;
}

static int create(struct request *req)
{
	size_t size;
	void *arg = format_arg(req, &size);

	if (req->format != LPFM_NO_BUFFER && !req->fmt_name)
		return pfm_create_context_uuid(&req->ctx, arg, size);
	return pfm_create_context_name(&req->ctx, req->fmt_name, arg, size);
}

/* The flags that say how samples look, also when the argument came as a string. */
static uint32_t buffer_flags(const struct request *req)
{
	size_t at = req->format == LPFM_DFL_2X ? offsetof(pfm_dfl_smpl_arg_t, buf_flags) :
						 offsetof(pfm_default_smpl_arg_t, buf_flags);
	uint32_t flags = req->buf_flags;

	if (req->raw_arg && req->raw_size >= at + sizeof(flags))
		memcpy(&flags, req->raw_arg + at, sizeof(flags));
	return flags;
}

/***
Creates a context (specification 3.1.1).
@function lpfm.create
@tparam[opt] table options flags: list of NOTIFY_BLOCK, SYSTEM_WIDE, ANY_CPU, OVFL_NO_MSG, ...;
format: a sampling format's name or UUID; buf_size: size of its buffer in bytes (65536);
buf_flags: list of NO_HDR, IIP_HDR; format_arg: the argument of another format, as its bytes
@treturn[1] context
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: EINVAL, EPERM, ENOMEM, EMFILE
@usage
local lpfm = require "lpfm"
local ctx = assert(lpfm.create { format = "default", buf_size = 16384 })
ctx:close()
*/
static int context_create(lua_State *L)
{
	struct request req = { .format = LPFM_NO_BUFFER };
	pfm_machine_info_t machine = { 0 };
	struct lpfm_context *ctx;

	read_request(L, 1, &req);
	ctx = lpfm_object_new(L, sizeof(*ctx));
	ctx->fd = -1;
	lpfm_object_arm(L, ctx, &lpfm_context_class);
	ctx->fd = create(&req);
	if (ctx->fd < 0)
		return lpfm_fail(L, "create");
	ctx->format = req.format;
	ctx->buf_flags = buffer_flags(&req);
	ctx->buf_size = (size_t)req.ctx.ctx_smpl_buf_size;
	ctx->simulated = !pfm_get_machine(&machine) && lpfm_machine_is_sim(machine.name);
	return 1;
}

/* --- the end -------------------------------------------------------------------------------- */

static void unmap(struct lpfm_context *ctx)
{
	void *buf = (void *)(uintptr_t)ctx->buf;

	ctx->buf = NULL;
	if (buf)
		pfm_unmap_buffer(buf, ctx->buf_size);
}

static void release(struct lpfm_context *ctx)
{
	int fd = ctx->fd;

	ctx->fd = -1;
	ctx->epoch++;
	unmap(ctx);
	lpfm_layouts_free(&ctx->layouts);
	if (fd >= 0)
		close(fd);
}

/***
Closes the context: its session ends, its registers and messages are gone, its buffer and views of
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
	release(lpfm_context_any(L, 1));
	lua_pushboolean(L, 1);
	return 1;
}

static int context_gc(lua_State *L)
{
	struct lpfm_context *ctx = lpfm_context_any(L, 1);

	release(ctx);
	lpfm_object_retire(ctx);
	return 0;
}

/***
Whether the context is closed.
@function context:closed
@treturn boolean
*/
static int context_closed(lua_State *L)
{
	lua_pushboolean(L, lpfm_context_any(L, 1)->fd < 0);
	return 1;
}

/***
The context's descriptor, for poll(2) and the like. It stays the context's.
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

static int context_tostring(lua_State *L)
{
	const struct lpfm_context *ctx = lpfm_context_any(L, 1);

	if (ctx->fd < 0)
		lua_pushliteral(L, "lpfm.context (closed)");
	else
		lua_pushfstring(L, "lpfm.context (fd %d)", ctx->fd);
	return 1;
}

/* --- commands without a vector: 3.1.5 - 3.1.9 ----------------------------------------------- */

/***
Binds the context to a thread, or, if it is system-wide, to the current CPU (3.1.7).
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
	int fd = lpfm_context_fd(L, 1);
	pfarg_load_t load = {
		.load_pid = (uint32_t)lpfm_arg_opt_int(L, 2, "load", "tid", 0, UINT32_MAX,
						       syscall(SYS_gettid)),
		.load_set = (uint16_t)lpfm_arg_opt_int(L, 3, "load", "set", 0, UINT16_MAX, 0),
	};

	return lpfm_result(L, "load", pfm_load_context(fd, &load));
}

/***
Starts monitoring (3.1.5).
@function context:start
@int[opt] set the event set to start with; the active one if left out
@treturn[1] boolean true
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: EINVAL, ESRCH, EBUSY
*/
static int context_start(lua_State *L)
{
	int fd = lpfm_context_fd(L, 1);
	pfarg_start_t start = { 0 };
	bool given = !lua_isnoneornil(L, 2);

	start.start_set = (uint16_t)lpfm_arg_opt_int(L, 2, "start", "set", 0, UINT16_MAX, 0);
	return lpfm_result(L, "start", pfm_start(fd, given ? &start : NULL));
}

/***
Stops monitoring (3.1.6).
@function context:stop
@treturn[1] boolean true
@return[2] nil
@treturn[2] string message
@treturn[2] int errno
*/
static int context_stop(lua_State *L)
{
	return lpfm_result(L, "stop", pfm_stop(lpfm_context_fd(L, 1)));
}

/***
Ends the handling of an overflow notification: registers are reset, monitoring resumes, the sampling
buffer is emptied and cursors in it become stale (3.1.9).
@function context:restart
@treturn[1] boolean true
@return[2] nil
@treturn[2] string message
@treturn[2] int errno
*/
static int context_restart(lua_State *L)
{
	struct lpfm_context *ctx = lpfm_context_open(L, 1);

	if (pfm_restart(ctx->fd))
		return lpfm_fail(L, "restart");
	ctx->epoch++;
	lua_pushboolean(L, 1);
	return 1;
}

/***
Takes the context from its thread or CPU; its registers can still be read (3.1.8).
@function context:unload
@treturn[1] boolean true
@return[2] nil
@treturn[2] string message
@treturn[2] int errno
*/
static int context_unload(lua_State *L)
{
	return lpfm_result(L, "unload", pfm_unload_context(lpfm_context_fd(L, 1)));
}

static const luaL_Reg methods[] = {
	{ "buffer", lpfm_context_buffer },
	{ "close", context_close },
	{ "closed", context_closed },
	{ "fd", context_fd },
	{ "load", context_load },
	{ "restart", context_restart },
	{ "start", context_start },
	{ "stop", context_stop },
	{ "unload", context_unload },
	{ NULL, NULL }
};

static const luaL_Reg metas[] = {
	{ "__gc", context_gc },
	{ "__tostring", context_tostring },
	{ NULL, NULL }
};

void lpfm_open_context(lua_State *L)
{
	lpfm_class_new(L, &lpfm_context_class, methods, metas);
	luaL_getmetatable(L, lpfm_context_class.name);
	lua_getfield(L, -1, "__index");
	luaL_register(L, NULL, lpfm_register_methods);
	luaL_register(L, NULL, lpfm_evtset_methods);
	luaL_register(L, NULL, lpfm_message_methods);
	lua_pop(L, 2);
	lua_pushcfunction(L, context_create);
	lua_setfield(L, -2, "create");
}
