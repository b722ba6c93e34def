/* SPDX-License-Identifier: MIT */
/* evtsets.h - event sets: methods of contexts. */
#ifndef LPFM_EVTSETS_H
#define LPFM_EVTSETS_H

#include "base/module.h"

void lpfm_open_evtsets(lua_State *L);

#endif
