/* SPDX-License-Identifier: MIT */
/*
 * proc.h - what the files of lpfm.proc share.
 */
#ifndef LPFM_PROC_H
#define LPFM_PROC_H

#include "base/module.h"

struct lpfm_process;

/* A signal by name ("TERM", "SIGTERM") or number; raises. */
int lpfm_to_signal(lua_State *L, int idx, const char *call);
/* NULL: it has none here. */
const char *lpfm_signal_name(int sig);

/* Adds fields status (exit status) or signal, signal_name, of a status as of wait4() to the table on top. */
void lpfm_add_status(lua_State *L, int status);

/* child.c: proc.spawn, and the process id of a child object; -1 if idx holds none */
int lpfm_proc_spawn(lua_State *L);
int lpfm_child_pid(lua_State *L, int idx);
void lpfm_open_child(lua_State *L);

/* limits.c: proc.raise_nofile, and the undoing of it in a child */
int lpfm_proc_raise_nofile(lua_State *L);
void lpfm_restore_limits(void);
/* Notes the descriptors that are open; those opened since are closed in programs that are executed from now on. */
void lpfm_note_descriptors(void);
void lpfm_keep_descriptors(void);

#endif
