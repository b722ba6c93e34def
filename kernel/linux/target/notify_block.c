// SPDX-License-Identifier: GPL-2.0
/*
 * notify_block.c - PFM_FL_NOTIFY_BLOCK: the target waits, on its way back to its own code, for the restart.
 */

#include "linux.h"

static void wait_for_restart(struct callback_head *work)
{
	struct lx_bond *bond = container_of(work, struct lx_bond, block_work);

	WRITE_ONCE(bond->block_queued, false);
	/* an exiting thread does not return to its own code, and a killable wait in it would never end */
	if (!(current->flags & PF_EXITING))
		wait_event_state(bond->lx->blocked, !READ_ONCE(bond->hold), (TASK_KILLABLE | TASK_FREEZABLE));
	lx_bond_put(bond);
}

void lx_block_init(struct lx_bond *bond)
{
	init_task_work(&bond->block_work, wait_for_restart);
}

/* In the overflow, in the target's context. */
void lx_block(struct pfm_context *ctx)
{
	struct lx_context *lx = lx_of(ctx);
	struct lx_bond *bond = lx->bond;

	WRITE_ONCE(bond->hold, true);
	if (READ_ONCE(bond->block_queued))
		return;
	WRITE_ONCE(bond->block_queued, true);
	refcount_inc(&bond->users);
	/* the work cannot run before this function returns; adding it fails once the target is past exit_task_work() */
	if (lx_task_work(lx->task, &bond->block_work, TWA_RESUME))
		refcount_dec(&bond->users);
}

void lx_unblock(struct pfm_context *ctx)
{
	struct lx_context *lx = lx_of(ctx);

	WRITE_ONCE(lx->bond->hold, false);
	atomic_or(LX_WAKE_TARGET, &lx->wake);
}
