/* SPDX-License-Identifier: MIT */
/*
 * main.c - the lpfm program: a Lua interpreter that finds lpfm's modules. repl/command/init.lua
 * handles its arguments.
 */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "repl.h"

#ifndef LPFM_PREFIX
#define LPFM_PREFIX "/usr/local"
#endif
#ifndef LPFM_SCRIPTDIR
#define LPFM_SCRIPTDIR LPFM_PREFIX "/share/lpfm/scripts"
#endif
#ifndef LPFM_LIB
#define LPFM_LIB "lib"
#endif

struct command_line {
	int argc;
	char **argv;
	int status;
};

/* --- Ctrl-C --------------------------------------------------------------------------------- */

enum { PATIENCE = 3 };				/* presses of Ctrl-C that end the prompt */

static lua_State *running;
static volatile sig_atomic_t keep_alive;	/* a prompt runs: one Ctrl-C does not end it */
static volatile sig_atomic_t pending;		/* the hook is set and has not raised yet */
static volatile sig_atomic_t presses;		/* of Ctrl-C since the prompt last had control */
static volatile time_t last_press;		/* CLOCK_MONOTONIC, s */
static struct termios at_first;			/* the terminal's initial settings */
static bool has_terminal;

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !strcmp(text + n - m, end);
}

static bool is_of_prompt(lua_State *L, lua_Debug *ar)
{
	if (!lua_getinfo(L, "S", ar) || *ar->what == 'C')
		return true;
	return ends_with(ar->source, "prompt/loop.lua") || ends_with(ar->source, "prompt/statement.lua") ||
	       ends_with(ar->source, "notebook/serve.lua");
}

static void rest(lua_State *L);

/*
 * The hook that stops a script by an error. At a prompt, after a second press of Ctrl-C, the hook
 * stays set and raises again and again, except in the code of the prompt: otherwise a script could
 * catch the error by pcall() and go on.
 */
static void stop_script(lua_State *L, lua_Debug *ar)
{
	if (keep_alive && presses > 1) {
		if (is_of_prompt(L, ar))
			return;
	} else {
		rest(L);
		if (!pending)		/* a coroutine has outlived the stopped statement */
			return;
	}
	alarm(0);
	pending = 0;
	luaL_error(L, "interrupted");
}

#ifdef LUA_JITLIBNAME
/* Removes the hook. */
static void rest(lua_State *L)
{
	lua_sethook(L, NULL, 0, 0);
}
#else
static void look_for_presses(lua_State *L, lua_Debug *ar)
{
	if (!pending && presses <= 1)
		return;
	lua_sethook(L, stop_script, LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 1);
	stop_script(L, ar);
}

/*
 * Removes the hook. In PUC Lua each coroutine has a hook of its own, and the signal handler cannot
 * tell which coroutine runs: at a prompt, coroutines inherit a hook that looks for Ctrl-C.
 */
static void rest(lua_State *L)
{
	lua_sethook(L, keep_alive ? look_for_presses : NULL, keep_alive ? LUA_MASKCOUNT : 0, 100);
}
#endif

/*
 * Ends the program by SIGINT, for a script that the hook cannot stop: code that LuaJIT has compiled
 * runs no hooks.
 */
static void give_up(void)
{
	signal(SIGINT, SIG_DFL);
	raise(SIGINT);
}

/*
 * Handles SIGALRM. At a prompt the signal only makes a blocking call return EINTR. Elsewhere it
 * ends the program, since the hook has not raised in time.
 */
static void on_sigalrm(int sig)
{
	(void)sig;
	if (!keep_alive)
		give_up();
}

/*
 * Starts the timer of SIGALRM. At a prompt it fires every 0.1 s until the hook has raised, since a
 * call that blocks may have begun just after SIGINT. Elsewhere it fires once, after 1 s.
 */
