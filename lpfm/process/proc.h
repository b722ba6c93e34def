/* SPDX-License-Identifier: MIT */
/* proc.h - what the files of lpfm.proc share. */
#ifndef LPFM_PROC_H
#define LPFM_PROC_H

#include "base/module.h"

struct lpfm_process;

/*
 * Returns a signal given by name ("TERM", "SIGTERM") or number. Raises an error if there is no such
 * signal.
 */
int lpfm_to_signal(lua_State *L, int idx, const char *call);
/* Returns the signal's name without "SIG", or NULL if this module has no name for it. */
const char *lpfm_signal_name(int sig);

/* child.c: proc.spawn() */
int lpfm_proc_spawn(lua_State *L);
void lpfm_open_child(lua_State *L);

/* limits.c: proc.raise_nofile(), and the function that undoes it in a child */
int lpfm_proc_raise_nofile(lua_State *L);
void lpfm_restore_limits(void);
/*
 * lpfm_note_descriptors() notes the open descriptors. lpfm_keep_descriptors() sets FD_CLOEXEC on
 * all that were opened afterwards, so that programs that are executed do not get them.
 */
void lpfm_note_descriptors(void);
void lpfm_keep_descriptors(void);

#endif
