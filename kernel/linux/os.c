// SPDX-License-Identifier: GPL-2.0
/* os.c - implements core/os.h in the kernel, except for memory (memory.c). */
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/sched.h>

#include "linux.h"

static DEFINE_MUTEX(global);

void pfm_os_lock(void)
{
	mutex_lock(&global);
}

void pfm_os_unlock(void)
{
	mutex_unlock(&global);
}

/* --- the reasons of refusals ---------------------------------------------------------------- */

/*
 * The reason of a thread's last refusal. Threads share an element of reasons[] if their ids have
 * the same hash: then the reason of one replaces that of another, which has no reason any more.
 */
struct reason {
	raw_spinlock_t	lock;
	pid_t		tid;
	char		text[sizeof(((struct pfm_ioc_why *)0)->text)];
};

#define REASON_BITS 6
static struct reason reasons[1 << REASON_BITS] = {
	[0 ... (1 << REASON_BITS) - 1] = { .lock = __RAW_SPIN_LOCK_UNLOCKED(reasons) },
};
/* the thread that called the command which an interrupt runs on this CPU */
static DEFINE_PER_CPU(pid_t, on_behalf);

void lx_refuse_for(pid_t tid)
{
	__this_cpu_write(on_behalf, tid);
}

/*
 * Returns the id of the thread for which a reason must be stored, or 0 if no thread made the call,
 * so that no thread can ask for the reason.
 */
static pid_t asker(void)
{
	if (in_task())
		return current->pid;
	return in_nmi() ? 0 : this_cpu_read(on_behalf);
}

/*
 * Stores the reason of an error for lx_explain(). The text is formatted before the lock is taken,
 * so that the lock is held only briefly.
 */
static noinline __printf(2, 0) void note(pid_t tid, const char *fmt, va_list args)
{
	struct reason *r = &reasons[hash_32(tid, REASON_BITS)];
	char text[sizeof(r->text)];
	unsigned long flags;

	vsnprintf(text, sizeof(text), fmt, args);
	raw_spin_lock_irqsave(&r->lock, flags);
	r->tid = tid;
	memcpy(r->text, text, sizeof(text));
	raw_spin_unlock_irqrestore(&r->lock, flags);
}

int pfm_refuse(int err, const char *fmt, ...)
{
	pid_t tid = asker();
	va_list args;

	if (!tid)
		return err;
	va_start(args, fmt);
	note(tid, fmt, args);
	va_end(args);
	return err;
}

const char *lx_explain(char *to, size_t size)
{
	struct reason *r = &reasons[hash_32(current->pid, REASON_BITS)];
	unsigned long flags;

	raw_spin_lock_irqsave(&r->lock, flags);
	strscpy(to, r->tid == current->pid ? r->text : "", size);
	raw_spin_unlock_irqrestore(&r->lock, flags);
	return to;
}
