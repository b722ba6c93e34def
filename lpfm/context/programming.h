/* SPDX-License-Identifier: MIT */
/* programming.h - how a context is programmed, as the calls have done it. */
#ifndef LPFM_PROGRAMMING_H
#define LPFM_PROGRAMMING_H

#include "base/module.h"
#include "base/table.h"

void lpfm_programming_init(struct lpfm_programming *p);
void lpfm_programming_free(struct lpfm_programming *p);

/* The first n elements of a call were done; their tables have room for them. */
void lpfm_programming_sets(struct lpfm_programming *p, const pfarg_setdesc_t *v, int n);
void lpfm_programming_pmcs(struct lpfm_programming *p, const pfarg_pmc_t *v, int n);
void lpfm_programming_pmds(struct lpfm_programming *p, const pfarg_pmd_t *v, int n);
/* The context was loaded; tid is the thread that the load named, if it named one. */
void lpfm_programming_load(struct lpfm_programming *p, bool has_tid, uint32_t tid, uint16_t set);
/* The set was deleted, and with it what was written to its registers. */
void lpfm_programming_drop_set(struct lpfm_programming *p, uint16_t set);

/* The number of PMDs of the layout is made what its bits say. */
void lpfm_layout_count(struct lpfm_layout *layout);

/* The table at idx, the options of lpfm.create, is kept for the context on top of the stack. */
void lpfm_programming_keep(lua_State *L, int idx);
void lpfm_open_programming(lua_State *L);

#endif
