/* SPDX-License-Identifier: MIT */
/* layout.h - which PMDs a sample holds. */
#ifndef LPFM_LAYOUT_H
#define LPFM_LAYOUT_H

#include "ffi/objects.h"

/* Makes room for n more layouts; false without memory. */
bool lpfm_layouts_reserve(struct lpfm_layouts *ls, size_t n);
/* Returns the layout of the key, which is empty if it is new. There must be room for it. */
struct lpfm_layout *lpfm_layouts_at(struct lpfm_layouts *ls, uint32_t key);
/* Sets n to the number of the layout's PMDs. */
void lpfm_layout_count(struct lpfm_layout *layout);
/* Stores what samples hold that this PMD causes. There must be room for it. */
void lpfm_layouts_put(struct lpfm_layouts *ls, const pfarg_pmd_t *pmd);
void lpfm_layouts_drop_set(struct lpfm_layouts *ls, uint16_t set);
void lpfm_layouts_free(struct lpfm_layouts *ls);
/* Returns an empty layout if that PMD was never programmed. */
const struct lpfm_layout *lpfm_layouts_find(const struct lpfm_layouts *ls, uint16_t set, uint16_t pmd);

#endif
