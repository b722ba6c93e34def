/* SPDX-License-Identifier: MIT */
/*
 * view.c - what the functions of a sampling format use: control bits, and the buffer as self.buf.
 */
#include <string.h>

#include "base/args.h"
#include "base/bytes.h"
#include "base/object.h"
#include "format/state.h"

/* --- control bits --------------------------------------------------------------------------- */

static const struct {
	const char	*name, *field;
} controls[] = {
	{ "NOTIFY", "notify_user" },
	{ "RESET", "reset_ovfl_pmds" },
	{ "BLOCK", "block_thread" },
	{ "MASK", "mask_monitoring" },
};

static unsigned int control_bit(lua_State *F, int idx, const char *who)
{
	const char *name = lua_type(F, idx) == LUA_TSTRING ? lua_tostring(F, idx) : luaL_typename(F, idx);

	for (unsigned int i = 0; i < LPFM_COUNT(controls); i++)
		if (!strcmp(name, controls[i].name) || !strcmp(name, controls[i].field))
			return 1U << i;
	return (unsigned int)luaL_error(F, "%s: unknown control '%s' (known: NOTIFY, RESET, BLOCK, MASK)", who,
					name);
}

/* Returns control bits from the names from index first on; nil and false are ignored. */
pfm_ovfl_ctrl_t lpfm_fmt_read_controls(lua_State *F, int first, const char *who)
{
	unsigned int bits = 0;

	for (int i = first; i <= lua_gettop(F); i++)
		if (lua_toboolean(F, i))
			bits |= control_bit(F, i, who);
	return (pfm_ovfl_ctrl_t){ .notify_user = bits & 1, .reset_ovfl_pmds = bits >> 1 & 1,
				  .block_thread = bits >> 2 & 1, .mask_monitoring = bits >> 3 & 1 };
}

static int push_controls(lua_State *F, const pfm_ovfl_ctrl_t *ctrl)
{
	const bool set[] = { ctrl->notify_user, ctrl->reset_ovfl_pmds, ctrl->block_thread,
			     ctrl->mask_monitoring };
	int n = 0;

	for (size_t i = 0; i < LPFM_COUNT(set); i++) {
		if (!set[i])
			continue;
		lua_pushstring(F, controls[i].name);
		n++;
	}
	return n;
}

/* --- self.buf ------------------------------------------------------------------------------- */

static const struct lpfm_class buf_class = { "lpfm.format.buf", NULL };

struct lpfm_fmt_buf {
	struct lpfm_head	head;
	struct lpfm_fmt_use	*use;		/* NULL: the context is gone */
};

static struct lpfm_fmt_use *buf_use(lua_State *F)
{
	struct lpfm_fmt_buf *b = lpfm_object_check(F, 1, &buf_class);

	if (!b->use)
		luaL_error(F, "the context of this buffer is gone");
	return b->use;
}

/*
 * Returns the use for a write to the buffer. Raises an error if the format has a base format,
 * because scripts must not damage the header of that one.
 */
static struct lpfm_fmt_use *writable(lua_State *F, const char *call)
{
	struct lpfm_fmt_use *use = buf_use(F);

	if (use->f->base)
		luaL_error(F, "%s: the format %s writes this buffer", call, use->f->base->fmt_name);
	return use;
}

static int buf_get(lua_State *F)
{
	const struct lpfm_fmt_use *use = buf_use(F);

	return lpfm_bytes_get(F, 2, "get", use->buf, use->size);
}

static int buf_put(lua_State *F)
{
	struct lpfm_fmt_use *use = writable(F, "put");

	lpfm_bytes_put(F, 2, "put", use->buf, use->size);
	return 0;
}

static int buf_write(lua_State *F)
{
	struct lpfm_fmt_use *use = writable(F, "write");
	size_t n, offset = (size_t)lpfm_arg_int(F, 2, "write", "offset", 0, 1LL << 53);
	const char *bytes = luaL_checklstring(F, 3, &n);

	if (n > use->size || offset > use->size - n)
		return luaL_error(F, "write: %f bytes at offset %f do not fit into %f", (lua_Number)n,
				  (lua_Number)offset, (lua_Number)use->size);
	memcpy((char *)use->buf + offset, bytes, n);
	return 0;
}

static int buf_len(lua_State *F)
{
	lua_pushnumber(F, (lua_Number)buf_use(F)->size);
	return 1;
}

static struct lpfm_fmt_use *based(lua_State *F, const char *call)
{
	struct lpfm_fmt_use *use = buf_use(F);

	if (!use->f->base)
		luaL_error(F, "%s: the format has no base that records", call);
	return use;
}

static int buf_record(lua_State *F)
{
	struct lpfm_fmt_use *use = based(F, "record");
	const pfm_buffer_fmt_t *base = use->f->base;

	if (!use->arg)
		return luaL_error(F, "record: only the handler records");
	memset(&use->arg->ovfl_ctrl, 0, sizeof(use->arg->ovfl_ctrl));
	if (base->fmt_handler(use->buf, use->arg, use->where->tstamp, (void *)(uintptr_t)use->where))
		return luaL_error(F, "record: the format %s failed", base->fmt_name);
	return push_controls(F, &use->arg->ovfl_ctrl);
}

static int buf_restart(lua_State *F)
{
	struct lpfm_fmt_use *use = based(F, "restart");
	pfm_ovfl_ctrl_t ctrl = { 0 };

	if (use->f->base->fmt_restart(use->buf, lua_toboolean(F, 2), &ctrl))
		return luaL_error(F, "restart: the format %s failed", use->f->base->fmt_name);
	return push_controls(F, &ctrl);
}

static const luaL_Reg buf_methods[] = {
	{ "get", buf_get },
	{ "put", buf_put },
	{ "record", buf_record },
	{ "restart", buf_restart },
	{ "write", buf_write },
	{ NULL, NULL }
};

static const luaL_Reg buf_metas[] = {
	{ "__len", buf_len },
	{ NULL, NULL }
};

void lpfm_fmt_open_view(lua_State *F)
{
	lpfm_class_new(F, &buf_class, buf_methods, buf_metas);
}

void lpfm_fmt_push_view(lua_State *F, struct lpfm_fmt_use *use)
{
	struct lpfm_fmt_buf *b = lpfm_object_new(F, sizeof(*b));

	lpfm_object_arm(F, b, &buf_class);
	lua_pushvalue(F, -1);
	use->view = luaL_ref(F, LUA_REGISTRYINDEX);
	use->buf_view = b;
	b->use = use;
	lua_rawgeti(F, LUA_REGISTRYINDEX, use->self);
	lua_insert(F, -2);
	lua_setfield(F, -2, "buf");
	lua_pop(F, 1);
}

/* The object may still be referenced anywhere in the script, so it is marked as dropped. */
void lpfm_fmt_drop_view(struct lpfm_fmt_use *use)
{
	if (use->buf_view)
		use->buf_view->use = NULL;
	use->buf_view = NULL;
}
