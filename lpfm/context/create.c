/* SPDX-License-Identifier: MIT */
/* create.c - the making of contexts, and the arguments of the formats known here: 3.1.1, 3.6.2. */
/***
@submodule context
*/
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/args.h"
#include "base/field.h"
#include "base/flags.h"
#include "base/marshal.h"
#include "base/object.h"
#include "base/result.h"
#include "base/structs.h"
#include "context/context.h"
#include "context/create.h"
#include "context/program.h"
#include "context/programming.h"
#include "format/register.h"
#include "perfmon/perfmon_nway_smpl.h"
#include "perfmon/perfmon_stack_smpl.h"

#define DEFAULT_BUF_SIZE	65536
/* a max_stack above this many bytes is certainly meant for copies, which need the flag COPY */
#define LONG_STACK		32768

/* The options of lpfm.create. */
struct request {
	pfarg_ctx_t	ctx;
	const char	*fmt_name;	/* NULL: there is no format, or it is given by its UUID */
	const char	*raw_arg;
	size_t		raw_size;
	uint64_t	buf_size;	/* 0: the option is not given */
	uint32_t	buf_flags;
	uint32_t	regions;	/* 0: the option is not given */
	uint32_t	max_frames, max_stack;	/* 0: the options are not given */
	enum lpfm_format format;
	struct lpfm_program program;	/* options of the format "program" */
	/* the format is "program"; the member format is then that of the samples */
	bool		has_program;
	bool		in_lua;		/* a format written in Lua */
	bool		has_arg;
	union {
		pfm_dfl_smpl_arg_t	dfl_2x;
		pfm_default_smpl_arg_t	dfl_06;
		pfm_nway_smpl_arg_t	nway;
		pfm_stack_smpl_arg_t	stack;
	} arg;
	pfm_prog_smpl_arg_t prog_arg;
};

/* Finds the layout of the buffer: a format written in Lua has that of its base. */
static void find_format(struct request *req)
{
	pfm_buffer_fmt_t *fmt = pfm_hold_format(req->fmt_name, req->ctx.ctx_smpl_buf_id);
	const struct lpfm_luafmt *f = lpfm_luafmt_of(fmt);

	req->in_lua = f;
	if (f && f->base)
		req->format = lpfm_format_kind(f->base->fmt_name, NULL);
	else
		req->format = lpfm_format_kind(req->fmt_name, req->ctx.ctx_smpl_buf_id);
	if (fmt)
		pfm_put_format(fmt);
}

static void read_format(lua_State *L, int idx, struct request *req, const struct lpfm_site *site)
{
	if (lua_type(L, idx) != LUA_TSTRING)
		lpfm_bad_value(L, site, "name or UUID of a format", idx);
	req->fmt_name = lpfm_to_string(L, idx, site);
	if (lpfm_parse_uuid(req->fmt_name, req->ctx.ctx_smpl_buf_id))
		req->fmt_name = NULL;
	else
		memset(req->ctx.ctx_smpl_buf_id, 0, sizeof(pfm_uuid_t));
	find_format(req);
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
	} else if (!strcmp(key, "regions")) {
		req->regions = (uint32_t)lpfm_to_int(L, idx, site, 1, UINT32_MAX);
	} else if (!strcmp(key, "max_frames")) {
		req->max_frames = (uint32_t)lpfm_to_int(L, idx, site, 1, PFM_STACK_SMPL_MAX_FRAMES);
	} else if (!strcmp(key, "max_stack")) {
		req->max_stack = (uint32_t)lpfm_to_int(L, idx, site, 8, PFM_STACK_SMPL_MAX_BYTES);
	} else if (!strcmp(key, "format_arg")) {
		req->has_arg = true;
	} else if (!lpfm_program_option(L, key, idx, &req->program, site)) {
		site->field = NULL;
		lpfm_bad(L, site, "unknown field '%s'", key);
	}
	site->field = NULL;
}

