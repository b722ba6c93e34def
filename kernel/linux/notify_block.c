// SPDX-License-Identifier: GPL-2.0
/*
 * notify_block.c - PFM_FL_NOTIFY_BLOCK: the target waits, on its way back to its own code, for the restart.
 */
#include <linux/task_work.h>

#include "linux.h"

static void wait_for_restart(struct callback_head *work)
{
	struct lx_context *lx = container_of(work, struct lx_context, block_work);

	WRITE_ONCE(lx->block_queued, false);
	wait_event_state(lx->blocked, !READ_ONCE(lx->hold), (TASK_KILLABLE | TASK_FREEZABLE));
	lx_context_put(lx);
}

void lx_block_init(struct lx_context *lx)
{
	init_task_work(&lx->block_work, wait_for_restart);
	init_waitqueue_head(&lx->blocked);
}

/* In the overflow, in the target's context. */
void lx_block(struct pfm_context *ctx)
{
	struct lx_context *lx = lx_of(ctx);

	WRITE_ONCE(lx->hold, true);
	/* the work cannot run before we are done; where it cannot be added, the target is past its code */
	if (lx->block_queued || task_work_add(lx->task, &lx->block_work, TWA_RESUME))
		return;
	kref_get(&lx->ref);
	WRITE_ONCE(lx->block_queued, true);
}

void lx_unblock(struct pfm_context *ctx)
{
	struct lx_context *lx = lx_of(ctx);

	WRITE_ONCE(lx->hold, false);
	atomic_or(LX_WAKE_TARGET, &lx->wake);
}