static void repeat_signal(void)
{
	static const struct itimerval often = { { 0, 100000 }, { 0, 100000 } }, once = { { 0, 0 }, { 1, 0 } };
	struct sigaction sa = { .sa_handler = on_sigalrm };

	sigemptyset(&sa.sa_mask);
	sigaction(SIGALRM, &sa, NULL);	/* no SA_RESTART */
	setitimer(ITIMER_REAL, keep_alive ? &often : &once, NULL);
}

/*
 * Restores the settings of the terminal, and ends the prompt and the program. It is called if the
 * hook has not stopped the script, for example in a long C call.
 */
static void end_prompt(void)
{
	static const char last_words[] = "\033[?2004l\r\nlpfm: what runs cannot be interrupted; the prompt ends\r\n";

	if (has_terminal)
		tcsetattr(STDIN_FILENO, TCSANOW, &at_first);
	(void)!write(STDERR_FILENO, last_words, sizeof(last_words) - 1);
	give_up();
}

static time_t seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/*
 * Counts a press of Ctrl-C. Returns true if it is the third since the prompt last had control, or
 * if the press before was about a second ago or less and the hook has not raised yet.
 */
static bool has_insisted(void)
{
	time_t now = seconds(), since = now - last_press;

	presses = presses < PATIENCE ? presses + 1 : PATIENCE;
	last_press = now;
	return presses >= PATIENCE || (pending && since <= 1);
}

/*
 * Handles SIGINT. A signal handler cannot raise a Lua error, so it sets a hook, which raises one at
 * the next call, return or instruction.
 */
static void on_sigint(int sig)
{
	(void)sig;
	if (keep_alive ? has_insisted() : pending) {
		if (keep_alive)
			end_prompt();
		else
			give_up();
		return;
	}
	repeat_signal();
	pending = 1;
	lua_sethook(running, stop_script, LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 1);
}

static void catch_sigint(void)
{
	struct sigaction sa = { .sa_handler = on_sigint }, before;

	/*
	 * A shell makes background commands ignore SIGINT, and the commands that they run must
	 * ignore it, too. A prompt or a notebook must be interruptible even so.
	 */
	if (!keep_alive && !sigaction(SIGINT, NULL, &before) && before.sa_handler == SIG_IGN)
		return;
	sigemptyset(&sa.sa_mask);
	sigaction(SIGINT, &sa, NULL);	/* no SA_RESTART: blocking calls return EINTR */
}

bool repl_take_interrupt(void)
{
	bool was = pending || presses > 1;

	if (was)
		rest(running);
	alarm(0);
	pending = presses = 0;
	return was;
}

/* host.keep(bool): true says that a prompt runs, where one Ctrl-C does not end the program. */
static int host_keep(lua_State *L)
{
	keep_alive = lua_toboolean(L, 1);
	has_terminal = keep_alive && tcgetattr(STDIN_FILENO, &at_first) == 0;
	catch_sigint();
	rest(running);
	return 0;
}

/*
 * host.calm(): cancels the hook by which Ctrl-C stops a script. Returns true if it had still to
 * raise its error, or if Ctrl-C was pressed more than once.
 */
static int host_calm(lua_State *L)
{
	lua_pushboolean(L, repl_take_interrupt());
	return 1;
}

/*
 * host.try(f, ...): as pcall, but removes the hook if f fails: a hook that a script has set, as by
 * debug.sethook(error, "", 1), would raise again in the code that handles the failure.
 */
static int host_try(lua_State *L)
{
	int failed = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);

	if (failed)
		rest(L);
	lua_pushboolean(L, !failed);
	lua_insert(L, 1);
	return lua_gettop(L);
}

/*
 * host.ignoring(f): calls f with SIGINT ignored, as system(3) does: in a program that f waits for,
 * such as a pager, Ctrl-C is a key like others.
 */
static int host_ignoring(lua_State *L)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	int failed;

	sigaction(SIGINT, &ignore, &before);
	failed = lua_pcall(L, 0, 0, 0);
	sigaction(SIGINT, &before, NULL);
	return failed ? lua_error(L) : 0;
}

/* host.output_lost(): returns true if a write to standard output has failed. */
static int host_output_lost(lua_State *L)
{
	lua_pushboolean(L, ferror(stdout));
	return 1;
}

