/* SPDX-License-Identifier: MIT */
/* view.h - views of event sets: reads without a system call. */
#ifndef LPFM_CONTEXT_VIEW_H
#define LPFM_CONTEXT_VIEW_H

#include "base/module.h"
#include "ffi/objects.h"

/* Unmaps the view, and removes it from its context's list. */
void lpfm_view_close(struct lpfm_view *v);
void lpfm_open_view(lua_State *L);

#endif
