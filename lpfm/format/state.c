/* SPDX-License-Identifier: MIT */
/*
 * state.c - the Lua state of a sampling format. The core holds the context's lock during a
 * callback, and signals are blocked. The format's own lock is taken inside that lock: one callback
 * runs at a time. All operations on the state are protected calls.
 */
#include <errno.h>
#include <lualib.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/args.h"
#include "base/field.h"
#include "base/marshal.h"
#include "base/perfmon.h"
#include "base/u64.h"
#include "format/state.h"

#define TICK	1000000	/* VM instructions between two hooks */
#define TICKS	100	/* most hooks of one call */

/* --- locks ---------------------------------------------------------------------------------- */

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct lpfm_luafmt *list;	/* all formats, needed only for forks */

void lpfm_fmt_enter(struct lpfm_luafmt *f, sigset_t *saved)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, saved);
	pthread_mutex_lock(&f->lock);
}

void lpfm_fmt_leave(struct lpfm_luafmt *f, const sigset_t *saved)
{
	pthread_mutex_unlock(&f->lock);
	pthread_sigmask(SIG_SETMASK, saved, NULL);
}

/* Locks all states, so that a child gets states that no thread is using. */
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

/* --- reference counts ----------------------------------------------------------------------- */

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

/* --- calls into the state ------------------------------------------------------------------- */

/* Returns a copy of the message on top. */
static char *take_message(lua_State *F)
{
	const char *text = lua_tostring(F, -1);

	return strdup(text ? text : "an error that is no message");
}

/* Calls body(F) with arg at 1, protected. Returns NULL, or the error. */
char *lpfm_fmt_run(struct lpfm_luafmt *f, lua_CFunction body, void *arg)
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

/* Adds a traceback to a message, and a hint about what a format cannot use. */
static int add_traceback(lua_State *F)
{
	if (!lua_isstring(F, 1))
		lua_pushfstring(F, "an error that is a %s", luaL_typename(F, 1));
	else if (strstr(lua_tostring(F, 1), "global '"))
		lua_pushfstring(F, "%s (a format has no globals of the script's: local variables, or self)",
				lua_tostring(F, 1));
	else
		lua_pushvalue(F, 1);
	lua_replace(F, 1);
	lua_settop(F, 1);
	lua_getfield(F, LUA_REGISTRYINDEX, "lpfm.traceback");
	lua_insert(F, 1);
	lua_pushinteger(F, 2);
	lua_call(F, 2, 1);
	return 1;
}

/* Does what lua_call() does, but errors have a traceback. */
void lpfm_fmt_call(lua_State *F, int nargs, int nresults)
{
	int at = lua_gettop(F) - nargs;

	lua_pushcfunction(F, add_traceback);
	lua_insert(F, at);
	if (lua_pcall(F, nargs, nresults, at))
		lua_error(F);
	lua_remove(F, at);
}

/*
 * Pushes callback "name" and self. Returns false, and pushes nothing, if the format has no such
 * callback.
 */
bool lpfm_fmt_push_callback(lua_State *F, const struct lpfm_fmt_use *use, const char *name)
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
	if (f && ++f->ticks >= TICKS * 1000000 / TICK)
		too_long(F);
}

/* --- query functions: context:ask() --------------------------------------------------------- */

struct question {
	struct lpfm_fmt_use	*use;
	const char		*name, *args;
	bool			unknown;
	char			*answer;
};

/* Calls the function with self and the arguments; the results are marshalled. */
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
	lpfm_fmt_call(F, 1 + lpfm_marshal_open(F, q->args), LUA_MULTRET);
	lpfm_marshal_pack(F, 2, lua_gettop(F) - 1, LPFM_DATA, &site);
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

	lpfm_fmt_enter(use->f, &saved);
	if (!use->ended) {
		why = lpfm_fmt_run(use->f, ask_body, &q);
		err = q.answer ? 0 : q.unknown ? EINVAL : EIO;
	}
	lpfm_fmt_leave(use->f, &saved);
	*out = q.answer ? q.answer : why;
	return err;
}

/* --- a new state ---------------------------------------------------------------------------- */

struct opening {
	struct lpfm_luafmt	*f;
	const char		*marshalled;
};

static int no_module(lua_State *F)
{
	return luaL_error(F, "a sampling format cannot use lpfm: it runs in the midst of its calls");
}

static int no_exit(lua_State *F)
{
	return luaL_error(F, "a sampling format cannot end the process");
}

/* Sets library[name] = function; pops the library. */
static void replace(lua_State *F, const char *name, lua_CFunction function)
{
	lpfm_set_function(F, name, function);
	lua_pop(F, 1);
}

/* Turns the compiler off: compiled code runs no hooks, so an endless loop could not be stopped. */
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
	lpfm_set_function(F, "lpfm.proc", no_module);
	replace(F, "lpfm", no_module);
	lua_getglobal(F, "os");
	replace(F, "exit", no_exit);
	/* removes functions of debug that give access to our hook and to the registry */
	lua_getglobal(F, "debug");
	lua_pushnil(F);
	lua_setfield(F, -2, "sethook");
	lua_pushnil(F);
	lua_setfield(F, -2, "getregistry");
	lua_pop(F, 2);
	interpret(F);
}

/*
 * Stores what callbacks use: in the registry the traceback, the table `overflow` and f; as a global
 * the function u64().
 */
static void furnish(lua_State *F, struct lpfm_luafmt *f)
{
	lua_getglobal(F, "debug");
	lua_getfield(F, -1, "traceback");
	lua_setfield(F, LUA_REGISTRYINDEX, "lpfm.traceback");
	lua_newtable(F);
	lpfm_open_u64(F);
	lua_getfield(F, -1, "u64");
	lua_setglobal(F, "u64");
	lpfm_fmt_open_view(F);
	lua_newtable(F);
	lua_newtable(F);
	lua_setfield(F, -2, "pmds");
	lua_setfield(F, LUA_REGISTRYINDEX, "lpfm.overflow");
	lua_pushlightuserdata(F, f);
	lua_setfield(F, LUA_REGISTRYINDEX, "lpfm.luafmt");
}

/* LuaJIT's libraries bit and jit. In PUC Lua both symbols are NULL. */
extern int luaopen_bit(lua_State *F) __attribute__((weak));
extern int luaopen_jit(lua_State *F) __attribute__((weak));

/*
 * Opens the libraries except io: if memory runs out while PUC Lua opens that, the process's
 * standard output is closed.
 */
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
	lpfm_marshal_open(F, o->marshalled);
	lua_setfield(F, LUA_REGISTRYINDEX, "lpfm.format");
	return 0;
}

struct lpfm_luafmt *lpfm_luafmt_new(const char *marshalled, char **why)
{
	struct lpfm_luafmt *f = calloc(1, sizeof(*f));
	struct opening opening = { f, marshalled };

	*why = NULL;
	if (!f)
		return NULL;
	f->refs = 1;
	pthread_mutex_init(&f->lock, NULL);
	enlist(f);
	f->F = luaL_newstate();
	if (f->F)
		*why = lpfm_fmt_run(f, open_body, &opening);
	if (f->F && !*why)
		return f;
	lpfm_luafmt_put(f);
	return NULL;
}
