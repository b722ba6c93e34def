/* SPDX-License-Identifier: MIT */
/* counter.h - counting recorded samples by their values. */
#ifndef LPFM_COUNTER_H
#define LPFM_COUNTER_H

#include "base/module.h"

int lpfm_counter_new(lua_State *L);	/* lpfm.samples.counter() */
void lpfm_open_counter(lua_State *L);

#endif
