/* SPDX-License-Identifier: MIT */
/*
 * line.c - lines from a terminal through readline, from anything else through stdio; the module
 * pfm.line, and the only file that knows readline.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>

#include <readline/history.h>
#include <readline/readline.h>

#include "repl.h"

static lua_State *completer_state;	/* the state that reads, while it reads */
static int completer_ref = LUA_NOREF;
static char *got_line;
static bool got_it;

static bool smart_terminal(void)
{
	const char *term = getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0;
}

/* --- completion ----------------------------------------------------------------------------- */

/* The quote character that is open before the cursor, or 0. */
static char open_quote(void)
{
	char quote = 0;

	for (int i = 0; i < rl_point; i++) {
		char c = rl_line_buffer[i];

		if (quote && c == '\\')
			i++;
		else if (quote ? c == quote : c == '"' || c == '\'')
			quote = quote ? 0 : c;
	}
	return quote;
}

/* Inside strings '-' and ':' belong to names of events. */
static char *word_breaks(void)
{
	static char code[] = " \t\n\"'+-*/%^#=<>~;,(){}[]";
	static char text[] = " \t\n\"',";

	return open_quote() ? text : code;
}

/* Calls the script's completer(word, line before the word, open quote); a table of words on top. */
static bool ask_completer(lua_State *L, const char *word, int start)
{
	char quote = open_quote();

	lua_rawgeti(L, LUA_REGISTRYINDEX, completer_ref);
	lua_pushstring(L, word);
	lua_pushlstring(L, rl_line_buffer, (size_t)start);
	lua_pushlstring(L, &quote, quote ? 1 : 0);
	return lua_pcall(L, 3, 1, 0) == 0 && lua_istable(L, -1);
}

static size_t common_prefix(char **words, size_t n)
{
	size_t len = strlen(words[0]);

	for (size_t i = 1; i < n; i++) {
		size_t k = 0;

		while (k < len && words[i][k] == words[0][k])
			k++;
		len = k;
	}
	return len;
}

/* readline wants what all have in common first, then the words, all from malloc. */
static char **to_matches(lua_State *L)
{
	size_t n = lua_objlen(L, -1);
	char **m = n ? calloc(n + 2, sizeof(*m)) : NULL;

	if (!m)
		return NULL;
	for (size_t i = 1; i <= n; i++) {
		lua_rawgeti(L, -1, (int)i);
		const char *s = lua_tostring(L, -1);

		m[i] = strdup(s ? s : "");
		lua_pop(L, 1);
		if (!m[i])
			break;
	}
	m[0] = m[1] ? strndup(m[1], common_prefix(m + 1, n)) : NULL;
	return m;
}

static char **complete(const char *word, int start, int end)
{
	lua_State *L = completer_state;
	int top = lua_gettop(L);
	char **matches = NULL;

	(void)end;
	rl_attempted_completion_over = 1;
	rl_completion_append_character = '\0';
	if (completer_ref != LUA_NOREF && ask_completer(L, word, start))
		matches = to_matches(L);
	lua_settop(L, top);
	return matches;
}

/* line.complete(function(word, before, quote) -> words) */
static int line_complete(lua_State *L)
{
	luaL_checktype(L, 1, LUA_TFUNCTION);
	luaL_unref(L, LUA_REGISTRYINDEX, completer_ref);
	lua_settop(L, 1);
	completer_ref = luaL_ref(L, LUA_REGISTRYINDEX);
	return 0;
}

/* --- reading -------------------------------------------------------------------------------- */

static void take_line(char *line)
{
	got_line = line;
	got_it = true;
	rl_callback_handler_remove();	/* at once, or the prompt is shown again */
}

static void prepare_readline(void)
{
	static bool done;

	if (done)
		return;
	done = true;
	rl_readline_name = "lpfm";
	rl_catch_signals = 0;		/* Ctrl-C is the program's */
	rl_basic_quote_characters = "";
	rl_completer_quote_characters = NULL;
	rl_attempted_completion_function = complete;
	rl_completion_word_break_hook = word_breaks;
	using_history();
	history_comment_char = '#';	/* time stamps: entries may have several lines */
	history_write_timestamps = 1;
}

