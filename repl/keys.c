/* SPDX-License-Identifier: MIT */
/*
 * keys.c - the module repl.keys, for views that are updated in place: the size of a terminal, its
 * alternate screen, and single keys.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>

#include "repl.h"

static struct termios cooked;
static struct sigaction before;
static bool raw, full, resizes;

/* Signals that end the program; their handler restores the terminal first. */
static const int fatal[] = { SIGHUP, SIGTERM, SIGQUIT, SIGSEGV, SIGBUS, SIGABRT };
#define FATAL (sizeof(fatal) / sizeof(*fatal))
static struct sigaction was[FATAL];

/* screen.size() -> columns, rows; nothing if stdout is not a terminal. */
static int screen_size(lua_State *L)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col || !size.ws_row)
		return 0;
	lua_pushinteger(L, size.ws_col);
	lua_pushinteger(L, size.ws_row);
	return 2;
}

/* Does nothing: the signal only has to interrupt poll(). */
static void on_resize(int sig)
{
	(void)sig;
}

/* Switches to the terminal's alternate screen, without a cursor, or back. */
static void set_full(bool on)
{
	static const char enter[] = "\033[?1049h\033[?25l", leave[] = "\033[?25h\033[?1049l";
	ssize_t ignored;

	if (full == on)
		return;
	full = on;
	ignored = on ? write(STDOUT_FILENO, enter, sizeof(enter) - 1)
		     : write(STDOUT_FILENO, leave, sizeof(leave) - 1);
	(void)ignored;
}

static void on_fatal(int sig)
{
	set_full(false);
	if (raw)
		tcsetattr(STDIN_FILENO, TCSANOW, &cooked);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void watch_fatal(void)
{
	struct sigaction sa = { .sa_handler = on_fatal };

	for (size_t i = 0; i < FATAL; i++)
		sigaction(fatal[i], &sa, &was[i]);
}

static void forget_fatal(void)
{
	for (size_t i = 0; i < FATAL; i++)
		sigaction(fatal[i], &was[i], NULL);
}

static void enter_raw(bool resize)
{
	struct sigaction sa = { .sa_handler = on_resize };
	struct termios keys;

	if (raw || tcgetattr(STDIN_FILENO, &cooked))
		return;
	keys = cooked;
	keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);	/* Ctrl-C is read as a key */
	keys.c_cc[VMIN] = 1;
	keys.c_cc[VTIME] = 0;
	raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &keys) == 0;
	if (!raw)
		return;
	resizes = resize;
	if (resizes)
		sigaction(SIGWINCH, &sa, &before);
	watch_fatal();
}

static void leave_raw(void)
{
	if (!raw)
		return;
	raw = false;
	forget_fatal();
	tcsetattr(STDIN_FILENO, TCSADRAIN, &cooked);
	if (resizes)
		sigaction(SIGWINCH, &before, NULL);
}

/*
 * screen.raw(bool, live): reads single keys without echo, or stops that. Returns whether the
 * terminal is raw. If live is true, a change of the terminal's size does not interrupt poll().
 */
static int screen_raw(lua_State *L)
{
	if (lua_toboolean(L, 1))
		enter_raw(!lua_toboolean(L, 2));
	else
		leave_raw();
	lua_pushboolean(L, raw);
	return 1;
}

/* screen.full(bool): switches to the alternate screen, without a cursor, or back. */
static int screen_full(lua_State *L)
{
	set_full(lua_toboolean(L, 1));
	return 0;
}

/* screen.key(seconds) -> a key; or nil and the reason: "timeout", "resize", "eof", "interrupted" */
static int screen_key(lua_State *L)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	int n = poll(&in, 1, (int)(luaL_checknumber(L, 1) * 1000));
	const char *why = n ? "eof" : "timeout";
	char key;

	if (n > 0 && read(STDIN_FILENO, &key, 1) == 1) {
		lua_pushlstring(L, &key, 1);
		return 1;
	}
	if (n < 0)
		why = repl_take_interrupt() ? "interrupted" : "resize";
	lua_pushnil(L);
	lua_pushstring(L, why);
	return 2;
}

int luaopen_repl_keys(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "full", screen_full },
		{ "key", screen_key },
		{ "raw", screen_raw },
		{ "size", screen_size },
		{ NULL, NULL },
	};

	lua_newtable(L);
	luaL_register(L, NULL, functions);
	return 1;
}
