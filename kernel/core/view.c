// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * view.c - PMD values in memory that programs map, one page for each set (2.2, fast user-level PMD
 * read). The sequence number is odd while a view is being changed. If the monitored thread itself
 * reads the view, changes come only while the thread is not running or is interrupted, so it needs
 * no memory barriers. For other threads, pfm_view_begin() and pfm_view_end() keep the stores in
 * order.
 */
#include "core.h"

_Static_assert(sizeof(pfm_set_view_t) <= 4096 && offsetof(pfm_set_view_t, set_seq) == 2576, "a page, as in 2.2");

int pfm_view_open(struct pfm_context *ctx, struct pfm_set *set)
{
	if (!(ctx->flags & PFM_FL_MAP_SETS))
		return 0;
	set->view = pfm_ops(ctx)->open_view(ctx, set);
	if (!set->view)
		return pfm_refuse(-ENOMEM, "no memory for the view of set %u", set->id);
	pfm_view_write(ctx, set);
	return 0;
}

void pfm_view_close(struct pfm_context *ctx, struct pfm_set *set)
{
	pfm_set_view_t *view = set->view;

	if (!view)
		return;
	pfm_view_begin(view);
	view->set_owner = 0;
	view->set_status = 0;
	memset(view->set_index, PFM_VIEW_CALL, sizeof(view->set_index));
	pfm_view_end(view);
	pfm_ops(ctx)->close_view(ctx, set);
	set->view = NULL;
}

void pfm_view_begin(pfm_set_view_t *view)
{
	WRITE_ONCE(view->set_seq, view->set_seq + 1);
	pfm_os_wmb();
}

void pfm_view_end(pfm_set_view_t *view)
{
	pfm_os_wmb();
	WRITE_ONCE(view->set_seq, view->set_seq + 1);
}

/*
 * Writes the values of the set's PMDs. The value of a virtual PMD is computed at each read, so
 * programs read it by a system call.
 */
static void put_values(struct pfm_set *set, pfm_set_view_t *view)
{
	for (unsigned int i = 0; i < set->num_pmds; i++) {
		const struct pfm_pmd *pmd = &set->pmds[i];

		view->set_pmds[pmd->num] = pmd->value;
		view->set_index[pmd->num] = pmd->reg->read ? PFM_VIEW_CALL : PFM_VIEW_STILL;
	}
}

static bool is_direct(const pfm_set_view_t *view, uint16_t num)
{
	uint8_t index = view->set_index[num];

	return index == PFM_VIEW_STILL || index == PFM_VIEW_ELSEWHERE || (index != PFM_VIEW_CALL && view->set_owner);
}

static bool all_direct(const struct pfm_set *set, const pfm_set_view_t *view)
{
	for (unsigned int i = 0; i < set->num_pmds; i++)
		if (!is_direct(view, set->pmds[i].num))
			return false;
	return true;
}

void pfm_view_write(struct pfm_context *ctx, struct pfm_set *set)
{
	pfm_set_view_t *view = set->view;
	bool active = set == ctx->active;

	if (view->set_seq & 1)
		/*
		 * This interrupt has interrupted code that is writing the view. The machine makes
		 * that code write the view again.
		 */
		return;
	pfm_view_begin(view);
	view->set_runs = set->runs;
	view->set_owner = 0;
	put_values(set, view);
	if (active && pfm_loaded(ctx) && pfm_ops(ctx)->live_view)
		pfm_ops(ctx)->live_view(ctx, set);
	view->set_status = (active ? PFM_SETVFL_ACTIVE : 0) | (all_direct(set, view) ? PFM_SETVFL_DIRECT : 0);
	pfm_view_end(view);
}