static void drop_line(void)
{
	rl_point = rl_end;
	rl_redisplay();
	fputs("^C", stdout);
	rl_free_line_state();
	rl_callback_sigcleanup();
	rl_callback_handler_remove();	/* ends bracketed paste, in the first column */
	fputs("\n", stdout);
}

static int push_failure(lua_State *L, const char *why)
{
	lua_pushnil(L);
	lua_pushstring(L, why);
	return 2;
}

static int edit_line(lua_State *L, const char *prompt)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };

	prepare_readline();
	completer_state = L;
	got_it = false;
	rl_callback_handler_install(prompt, take_line);
	while (!got_it) {
		int n = poll(&in, 1, -1);

		if (repl_take_interrupt()) {
			drop_line();
			return push_failure(L, "interrupted");
		}
		if (n > 0)
			rl_callback_read_char();
		else if (errno == EINTR)
			rl_resize_terminal();
	}
	if (!got_line)
		return push_failure(L, "eof");
	lua_pushstring(L, got_line);
	free(got_line);
	return 1;
}

/* A line of any length from a pipe, or from a terminal that cannot move its cursor. */
static int plain_line(lua_State *L, const char *prompt)
{
	char *line = NULL;
	size_t room = 0;

	if (isatty(STDIN_FILENO)) {
		fputs(prompt, stdout);
		fflush(stdout);
	}
	ssize_t n = getline(&line, &room, stdin);

	if (n < 0) {
		free(line);
		clearerr(stdin);
		return push_failure(L, repl_take_interrupt() ? "interrupted" : "eof");
	}
	lua_pushlstring(L, line, (size_t)(n && line[n - 1] == '\n' ? n - 1 : n));
	free(line);
	return 1;
}

/* line.read(prompt) -> line, or nil and "eof" or "interrupted" */
static int line_read(lua_State *L)
{
	const char *prompt = luaL_checkstring(L, 1);

	fflush(stdout);
	return smart_terminal() ? edit_line(L, prompt) : plain_line(L, prompt);
}

/* --- history -------------------------------------------------------------------------------- */

/* line.add(text): remembers an entry, unless it repeats the last one. */
static int line_add(lua_State *L)
{
	const char *text = luaL_checkstring(L, 1);
	HIST_ENTRY *last = history_length ? history_get(history_base + history_length - 1) : NULL;

	if (*text && !(last && strcmp(last->line, text) == 0))
		add_history(text);
	return 0;
}

/* line.load(file) -> true, or nil, message, errno */
static int line_load(lua_State *L)
{
	prepare_readline();
	int err = read_history(luaL_checkstring(L, 1));

	if (!err) {
		lua_pushboolean(L, 1);
		return 1;
	}
	push_failure(L, strerror(err));
	lua_pushinteger(L, err);
	return 3;
}

/* line.save(file, entries) -> true, or nil, message, errno; keeps the last entries. */
static int line_save(lua_State *L)
{
	const char *file = luaL_checkstring(L, 1);
	int keep = (int)luaL_checkinteger(L, 2);
	int err;

	prepare_readline();
	stifle_history(keep);
	err = write_history(file);
	if (!err) {
		lua_pushboolean(L, 1);
		return 1;
	}
	push_failure(L, strerror(err));
	lua_pushinteger(L, err);
	return 3;
}

/* line.tty() -> are there a person's keyboard and screen; line.smart() -> and can it edit */
static int line_tty(lua_State *L)
{
	lua_pushboolean(L, isatty(STDIN_FILENO));
	return 1;
}

static int line_smart(lua_State *L)
{
	lua_pushboolean(L, smart_terminal());
	return 1;
}

int luaopen_pfm_line(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "read", line_read },
		{ "add", line_add },
		{ "load", line_load },
		{ "save", line_save },
		{ "complete", line_complete },
		{ "tty", line_tty },
		{ "smart", line_smart },
		{ NULL, NULL },
	};

	lua_newtable(L);
	for (const luaL_Reg *f = functions; f->name; f++) {
		lua_pushcfunction(L, f->func);
		lua_setfield(L, -2, f->name);
	}
	return 1;
}
