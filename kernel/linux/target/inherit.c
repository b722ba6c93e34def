// SPDX-License-Identifier: GPL-2.0
/*
 * inherit.c - PFM_FL_INHERIT: a thread that a monitored thread creates gets a child context, called heir in the code
 * (core/inherit.c).
 *
 * The tracepoint of the fork may neither sleep nor allocate. Each monitored thread therefore has a struct lx_birth
 * allocated in advance. The probe queues it as task work of the child, which creates its child context before its first
 * instruction at user level, and queues work with which the parent allocates the next one. Until its work has run the
 * child counts as expected: the parent may have exited long before. A child context has the lock of its root, and its
 * memory is charged to the user who created the root.
 */
#include <linux/cred.h>
#include <linux/sched/task.h>
#include <linux/sched/user.h>
#include <linux/slab.h>

#include "linux.h"

struct lx_birth {
	struct callback_head	work;
	struct lx_context	*root;	/* held */
	u32			load;	/* of the root then */
};

/* --- the child -------------------------------------------------------------------------------- */

/* Do the pages of a child context with one set fit the limit of the root's creator? The current user is ignored. */
static bool fits(const struct lx_context *root)
{
	unsigned long pages = PFN_UP(sizeof(struct lx_context)) + PFN_UP(sizeof(struct pfm_context));

	return atomic_long_read(&root->cred->user->locked_vm) + pages <= root->lock_limit;
}

static void fork_in(struct lx_context *root)
{
	const struct cred *own = override_creds(root->cred);

	if (fits(root))
		pfm_fork(root->ctx, current);
	else
		pfm_fork_failed(root->ctx);
	revert_creds(own);
}

static void free_birth(struct lx_birth *birth)
{
	lx_context_put(birth->root);
	kfree(birth);
}

static u32 load_of(const struct lx_context *root)
{
	return (u64)atomic64_read(&root->expected) >> 32;
}

bool lx_expects(struct pfm_context *root)
{
	return (u32)atomic64_read(&lx_of(root)->expected);
}

void lx_inherit_load(struct lx_context *root)
{
	atomic64_set(&root->expected, (s64)((u64)(load_of(root) + 1) << 32));
}

/* Runs in the child before it first returns to user level, or in its exit if it is killed before that. */
static void be_born(struct callback_head *work)
{
	struct lx_birth *birth = container_of(work, struct lx_birth, work);
	struct lx_context *root = birth->root;

	mutex_lock(&root->lock);
	if (root->ctx && load_of(root) == birth->load) {
		if (!(current->flags & PF_EXITING))
			fork_in(root);
		atomic64_dec(&root->expected);
		pfm_birth_over(root->ctx);
	}
	lx_unlock(root);
	free_birth(birth);
}

/* --- the parent ------------------------------------------------------------------------------- */

static struct lx_birth *new_birth(void)
{
	struct lx_birth *birth = kzalloc(sizeof(*birth), GFP_KERNEL_ACCOUNT);

	if (birth)
		init_task_work(&birth->work, be_born);
	return birth;
}

/* Runs in the parent. Without memory bond->birth is NULL: its next child is not counted, which is reported. */
static void refill(struct callback_head *work)
{
	struct lx_bond *bond = container_of(work, struct lx_bond, refill_work);

	WRITE_ONCE(bond->birth, new_birth());
	lx_bond_put(bond);
}

int lx_inherit_begin(struct lx_bond *bond)
{
	bond->birth = NULL;
	if (!bond->lx->cred)
		return 0;
	init_task_work(&bond->refill_work, refill);
	bond->birth = new_birth();
	return bond->birth ? 0 : pfm_refuse(-ENOMEM, "no memory for the load");
}

void lx_inherit_end(struct lx_bond *bond)
{
	kfree(bond->birth);
	bond->birth = NULL;
}

/* The load number cannot change meanwhile: the current thread is watched, so its context is loaded. */
void lx_inherit_expect(struct lx_bond *bond)
{
	if (bond->birth)
		bond->birth->load = (u64)atomic64_inc_return(&bond->lx->root->expected) >> 32;
}

/* Both works run after the probe, the child's and the parent's in any order. */
void lx_inherit_fork(struct lx_bond *bond, struct task_struct *child)
{
	struct lx_context *root = bond->lx->root;
	struct lx_birth *birth = bond->birth;

	if (birth) {
		bond->birth = NULL;
		kref_get(&root->ref);
		birth->root = root;
		WARN_ON_ONCE(lx_task_work(child, &birth->work, TWA_RESUME));
	} else {
		atomic_inc(&root->unborn);
	}
	if (WARN_ON_ONCE(lx_task_work(current, &bond->refill_work, TWA_RESUME)))
		refcount_dec(&bond->users);
}

/* --- for the core ----------------------------------------------------------------------------- */

int lx_fork(struct pfm_context *heir, void *child)
{
	struct lx_context *lx = lx_context_heir(lx_of(heir->root));
	int ret;

	if (!lx)
		return -ENOMEM;
	lx->ctx = heir;
	heir->os = lx;
	ret = lx_attach_child(lx, child);
	if (ret)
		lx_release(heir);
	return ret;
}

/* Work that is queued at the child's thread may still hold a reference. */
void lx_release(struct pfm_context *heir)
{
	struct lx_context *lx = lx_of(heir);

	lx->ctx = NULL;
	lx_context_put(lx);
}

/* Reports to the core the children for which no struct lx_birth was left. */
void lx_count_unborn(struct lx_context *root)
{
	for (int n = atomic_xchg(&root->unborn, 0); n; n--)
		pfm_fork_failed(root->ctx);
}
