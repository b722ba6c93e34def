// SPDX-License-Identifier: GPL-2.0
/*
 * memory.c - the memory of contexts, and whose it is (4.4.3): it cannot be swapped out, so users get only so much.
 *
 * It is the user's who asks for it, and stays that user's until it is freed, whatever becomes of the process: a
 * descriptor may outlive its maker. A user may have RLIMIT_MEMLOCK, and what perf grants to each,
 * kernel.perf_event_mlock_kb for every processor; counted together with whatever else counts so.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/slab.h>

#include "linux.h"

/* --- charging ------------------------------------------------------------------------------- */

/* In pages. Rights, and what perf grants, are asked for only where they decide. */
static unsigned long limit_for(unsigned long pages)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;

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

struct user_struct *lx_charge(size_t size)
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
	return get_uid(user);
}

void lx_uncharge(struct user_struct *user, size_t size)
{
	atomic_long_sub(PFN_UP(size), &user->locked_vm);
	free_uid(user);
}

/* --- what is not mapped ----------------------------------------------------------------------- */

struct block {
	struct user_struct	*user;
	size_t			size;
	u64			mem[];
};

/* Most is small, and kvzalloc() takes its time. */
static struct block *block_new(size_t size)
{
	return size <= PAGE_SIZE ? kzalloc(size, GFP_KERNEL_ACCOUNT) : kvzalloc(size, GFP_KERNEL_ACCOUNT);
}

void *pfm_os_alloc(size_t size)
{
	size_t whole = size + sizeof(struct block);
	struct user_struct *user = lx_charge(whole);
	struct block *block = user ? block_new(whole) : NULL;

	if (!block) {
		if (user)
			lx_uncharge(user, whole);
		return NULL;
	}
	block->user = user;
	block->size = whole;
	return block->mem;
}

void pfm_os_free(void *p)
{
	struct block *block = container_of(p, struct block, mem);

	if (!p)
		return;
	lx_uncharge(block->user, block->size);
	kvfree(block);
}
