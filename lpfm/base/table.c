/* SPDX-License-Identifier: MIT */
/* table.c - tables of entries that are found by a key. */
#include <stdlib.h>
#include <string.h>

#include "base/table.h"

void *lpfm_table_entry(const struct lpfm_table *t, size_t i)
{
	return t->list + i * t->size;
}

static uint32_t key_at(const struct lpfm_table *t, size_t i)
{
	return *(const uint32_t *)lpfm_table_entry(t, i);
}

/* Returns the index at which the key is, or would be inserted. */
static size_t lower_bound(const struct lpfm_table *t, uint32_t key)
{
	size_t low = 0, high = t->n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (key_at(t, mid) < key)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool lpfm_table_reserve(struct lpfm_table *t, size_t n)
{
	size_t room = t->room ? t->room : 8;
	char *list;

	if (t->room - t->n >= n)
		return true;
	while (room - t->n < n)
		room *= 2;
	list = realloc(t->list, room * t->size);
	if (!list)
		return false;
	t->list = list;
	t->room = room;
	return true;
}

/* Moves the entries from index i on to index j, and adjusts t->n. */
static void move(struct lpfm_table *t, size_t j, size_t i)
{
	memmove(lpfm_table_entry(t, j), lpfm_table_entry(t, i), (t->n - i) * t->size);
	t->n = t->n + j - i;
}

void *lpfm_table_find(const struct lpfm_table *t, uint32_t key)
{
	size_t i = lower_bound(t, key);

	return i < t->n && key_at(t, i) == key ? lpfm_table_entry(t, i) : NULL;
}

void *lpfm_table_at(struct lpfm_table *t, uint32_t key)
{
	size_t i = lower_bound(t, key);
	void *entry = lpfm_table_entry(t, i);

	if (i == t->n || key_at(t, i) != key) {
		move(t, i + 1, i);
		memset(entry, 0, t->size);
		*(uint32_t *)entry = key;
	}
	return entry;
}

void lpfm_table_drop(struct lpfm_table *t, uint32_t first, uint32_t last)
{
	size_t from = lower_bound(t, first), to = from;

	while (to < t->n && key_at(t, to) <= last)
		to++;
	if (from < to)
		move(t, from, to);
}

void lpfm_table_copy(struct lpfm_table *t, const struct lpfm_table *from)
{
	t->n = from->n;
	if (t->n)
		memcpy(t->list, from->list, t->n * t->size);
}

void lpfm_table_free(struct lpfm_table *t)
{
	free(t->list);
	t->list = NULL;
	t->n = t->room = 0;
}
