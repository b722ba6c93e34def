/* SPDX-License-Identifier: MIT */
/*
 * sigio.c - SIGIO turned into calls of Lua functions (3.3.7).
 *
 * The signal's handler does what lua.c does for Ctrl-C: it sets a hook, which Lua calls before its
 * next instruction, and notes the descriptor. The hook reads the messages and calls the callbacks.
 * SIGIO is not queued: if one is pending, a second one is lost, so all contexts are asked for
 * messages at each. Contexts with OVFL_NO_MSG cannot be asked, so they have a real-time signal, of
 * which each is delivered. Only one Lua state and one thread of a process have callbacks at a time;
 * signals go to that thread.
 */
/***
@submodule context
*/
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/object.h"
#include "base/result.h"
#include "base/wait.h"
#include "context/context.h"

/* registry key of a table with the contexts that have a callback, as weak keys */
#define CONTEXTS "lpfm.sigio"
#define MAX_FD 65536

static struct {
	/*
	 * the Lua thread in which hooks are set, which the registry keeps alive; NULL: there are no
	 * callbacks
	 */
	lua_State	*volatile L;
	const void	*registry;	/* registry of L, which identifies the Lua state */
	pid_t		tid;
	bool		busy;		/* callbacks are running */
} owner;

/* all_due: a signal has come that does not say for which descriptor */
static volatile sig_atomic_t pending, all_due;
static volatile unsigned char marked[MAX_FD];	/* by descriptor: a signal has come for it */
static struct sigaction before;			/* the action of SIGIO */
static int queued;	/* the real-time signal; 0: none is needed yet */

static bool sigio_active(void)
{
	return owner.L;
}

/*
 * Returns true if callbacks must be called. They are called only in the thread that owns them, and
 * not while another callback runs.
 */
static bool sigio_pending(void)
{
	return pending && !owner.busy && owner.L && owner.tid == syscall(SYS_gettid);
}

static void sigio_dispatch(lua_State *L);

/* --- the signal ----------------------------------------------------------------------------- */

/* the hook that on_hook() has replaced */
static struct {
	lua_Hook	fn;
	int		mask, count;
} replaced;

static void on_hook(lua_State *L, lua_Debug *info)
{
	(void)info;
	lua_sethook(L, replaced.fn, replaced.mask, replaced.count);
	if (sigio_pending())
		sigio_dispatch(L);
}

static bool sigio_hooked(lua_State *L)
{
	return lua_gethook(L) == on_hook;
}

/*
 * Sets a hook that calls the callbacks once, in place of one that the host or the script has set. A
 * hook that stops the script is not replaced: the callbacks are called when the module waits next.
 */
static void hook(lua_State *L)
{
	if (!L || sigio_hooked(L) || lpfm_stops(L))
		return;
	replaced.fn = lua_gethook(L);
	replaced.mask = lua_gethookmask(L);
	replaced.count = lua_gethookcount(L);
	lua_sethook(L, on_hook, LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 1);
}

static void pass_on(int sig, siginfo_t *info, void *ucontext)
{
	if (before.sa_flags & SA_SIGINFO)
		before.sa_sigaction(sig, info, ucontext);
	else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
		before.sa_handler(sig);
}

/*
 * Returns true if the signal has the number of a descriptor: the kernel's signals have the codes of
 * poll(2), and libperfmon's SI_SIGIO.
 */
static bool has_fd(const siginfo_t *info)
{
	return ((info->si_code > 0 && info->si_code <= POLL_HUP) || info->si_code == SI_SIGIO) && info->si_fd >= 0 &&
	       info->si_fd < MAX_FD;
}

/* If the queue of signals is full, a SIGIO without a descriptor comes for the real-time signal. */
static void on_signal(int sig, siginfo_t *info, void *ucontext)
{
	int err = errno;

	if (has_fd(info))
		marked[info->si_fd] = 1;
	else
		all_due = 1;
	pending = 1;
	if (owner.tid == syscall(SYS_gettid))
		hook(owner.L);
	if (sig == SIGIO)
		pass_on(sig, info, ucontext);
	errno = err;
}