/* Returns true if the format's argument is given as bytes, or not at all. */
static bool takes_bytes(const struct request *req)
{
	return req->raw_arg || req->format == LPFM_RAW_BUFFER || req->format == LPFM_NO_BUFFER;
}

static void check_request(lua_State *L, const struct request *req, const struct lpfm_site *site)
{
	if (req->buf_size && req->in_lua && takes_bytes(req))
		lpfm_bad(L, site, "the format's getsize says how large its buffer is");
	if ((req->buf_size || req->buf_flags) && takes_bytes(req))
		lpfm_bad(L, site, "buf_size and buf_flags belong to the formats default, default-0.6, "
			 "n-way and stack; others take format_arg");
	if (req->regions && (takes_bytes(req) || (req->format != LPFM_NWAY && req->format != LPFM_STACK)))
		lpfm_bad(L, site, "regions belongs to the formats n-way and stack");
	if ((req->max_frames || req->max_stack) && (takes_bytes(req) || req->format != LPFM_STACK))
		lpfm_bad(L, site, "max_frames and max_stack belong to the format stack");
	if (req->max_stack > LONG_STACK && !(req->buf_flags & PFM_STACK_SMPL_COPY))
		lpfm_bad(L, site, "max_stack limits the copy of the stack, and needs the flag COPY");
}

/*
 * Checks the options of the format "program", and makes the format of its base the format of the
 * samples. The argument of "program" contains an address, so a script cannot give it as bytes.
 */
static void settle_program(lua_State *L, struct request *req, const struct lpfm_site *site)
{
	req->has_program = req->format == LPFM_PROGRAM;
	lpfm_program_check(L, &req->program, req->has_program, site);
	if (!req->has_program)
		return;
	if (req->has_arg)
		lpfm_bad(L, site, "the format program takes program, buckets and base, not format_arg");
	req->format = lpfm_program_samples(&req->program);
}

/*
 * Reads the format's argument in the table at idx. For a format in Lua it is a value, which is
 * returned marshalled, in a string that is pushed. For other formats it is bytes; returns NULL.
 */
static const char *read_arg(lua_State *L, int idx, struct request *req, struct lpfm_site *site)
{
	if (!req->has_arg)
		return NULL;
	site->field = "format_arg";
	lua_pushliteral(L, "format_arg");
	lua_rawget(L, idx);
	if (req->in_lua) {
		lpfm_marshal_pack(L, lua_gettop(L), 1, LPFM_DATA, site);
		return lua_tostring(L, -1);
	}
	if (lua_type(L, -1) != LUA_TSTRING)
		lpfm_bad_value(L, site, "string", lua_gettop(L));
	req->raw_arg = lua_tolstring(L, -1, &req->raw_size);
	lua_pop(L, 1);
	site->field = NULL;
	return NULL;
}

/*
 * Reads the options. The table at idx keeps their strings alive. Returns the marshalled argument of
 * a format in Lua, or NULL.
 */
static const char *read_request(lua_State *L, int idx, struct request *req, const char *call)
{
	struct lpfm_site site = { .call = call };
	const char *marshalled;

	if (lua_isnoneornil(L, idx))
		return NULL;
	if (!lua_istable(L, idx))
		lpfm_bad_value(L, &site, "table", idx);
	lua_pushnil(L);
	while (lua_next(L, idx)) {
		read_option(L, lpfm_field_name(L, -2, &site), req, &site);
		lua_pop(L, 1);
	}
	settle_program(L, req, &site);
	marshalled = read_arg(L, idx, req, &site);
	site.field = NULL;
	check_request(L, req, &site);
	return marshalled;
}

/*
 * Returns the argument of the format: made from the options for a format that this module knows,
 * the given bytes for other formats.
 */
