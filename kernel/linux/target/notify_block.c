// SPDX-License-Identifier: GPL-2.0
/*
 * notify_block.c - PFM_FL_NOTIFY_BLOCK: the target waits for the restart before it returns to user
 * level.
 */

#include "linux.h"

static void wait_for_restart(struct callback_head *work)
{
	struct lx_target_ref *target_ref = container_of(work, struct lx_target_ref, block_work);

	WRITE_ONCE(target_ref->block_queued, false);
	/*
	 * An exiting thread does not wait: it will not return to user level, and a signal could not
	 * end its wait any more.
	 */
	if (!(current->flags & PF_EXITING))
		wait_event_state(target_ref->lx->target.blocked, !READ_ONCE(target_ref->hold),
				 (TASK_KILLABLE | TASK_FREEZABLE));
	lx_target_ref_put(target_ref);
}

void lx_block_init(struct lx_target_ref *target_ref)
{
	init_task_work(&target_ref->block_work, wait_for_restart);
}

/* Called while an overflow is handled, in the target thread. */
void lx_block(struct pfm_context *ctx)
{
	struct lx_context *lx = lx_of(ctx);
	struct lx_target_ref *target_ref = lx->target.ref;

	WRITE_ONCE(target_ref->hold, true);
	if (READ_ONCE(target_ref->block_queued))
		return;
	WRITE_ONCE(target_ref->block_queued, true);
	refcount_inc(&target_ref->users);
	/*
	 * The work cannot run before this function returns. Adding it fails once the target is past
	 * exit_task_work().
	 */
	if (lx_task_work(lx->target.task, &target_ref->block_work, TWA_RESUME))
		refcount_dec(&target_ref->users);
	else if (in_nmi())
		/*
		 * The thread may already have looked for task work on its way to user level, so an
		 * interrupt makes it look again.
		 */
		lx_late(lx);
}

void lx_unblock(struct pfm_context *ctx)
{
	struct lx_context *lx = lx_of(ctx);

	WRITE_ONCE(lx->target.ref->hold, false);
	atomic_or(LX_WAKE_TARGET, &lx->msgs.wake);
}
