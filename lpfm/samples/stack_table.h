/* SPDX-License-Identifier: MIT */
/* stack_table.h - call stacks by number, each once. */
#ifndef LPFM_STACK_TABLE_H
#define LPFM_STACK_TABLE_H

#include "base/module.h"

int lpfm_stack_table_new(lua_State *L);		/* lpfm.samples.stack_table() */
int lpfm_stack_samples(lua_State *L);		/* lpfm.samples.samples() */
void lpfm_open_stack_table(lua_State *L);

#endif