static void *samples_arg(struct request *req, size_t *size)
{
	uint64_t bytes = req->buf_size ? req->buf_size : DEFAULT_BUF_SIZE;

	if (takes_bytes(req)) {
		*size = req->raw_size;
		return (void *)(uintptr_t)req->raw_arg;
	}
	if (req->format == LPFM_DFL_06) {
		req->arg.dfl_06.buf_size = bytes;
		req->arg.dfl_06.buf_flags = req->buf_flags;
		*size = sizeof(req->arg.dfl_06);
	} else if (req->format == LPFM_DFL_2X) {
		req->arg.dfl_2x.buf_size = bytes;
		req->arg.dfl_2x.buf_flags = req->buf_flags;
		*size = sizeof(req->arg.dfl_2x);
	} else if (req->format == LPFM_STACK) {
		req->arg.stack.buf_size = bytes;
		req->arg.stack.buf_flags = req->buf_flags;
		req->arg.stack.max_frames = (uint16_t)req->max_frames;
		req->arg.stack.max_stack = (uint16_t)req->max_stack;
		req->arg.stack.num_regions = req->regions;
		*size = sizeof(req->arg.stack);
	} else {
		req->arg.nway.buf_size = bytes;
		req->arg.nway.buf_flags = req->buf_flags;
		req->arg.nway.num_regions = req->regions ? req->regions : 2;
		*size = sizeof(req->arg.nway);
	}
	return &req->arg;
}

static void *format_arg(struct request *req, size_t *size)
{
	void *arg = samples_arg(req, size);

	if (!req->has_program)
		return arg;
	lpfm_program_arg(&req->program, &req->prog_arg, arg, *size);
	*size = sizeof(req->prog_arg);
	return &req->prog_arg;
}

static int create(pfarg_ctx_t *ctx, const char *fmt_name, void *arg, size_t size)
{
	static const pfm_uuid_t none;

	if (!fmt_name && memcmp(ctx->ctx_smpl_buf_id, none, sizeof(none)))
		return pfm_create_context_uuid(ctx, arg, size);
	return pfm_create_context_name(ctx, fmt_name, arg, size);
}

/*
 * Returns the flags that determine the layout of samples, even if the argument was given as bytes.
 */
static uint32_t buffer_flags(const struct request *req)
{
	size_t at = req->format == LPFM_DFL_06 ? offsetof(pfm_default_smpl_arg_t, buf_flags) :
						 offsetof(pfm_dfl_smpl_arg_t, buf_flags);
	uint32_t flags = req->buf_flags;

	_Static_assert(offsetof(pfm_dfl_smpl_arg_t, buf_flags) ==
		       offsetof(pfm_nway_smpl_arg_t, buf_flags) &&
		       offsetof(pfm_dfl_smpl_arg_t, buf_flags) ==
		       offsetof(pfm_stack_smpl_arg_t, buf_flags), "one place for three formats");
	if (req->raw_arg && req->raw_size >= at + sizeof(flags))
		memcpy(&flags, req->raw_arg + at, sizeof(flags));
	return flags;
}

/*
 * Returns nil, "call: reason", errno to Lua. The reason is why, with which the format has refused
 * the context, and which is freed. If why is NULL, the reason is that of the errno.
 */
static int refused(lua_State *L, const char *call, char *why)
{
	char text[1024];

	if (!why)
		return lpfm_fail(L, call);
	snprintf(text, sizeof(text), "%s", why);
	free(why);
	return lpfm_fail_errno(L, EINVAL, "%s: the format refuses: %s", call, text);
}

static void describe(struct lpfm_context *ctx, const struct request *req, const char *machine)
{
	ctx->flags = req->ctx.ctx_flags;
	ctx->format = req->format;
	ctx->buf_flags = buffer_flags(req);
	ctx->buf_size = (size_t)req->ctx.ctx_smpl_buf_size;
	ctx->program = req->has_program;
	ctx->buckets = req->program.buckets;
	if (req->program.base)
		ctx->buf_offs = sizeof(pfm_prog_smpl_hdr_t) + ctx->buckets * sizeof(uint64_t);
	ctx->buf_size -= ctx->buf_offs;
	ctx->parts = 1;
	if ((ctx->flags & PFM_FL_INHERIT) && pfm_ctx_buf_parts(&req->ctx) > 1) {
		ctx->parts = (unsigned int)pfm_ctx_buf_parts(&req->ctx);
		ctx->buf_size /= ctx->parts;
	}
	ctx->simulated = lpfm_machine_is_sim(machine);
}

