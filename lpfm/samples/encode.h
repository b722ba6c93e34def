/* SPDX-License-Identifier: MIT */
/* encode.h - samples and the header of a buffer as the default format lays them out. */
#ifndef LPFM_ENCODE_H
#define LPFM_ENCODE_H

#include "base/module.h"

int lpfm_encode_head(lua_State *L);	/* lpfm.samples.head() */
int lpfm_encode_sample(lua_State *L);	/* lpfm.samples.sample() */

#endif
