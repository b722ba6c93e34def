// SPDX-License-Identifier: GPL-2.0
/*
 * os.c - the core's needs (core/os.h) in the kernel.
 */
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "linux.h"

static DEFINE_MUTEX(global);

void *pfm_os_alloc(size_t size)
{
	/* most is small, and kvzalloc() takes its time */
	return size <= PAGE_SIZE ? kzalloc(size, GFP_KERNEL_ACCOUNT) : kvzalloc(size, GFP_KERNEL_ACCOUNT);
}

void pfm_os_free(void *p)
{
	kvfree(p);
}

void pfm_os_lock(void)
{
	mutex_lock(&global);
}

void pfm_os_unlock(void)
{
	mutex_unlock(&global);
}

/* --- reasons -------------------------------------------------------------------------------- */

/*
 * The last reason of a thread, in a slot it may have to share: then the later one wins, and the
 * other thread is told nothing.
 */
struct reason {
	pid_t	tid;
	char	text[sizeof(((struct pfm_ioc_why *)0)->text)];
};

#define REASON_BITS 6
static struct reason reasons[1 << REASON_BITS];
static DEFINE_RAW_SPINLOCK(reasons_lock);
static DEFINE_PER_CPU(pid_t, on_behalf);	/* of whom an interrupt works here */

void lx_refuse_for(pid_t tid)
{
	__this_cpu_write(on_behalf, tid);
}

/* Of whom? 0: of nobody who will ask. */
static pid_t asker(void)
{
	if (in_task())
		return current->pid;
	return in_nmi() ? 0 : this_cpu_read(on_behalf);
}

int pfm_refuse(int err, const char *fmt, ...)
{
	pid_t tid = asker();
	struct reason *r = &reasons[hash_32(tid, REASON_BITS)];
	unsigned long flags;
	va_list args;

	if (!tid)
		return err;
	raw_spin_lock_irqsave(&reasons_lock, flags);
	r->tid = tid;
	va_start(args, fmt);
	vsnprintf(r->text, sizeof(r->text), fmt, args);
	va_end(args);
	raw_spin_unlock_irqrestore(&reasons_lock, flags);
	return err;
}

const char *lx_explain(char *to, size_t size)
{
	struct reason *r = &reasons[hash_32(current->pid, REASON_BITS)];
	unsigned long flags;

	raw_spin_lock_irqsave(&reasons_lock, flags);
	strscpy(to, r->tid == current->pid ? r->text : "", size);
	raw_spin_unlock_irqrestore(&reasons_lock, flags);
	return to;
}
