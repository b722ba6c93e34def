// SPDX-License-Identifier: GPL-2.0
/*
 * group.c - joins the perf events of a context's hardware counters in one group: perf then
 * schedules them together, which costs less at every context switch. perf has no function that
 * groups events of the kernel. So the group is made here, in perf's lists and under perf's locks.
 * perf itself dissolves it, as any other group.
 */
#include <linux/rbtree.h>

#include "compat.h"
#include "linux.h"

/*
 * Returns true if "leader" leads its group, "event" is in no group with others, and both are in the
 * same state, INACTIVE or ACTIVE.
 */
static bool can_join(const struct perf_event *leader, const struct perf_event *event)
{
	const unsigned int attached = PERF_ATTACH_CONTEXT | PERF_ATTACH_GROUP;

	return leader->ctx == event->ctx && leader->state == event->state &&
	       event->state >= PERF_EVENT_STATE_INACTIVE && leader->group_leader == leader &&
	       event->group_leader == event && !event->nr_siblings &&
	       (leader->attach_state & attached) == attached && (event->attach_state & attached) == attached;
}

/* Does what perf_group_attach() does, for an event that is already the leader of a group of one. */
static void join(struct perf_event *leader, struct perf_event *event)
{
	rb_erase(&event->group_node, &event->ctx->pinned_groups.tree);
	RB_CLEAR_NODE(&event->group_node);
	event->group_index = 0;
	list_del_init(&event->active_list);
	event->group_leader = leader;
	leader->group_caps &= event->event_caps;
	list_add_tail(&event->sibling_list, &leader->sibling_list);
	leader->nr_siblings++;
}

void lx_group_join(struct perf_event *leader, struct perf_event *event)
{
	struct perf_event_context *perf = event->ctx;

	if (!PFM_KNOWS_GROUPS)
		return;
	mutex_lock(&perf->mutex);
	raw_spin_lock_irq(&perf->lock);
	if (can_join(leader, event))
		join(leader, event);
	raw_spin_unlock_irq(&perf->lock);
	mutex_unlock(&perf->mutex);
}
