/* SPDX-License-Identifier: MIT */
/* histogram.h - counting samples by their fields. */
#ifndef LPFM_HISTOGRAM_H
#define LPFM_HISTOGRAM_H

#include "base/module.h"

/* A method of buffers. */
int lpfm_buffer_count_by(lua_State *L);

#endif
