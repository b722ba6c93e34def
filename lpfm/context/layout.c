/* SPDX-License-Identifier: MIT */
/*
 * layout.c - which PMDs a sample holds, as remembered from what was programmed (3.6.4). A sample's
 * header names the set and the PMD that overflowed. The values of that PMD's smpl_pmds follow, in
 * ascending order.
 */
#include <stdlib.h>
#include <string.h>

#include "context/layout.h"

static uint32_t layout_key(uint16_t set, uint16_t pmd)
{
	return (uint32_t)set << 16 | pmd;
}

/* Returns the index of the key, or the one at which it belongs. */
static size_t lower_bound(const struct lpfm_layouts *ls, uint32_t key)
{
	size_t low = 0, high = ls->n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (ls->list[mid].key < key)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool lpfm_layouts_reserve(struct lpfm_layouts *ls, size_t n)
{
	size_t room = ls->room ? ls->room : 8;
	struct lpfm_layout *list;

	if (ls->room - ls->n >= n)
		return true;
	while (room - ls->n < n)
		room *= 2;
	list = realloc(ls->list, room * sizeof(*list));
	if (!list)
		return false;
	ls->list = list;
	ls->room = room;
	return true;
}

struct lpfm_layout *lpfm_layouts_at(struct lpfm_layouts *ls, uint32_t key)
{
	size_t i = lower_bound(ls, key);

	if (i == ls->n || ls->list[i].key != key) {
		memmove(&ls->list[i + 1], &ls->list[i], (ls->n - i) * sizeof(*ls->list));
		ls->list[i] = (struct lpfm_layout){ .key = key };
		ls->n++;
	}
	return &ls->list[i];
}

void lpfm_layout_count(struct lpfm_layout *layout)
{
	layout->n = 0;
	for (int i = 0; i < PFM_PMD_BV; i++)
		layout->n += (uint32_t)__builtin_popcountll(layout->pmds[i]);
}

void lpfm_layouts_put(struct lpfm_layouts *ls, const pfarg_pmd_t *pmd)
{
	struct lpfm_layout *layout;

	if (pmd->reg_flags & PFM_REGFL_CHECK)
		return;
	layout = lpfm_layouts_at(ls, layout_key(pmd->reg_set, pmd->reg_num));
	if (pmd->reg_flags & PFM_REGFL_VALUES)
		return;
	memcpy(layout->pmds, pmd->reg_smpl_pmds, sizeof(layout->pmds));
	lpfm_layout_count(layout);
}

void lpfm_layouts_drop_set(struct lpfm_layouts *ls, uint16_t set)
{
	size_t from = lower_bound(ls, layout_key(set, 0)), to = from;

	while (to < ls->n && ls->list[to].key >> 16 == set)
		to++;
	if (from == to)
		return;
	memmove(&ls->list[from], &ls->list[to], (ls->n - to) * sizeof(*ls->list));
	ls->n -= to - from;
}

void lpfm_layouts_free(struct lpfm_layouts *ls)
{
	free(ls->list);
	*ls = (struct lpfm_layouts){ 0 };
}

static const struct lpfm_layout *find(const struct lpfm_layouts *ls, uint32_t key)
{
	size_t i = lower_bound(ls, key);

	return i < ls->n && ls->list[i].key == key ? &ls->list[i] : NULL;
}

const struct lpfm_layout *lpfm_layouts_find(const struct lpfm_layouts *ls, uint16_t set, uint16_t pmd)
{
	static const struct lpfm_layout nothing;
	const struct lpfm_layout *found = find(ls, layout_key(set, pmd));

	if (!found && ls->any_set)
		found = find(ls, layout_key(0, pmd));
	return found ? found : &nothing;
}
