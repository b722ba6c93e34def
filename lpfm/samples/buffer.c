/* SPDX-License-Identifier: MIT */
/* buffer.c - the sampling buffer, viewed in place (3.6). */
/***
Views of a sampling buffer.

ctx:buffer() gives a view; nothing is copied. Samples are those since the last restart. It is safe
to look at them while monitoring is masked (after an overflow message) or stopped; while it goes on,
samples that come later are not seen by a loop already begun. After ctx:restart() what a loop or
cursor still holds is stale, and using it raises; so does a view of a closed context. buffer:copy()
stays.

Of the format n-way, and of stack with regions, a view shows one region: the oldest full one, which
ctx:restart() gives back, or, if none is full, the one being written.

The fields of a sample: ip, tid, pid, cpu, tstamp (ns), set, ovfl_pmd, last_reset. With NO_HDR it
has none of them, with IIP_HDR only ip.

@classmod buffer
*/
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/args.h"
#include "base/bytes.h"
#include "base/field.h"
#include "base/flags.h"
#include "base/result.h"
#include "base/u64.h"
#include "context/context.h"
#include "context/programming.h"
#include "samples/buffer.h"
#include "samples/cursor.h"
#include "samples/header.h"

struct buffer {
	struct lpfm_head	head;
	struct lpfm_context	*ctx;
	unsigned int		part;
};

static void release(void *buffer)
{
	lpfm_context_put(((struct buffer *)buffer)->ctx);
}

static const struct lpfm_class buffer_class = { "lpfm.buffer", release };

/* Pushes a view of the context's buffer. If idx is not 0, the view keeps the object there alive. */
static void view_new(lua_State *L, int idx, struct lpfm_context *ctx, unsigned int part)
{
	struct buffer *b = lpfm_object_new(L, sizeof(*b));

	b->part = part;
	if (idx)
		lpfm_object_anchor(L, idx);
	lpfm_object_arm(L, b, &buffer_class);
	b->ctx = lpfm_context_get(ctx);
}

bool lpfm_buffer_map(struct lpfm_context *ctx)
{
	unsigned char *at;

	if (ctx->buf)
		return true;
	at = pfm_map_buffer(ctx->fd, ctx->buf_offs + ctx->parts * ctx->buf_size);
	if (at == MAP_FAILED)
		return false;
	ctx->buf = at + ctx->buf_offs;
	return true;
}

/* Makes ctx->buf point to the buffer of this part. */
static void choose(struct lpfm_context *ctx, unsigned int part)
{
	ctx->buf -= ctx->part * ctx->buf_size;
	ctx->part = part;
	ctx->buf += part * ctx->buf_size;
}

size_t lpfm_buffer_offset(const struct lpfm_context *ctx, const unsigned char *at)
{
	size_t from = (size_t)(at - (ctx->buf - ctx->part * ctx->buf_size));

	return from <= ctx->buf_size ? from : (from - 1) % ctx->buf_size + 1;
}

static unsigned int part_of(lua_State *L, int idx, const struct lpfm_context *ctx)
{
	struct lpfm_site site = { .call = "buffer" };
	unsigned int part = 0;

	if (lua_isnoneornil(L, idx))
		return 0;
	luaL_checktype(L, idx, LUA_TTABLE);
	for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
		if (lua_type(L, -2) != LUA_TSTRING || strcmp(lua_tostring(L, -2), "part"))
			lpfm_bad(L, &site, "part is the only field that is known");
		site.field = "part";
		part = (unsigned int)lpfm_to_int(L, lua_gettop(L), &site, 0, ctx->parts - 1);
	}
	return part;
}

/***
Returns the context's sampling buffer.
@function context:buffer
@tparam[opt] table options
@int[opt=0] options.part which of its parts, `context:buf_parts`
@treturn[1] buffer
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: EINVAL if the context has no buffer
@usage
local ctx = assert(require("lpfm").create { format = "default" })
assert(#ctx:buffer() == 0 and #ctx:buffer { part = ctx:buf_parts() - 1 } == 0)
ctx:close()
*/
static int context_buffer(lua_State *L)
{
	struct lpfm_context *ctx = lpfm_context_open(L, 1);
	unsigned int part = part_of(L, 2, ctx);

	if (ctx->format == LPFM_NO_BUFFER || !ctx->buf_size)
		return lpfm_fail_errno(L, EINVAL, "buffer: the context was created without a "
				       "sampling buffer");
	if (!lpfm_buffer_map(ctx))
		return lpfm_fail(L, "buffer");
	if (ctx->format != LPFM_RAW_BUFFER && ctx->buf_size < lpfm_smpl_hdr_size(ctx->format))
		return lpfm_fail_errno(L, EINVAL, "buffer: the sampling buffer is too small for its header");
	view_new(L, 1, ctx, part);
	return 1;
}

