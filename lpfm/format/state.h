/* SPDX-License-Identifier: MIT */
/*
 * state.h - what the files of a format's own Lua state share.
 */
#ifndef LPFM_STATE_H
#define LPFM_STATE_H

#include <signal.h>

#include "format/register.h"

/* --- state.c ------------------------------------------------------------------------------ */

/* The state is ours, and no signal comes, until it is left. */
void lpfm_fmt_enter(struct lpfm_luafmt *f, sigset_t *saved);
void lpfm_fmt_leave(struct lpfm_luafmt *f, const sigset_t *saved);
/* body(F) with arg at 1, protected: NULL, or what went wrong, to be freed. */
char *lpfm_fmt_run(struct lpfm_luafmt *f, lua_CFunction body, void *arg);
/* As lua_call(), but errors have a traceback. For calls inside a callback. */
void lpfm_fmt_call(lua_State *F, int nargs, int nresults);
/* Inside: pushes callback name and self; false, pushing nothing: the format has no such callback. */
bool lpfm_fmt_push_callback(lua_State *F, const struct lpfm_fmt_use *use, const char *name);

/* --- view.c -------------------------------------------------------------------------------- */

/* The results from first on as control bits: names, nil and false for none. */
pfm_ovfl_ctrl_t lpfm_fmt_read_controls(lua_State *F, int first, const char *who);
void lpfm_fmt_open_view(lua_State *F);
/* self.buf, until it is dropped. */
void lpfm_fmt_push_view(lua_State *F, struct lpfm_fmt_use *use);
void lpfm_fmt_drop_view(struct lpfm_fmt_use *use);

#endif
