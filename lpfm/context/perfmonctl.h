/* SPDX-License-Identifier: MIT */
/* perfmonctl.h - lpfm.perfmonctl. */
#ifndef LPFM_PERFMONCTL_H
#define LPFM_PERFMONCTL_H

#include "base/module.h"

void lpfm_open_perfmonctl(lua_State *L);

#endif