static struct lpfm_context *any_context(lua_State *L, int idx)
{
	return ((struct buffer *)lpfm_object_check(L, idx, &buffer_class))->ctx;
}

static struct lpfm_context *open_context(lua_State *L, int idx)
{
	const struct buffer *b = lpfm_object_check(L, idx, &buffer_class);
	struct lpfm_context *ctx = b->ctx;

	if (ctx->fd < 0)
		luaL_error(L, "the buffer is closed");
	choose(ctx, b->part);
	return ctx;
}

struct lpfm_context *lpfm_buffer_samples(lua_State *L, int idx)
{
	struct lpfm_context *ctx = open_context(L, idx);

	if (ctx->format == LPFM_RAW_BUFFER)
		luaL_error(L, "the layout of this format is not known; get() and snapshot() give its bytes");
	return ctx;
}

unsigned int lpfm_arg_ahead(lua_State *L, int idx, const char *call)
{
	return lua_isnoneornil(L, idx) ? 0 : (unsigned int)lpfm_arg_int(L, idx, call, "ahead", 0, UINT16_MAX);
}

/***
Returns the buffer's header (specification 3.6.3).
@function buffer:header
@int[opt=0] ahead for stack with regions: how many regions are to be read before this one
@treturn table {count=samples, cur_offs=bytes, overflows=times it was full, size=bytes, version=,
flags=list of NO_HDR, IIP_HDR}; for n-way and stack also first=the byte where samples begin,
full=true if no more samples are added before ctx:restart(), lost=samples overwritten (n-way) or
samples that found the buffer full (stack). With regions, count, cur_offs, first and full are those
of the region to be read next, and there is regions=number of regions. Nil if there is no such
region
@usage
local ctx = assert(require("lpfm").create { format = "default", buf_size = 16384 })
assert(ctx:buffer():header().size == 16384)
ctx:close()
*/
static int buffer_header(lua_State *L)
{
	const struct lpfm_context *ctx = lpfm_buffer_samples(L, 1);
	struct lpfm_smpl_hdr hdr;

	if (!lpfm_smpl_hdr_ahead(&hdr, ctx->format, ctx->buf, lpfm_arg_ahead(L, 2, "header")))
		return 0;
	lua_createtable(L, 0, 10);
	lpfm_set_nat(L, "count", hdr.count);
	lpfm_set_nat(L, "cur_offs", hdr.cur_offs);
	lpfm_set_nat(L, "overflows", hdr.overflows);
	lpfm_set_nat(L, "size", hdr.size);
	lpfm_set_number(L, "version", hdr.version);
	lpfm_push_flags(L, hdr.flags, lpfm_buf_flags);
	lua_setfield(L, -2, "flags");
	if (!hdr.regions && ctx->format != LPFM_STACK)
		return 1;
	if (hdr.regions)
		lpfm_set_number(L, "regions", hdr.regions);
	lpfm_set_nat(L, "lost", hdr.lost);
	lpfm_set_nat(L, "first", hdr.first);
	lpfm_set_bool(L, "full", hdr.full);
	return 1;
}

/* Returns how many bytes are in use: up to the last sample, or all of them if there are regions. */
static size_t used(const struct lpfm_context *ctx)
{
	size_t least = lpfm_smpl_hdr_size(ctx->format);
	struct lpfm_smpl_hdr hdr;

	if (ctx->format == LPFM_RAW_BUFFER)
		return ctx->buf_size;
	lpfm_smpl_hdr_read(&hdr, ctx->format, ctx->buf);
	if (hdr.regions || hdr.cur_offs >= ctx->buf_size)
		return ctx->buf_size;
	return hdr.cur_offs > least ? (size_t)hdr.cur_offs : least;
}

/***
Returns a copy of the buffer's bytes: header and samples for the formats default and stack without
regions, the whole buffer otherwise.
@function buffer:snapshot
@treturn string
@usage
local ctx = assert(require("lpfm").create { format = "default" })
assert(#ctx:buffer():snapshot() == 128) -- the header: there are no samples yet
ctx:close()
*/
static int buffer_snapshot(lua_State *L)
{
	const struct lpfm_context *ctx = open_context(L, 1);

	lua_pushlstring(L, (const char *)ctx->buf, used(ctx));
	return 1;
}

