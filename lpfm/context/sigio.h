/* SPDX-License-Identifier: MIT */
/*
 * sigio.h - callbacks for messages, called where the signal interrupted the script.
 */
#ifndef LPFM_SIGIO_H
#define LPFM_SIGIO_H

#include "base/module.h"

void lpfm_open_sigio(lua_State *L);

#endif
