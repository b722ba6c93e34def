/* SPDX-License-Identifier: MIT */
/* table.h - entries of one size, ascending by the key with which each begins. */
#ifndef LPFM_TABLE_H
#define LPFM_TABLE_H

#include "ffi/objects.h"

/* Makes room for n more entries. Returns false if there is no memory. */
bool lpfm_table_reserve(struct lpfm_table *t, size_t n);
void *lpfm_table_entry(const struct lpfm_table *t, size_t i);
/* Returns the entry of the key; NULL if there is none. */
void *lpfm_table_find(const struct lpfm_table *t, uint32_t key);
/*
 * Returns the entry of the key. If there is none, makes one that is zero except for the key; the
 * caller must have reserved room for it.
 */
void *lpfm_table_at(struct lpfm_table *t, uint32_t key);
/* Removes the entries with the keys from first to last. */
void lpfm_table_drop(struct lpfm_table *t, uint32_t first, uint32_t last);
/* Copies the entries of another table of the same kind; the caller must have reserved room. */
void lpfm_table_copy(struct lpfm_table *t, const struct lpfm_table *from);
void lpfm_table_free(struct lpfm_table *t);

#endif
