// SPDX-License-Identifier: GPL-2.0
/*
 * inherit.c - PFM_FL_INHERIT: a thread that a monitored thread creates gets a child context
 * (core/inherit.c).
 *
 * A probe at the tracepoint of the fork may neither sleep nor allocate memory. Each monitored
 * thread therefore has a struct lx_fork_record that was allocated in advance. The probe queues it
 * as task work of the child, which makes the child context before the child's first instruction at
 * user level. The probe also queues task work of the parent, which gets the parent's next record.
 * Until the child's work has run the child counts as expected: the parent may have exited long
 * before. A child context uses the lock of its root, and its memory is charged to the user that
 * created the root.
 *
 * The root keeps one free struct lx_fork_record for the next thread that needs one. A child's work
 * leaves its record there, the new child context takes it for children of its own, and returns it
 * when the child ends. So a parent that creates one child after the other allocates no further
 * records.
 */
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "linux.h"

struct lx_fork_record {
	struct callback_head	work;
	struct lx_context	*root;	/* with a reference while the work is queued */
	u32			load;	/* number of the root's load when the work was queued */
};

/* --- fork records ---------------------------------------------------------------------------- */

static void be_born(struct callback_head *work);

/* Returns the record that the root has kept, or a new one; NULL if there is no memory. */
static struct lx_fork_record *get_fork_record(struct lx_context *root)
{
	struct lx_fork_record *fork_record = xchg(&root->family.spare_record, NULL);

	if (!fork_record)
		fork_record = kzalloc(sizeof(*fork_record), GFP_KERNEL_ACCOUNT);
	if (fork_record)
		init_task_work(&fork_record->work, be_born);
	return fork_record;
}

static void put_fork_record(struct lx_context *root, struct lx_fork_record *fork_record)
{
	if (fork_record)
		kfree(xchg(&root->family.spare_record, fork_record));
}

void lx_inherit_free(struct lx_context *lx)
{
	kfree(lx->family.spare_record);
}

/* --- work in the child ----------------------------------------------------------------------- */

static void fork_in(struct lx_context *root)
{
	struct lx_debt debt;

	lx_debt_begin(&debt, root->family.cred, root->family.lock_limit);
	pfm_fork(root->ctx, current);
	lx_debt_end(&debt);
}

static u32 load_of(const struct lx_context *root)
{
	return (u64)atomic64_read(&root->family.expected) >> 32;
}

bool lx_forks_pending(struct pfm_context *root)
{
	return (u32)atomic64_read(&lx_of(root)->family.expected);
}

void lx_inherit_load(struct lx_context *root)
{
	atomic64_set(&root->family.expected, (s64)((u64)(load_of(root) + 1) << 32));
}

/*
 * Runs in the child before it first returns to user level, or in its exit if it is killed before
 * that.
 */
static void be_born(struct callback_head *work)
{
	struct lx_fork_record *fork_record = container_of(work, struct lx_fork_record, work);
	struct lx_context *root = fork_record->root;
	u32 load = fork_record->load;

	put_fork_record(root, fork_record);
	mutex_lock(&root->lock);
	if (root->ctx && load_of(root) == load) {
		if (!(current->flags & PF_EXITING))
			fork_in(root);
		atomic64_dec(&root->family.expected);
		pfm_fork_done(root->ctx);
	}
	lx_unlock(root);
	lx_context_put(root);
}

/* --- work in the parent ---------------------------------------------------------------------- */

/*
 * Runs in the parent. If there is no memory, target_ref->fork_record becomes NULL: then the
 * parent's next child is not counted, which is reported (family.dropped).
 */
static void refill(struct callback_head *work)
{
	struct lx_target_ref *target_ref = container_of(work, struct lx_target_ref, refill_work);

	WRITE_ONCE(target_ref->fork_record, get_fork_record(target_ref->lx->root));
	lx_target_ref_put(target_ref);
}

int lx_inherit_begin(struct lx_target_ref *target_ref)
{
	target_ref->fork_record = NULL;
	if (!target_ref->lx->family.cred)
		return 0;
	init_task_work(&target_ref->refill_work, refill);
	target_ref->fork_record = get_fork_record(target_ref->lx->root);
	return target_ref->fork_record ? 0 : pfm_refuse(-ENOMEM, "no memory for the load");
}

void lx_inherit_end(struct lx_target_ref *target_ref)
{
	put_fork_record(target_ref->lx->root, target_ref->fork_record);
	target_ref->fork_record = NULL;
}

/*
 * Counts the child as expected, and stores the number of the load in the record. That number cannot
 * change during the call, because the current thread is watched, so its context is loaded.
 */
void lx_inherit_expect(struct lx_target_ref *target_ref)
{
	if (target_ref->fork_record)
		target_ref->fork_record->load = (u64)atomic64_inc_return(&target_ref->lx->root->family.expected) >> 32;
}

/* Queues work for the child and work for its parent, which run after the probe in any order. */
void lx_inherit_fork(struct lx_target_ref *target_ref, struct task_struct *child)
{
	struct lx_context *root = target_ref->lx->root;
	struct lx_fork_record *fork_record = target_ref->fork_record;

	if (fork_record) {
		target_ref->fork_record = NULL;
		kref_get(&root->ref);
		fork_record->root = root;
		WARN_ON_ONCE(lx_task_work(child, &fork_record->work, TWA_RESUME));
	} else {
		atomic_inc(&root->family.dropped);
	}
	if (WARN_ON_ONCE(lx_task_work(current, &target_ref->refill_work, TWA_RESUME)))
		refcount_dec(&target_ref->users);
}

/* --- functions that the core calls ----------------------------------------------------------- */

int lx_fork(struct pfm_context *child_ctx, void *child)
{
	struct lx_context *lx = lx_child_context(lx_of(child_ctx->root));
	int ret;

	if (!lx)
		return -ENOMEM;
	lx->ctx = child_ctx;
	child_ctx->os = lx;
	ret = lx_attach_child(lx, child);
	if (ret)
		lx_release(child_ctx);
	return ret;
}

/* Drops the core's reference. Work that is queued at the child's thread may hold another one. */
void lx_release(struct pfm_context *child_ctx)
{
	struct lx_context *lx = lx_of(child_ctx);

	lx->ctx = NULL;
	lx_context_put(lx);
}

void lx_report_dropped(struct lx_context *root)
{
	for (int n = atomic_xchg(&root->family.dropped, 0); n; n--)
		pfm_fork_failed(root->ctx);
}