/* Installs the handler, during which all signals are blocked: no other one may set a hook then. */
static int handle(int sig)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART };

	sigfillset(&action.sa_mask);
	return lpfm_set_signal(sig, &action);
}

/*
 * Installs the signal handler, which stays for ever: a signal may be on its way, and its default
 * action ends the process.
 */
static int catch_sigio(void)
{
	static bool caught;

	if (!caught && (sigaction(SIGIO, NULL, &before) || handle(SIGIO)))
		return -1;
	caught = true;
	return 0;
}

/*
 * Installs the handler also for the last real-time signal that has no handler and is not blocked.
 * Returns -1 if there is none.
 */
static int catch_queued(void)
{
	struct sigaction old;
	sigset_t blocked;

	pthread_sigmask(SIG_BLOCK, NULL, &blocked);
	for (int sig = SIGRTMAX; !queued && sig >= SIGRTMIN; sig--)
		if (!sigismember(&blocked, sig) && !sigaction(sig, NULL, &old) && !(old.sa_flags & SA_SIGINFO) &&
		    old.sa_handler == SIG_DFL && !handle(sig))
			queued = sig;
	if (!queued)
		errno = EBUSY;
	return queued ? 0 : -1;
}

static int ask_for_signals(const struct lpfm_context *ctx, bool on)
{
	struct f_owner_ex me = { .type = F_OWNER_TID, .pid = owner.tid };
	bool silent = ctx->flags & PFM_FL_OVFL_NO_MSG;
	int flags = fcntl(ctx->fd, F_GETFL);

	if (!on)
		return fcntl(ctx->fd, F_SETFL, flags & ~O_ASYNC);
	if (fcntl(ctx->fd, F_SETOWN_EX, &me) || fcntl(ctx->fd, F_SETSIG, silent ? queued : SIGIO))
		return -1;
	return fcntl(ctx->fd, F_SETFL, flags | O_ASYNC);
}

/* Adds the signals that the handler is installed for. */
static void sigio_signals(sigset_t *set)
{
	sigaddset(set, SIGIO);
	if (queued)
		sigaddset(set, queued);
}

/* --- the callbacks -------------------------------------------------------------------------- */

/* Pushes the callback of the context at idx. Returns false, and pushes nothing, if it has none. */
static bool push_callback(lua_State *L, int idx)
{
	lua_getfenv(L, idx);
	lua_getfield(L, -1, "on_message");
	lua_remove(L, -2);
	if (lua_isfunction(L, -1))
		return true;
	lua_pop(L, 1);
	return false;
}

static void set_callback(lua_State *L, int idx, int fn)
{
	lua_getfenv(L, idx);
	lua_pushvalue(L, fn);
	lua_setfield(L, -2, "on_message");
	lua_pop(L, 1);
	lpfm_registry_table(L, CONTEXTS);
	lua_pushvalue(L, idx);
	lua_pushboolean(L, 1);
	if (lua_isnil(L, fn)) {
		lua_pop(L, 1);
		lua_pushnil(L);
	}
	lua_rawset(L, -3);
	lua_pop(L, 1);
}

static bool take_mark(const struct lpfm_context *ctx, bool all)
{
	bool was = ctx->fd < MAX_FD && marked[ctx->fd];

	if (was)	/* a mark that is set from here on stays for the next call */
		marked[ctx->fd] = 0;
	return was || all;
}

/*
 * Adds the error on top to the one at 1, which is nil if there was none. Two strings are joined;
 * otherwise the first error is kept.
 */
static void note_error(lua_State *L)
{
	if (lua_isnil(L, -1)) { /* nil means that there was no error */
		lua_pop(L, 1);
		lua_pushliteral(L, "on_message: the function raised nil");
	}
	if (lua_isnil(L, 1)) {
		lua_pushvalue(L, -1);
		lua_replace(L, 1);
	} else if (lua_isstring(L, 1) && lua_isstring(L, -1)) {
		lua_pushfstring(L, "%s\n%s", lua_tostring(L, 1), lua_tostring(L, -1));
		lua_replace(L, 1);
	}
}

