/* SPDX-License-Identifier: MIT */
/* errno.h - lpfm.errno: the numbers of errors by name. */
#ifndef LPFM_ERRNO_H
#define LPFM_ERRNO_H

#include "base/module.h"

void lpfm_open_errno(lua_State *L);

#endif
