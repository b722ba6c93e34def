/* SPDX-License-Identifier: MIT */
/*
 * line.c - the module repl.line, which reads lines: by readline from a terminal that can move its
 * cursor, by stdio from anything else. No other file uses readline.
 */
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
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

#define PROMPT_WIDTH	6	/* columns of the prompt before the first line */
#define IDLE_FDS	64
#define LINE_MOST	4096	/* bytes of the tty driver's longest line, with newline */

/* Functions of the script that are called while a line is read; line.on() sets them. */
enum { WORDS, QUOTE, MORE, IDLE, HOOKS };

static const char *const hook_names[HOOKS] = { "words", "quote", "more", "idle" };
static int hooks[HOOKS] = { LUA_NOREF, LUA_NOREF, LUA_NOREF, LUA_NOREF };
static lua_State *state;	/* for readline's call-backs; edit_line() sets it */
static char *got_line;
static bool got_it;
static bool struck;		/* Ctrl-C was pressed while a line is read */

static bool smart_terminal(void)
{
	const char *term = getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0;
}

/* --- hooks ---------------------------------------------------------------------------------- */

/*
 * Calls a hook with the n values on top of the stack, and pops these. Returns true and leaves the
 * results on the stack; returns false and leaves nothing if the hook is not set or raises an error.
 */
static bool call_hook(lua_State *L, int hook, int n, int results)
{
	if (hooks[hook] == LUA_NOREF) {
		lua_pop(L, n);
		return false;
	}
	lua_rawgeti(L, LUA_REGISTRYINDEX, hooks[hook]);
	lua_insert(L, -n - 1);
	if (lua_pcall(L, n, results, 0) == 0)
		return true;
	const char *err = lua_tostring(L, -1);

	struck = struck || (err && strstr(err, "interrupted"));
	lua_pop(L, 1);
	return false;
}

/*
 * line.on{words=, quote=, more=, idle=}: sets functions that are called while a line is edited.
 *    words(word, before, quote) -> the words that complete a word
 *    quote(text) -> the quote that is open at the end of the text, or ""
 *    more(text, pasting) -> what Enter inserts if the text is not complete, or nil; and the text
 *       that replaces the edited one, or nil. pasting is true if further input is waiting.
 *    idle() -> a list of descriptors and a number of seconds to wait for, and a text to show above
 *       the line; each may be nil
 */
static int line_on(lua_State *L)
{
	luaL_checktype(L, 1, LUA_TTABLE);
	for (int i = 0; i < HOOKS; i++) {
		lua_getfield(L, 1, hook_names[i]);
		luaL_unref(L, LUA_REGISTRYINDEX, hooks[i]);
		hooks[i] = LUA_NOREF;
		if (lua_isfunction(L, -1))
			hooks[i] = luaL_ref(L, LUA_REGISTRYINDEX);
		else
			lua_pop(L, 1);
	}
	return 0;
}

/* --- completion ----------------------------------------------------------------------------- */

/* Pushes and returns the quote that is open before the cursor, or "" if none is. */
static const char *push_quote(lua_State *L)
{
	lua_pushlstring(L, rl_line_buffer, (size_t)rl_point);
	if (!call_hook(L, QUOTE, 1, 1))
		lua_pushliteral(L, "");
	return lua_isstring(L, -1) ? lua_tostring(L, -1) : "";
}

/* Returns the characters that separate words. In strings, - and : do not: event names have them. */
static char *word_breaks(void)
{
	static char code[] = " \t\n\"'+-*/%^#=<>~;,(){}[]";
	static char text[] = " \t\n\"',";
	bool quoted = *push_quote(state);

	lua_pop(state, 1);
	return quoted ? text : code;
}

/*
 * Calls words(word, text before the word, open quote). Returns true if that has left a table of
 * words on the stack.
 */
