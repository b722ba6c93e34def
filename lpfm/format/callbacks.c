/* SPDX-License-Identifier: MIT */
/*
 * callbacks.c - runs the callbacks of a sampling format written in Lua when the core calls them
 * (3.5.10 - 3.5.15). An error in a callback ends the session of its context, and is stored for
 * context:format_error().
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/args.h"
#include "base/field.h"
#include "base/flags.h"
#include "base/marshal.h"
#include "base/perfmon.h"
#include "base/u64.h"
#include "format/state.h"

static __thread struct lpfm_fmt_pending *pending;

struct lpfm_luafmt *lpfm_luafmt_of(const pfm_buffer_fmt_t *fmt)
{
	return fmt && fmt->fmt_ops == &lpfm_fmt_ops ? (struct lpfm_luafmt *)(uintptr_t)fmt : NULL;
}

void lpfm_fmt_begin(struct lpfm_fmt_pending *p)
{
	pending = p;
}

void lpfm_fmt_end(void)
{
	pending = NULL;
}

/* --- creating: 3.5.10 - 3.5.12 -------------------------------------------------------------- */

struct creation {
	struct lpfm_fmt_use	*use;
	const char		*arg;		/* the marshalled argument, or NULL */
	uint32_t		flags;
	uint16_t		num_pmds;
	uint64_t		size;
};

/* Makes self = { arg =, flags =, num_pmds = }. */
static void make_self(lua_State *F, struct creation *c)
{
	lua_newtable(F);
	if (c->arg && lpfm_marshal_open(F, c->arg))
		lua_setfield(F, -2, "arg");
	lpfm_push_flags(F, c->flags, lpfm_ctx_flags);
	lua_setfield(F, -2, "flags");
	lpfm_set_number(F, "num_pmds", c->num_pmds);
	c->use->self = luaL_ref(F, LUA_REGISTRYINDEX);
}

/*
 * Calls validate(). Raises, which refuses the context, if the result is false, or nil and a
 * message; an error in validate() does the same.
 */
static void validate(lua_State *F, const struct lpfm_fmt_use *use)
{
	int top = lua_gettop(F);

	if (!lpfm_fmt_push_callback(F, use, "validate"))
		return;
	lpfm_fmt_call(F, 1, LUA_MULTRET);
	if (lua_gettop(F) > top && !lua_toboolean(F, top + 1) &&
	    (lua_isboolean(F, top + 1) || lua_gettop(F) > top + 1))
		luaL_error(F, "%s", luaL_optstring(F, top + 2, "the argument is not valid"));
	lua_settop(F, top);
}

static int create_body(lua_State *F)
{
	static const struct lpfm_site site = { .call = "getsize" };
	struct creation *c = lua_touserdata(F, 1);

	make_self(F, c);
	validate(F, c->use);
	if (lpfm_fmt_push_callback(F, c->use, "getsize")) {
		lpfm_fmt_call(F, 1, 1);
		c->size = (uint64_t)lpfm_to_int(F, -1, &site, 0, 1LL << 53);
	}
	return 0;
}

static int base_create(const pfm_buffer_fmt_t *base, struct creation *c, void *arg)
{
	size_t size = 0;
	int err = base->fmt_validate ? base->fmt_validate(c->flags, c->num_pmds, arg) : 0;

	if (!err && base->fmt_getsize)
		err = base->fmt_getsize(c->flags, arg, &size);
	c->size = size;
	return err;
}

static int forget_body(lua_State *F)
{
	struct lpfm_fmt_use *use = lua_touserdata(F, 1);

	luaL_unref(F, LUA_REGISTRYINDEX, use->self);
	luaL_unref(F, LUA_REGISTRYINDEX, use->view);
	return 0;
}

static void forget(struct lpfm_fmt_use *use)
{
	lpfm_fmt_drop_view(use);
	free(lpfm_fmt_run(use->f, forget_body, use));
}

static struct lpfm_fmt_use *new_use(struct lpfm_luafmt *f)
{
	struct lpfm_fmt_use *use = calloc(1, sizeof(*use));

	if (!use)
		return NULL;
	use->f = f;
	use->refs = 1;
	use->self = use->view = LUA_NOREF;
	__atomic_add_fetch(&f->refs, 1, __ATOMIC_RELAXED);
	return use;
}

