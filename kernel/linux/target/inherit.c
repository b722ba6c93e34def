// SPDX-License-Identifier: GPL-2.0
/*
 * inherit.c - PFM_FL_INHERIT: a monitored thread creates another, which gets an heir of the context (core/inherit.c).
 *
 * The tracepoint of the fork may neither sleep nor allocate. Each monitored thread therefore has a birth in store:
 * the probe hands it to the child, which makes its heir itself, on its way to its first instruction, and tells the
 * parent to get another, on its way out of the fork. Until then the child is expected: its parent may be gone long
 * before it runs for the first time. An heir has the lock of its root, and its memory is the user's who made the
 * context.
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

/* As many pages more as an heir of one set needs. The limit is that of who made the context, whoever asks. */
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

/* In the child, before it is back in its own code; or it never gets there. */
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

/* In the parent. Without memory its next child is not counted, and that is told. */
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

/* No load ends meanwhile, nor does another begin: its threads are not watched between. */
void lx_inherit_expect(struct lx_bond *bond)
{
	if (bond->birth)
		bond->birth->load = (u64)atomic64_inc_return(&bond->lx->root->expected) >> 32;
}

/* Both works run when the probe is over: the child's first, for all it knows. */
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

/* Work that its thread still has to do may hold it. */
void lx_release(struct pfm_context *heir)
{
	struct lx_context *lx = lx_of(heir);

	lx->ctx = NULL;
	lx_context_put(lx);
}

/* Those that there was no birth for. */
void lx_count_unborn(struct lx_context *root)
{
	for (int n = atomic_xchg(&root->unborn, 0); n; n--)
		pfm_fork_failed(root->ctx);
}
