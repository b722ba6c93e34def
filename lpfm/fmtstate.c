/* SPDX-License-Identifier: MIT */
/*
 * fmtstate.c - the Lua state of a sampling format, and the call-backs that run in it (3.5.10 - 3.5.15).
 *
 * The core holds the context's lock around a call-back, and signals are blocked. The format's own lock
 * comes inside: one call-back at a time. Everything done to the state is done protected; what goes
 * wrong in a context ends that context's session, and is kept for who asks.
 */
#include <errno.h>
#include <lualib.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "luafmt.h"
#include "parcel.h"

#define TICK	1000000	/* VM instructions */
#define TICKS	100	/* that a call may take */

static __thread struct lpfm_fmt_pending *pending;

/* --- locks ---------------------------------------------------------------------------------- */

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct lpfm_luafmt *list;	/* all there are, for fork alone */

static void enter(struct lpfm_luafmt *f, sigset_t *saved)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, saved);
	pthread_mutex_lock(&f->lock);
}

static void leave(struct lpfm_luafmt *f, const sigset_t *saved)
{
	pthread_mutex_unlock(&f->lock);
	pthread_sigmask(SIG_SETMASK, saved, NULL);
}

/* A child gets states that nobody is in the midst of. */
static void before_fork(void)
{
	pthread_mutex_lock(&list_lock);
	for (struct lpfm_luafmt *f = list; f; f = f->next)
		pthread_mutex_lock(&f->lock);
}

static void after_fork(void)
{
	for (struct lpfm_luafmt *f = list; f; f = f->next)
		pthread_mutex_unlock(&f->lock);
	pthread_mutex_unlock(&list_lock);
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork, after_fork);
}

static void enlist(struct lpfm_luafmt *f)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&list_lock);
	f->next = list;
	list = f;
	pthread_mutex_unlock(&list_lock);
}

static void unlist(struct lpfm_luafmt *f)
{
	struct lpfm_luafmt **p = &list;

	pthread_mutex_lock(&list_lock);
	while (*p && *p != f)
		p = &(*p)->next;
	if (*p)
		*p = f->next;
	pthread_mutex_unlock(&list_lock);
}

/* --- lives ---------------------------------------------------------------------------------- */

void lpfm_luafmt_put(struct lpfm_luafmt *f)
{
	if (__atomic_sub_fetch(&f->refs, 1, __ATOMIC_ACQ_REL))
		return;
	unlist(f);
	if (f->F)
		lua_close(f->F);
	if (f->base)
		pfm_put_format(f->base);
	pthread_mutex_destroy(&f->lock);
	free((void *)(uintptr_t)f->fmt.fmt_name);
	free(f);
}

void lpfm_fmt_use_put(struct lpfm_fmt_use *use)
{
	if (!use || __atomic_sub_fetch(&use->refs, 1, __ATOMIC_ACQ_REL))
		return;
	lpfm_luafmt_put(use->f);
	free(use->error);
	free(use);
}

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

/* --- calls into the state ------------------------------------------------------------------- */

/* The message on top, in memory of its own. */
static char *take_message(lua_State *F)
{
	const char *text = lua_tostring(F, -1);

	return strdup(text ? text : "an error that is no message");
}

/* body(F) with arg at 1, protected: NULL, or what went wrong. */
static char *run(struct lpfm_luafmt *f, lua_CFunction body, void *arg)
{
	static char no_memory[] = "not enough memory";
	char *why = NULL;

	f->ticks = 0;
	if (lua_cpcall(f->F, body, arg)) {
		why = take_message(f->F);
		why = why ? why : no_memory;
	}
	lua_settop(f->F, 0);
	return why == no_memory ? strdup(no_memory) : why;
}

static int add_traceback(lua_State *F)
{
	if (!lua_isstring(F, 1) && !luaL_callmeta(F, 1, "__tostring")) {
		lua_pushfstring(F, "an error that is a %s", luaL_typename(F, 1));
		lua_replace(F, 1);
	}
	lua_settop(F, 1);
	lua_getfield(F, LUA_REGISTRYINDEX, "lpfm.traceback");
	lua_insert(F, 1);
	lua_pushinteger(F, 2);
	lua_call(F, 2, 1);
	return 1;
}

/* lua_call() whose errors have a traceback. */
static void call(lua_State *F, int nargs, int nresults)
{
	int at = lua_gettop(F) - nargs;

	lua_pushcfunction(F, add_traceback);
	lua_insert(F, at);
	if (lua_pcall(F, nargs, nresults, at))
		lua_error(F);
	lua_remove(F, at);
}