/* --- paths ---------------------------------------------------------------------------------- */

/* Pushes the directory of the program, with links resolved; "." if there is no /proc. */
static void push_exe_dir(lua_State *L)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n <= 0) {
		lua_pushliteral(L, ".");
		return;
	}
	path[n] = '\0';
	char *slash = strrchr(path, '/');

	lua_pushlstring(L, path, slash && slash > path ? (size_t)(slash - path) : 1);
}

static bool has_scripts(lua_State *L, const char *dir)
{
	const char *file = lua_pushfstring(L, "%s/../repl/command/init.lua", dir);
	bool found = access(file, R_OK) == 0;

	lua_pop(L, 1);
	return found;
}

/* Pushes the directory of the scripts: LPFM_SCRIPTS, the source tree's, or the installed one. */
static void push_script_dir(lua_State *L, const char *exe_dir)
{
	const char *env = getenv("LPFM_SCRIPTS");
	const char *const places[] = {
		"%s/../../scripts", "%s/../../../scripts",	/* from build/LUA, build/san/LUA */
		"%s/../share/lpfm/scripts", LPFM_SCRIPTDIR,
	};

	if (env) {
		if (!has_scripts(L, env))
			luaL_error(L, "LPFM_SCRIPTS is '%s', and there is no repl/command/init.lua beside it", env);
		lua_pushstring(L, env);
		return;
	}
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const char *dir = lua_pushfstring(L, places[i], exe_dir);

		if (has_scripts(L, dir))
			return;
		lua_pop(L, 1);
	}
	luaL_error(L, "lpfm's scripts are neither in the source tree nor in %s; set LPFM_SCRIPTS",
		   LPFM_SCRIPTDIR);
}

static void prepend(lua_State *L, const char *field, const char *path)
{
	lua_getglobal(L, "package");
	lua_getfield(L, -1, field);
	lua_pushfstring(L, "%s;%s", path, lua_tostring(L, -1));
	lua_setfield(L, -3, field);
	lua_pop(L, 2);
}

/*
 * Puts directories in front of package.cpath: first $LPFM_CPATH, then that of the program, then
 * those of the installed modules.
 */
static void set_cpath(lua_State *L, const char *exe_dir)
{
	const char *env = getenv("LPFM_CPATH");

	prepend(L, "cpath", LPFM_PREFIX "/" LPFM_LIB "/lpfm/?.so");
	prepend(L, "cpath", lua_pushfstring(L, "%s/../" LPFM_LIB "/lpfm/?.so", exe_dir));
	prepend(L, "cpath", lua_pushfstring(L, "%s/?.so", exe_dir));
	if (env)
		prepend(L, "cpath", lua_pushfstring(L, "%s/?.so", env));
}

/* --- modules that the program provides ------------------------------------------------------ */

static int open_host(lua_State *L)
{
	static const luaL_Reg host[] = {
		{ "keep", host_keep },
		{ "calm", host_calm },
		{ "try", host_try },
		{ "ignoring", host_ignoring },
		{ "output_lost", host_output_lost },
		{ NULL, NULL },
	};

	lua_newtable(L);
	for (const luaL_Reg *f = host; f->name; f++) {
		lua_pushcfunction(L, f->func);
		lua_setfield(L, -2, f->name);
	}
	lua_getfield(L, LUA_REGISTRYINDEX, "lpfm.scripts");
	lua_setfield(L, -2, "scripts");
	return 1;
}

static void preload(lua_State *L, const char *name, lua_CFunction open)
{
	lua_getglobal(L, "package");
	lua_getfield(L, -1, "preload");
	lua_pushcfunction(L, open);
	lua_setfield(L, -2, name);
	lua_pop(L, 2);
}