/*
 * Passes why to the lpfm call by which this thread creates the context (pending); frees it if there
 * is no such call. Returns EINVAL.
 */
static int refuse(char *why)
{
	if (pending)
		pending->why = why;
	else
		free(why);
	return EINVAL;
}

static int op_create(struct pfm_buffer_fmt *fmt, uint32_t flags, uint16_t num_pmds, void *arg, size_t *size,
		     void **self)
{
	struct lpfm_luafmt *f = (struct lpfm_luafmt *)fmt;
	struct creation c = { .use = new_use(f), .flags = flags, .num_pmds = num_pmds,
			      .arg = pending ? pending->arg : NULL };
	char *why = NULL;
	sigset_t saved;
	int err = 0;

	if (!c.use)
		return ENOMEM;
	lpfm_fmt_enter(f, &saved);
	if (f->base)
		err = base_create(f->base, &c, arg);
	if (!err)
		why = lpfm_fmt_run(f, create_body, &c);
	if (err || why)
		forget(c.use);
	lpfm_fmt_leave(f, &saved);
	if (err || why) {
		lpfm_fmt_use_put(c.use);
		return why ? refuse(why) : err;
	}
	*size = c.use->size = (size_t)c.size;
	*self = c.use;
	if (pending) {
		__atomic_add_fetch(&c.use->refs, 1, __ATOMIC_RELAXED);
		pending->use = c.use;
	}
	return 0;
}

static int init_body(lua_State *F)
{
	struct lpfm_fmt_use *use = lua_touserdata(F, 1);

	if (use->buf)
		lpfm_fmt_push_view(F, use);
	if (lpfm_fmt_push_callback(F, use, "init"))
		lpfm_fmt_call(F, 1, 0);
	return 0;
}

static int op_init(void *self, uint32_t flags, void *arg, void *buf)
{
	struct lpfm_fmt_use *use = self;
	struct lpfm_luafmt *f = use->f;
	sigset_t saved;
	char *why;
	int err = 0;

	lpfm_fmt_enter(f, &saved);
	use->buf = buf;
	if (f->base && f->base->fmt_init)
		err = f->base->fmt_init(flags, arg, buf);
	why = err ? NULL : lpfm_fmt_run(f, init_body, use);
	lpfm_fmt_leave(f, &saved);
	return why ? refuse(why) : err;
}

/* --- overflows: 3.5.14 ---------------------------------------------------------------------- */

/*
 * Stores the values of the smpl_pmds in overflow.pmds, by number of the PMD. A new table is made
 * only if the set of PMDs differs from that of the last overflow.
 */
static void set_pmds(lua_State *F, struct lpfm_luafmt *f, const pfm_ovfl_arg_t *arg)
{
	unsigned int i = 0;

	lua_getfield(F, -1, "pmds");
	if (!lua_istable(F, -1) || memcmp(f->pmds, arg->smpl_pmds, sizeof(f->pmds))) {
		lua_pop(F, 1);
		lua_newtable(F);
		lua_pushvalue(F, -1);
		lua_setfield(F, -3, "pmds");
		memcpy(f->pmds, arg->smpl_pmds, sizeof(f->pmds));
	}
	for (unsigned int num = 0; i < arg->num_smpl_pmds && num < PFM_MAX_PMDS; num++) {
		if (!(arg->smpl_pmds[num / 64] >> (num % 64) & 1))
			continue;
		lpfm_push_u64(F, arg->smpl_pmds_values[i++]);
		lua_rawseti(F, -2, (int)num);
	}
	lua_pop(F, 1);
}

static void push_overflow(lua_State *F, struct lpfm_fmt_use *use)
{
	const pfm_ovfl_arg_t *arg = use->arg;
	const struct pfm_where *where = use->where;

	lua_getfield(F, LUA_REGISTRYINDEX, "lpfm.overflow");
	lpfm_set_u64(F, "ovfl_pmd", arg->ovfl_pmd);
	lpfm_set_u64(F, "set", arg->active_set);
	lpfm_set_u64(F, "last_reset", arg->pmd_last_reset);
	lpfm_set_u64(F, "value", arg->pmd_value);
	lpfm_set_u64(F, "eventid", arg->pmd_eventid);
	lpfm_set_bool(F, "notify", arg->ovfl_notify);
	lpfm_set_u64(F, "tstamp", where->tstamp);
	lpfm_set_u64(F, "ip", where->ip);
	lpfm_set_u64(F, "pid", where->pid);
	lpfm_set_u64(F, "tid", where->tid);
	lpfm_set_u64(F, "cpu", where->cpu);
	set_pmds(F, use->f, arg);
}