/* Pushes call-back name and self; false, pushing nothing: the format has no such call-back. */
static bool push_callback(lua_State *F, const struct lpfm_fmt_use *use, const char *name)
{
	lua_getfield(F, LUA_REGISTRYINDEX, "lpfm.format");
	lua_getfield(F, -1, name);
	lua_remove(F, -2);
	if (lua_isnil(F, -1)) {
		lua_pop(F, 1);
		return false;
	}
	lua_rawgeti(F, LUA_REGISTRYINDEX, use->self);
	return true;
}

static int too_long(lua_State *F)
{
	return luaL_error(F, "the format takes too long: more than %d million instructions", TICKS);
}

static void on_tick(lua_State *F, lua_Debug *info)
{
	struct lpfm_luafmt *f;

	(void)info;
	lua_getfield(F, LUA_REGISTRYINDEX, "lpfm.luafmt");
	f = lua_touserdata(F, -1);
	lua_pop(F, 1);
	if (++f->ticks >= TICKS * 1000000 / TICK)
		too_long(F);
}

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

/* The results from first on: names, nil and false for none. */
static pfm_ovfl_ctrl_t read_controls(lua_State *F, int first, const char *who)
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

static const struct lpfm_class buf_class = { "lpfm.format.buf" };

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

/* Its own header is not for scripts to break. */
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

/* --- creating: 3.5.10 - 3.5.12 -------------------------------------------------------------- */

struct creation {
	struct lpfm_fmt_use	*use;
	const char		*arg;		/* parcel, or NULL */
	uint32_t		flags;
	uint16_t		num_pmds;
	uint64_t		size;
};

/* self = { arg =, flags =, num_pmds = } */
static void make_self(lua_State *F, struct creation *c)
{
	lua_newtable(F);
	if (c->arg && lpfm_parcel_open(F, c->arg))
		lua_setfield(F, -2, "arg");
	lpfm_push_flags(F, c->flags, lpfm_ctx_flags);
	lua_setfield(F, -2, "flags");
	lua_pushinteger(F, c->num_pmds);
	lua_setfield(F, -2, "num_pmds");
	c->use->self = luaL_ref(F, LUA_REGISTRYINDEX);
}

