/* SPDX-License-Identifier: MIT */
/* repl.h - what the parts of the program share. */
#ifndef LPFM_REPL_H
#define LPFM_REPL_H

#include <stdbool.h>

#include <lua.h>

/* True if Ctrl-C was pressed since the last call; a script is no longer stopped by it. */
bool repl_take_interrupt(void);

/* The module repl.line: reading lines from a person or a pipe. */
int luaopen_repl_line(lua_State *L);

/* The module repl.keys: a terminal's size and keys. */
int luaopen_repl_keys(lua_State *L);

#endif
