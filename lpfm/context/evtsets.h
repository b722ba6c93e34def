/* SPDX-License-Identifier: MIT */
/* evtsets.h - the methods of contexts for event sets. */
#ifndef LPFM_EVTSETS_H
#define LPFM_EVTSETS_H

#include "base/module.h"

void lpfm_open_evtsets(lua_State *L);

#endif