int lpfm_create_with(lua_State *L, int idx, const char *call, lpfm_create_fn *fn)
{
	struct request req = { .format = LPFM_NO_BUFFER };
	pfm_machine_info_t machine = { .name = "" };
	struct lpfm_fmt_pending pending = { .arg = read_request(L, idx, &req, call) };
	struct lpfm_context *ctx;
	size_t size;
	void *arg;

	if (pfm_get_machine(&machine))
		return lpfm_fail(L, call);
	if (req.in_lua && !strcmp(machine.name, "linux"))
		return lpfm_fail_errno(L, EINVAL, "%s: formats written in Lua are for the machines in user "
				       "space, perf and sim", call);
	ctx = lpfm_context_alloc();
	if (!ctx)
		return lpfm_fail_errno(L, ENOMEM, "%s: not enough memory", call);
	lpfm_context_push(L, ctx);
	arg = format_arg(&req, &size);
	lpfm_fmt_begin(&pending);
	ctx->fd = fn(&req.ctx, req.fmt_name, arg, size);
	lpfm_fmt_end();
	if (ctx->fd < 0 && (errno == EMFILE || errno == ENFILE) && !pending.use && !pending.why) {
		/* contexts that the script has dropped have descriptors until they are collected */
		lua_gc(L, LUA_GCCOLLECT, 0);
		lpfm_fmt_begin(&pending);
		ctx->fd = fn(&req.ctx, req.fmt_name, arg, size);
		lpfm_fmt_end();
	}
	ctx->use = pending.use;
	if (ctx->fd < 0)
		return refused(L, call, pending.why);
	/* programs that the script runs must not keep the context open */
	fcntl(ctx->fd, F_SETFD, FD_CLOEXEC);
	describe(ctx, &req, machine.name);
	lpfm_programming_keep(L, idx);
	return 1;
}

/***
Creates a context (specification 3.1.1).
@function lpfm.create
@tparam[opt] table options
@tparam[opt] {string,...} options.flags NOTIFY_BLOCK, SYSTEM_WIDE, ANY_CPU, OVFL_NO_MSG, ...:
`lpfm.flags.context`
@string[opt] options.format a sampling format, by name or UUID
@int[opt=65536] options.buf_size bytes of its buffer
@tparam[opt] {string,...} options.buf_flags NO_HDR, IIP_HDR; for n-way also MASK_WHEN_FULL; for
stack NO_KERNEL, NO_USER, COPY, RECORDS, SWITCHES
@int[opt] options.regions number of regions of the buffer, so that the tool reads one while another
is filled: up to 8, for n-way (by default 2) and stack (by default 1)
@int[opt=127] options.max_frames frames of a sample, kernel and user together, for stack: 1 to 1024
@int[opt=8192] options.max_stack bytes to copy of the user's stack, for stack with COPY: to 65528, a
multiple of 8
@string[opt] options.program the program, for program: its instructions (`pfm.program`)
@int[opt=0] options.buckets buckets of the histogram, for program
@string[opt="none"] options.base the format that keeps samples, for program: default, n-way or
stack, with their options
@param[opt] options.format_arg the argument of a format written in Lua (`lpfm.register_format`); of
a format that this module does not know, its bytes
@treturn[1] context
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: EINVAL, EPERM, ENOMEM, EMFILE
@usage
local lpfm = require "lpfm"
local ctx = assert(lpfm.create { format = "default", buf_size = 16384 })
ctx:close()
*/
static int lpfm_create(lua_State *L)
{
	return lpfm_create_with(L, 1, "create", create);
}

void lpfm_open_create(lua_State *L)
{
	lpfm_set_function(L, "create", lpfm_create);
}
