/* SPDX-License-Identifier: MIT */
/* state.h - what the files of a format's own Lua state share. */
#ifndef LPFM_STATE_H
#define LPFM_STATE_H

#include <signal.h>

#include "format/register.h"

/* --- state.c ------------------------------------------------------------------------------ */

/* Locks the format's state and blocks signals, until lpfm_fmt_leave(). */
void lpfm_fmt_enter(struct lpfm_luafmt *f, sigset_t *saved);
void lpfm_fmt_leave(struct lpfm_luafmt *f, const sigset_t *saved);
/* Calls body(F) with arg at 1, protected. Returns NULL, or the error, which the caller frees. */
char *lpfm_fmt_run(struct lpfm_luafmt *f, lua_CFunction body, void *arg);
/* Does what lua_call() does, but errors have a traceback. It is for calls inside a callback. */
void lpfm_fmt_call(lua_State *F, int nargs, int nresults);
/*
 * Pushes callback "name" and self; to be called inside a callback. Returns false, and pushes
 * nothing, if the format has no such callback.
 */
bool lpfm_fmt_push_callback(lua_State *F, const struct lpfm_fmt_use *use, const char *name);

/* --- view.c -------------------------------------------------------------------------------- */

/*
 * Returns control bits from a callback's results, which are from index first on: names of bits; nil
 * and false are ignored.
 */
pfm_ovfl_ctrl_t lpfm_fmt_read_controls(lua_State *F, int first, const char *who);
void lpfm_fmt_open_view(lua_State *F);
/* Pushes self.buf, which is valid until lpfm_fmt_drop_view(). */
void lpfm_fmt_push_view(lua_State *F, struct lpfm_fmt_use *use);
void lpfm_fmt_drop_view(struct lpfm_fmt_use *use);

#endif
