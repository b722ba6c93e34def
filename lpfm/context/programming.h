/* SPDX-License-Identifier: MIT */
/* programming.h - how a context is programmed, as the calls have done it. */
#ifndef LPFM_PROGRAMMING_H
#define LPFM_PROGRAMMING_H

#include "base/module.h"
#include "base/table.h"

void lpfm_programming_init(struct lpfm_programming *p);
void lpfm_programming_free(struct lpfm_programming *p);

/*
 * These functions note that a call has done the first n elements of v. The caller has reserved room
 * for them in the table.
 */
void lpfm_programming_sets(struct lpfm_programming *p, const pfarg_setdesc_t *v, int n);
void lpfm_programming_pmcs(struct lpfm_programming *p, const pfarg_pmc_t *v, int n);
void lpfm_programming_pmds(struct lpfm_programming *p, const pfarg_pmd_t *v, int n);
/* Notes that the context was loaded; tid is the thread that the load named, if has_tid is true. */
void lpfm_programming_load(struct lpfm_programming *p, bool has_tid, uint32_t tid, uint16_t set);
/* Notes that the set was deleted: forgets it and what was written to its registers. */
void lpfm_programming_drop_set(struct lpfm_programming *p, uint16_t set);

/* Sets the layout's number of PMDs to the number of bits in its bit-vector. */
void lpfm_layout_count(struct lpfm_layout *layout);

/* Keeps a copy of the table at idx, the options of lpfm.create, for the context on top. */
void lpfm_programming_keep(lua_State *L, int idx);
void lpfm_open_programming(lua_State *L);

#endif