/* --- copies: a buffer without a context ------------------------------------------- */

/*
 * A copy is a struct lpfm_context that is not a context: it has a copy of the buffer, and only the
 * members that a view and its walks need.
 */
static bool copy_memory(struct lpfm_context *to, const struct lpfm_context *from)
{
	size_t size = used(from);
	void *bytes = malloc(size);

	to->buf = bytes;
	if (!bytes || !lpfm_table_reserve(&to->programming.pmds, from->programming.pmds.n))
		return false;
	memcpy(bytes, from->buf, size);
	to->buf_size = size;
	lpfm_table_copy(&to->programming.pmds, &from->programming.pmds);
	return true;
}

/***
Returns a buffer with a copy of the samples, which does not change by a restart or when the context
is closed.
@function buffer:copy
@treturn[1] buffer
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: ENOMEM
@usage
local ctx = assert(require("lpfm").create { format = "default" })
local kept = assert(ctx:buffer():copy())
ctx:close()
assert(#kept == 0)
*/
static int buffer_copy(lua_State *L)
{
	const struct lpfm_context *ctx = open_context(L, 1);
	struct lpfm_context *copy = lpfm_context_alloc();

	if (!copy)
		return lpfm_fail_errno(L, ENOMEM, "copy: not enough memory");
	copy->copy = true;
	copy->fd = 0;
	copy->format = ctx->format;
	copy->buf_flags = ctx->buf_flags;
	view_new(L, 0, copy, 0);
	lpfm_context_put(copy);
	if (!copy_memory(copy, ctx))
		return lpfm_fail_errno(L, ENOMEM, "copy: not enough memory");
	return 1;
}

/***
Returns a value in the buffer, which may have any format.
@function buffer:get
@string type "u8", "u16", "u32", "u64", "double"
@int offset in bytes, from 0
@return value
@raise if it does not lie within the buffer
@usage
local ctx = assert(require("lpfm").create { format = "default", buf_size = 16384 })
assert(ctx:buffer():get("u64", 24) == 16384) -- hdr_buf_size
ctx:close()
*/
static int buffer_get(lua_State *L)
{
	const struct lpfm_context *ctx = open_context(L, 1);

	return lpfm_bytes_get(L, 2, "get", ctx->buf, ctx->buf_size);
}

static int buffer_len(lua_State *L)
{
	const struct lpfm_context *ctx = lpfm_buffer_samples(L, 1);
	struct lpfm_smpl_hdr hdr;

	lpfm_smpl_hdr_read(&hdr, ctx->format, ctx->buf);
	lpfm_push_nat(L, hdr.count);
	return 1;
}

static int buffer_tostring(lua_State *L)
{
	const struct lpfm_context *ctx = any_context(L, 1);
	struct lpfm_smpl_hdr hdr;

	if (ctx->fd < 0) {
		lua_pushliteral(L, "lpfm.buffer (closed)");
	} else if (ctx->format == LPFM_RAW_BUFFER) {
		lua_pushfstring(L, "lpfm.buffer (%f bytes)", (lua_Number)ctx->buf_size);
	} else {
		lpfm_smpl_hdr_read(&hdr, ctx->format, ctx->buf);
		lua_pushfstring(L, "lpfm.buffer (%f samples, %f bytes)", (lua_Number)hdr.count,
				(lua_Number)ctx->buf_size);
	}
	return 1;
}

static const luaL_Reg methods[] = {
	{ "copy", buffer_copy },
	{ "count_by", lpfm_buffer_count_by },
	{ "fields", lpfm_buffer_fields },
	{ "get", buffer_get },
	{ "header", buffer_header },
	{ "records", lpfm_buffer_records },
	{ "sample", lpfm_buffer_sample },
	{ "samples", lpfm_buffer_each },
	{ "snapshot", buffer_snapshot },
	{ NULL, NULL }
};

static const luaL_Reg metas[] = {
	{ "__len", buffer_len },
	{ "__tostring", buffer_tostring },
	{ NULL, NULL }
};

static const luaL_Reg context_methods[] = {
	{ "buffer", context_buffer },
	{ NULL, NULL }
};

void lpfm_open_buffer(lua_State *L)
{
	lpfm_class_methods(L, &lpfm_context_class, context_methods);
	lpfm_class_new(L, &buffer_class, methods, metas);
	lpfm_open_cursor(L);
	lpfm_open_records(L);
	lpfm_open_fields(L);
}
