/* SPDX-License-Identifier: MIT */
/* repl.h - functions shared by the C files of the program. */
#ifndef LPFM_REPL_H
#define LPFM_REPL_H

#include <stdbool.h>

#include <lua.h>

/*
 * Cancels the hook by which Ctrl-C stops the script. Returns true if Ctrl-C was pressed since the
 * last call; false, too, if it was pressed once and the hook has already raised its error.
 */
bool repl_take_interrupt(void);

/* Opens the module repl.line, which reads lines from a terminal or a pipe. */
int luaopen_repl_line(lua_State *L);

/* Opens the module repl.keys: a terminal's size and keys. */
int luaopen_repl_keys(lua_State *L);

#endif