static int handler_body(lua_State *F)
{
	struct lpfm_fmt_use *use = lua_touserdata(F, 1);

	lpfm_fmt_push_callback(F, use, "handler");
	push_overflow(F, use);
	lpfm_fmt_call(F, 2, LUA_MULTRET);
	use->arg->ovfl_ctrl = lpfm_fmt_read_controls(F, 2, "handler");
	return 0;
}

/*
 * Stores the error why, which ends the session, and returns EIO. If why is NULL, memory has run
 * out. Counts and samples can still be read.
 */
static int stop(struct lpfm_fmt_use *use, char *why)
{
	static const char no_words[] = "the format failed, and there was no memory to say how";

	if (!why)
		why = strdup(no_words);
	__atomic_store_n(&use->error, why, __ATOMIC_RELEASE);
	return EIO;
}

static bool has_failed(const struct lpfm_fmt_use *use)
{
	return __atomic_load_n(&use->error, __ATOMIC_ACQUIRE);
}

static int op_handler(void *self, pfm_ovfl_arg_t *arg, const struct pfm_where *where)
{
	struct lpfm_fmt_use *use = self;
	sigset_t saved;
	char *why;
	int err;

	if (has_failed(use))
		return EIO;
	lpfm_fmt_enter(use->f, &saved);
	use->arg = arg;
	use->where = where;
	why = lpfm_fmt_run(use->f, handler_body, use);
	err = why ? stop(use, why) : 0;
	use->arg = NULL;
	lpfm_fmt_leave(use->f, &saved);
	return err;
}

/* --- restarts and the end: 3.5.15, 3.5.13 --------------------------------------------------- */

struct restarting {
	struct lpfm_fmt_use	*use;
	bool			active;
	pfm_ovfl_ctrl_t		*ctrl;
};

static int restart_body(lua_State *F)
{
	struct restarting *r = lua_touserdata(F, 1);

	lpfm_fmt_push_callback(F, r->use, "restart");
	lua_pushboolean(F, r->active);
	lpfm_fmt_call(F, 2, LUA_MULTRET);
	*r->ctrl = lpfm_fmt_read_controls(F, 2, "restart");
	return 0;
}

static int op_restart(void *self, int is_active, pfm_ovfl_ctrl_t *ctrl)
{
	struct lpfm_fmt_use *use = self;
	struct restarting r = { use, is_active, ctrl };
	const pfm_buffer_fmt_t *base = use->f->base;
	sigset_t saved;
	char *why = NULL;
	int err = 0;

	if (has_failed(use))
		return EIO;
	lpfm_fmt_enter(use->f, &saved);
	ctrl->reset_ovfl_pmds = 1;
	if (use->f->own_restart)
		why = lpfm_fmt_run(use->f, restart_body, &r);
	else if (base)
		err = base->fmt_restart(use->buf, is_active, ctrl);
	lpfm_fmt_leave(use->f, &saved);
	return why ? stop(use, why) : err;
}

static int exit_body(lua_State *F)
{
	struct lpfm_fmt_use *use = lua_touserdata(F, 1);

	if (lpfm_fmt_push_callback(F, use, "exit"))
		lpfm_fmt_call(F, 1, 0);
	return 0;
}

static void op_exit(void *self)
{
	struct lpfm_fmt_use *use = self;
	const pfm_buffer_fmt_t *base = use->f->base;
	sigset_t saved;

	lpfm_fmt_enter(use->f, &saved);
	free(lpfm_fmt_run(use->f, exit_body, use));
	forget(use);
	if (base && base->fmt_exit)
		base->fmt_exit(use->buf);
	use->ended = true;
	lpfm_fmt_leave(use->f, &saved);
	lpfm_fmt_use_put(use);
}

const struct pfm_fmt_ops lpfm_fmt_ops = {
	.create = op_create, .init = op_init, .handler = op_handler, .restart = op_restart, .exit = op_exit,
	.prompt = true,
};