/* nil or false with a message refuse; so does an error. */
static void validate(lua_State *F, const struct lpfm_fmt_use *use)
{
	int top = lua_gettop(F);

	if (!push_callback(F, use, "validate"))
		return;
	call(F, 1, LUA_MULTRET);
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
	if (push_callback(F, c->use, "getsize")) {
		call(F, 1, 1);
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

/* Scripts may have put the buffer's object anywhere. */
static void forget(struct lpfm_fmt_use *use)
{
	if (use->buf_view)
		use->buf_view->use = NULL;
	use->buf_view = NULL;
	free(run(use->f, forget_body, use));
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

/* Why the context is refused is told who creates it, if that is lpfm. */
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
	enter(f, &saved);
	if (f->base)
		err = base_create(f->base, &c, arg);
	if (!err)
		why = run(f, create_body, &c);
	if (err || why)
		forget(c.use);
	leave(f, &saved);
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

/* self.buf */
static void make_view(lua_State *F, struct lpfm_fmt_use *use)
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

static int init_body(lua_State *F)
{
	struct lpfm_fmt_use *use = lua_touserdata(F, 1);

	if (use->buf)
		make_view(F, use);
	if (push_callback(F, use, "init"))
		call(F, 1, 0);
	return 0;
}

static int op_init(void *self, uint32_t flags, void *arg, void *buf)
{
	struct lpfm_fmt_use *use = self;
	struct lpfm_luafmt *f = use->f;
	sigset_t saved;
	char *why;
	int err = 0;

	enter(f, &saved);
	use->buf = buf;
	if (f->base && f->base->fmt_init)
		err = f->base->fmt_init(flags, arg, buf);
	why = err ? NULL : run(f, init_body, use);
	leave(f, &saved);
	return why ? refuse(why) : err;
}

/* --- overflows: 3.5.14 ---------------------------------------------------------------------- */

static void set_u64(lua_State *F, const char *name, uint64_t value)
{
	lpfm_push_u64(F, value);
	lua_setfield(F, -2, name);
}

/* overflow.pmds, by number of the PMD: the same table as long as the same PMDs are in it. */
static void set_pmds(lua_State *F, struct lpfm_luafmt *f, const pfm_ovfl_arg_t *arg)
{
	unsigned int i = 0;

	if (memcmp(f->pmds, arg->smpl_pmds, sizeof(f->pmds))) {
		lua_newtable(F);
		lua_setfield(F, -2, "pmds");
		memcpy(f->pmds, arg->smpl_pmds, sizeof(f->pmds));
	}
	lua_getfield(F, -1, "pmds");
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
	set_u64(F, "ovfl_pmd", arg->ovfl_pmd);
	set_u64(F, "set", arg->active_set);
	set_u64(F, "last_reset", arg->pmd_last_reset);
	set_u64(F, "value", arg->pmd_value);
	set_u64(F, "eventid", arg->pmd_eventid);
	lua_pushboolean(F, arg->ovfl_notify);
	lua_setfield(F, -2, "notify");
	set_u64(F, "tstamp", where->tstamp);
	set_u64(F, "ip", where->ip);
	set_u64(F, "pid", where->pid);
	set_u64(F, "tid", where->tid);
	set_u64(F, "cpu", where->cpu);
	set_pmds(F, use->f, arg);
}

static int handler_body(lua_State *F)
{
	struct lpfm_fmt_use *use = lua_touserdata(F, 1);

	push_callback(F, use, "handler");
	push_overflow(F, use);
	call(F, 2, LUA_MULTRET);
	use->arg->ovfl_ctrl = read_controls(F, 2, "handler");
	return 0;
}

/* The session ends here, but what was measured can be read. */
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
	enter(use->f, &saved);
	use->arg = arg;
	use->where = where;
	why = run(use->f, handler_body, use);
	err = why ? stop(use, why) : 0;
	use->arg = NULL;
	leave(use->f, &saved);
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

	push_callback(F, r->use, "restart");
	lua_pushboolean(F, r->active);
	call(F, 2, LUA_MULTRET);
	*r->ctrl = read_controls(F, 2, "restart");
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
	enter(use->f, &saved);
	ctrl->reset_ovfl_pmds = 1;
	if (use->f->own_restart)
		why = run(use->f, restart_body, &r);
	else if (base)
		err = base->fmt_restart(use->buf, is_active, ctrl);
	leave(use->f, &saved);
	return why ? stop(use, why) : err;
}

static int exit_body(lua_State *F)
{
	struct lpfm_fmt_use *use = lua_touserdata(F, 1);

	if (push_callback(F, use, "exit"))
		call(F, 1, 0);
	return 0;
}

static void op_exit(void *self)
{
	struct lpfm_fmt_use *use = self;
	const pfm_buffer_fmt_t *base = use->f->base;
	sigset_t saved;

	enter(use->f, &saved);
	free(run(use->f, exit_body, use));
	forget(use);
	if (base && base->fmt_exit)
		base->fmt_exit(use->buf);
	use->ended = true;
	leave(use->f, &saved);
	lpfm_fmt_use_put(use);
}

const struct pfm_fmt_ops lpfm_fmt_ops = {
	.create = op_create, .init = op_init, .handler = op_handler, .restart = op_restart, .exit = op_exit,
};

/* --- what the script asks of it ------------------------------------------------------------- */

struct question {
	struct lpfm_fmt_use	*use;
	const char		*name, *args;
	bool			unknown;
	char			*answer;
};

/* The function, self, and the arguments; the answer leaves the state as a parcel. */
static int ask_body(lua_State *F)
{
	struct question *q = lua_touserdata(F, 1);
	struct lpfm_site site = { .call = q->name };
	size_t n;

	lua_getfield(F, LUA_REGISTRYINDEX, "lpfm.format");
	lua_getfield(F, -1, "calls");
	q->unknown = true;
	if (!lua_istable(F, -1))
		luaL_error(F, "the format has no calls");
	lua_getfield(F, -1, q->name);
	if (!lua_isfunction(F, -1))
		luaL_error(F, "the format's calls have no function '%s'", q->name);
	q->unknown = false;
	lua_replace(F, 2);
	lua_settop(F, 2);
	lua_rawgeti(F, LUA_REGISTRYINDEX, q->use->self);
	call(F, 1 + lpfm_parcel_open(F, q->args), LUA_MULTRET);
	lpfm_parcel_pack(F, 2, lua_gettop(F) - 1, LPFM_DATA, &site);
	n = lua_objlen(F, -1);
	q->answer = malloc(n);
	if (!q->answer)
		luaL_error(F, "not enough memory");
	memcpy(q->answer, lua_tostring(F, -1), n);
	return 0;
}

int lpfm_fmt_ask(struct lpfm_fmt_use *use, const char *name, const char *args, char **out)
{
	struct question q = { .use = use, .name = name, .args = args };
	sigset_t saved;
	char *why = NULL;
	int err = EBADF;

	enter(use->f, &saved);
	if (!use->ended) {
		why = run(use->f, ask_body, &q);
		err = q.answer ? 0 : q.unknown ? EINVAL : EIO;
	}
	leave(use->f, &saved);
	*out = q.answer ? q.answer : why;
	return err;
}

/* --- a new state ---------------------------------------------------------------------------- */

struct opening {
	struct lpfm_luafmt	*f;
	const char		*parcel;
};

static int no_module(lua_State *F)
{
	return luaL_error(F, "a sampling format cannot use lpfm: it runs in the midst of its calls");
}

static int no_exit(lua_State *F)
{
	return luaL_error(F, "a sampling format cannot end the process");
}

/* package.preload[name] and library[name] = function; pops the library. */
static void replace(lua_State *F, const char *name, lua_CFunction function)
{
	lua_pushcfunction(F, function);
	lua_setfield(F, -2, name);
	lua_pop(F, 1);
}

/* Compiled code calls no hooks: a loop without end would have none. */
static void interpret(lua_State *F)
{
	lua_getglobal(F, "jit");
	if (lua_istable(F, -1)) {
		lua_getfield(F, -1, "off");
		lua_call(F, 0, 0);
	}
	lua_pop(F, 1);
	lua_sethook(F, on_tick, LUA_MASKCOUNT, TICK);
}

static void restrain(lua_State *F)
{
	lua_getglobal(F, "package");
	lua_getfield(F, -1, "preload");
	lua_pushcfunction(F, no_module);
	lua_setfield(F, -2, "lpfm.proc");
	replace(F, "lpfm", no_module);
	lua_getglobal(F, "os");
	replace(F, "exit", no_exit);
	interpret(F);
}

/* What the call-backs' frames find in the registry. */
static void furnish(lua_State *F, struct lpfm_luafmt *f)
{
	lua_getglobal(F, "debug");
	lua_getfield(F, -1, "traceback");
	lua_setfield(F, LUA_REGISTRYINDEX, "lpfm.traceback");
	lua_newtable(F);
	lpfm_open_u64(F);
	lua_getfield(F, -1, "u64");
	lua_setglobal(F, "u64");
	lpfm_class_new(F, &buf_class, buf_methods, buf_metas);
	lua_newtable(F);
	lua_newtable(F);
	lua_setfield(F, -2, "pmds");
	lua_setfield(F, LUA_REGISTRYINDEX, "lpfm.overflow");
	lua_pushlightuserdata(F, f);
	lua_setfield(F, LUA_REGISTRYINDEX, "lpfm.luafmt");
}

/* LuaJIT's own; NULL in PUC Lua. */
extern int luaopen_bit(lua_State *F) __attribute__((weak));
extern int luaopen_jit(lua_State *F) __attribute__((weak));

/* Not io: in PUC Lua, when memory runs out while it is opened, the process's standard output is closed. */
static void open_libraries(lua_State *F)
{
	static const luaL_Reg libraries[] = {
		{ "", luaopen_base }, { LUA_LOADLIBNAME, luaopen_package }, { LUA_TABLIBNAME, luaopen_table },
		{ LUA_OSLIBNAME, luaopen_os }, { LUA_STRLIBNAME, luaopen_string },
		{ LUA_MATHLIBNAME, luaopen_math }, { LUA_DBLIBNAME, luaopen_debug },
		{ "bit", luaopen_bit }, { "jit", luaopen_jit },
	};

	for (size_t i = 0; i < LPFM_COUNT(libraries); i++) {
		if (!libraries[i].func)
			continue;
		lua_pushcfunction(F, libraries[i].func);
		lua_pushstring(F, libraries[i].name);
		lua_call(F, 1, 0);
	}
}

static int open_body(lua_State *F)
{
	struct opening *o = lua_touserdata(F, 1);

	open_libraries(F);
	furnish(F, o->f);
	restrain(F);
	lpfm_parcel_open(F, o->parcel);
	lua_setfield(F, LUA_REGISTRYINDEX, "lpfm.format");
	return 0;
}

struct lpfm_luafmt *lpfm_luafmt_new(const char *parcel, char **why)
{
	struct lpfm_luafmt *f = calloc(1, sizeof(*f));
	struct opening opening = { f, parcel };

	*why = NULL;
	if (!f)
		return NULL;
	f->refs = 1;
	pthread_mutex_init(&f->lock, NULL);
	enlist(f);
	f->F = luaL_newstate();
	if (f->F)
		*why = run(f, open_body, &opening);
	if (f->F && !*why)
		return f;
	lpfm_luafmt_put(f);
	return NULL;
}