/*
 * Calls callback(message, context[, error]) with the results of a read, which are on top of the
 * stack, and pops them.
 */
static void call_back(lua_State *L, int idx, int results)
{
	int first = lua_gettop(L) - results + 1;

	push_callback(L, idx);
	lua_pushvalue(L, first);
	lua_pushvalue(L, idx);
	if (results == 3)
		lua_pushvalue(L, first + 1);
	if (lua_pcall(L, results == 3 ? 3 : 2, 0, 0))
		note_error(L);
	lua_settop(L, first - 1);
}

static bool has_callback(lua_State *L, int idx, const struct lpfm_context *ctx)
{
	bool has = ctx->fd >= 0 && push_callback(L, idx);

	lua_pop(L, has);
	return has;
}

/*
 * Calls the callback for all messages of the context at idx. With OVFL_NO_MSG, a signal comes
 * without a message: then the callback is called once with nil.
 */
static void serve(lua_State *L, int idx, const struct lpfm_context *ctx, bool signalled)
{
	bool silent = signalled && ctx->flags & PFM_FL_OVFL_NO_MSG;
	int results = 1;

	while (results == 1 && has_callback(L, idx, ctx)) {
		results = lpfm_message_take(L, ctx, 0);
		if (results == 2 && !silent) {	/* the result is "timeout" */
			lua_pop(L, results);
			return;
		}
		silent = false;
		call_back(L, idx, results);
	}
}

/*
 * Pushes a list of the contexts, because callbacks may add or remove contexts; returns its length.
 */
static int list_contexts(lua_State *L)
{
	int n = 0;

	lua_newtable(L);
	lpfm_registry_table(L, CONTEXTS);
	for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
		lua_pushvalue(L, -2);
		lua_rawseti(L, -5, ++n);
	}
	lua_pop(L, 1);
	return n;
}

/* Calls the callbacks of all contexts; returns their errors, or nil. */
static int serve_all(lua_State *L)
{
	bool all = all_due;
	int n, list;

	if (all)
		all_due = 0;
	lua_pushnil(L);
	n = list_contexts(L);
	list = lua_gettop(L);
	for (int i = 1; i <= n; i++) {
		const struct lpfm_context *ctx;

		lua_rawgeti(L, list, i);
		ctx = lpfm_context_test(L, -1);
		if (ctx && ctx->fd >= 0)
			serve(L, lua_gettop(L), ctx, take_mark(ctx, all));
		lua_pop(L, 1);
	}
	lua_settop(L, 1);
	return 1;
}

/*
 * Calls the callbacks, and raises their errors. If memory runs out before all contexts were
 * reached, the others are handled at the next wait.
 */
static void sigio_dispatch(lua_State *L)
{
	int ret;

	luaL_checkstack(L, 8, "callbacks");
	owner.busy = true;
	pending = 0;
	lua_pushcfunction(L, serve_all);
	ret = lua_pcall(L, 0, 1, 0);
	owner.busy = false;
	if (ret)
		pending = all_due = 1;
	if (!lua_isnil(L, -1))
		lua_error(L);
	lua_pop(L, 1);
}

/* --- on_message ----------------------------------------------------------------------------- */

/* Makes this Lua state and thread the owner of the callbacks. Returns false if another one is. */
static bool own(lua_State *L)
{
	const void *registry = lua_topointer(L, LUA_REGISTRYINDEX);

	if (owner.L && (owner.registry != registry || owner.tid != syscall(SYS_gettid)))
		return false;
	lua_pushthread(L);
	lua_setfield(L, LUA_REGISTRYINDEX, CONTEXTS ".thread");
	owner.registry = registry;
	owner.tid = (pid_t)syscall(SYS_gettid);
	owner.L = L;
	return true;
}

