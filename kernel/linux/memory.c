// SPDX-License-Identifier: GPL-2.0
/*
 * memory.c - the memory of contexts, and how it is charged to users (4.4.3). This memory cannot be
 * swapped out, so it is limited. It is charged to the user that asks for it until it is freed, even
 * if the process ends, because another process may still have the descriptor. The limit is the sum
 * of RLIMIT_MEMLOCK and of kernel.perf_event_mlock_kb for each processor. It applies to all of
 * user->locked_vm, to which perf and BPF charge memory, too.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/slab.h>

#include "linux.h"

/* --- memory that others pay for --------------------------------------------------------------- */

static LIST_HEAD(debts);
static DEFINE_SPINLOCK(debts_lock);

void lx_debt_begin(struct lx_debt *debt, const struct cred *cred, unsigned long limit)
{
	debt->task = current;
	debt->limit = limit;
	debt->own = override_creds(cred);
	spin_lock(&debts_lock);
	list_add(&debt->entry, &debts);
	spin_unlock(&debts_lock);
}

void lx_debt_end(struct lx_debt *debt)
{
	spin_lock(&debts_lock);
	list_del(&debt->entry);
	spin_unlock(&debts_lock);
	revert_creds(debt->own);
}

/* Returns false if the current thread allocates for itself. */
static bool limit_of_debt(unsigned long *limit)
{
	const struct lx_debt *debt;
	bool found = false;

	if (likely(list_empty(&debts)))
		return false;
	spin_lock(&debts_lock);
	list_for_each_entry(debt, &debts, entry)
		if (debt->task == current) {
			*limit = debt->limit;
			found = true;
		}
	spin_unlock(&debts_lock);
	return found;
}

/* --- charging memory to users --------------------------------------------------------------- */

/*
 * Returns the limit in pages. CAP_IPC_LOCK and kernel.perf_event_mlock_kb are looked up only if
 * RLIMIT_MEMLOCK does not suffice.
 */
static unsigned long limit_for(unsigned long pages)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;

	if (limit_of_debt(&limit))
		return limit;
	if (pages <= limit)
		return limit;
	return lx_capable(CAP_IPC_LOCK) ? ULONG_MAX : limit + (lx_perf_mlock() >> PAGE_SHIFT);
}

unsigned long lx_lock_limit(void)
{
	return limit_for(ULONG_MAX);
}

u64 lx_lockable(void)
{
	unsigned long limit = lx_lock_limit(), locked = atomic_long_read(&current_user()->locked_vm);

	if (limit >= RLIM_INFINITY >> PAGE_SHIFT)
		return ~0ULL;
	return limit > locked ? (u64)(limit - locked) << PAGE_SHIFT : 0;
}

const struct cred *lx_charge(size_t size)
{
	struct user_struct *user = current_user();
	long locked = atomic_long_read(&user->locked_vm), pages = PFN_UP(size);

	do {
		if (locked + pages > limit_for(locked + pages)) {
			pfm_refuse(0, "user %u has locked all the memory that RLIMIT_MEMLOCK (ulimit -l) allows",
				   from_kuid_munged(current_user_ns(), user->uid));
			return NULL;
		}
	} while (!atomic_long_try_cmpxchg(&user->locked_vm, &locked, locked + pages));
	return get_current_cred();
}

void lx_uncharge(const struct cred *payer, size_t size)
{
	atomic_long_sub(PFN_UP(size), &payer->user->locked_vm);
	put_cred(payer);
}

/* --- memory that programs do not map --------------------------------------------------------- */

struct block {
	const struct cred	*payer;
	size_t			size;
	u64			mem[];
};

/* Most blocks are small, and kzalloc() is faster for these than kvzalloc(). */
static struct block *block_new(size_t size)
{
	return size <= PAGE_SIZE ? kzalloc(size, GFP_KERNEL_ACCOUNT) : kvzalloc(size, GFP_KERNEL_ACCOUNT);
}

void *pfm_os_alloc(size_t size)
{
	size_t whole = size + sizeof(struct block);
	const struct cred *payer = lx_charge(whole);
	struct block *block = payer ? block_new(whole) : NULL;

	if (!block) {
		if (payer)
			lx_uncharge(payer, whole);
		return NULL;
	}
	block->payer = payer;
	block->size = whole;
	return block->mem;
}

void pfm_os_free(void *p)
{
	struct block *block = container_of(p, struct block, mem);

	if (!p)
		return;
	lx_uncharge(block->payer, block->size);
	kvfree(block);
}