static bool ask_words(lua_State *L, const char *word, int start)
{
	lua_pushstring(L, word);
	lua_pushlstring(L, rl_line_buffer, (size_t)start);
	push_quote(L);
	return call_hook(L, WORDS, 3, 1) && lua_istable(L, -1);
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

/*
 * Makes an array for readline of the table of words on top of the stack: their common prefix, then
 * the words, all from malloc(). Returns NULL if there are no words or there is no memory.
 */
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
	int top = lua_gettop(state);
	char **matches = NULL;

	(void)end;
	rl_attempted_completion_over = 1;
	rl_completion_append_character = '\0';
	if (ask_words(state, word, start))
		matches = to_matches(state);
	lua_settop(state, top);
	return matches;
}

/* --- several lines in one buffer ------------------------------------------------------------ */

static bool more_is_waiting(void)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&in, 1, 0) > 0;
}

static void replace_text(const char *text)
{
	if (!text || rl_point != rl_end)
		return;
	rl_replace_line(text, 0);
	rl_point = rl_end;
	rl_redisplay();
}

/*
 * Handles Enter: inserts the text that the hook `more` returns if the statement is not complete;
 * otherwise the line ends.
 */
static int on_return(int count, int key)
{
	lua_pushlstring(state, rl_line_buffer, (size_t)rl_end);
	lua_pushboolean(state, more_is_waiting());
	if (!call_hook(state, MORE, 2, 2))
		return rl_newline(count, key);
	const char *more = lua_tostring(state, -2);

	replace_text(lua_tostring(state, -1));
	if (more)
		rl_insert_text(more);
	lua_pop(state, 2);
	return more ? 0 : rl_newline(count, key);
}

static int line_begin(int at)
{
	while (at > 0 && rl_line_buffer[at - 1] != '\n')
		at--;
	return at;
}

static int line_end(int at)
{
	while (at < rl_end && rl_line_buffer[at] != '\n')
		at++;
	return at;
}

/*
 * Moves the cursor to the line that begins at begin, into the same column of the screen; only the
 * first line has the prompt in front.
 */
static void move_to_line(int begin)
{
	int from = line_begin(rl_point), end = line_end(begin);
	int column = rl_point - from + (from ? 0 : PROMPT_WIDTH) - (begin ? 0 : PROMPT_WIDTH);
	int at = begin + (column > 0 ? column : 0);

	rl_point = at < end ? at : end;
	while (rl_point > begin && ((unsigned char)rl_line_buffer[rl_point] & 0xc0) == 0x80)
		rl_point--;
}

/* Up and Down move through the lines of the buffer, and beyond these through the history. */
static int on_up(int count, int key)
{
	int begin = line_begin(rl_point);

	if (!begin)
		return rl_get_previous_history(count, key);
	move_to_line(line_begin(begin - 1));
	return 0;
}

static int on_down(int count, int key)
{
	int end = line_end(rl_point);

	if (end == rl_end)
		return rl_get_next_history(count, key);
	move_to_line(end + 1);
	return 0;
}

static int on_home(int count, int key)
{
	(void)count;
	(void)key;
	rl_point = line_begin(rl_point);
	return 0;
}

static int on_end(int count, int key)
{
	(void)count;
	(void)key;
	rl_point = line_end(rl_point);
	return 0;
}