/***
Calls a function for each message, wherever the script is when the message comes (specification
3.3.7): SIGIO interrupts it as Ctrl-C does. The function may do anything, and may even close
the context. An error in it is raised where the script was interrupted, after all messages have been
delivered.

The function is called between two instructions of Lua code, while this module waits (lpfm.poll,
ctx:read, proc), and on the simulator after machine:run(). It is delayed by a function of another C
library until that returns; with LuaJIT, by a loop of compiled code (also one over buffer:fields())
until the loop ends or calls another function of this module; in PUC Lua, by any coroutine but the
one that called on_message; by a debugger's hook until this module waits.

Only one thread of one Lua state of a process can have such functions. The handler of SIGIO stays
installed, and calls the handler that was there before. For contexts with OVFL_NO_MSG the last
real-time signal that has no handler and is not blocked gets one, too, because several SIGIO at a
time are one. If the process has RLIMIT_SIGPENDING signals pending, or SIGIO comes from elsewhere,
these functions may be called without an overflow.
@function context:on_message
@tparam[opt] function fn called as fn(message, context): a message as ctx:read has it; nil when a
context with OVFL_NO_MSG signals an overflow; nil, and the error as third argument, when reading
fails. Without: no function any more
@treturn[1] boolean true
@return[2] nil
@treturn[2] string message
@treturn[2] int errno: EBUSY (also if no real-time signal is left for OVFL_NO_MSG), EMFILE
@usage
local ctx = assert(require("lpfm").create {})
assert(ctx:on_message(function(msg) print(msg.type) end))
assert(ctx:on_message())
ctx:close()
*/
static int context_on_message(lua_State *L)
{
	struct lpfm_context *ctx = lpfm_context_open(L, 1);
	bool on = !lua_isnoneornil(L, 2);

	lua_settop(L, 2);
	if (on)
		luaL_checktype(L, 2, LUA_TFUNCTION);
	if (ctx->fd >= MAX_FD)
		return lpfm_fail_errno(L, EMFILE, "on_message: descriptor %d is too large", ctx->fd);
	if (!own(L))
		return lpfm_fail_errno(L, EBUSY, "on_message: another Lua state or thread has such functions");
	if (on && (catch_sigio() || (ctx->flags & PFM_FL_OVFL_NO_MSG && catch_queued())))
		return lpfm_fail_errno(L, errno, "on_message: %s", strerror(errno));
	set_callback(L, 1, 2);
	marked[ctx->fd] = 0;
	if (ask_for_signals(ctx, on))
		return lpfm_fail_errno(L, errno, "on_message: %s", strerror(errno));
	if (on) {	/* handles messages that have come already */
		pending = 1;
		hook(L);
	}
	return lpfm_true(L);
}

static const luaL_Reg methods[] = {
	{ "on_message", context_on_message },
	{ NULL, NULL }
};

/* --- closing the Lua state ------------------------------------------------------------------ */

static const struct lpfm_class guard_class = { "lpfm.sigio.guard", NULL };

static int guard_gc(lua_State *L)
{
	if (owner.L && owner.registry == lua_topointer(L, LUA_REGISTRYINDEX))
		owner.L = NULL;
	return 0;
}

static const luaL_Reg guard_metas[] = {
	{ "__gc", guard_gc },
	{ NULL, NULL }
};

static const struct lpfm_wait_signal sigio = {
	.signals = sigio_signals, .active = sigio_active, .pending = sigio_pending, .dispatch = sigio_dispatch,
	.hooked = sigio_hooked,
};

void lpfm_open_sigio(lua_State *L)
{
	bool open;

	lpfm_wait_signal(&sigio);
	lpfm_class_methods(L, &lpfm_context_class, methods);

	lua_getfield(L, LUA_REGISTRYINDEX, CONTEXTS);
	open = lua_istable(L, -1);	/* the module may have been loaded before */
	lua_pop(L, 1);
	if (open)
		return;
	lua_newtable(L);
	lua_newtable(L);
	lua_pushliteral(L, "k");
	lua_setfield(L, -2, "__mode");
	lua_setmetatable(L, -2);
	lua_setfield(L, LUA_REGISTRYINDEX, CONTEXTS);
	lpfm_class_new(L, &guard_class, NULL, guard_metas);
	lpfm_object_arm(L, lpfm_object_new(L, sizeof(struct lpfm_head)), &guard_class);
	lua_setfield(L, LUA_REGISTRYINDEX, CONTEXTS ".end");
}
