/* SPDX-License-Identifier: MIT */
/* layout.h - which PMDs a sample holds. */
#ifndef LPFM_LAYOUT_H
#define LPFM_LAYOUT_H

#include "ffi/objects.h"

/* Makes room for n more; false without memory. */
bool lpfm_layouts_reserve(struct lpfm_layouts *ls, size_t n);
/* The layout of the key, an empty one if it is new; there is room for it. */
struct lpfm_layout *lpfm_layouts_at(struct lpfm_layouts *ls, uint32_t key);
/* Its n becomes the number of its PMDs. */
void lpfm_layout_count(struct lpfm_layout *layout);
/* What samples hold that this PMD causes; there is room for it. */
void lpfm_layouts_put(struct lpfm_layouts *ls, const pfarg_pmd_t *pmd);
void lpfm_layouts_drop_set(struct lpfm_layouts *ls, uint16_t set);
void lpfm_layouts_free(struct lpfm_layouts *ls);
/* An empty layout if that PMD was never programmed. */
const struct lpfm_layout *lpfm_layouts_find(const struct lpfm_layouts *ls, uint16_t set, uint16_t pmd);

#endif