static void bind_keys(void)
{
	static const struct { const char *keys; rl_command_func_t *function; } keys[] = {
		{ "\r", on_return }, { "\n", on_return },
		{ "\033[A", on_up }, { "\033OA", on_up }, { "\033[B", on_down }, { "\033OB", on_down },
		{ "\001", on_home }, { "\033[H", on_home }, { "\033OH", on_home }, { "\033[1~", on_home },
		{ "\005", on_end }, { "\033[F", on_end }, { "\033OF", on_end }, { "\033[4~", on_end },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		rl_bind_keyseq(keys[i].keys, keys[i].function);
}

/* --- reading -------------------------------------------------------------------------------- */

static void take_line(char *line)
{
	got_line = line;
	got_it = true;
	rl_callback_handler_remove();	/* before readline shows the prompt again */
}

static void prepare_readline(void)
{
	static bool done;

	if (done)
		return;
	done = true;
	rl_readline_name = "lpfm";
	rl_catch_signals = 0;		/* main.c handles Ctrl-C */
	rl_basic_quote_characters = "";
	rl_completer_quote_characters = NULL;
	rl_attempted_completion_function = complete;
	rl_completion_word_break_hook = word_breaks;
	setlocale(LC_CTYPE, "");	/* for multibyte characters */
	rl_initialize();
	bind_keys();
	using_history();
	history_comment_char = '#';	/* marks time stamps between entries */
	history_write_timestamps = 1;
}

static void drop_line(void)
{
	rl_point = rl_end;
	rl_redisplay();
	fputs("^C", stdout);
	rl_free_line_state();
	rl_callback_sigcleanup();
	rl_callback_handler_remove();	/* ends bracketed paste, and moves the cursor to column 0 */
	fputs("\n", stdout);
}

static int push_failure(lua_State *L, const char *why)
{
	lua_pushnil(L);
	lua_pushstring(L, why);
	return 2;
}

/* --- waiting for input ---------------------------------------------------------------------- */

struct waiting {
	struct pollfd	fds[IDLE_FDS];
	nfds_t		n;
	int		ms;	/* -1: without a timeout */
};

static void add_fds(lua_State *L, int idx, struct waiting *w)
{
	for (int i = 1; w->n < IDLE_FDS; i++) {
		lua_rawgeti(L, idx, i);
		if (lua_isnil(L, -1))
			break;
		w->fds[w->n++] = (struct pollfd){ .fd = (int)lua_tointeger(L, -1), .events = POLLIN };
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
}

static void show_above(const char *text, bool editing)
{
	if (editing)
		rl_clear_visible_line();
	fputs(text, stdout);
	fputs("\n", stdout);
	fflush(stdout);
	if (!editing)
		return;
	rl_on_new_line();
	rl_redisplay();
}

/* Calls the script's idle(); fills w with stdin, the script's descriptors and its timeout. */
static void idle(lua_State *L, struct waiting *w, bool editing)
{
	w->fds[0] = (struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN };
	w->n = 1;
	w->ms = -1;
	if (!call_hook(L, IDLE, 0, 3))
		return;
	int top = lua_gettop(L);

	if (lua_istable(L, top - 2))
		add_fds(L, top - 2, w);
	if (lua_isnumber(L, top - 1))
		w->ms = (int)(lua_tonumber(L, top - 1) * 1000) + 1;
	if (lua_isstring(L, top))
		show_above(lua_tostring(L, top), editing);
	lua_settop(L, top - 3);
}

/*
 * Calls idle(), then waits for stdin and the script's descriptors. Returns what ppoll() returns;
 * after a signal, -1 with EINTR in errno. After Ctrl-C, struck is true.
 */
static int wait_for_input(lua_State *L, struct waiting *w, bool editing)
{
	sigset_t ctrl_c, before;
	struct timespec left;
	int n;

	idle(L, w, editing);
	left = (struct timespec){ w->ms / 1000, w->ms % 1000 * 1000000L };
	sigemptyset(&ctrl_c);
	sigaddset(&ctrl_c, SIGINT);
	sigprocmask(SIG_BLOCK, &ctrl_c, &before);	/* ppoll() unblocks SIGINT */
	struck = repl_take_interrupt() || struck;
	errno = EINTR;
	n = struck ? -1 : ppoll(w->fds, w->n, w->ms < 0 ? NULL : &left, &before);
	int err = errno;

	sigprocmask(SIG_SETMASK, &before, NULL);
	struck = repl_take_interrupt() || struck;
	errno = err;
	return n;
}

static int edit_line(lua_State *L, const char *prompt)
{
	struct waiting w;

	prepare_readline();
	state = L;
	got_it = struck = false;
	rl_callback_handler_install(prompt, take_line);
	while (!got_it) {
		int n = wait_for_input(L, &w, true);

		if (struck) {
			drop_line();
			return push_failure(L, "interrupted");
		}
		if (n > 0 && w.fds[0].revents)
			rl_callback_read_char();
		else if (n < 0 && errno == EINTR)
			rl_resize_terminal();
	}
	if (!got_line)
		return push_failure(L, "eof");
	lua_pushstring(L, got_line);
	free(got_line);
	return 1;
}

/*
 * Waits until the terminal has a line. Returns false after Ctrl-C. stdin becomes unbuffered, since
 * poll() does not see lines that stdio has read ahead.
 */
static bool await_line(lua_State *L)
{
	struct waiting w;
	int n = 0;

	setvbuf(stdin, NULL, _IONBF, 0);
	struck = false;
	do
		n = wait_for_input(L, &w, false);
	while (!struck && (n <= 0 || !w.fds[0].revents));
	return !struck;
}

/* Reads a line of any length from a pipe, or from a terminal that cannot move its cursor. */
static int plain_line(lua_State *L, const char *prompt)
{
	char *line = NULL;
	size_t room = 0;

	if (isatty(STDIN_FILENO)) {
		fputs(prompt, stdout);
		fflush(stdout);
		if (!await_line(L))
			return push_failure(L, "interrupted");
	} else {
		struct waiting w;

		idle(L, &w, false);
	}
	ssize_t n = getline(&line, &room, stdin);

	if (n < 0) {
		free(line);
		clearerr(stdin);
		return push_failure(L, repl_take_interrupt() ? "interrupted" : "eof");
	}
	if (n >= LINE_MOST && isatty(STDIN_FILENO)) {
		free(line);
		return push_failure(L, "the terminal has cut this line after 4,095 bytes: run a longer one "
				       "from a file, or where TERM is not dumb");
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

/* line.add(text): adds an entry to the history, unless it equals the last one. */
static int line_add(lua_State *L)
{
	const char *text = luaL_checkstring(L, 1);
	HIST_ENTRY *last = history_length ? history_get(history_base + history_length - 1) : NULL;

	if (*text && !(last && strcmp(last->line, text) == 0))
		add_history(text);
	return 0;
}

/* Pushes true if err is 0, or else nil, the message and err. Returns how many values these are. */
static int push_outcome(lua_State *L, int err)
{
	if (!err) {
		lua_pushboolean(L, 1);
		return 1;
	}
	push_failure(L, strerror(err));
	lua_pushinteger(L, err);
	return 3;
}

/* line.load(file) -> true, or nil, message, errno */
static int line_load(lua_State *L)
{
	prepare_readline();
	return push_outcome(L, read_history(luaL_checkstring(L, 1)));
}

/*
 * line.save(file, entries) -> true, or nil, message, errno. The file gets the last entries of the
 * history, at most this many.
 */
static int line_save(lua_State *L)
{
	const char *file = luaL_checkstring(L, 1);
	int keep = (int)luaL_checkinteger(L, 2);

	prepare_readline();
	stifle_history(keep);
	return push_outcome(L, write_history(file));
}

/* line.entries(n) -> the last n entries, the oldest first */
static int line_entries(lua_State *L)
{
	int n = (int)luaL_checkinteger(L, 1);
	int from = history_length > n ? history_length - n : 0;

	lua_newtable(L);
	for (int i = from; i < history_length; i++) {
		HIST_ENTRY *entry = history_get(history_base + i);

		lua_pushstring(L, entry ? entry->line : "");
		lua_rawseti(L, -2, i - from + 1);
	}
	return 1;
}

/* line.tty() -> whether stdin is a terminal */
static int line_tty(lua_State *L)
{
	lua_pushboolean(L, isatty(STDIN_FILENO));
	return 1;
}

/* line.smart() -> whether lines are edited: stdin and stdout are terminals, and TERM is not dumb */
static int line_smart(lua_State *L)
{
	lua_pushboolean(L, smart_terminal());
	return 1;
}

int luaopen_repl_line(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "read", line_read },
		{ "add", line_add },
		{ "load", line_load },
		{ "save", line_save },
		{ "entries", line_entries },
		{ "on", line_on },
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