static void prepare(lua_State *L)
{
	luaL_openlibs(L);
	push_exe_dir(L);
	const char *exe_dir = lua_tostring(L, -1);

	push_script_dir(L, exe_dir);
	const char *scripts = lua_tostring(L, -1);

	lua_pushvalue(L, -1);
	lua_setfield(L, LUA_REGISTRYINDEX, "lpfm.scripts");
	prepend(L, "path", lua_pushfstring(L, "%s/../lua/?.lua", exe_dir));	/* generated */
	prepend(L, "path", lua_pushfstring(L, "%s/?.lua;%s/../?.lua;%s/../?/init.lua", scripts, scripts, scripts));
	set_cpath(L, exe_dir);
	preload(L, "repl.host", open_host);
	preload(L, "repl.line", luaopen_repl_line);
	preload(L, "repl.keys", luaopen_repl_keys);
	lua_settop(L, 0);
}

/* --- running -------------------------------------------------------------------------------- */

/* Returns true for the error that stop_script() raises: its message ends in "interrupted". */
static bool is_interrupt(lua_State *L, int index)
{
	return lua_isstring(L, index) && ends_with(lua_tostring(L, index), "interrupted");
}

static int add_traceback(lua_State *L)
{
	if (!lua_isstring(L, 1) || is_interrupt(L, 1))
		return 1;
	lua_getglobal(L, "debug");
	lua_getfield(L, -1, "traceback");
	lua_pushvalue(L, 1);
	lua_pushinteger(L, 2);
	lua_call(L, 2, 1);
	return 1;
}

static int protected_main(lua_State *L)
{
	struct command_line *cl = lua_touserdata(L, 1);

	prepare(L);
	lua_pushcfunction(L, add_traceback);
	lua_getglobal(L, "require");
	lua_pushvalue(L, -1);
	lua_pushliteral(L, "repl.environment");
	lua_call(L, 1, 0);
	lua_pushliteral(L, "repl.command");
	lua_call(L, 1, 1);
	lua_getfield(L, -1, "main");
	lua_remove(L, -2);
	lua_createtable(L, cl->argc, 0);
	for (int i = 1; i < cl->argc; i++) {
		lua_pushstring(L, cl->argv[i]);
		lua_rawseti(L, -2, i);
	}
	if (lua_pcall(L, 1, 1, 1))
		lua_error(L);
	cl->status = (int)lua_tointeger(L, -1);
	return 0;
}

/* Reports an error outside of command.main(), which reports all others, and returns the status. */
static int complain(lua_State *L)
{
	bool interrupted = is_interrupt(L, -1);
	const char *msg = interrupted ? "interrupted" : lua_tostring(L, -1);

	fflush(stdout);
	fprintf(stderr, "lpfm: %s\n", msg ? msg : "(error object is not a string)");
	return interrupted ? 128 + SIGINT : EXIT_FAILURE;
}

static void nothing(int sig)
{
	(void)sig;
}

/*
 * Makes a write(2) beyond RLIMIT_FSIZE fail with EFBIG, which is reported as a full disk is,
 * instead of ending the program by SIGXFSZ. Measured commands are not affected: exec(2) removes the
 * handler.
 */
static void catch_sigxfsz(void)
{
	if (signal(SIGXFSZ, nothing) == SIG_IGN)
		signal(SIGXFSZ, SIG_IGN);
}

/*
 * Takes the numbers of the standard descriptors that are closed, so that no file gets one of them:
 * output of a measured command would go into that file. For a command they stay closed. Our own
 * reads and writes of them still fail with EBADF.
 */
static void take_closed(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", O_CLOEXEC | (fd ? O_RDONLY : O_WRONLY));
}

int main(int argc, char **argv)
{
	struct command_line cl = { argc, argv, EXIT_FAILURE };
	lua_State *L = luaL_newstate();

	if (!L) {
		fputs("lpfm: not enough memory\n", stderr);
		return EXIT_FAILURE;
	}
	running = L;
	take_closed();
	catch_sigint();
	catch_sigxfsz();
	if (lua_cpcall(L, protected_main, &cl))
		cl.status = complain(L);
	if (signal(SIGINT, SIG_DFL) == SIG_IGN)	/* the handler must not touch the closed state */
		signal(SIGINT, SIG_IGN);
	lua_close(L);
	return cl.status;
}
