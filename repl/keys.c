/* SPDX-License-Identifier: MIT */
/*
 * keys.c - a terminal's size and single keys; the module repl.keys, for views that are updated in
 * place.
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
static bool raw;

/* screen.size() -> columns, rows; nothing where stdout is no terminal. */
static int screen_size(lua_State *L)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col || !size.ws_row)
		return 0;
	lua_pushinteger(L, size.ws_col);
	lua_pushinteger(L, size.ws_row);
	return 2;
}

/* It only ends a poll(). */
static void on_resize(int sig)
{
	(void)sig;
}

static void enter_raw(void)
{
	struct sigaction sa = { .sa_handler = on_resize };
	struct termios keys;

	if (raw || tcgetattr(STDIN_FILENO, &cooked))
		return;
	keys = cooked;
	keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);	/* Ctrl-C is a key like others */
	keys.c_cc[VMIN] = 1;
	keys.c_cc[VTIME] = 0;
	raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &keys) == 0;
	if (raw)
		sigaction(SIGWINCH, &sa, &before);
}

static void leave_raw(void)
{
	if (!raw)
		return;
	raw = false;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &cooked);
	sigaction(SIGWINCH, &before, NULL);
}

/* screen.raw(bool): keys come one by one, and are not shown. Returns whether they do. */
static int screen_raw(lua_State *L)
{
	if (lua_toboolean(L, 1))
		enter_raw();
	else
		leave_raw();
	lua_pushboolean(L, raw);
	return 1;
}

/* screen.key(seconds) -> a key; or nil and "timeout", "resize", "eof", "interrupted" */
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
		{ "key", screen_key },
		{ "raw", screen_raw },
		{ "size", screen_size },
		{ NULL, NULL },
	};

	lua_newtable(L);
	luaL_register(L, NULL, functions);
	return 1;
}
