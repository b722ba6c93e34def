/* SPDX-License-Identifier: MIT */
/* view.h - views of event sets: reads without a call. */
#ifndef LPFM_CONTEXT_VIEW_H
#define LPFM_CONTEXT_VIEW_H

#include "base/module.h"
#include "ffi/objects.h"

/* Unmaps it, and takes it from its context. */
void lpfm_view_close(struct lpfm_view *v);
void lpfm_open_view(lua_State *L);

#endif
