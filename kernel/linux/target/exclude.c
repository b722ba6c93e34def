// SPDX-License-Identifier: GPL-2.0
/*
 * exclude.c - excludes threads from a set of a system-wide context: the idle thread (3.1.10), or
 * all kernel threads (6.2.3). A probe at every context switch holds or releases the counters. It is
 * registered only while a context with such a set is loaded. Interrupts in an excluded thread are
 * excluded too.
 */
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/tracepoint.h>

#include "linux.h"

#define EXCLUDING (PFM_SETFL_EXCL_IDLE | PFM_SETFL_EXCL_KERNEL_ONLY_THREADS)

/* the CPU's system-wide context that excludes threads; it is read with interrupts off */
static DEFINE_PER_CPU(struct lx_context *, excluder);
static DEFINE_MUTEX(probing);
static unsigned int excluders;
static struct tracepoint *sched_switch;

bool lx_leaves_out(const struct pfm_set *set, const struct task_struct *task)
{
	if (set->flags & PFM_SETFL_EXCL_KERNEL_ONLY_THREADS)
		return task->flags & (PF_KTHREAD | PF_IDLE);
	return (set->flags & PFM_SETFL_EXCL_IDLE) && (task->flags & PF_IDLE);
}

/*
 * Called at every context switch, with interrupts off. A PMD that passed 2^64 while the counters
 * were being held has overflowed, as at any other time: lx_deliver() delivers that after the
 * release.
 */
static void on_switch(void *data, bool preempt, struct task_struct *prev, struct task_struct *next,
		      unsigned int prev_state)
{
	struct lx_context *lx = this_cpu_read(excluder);

	if (!lx || lx_leaves_out(lx->ctx->active, next) == lx->away)
		return;
	lx_enter(lx);
	lx_leave_out(lx, !lx->away);
	lx_deliver(lx, NULL);
	lx_leave(lx, NULL);
	lx_end_service(lx, false);
}

static bool excludes(const struct pfm_context *ctx)
{
	for (const struct pfm_set *set = &ctx->set0; set; set = set->next)
		if (set->flags & EXCLUDING)
			return true;
	return false;
}

static int probe(void)
{
	int ret = 0;

	mutex_lock(&probing);
	if (!excluders)
		ret = sched_switch ? tracepoint_probe_register(sched_switch, on_switch, NULL) : -ENOENT;
	excluders += !ret;
	mutex_unlock(&probing);
	return ret ? pfm_refuse(ret, "the kernel does not report context switches") : 0;
}

static void unprobe(void)
{
	mutex_lock(&probing);
	if (!--excluders)
		tracepoint_probe_unregister(sched_switch, on_switch, NULL);
	mutex_unlock(&probing);
	tracepoint_synchronize_unregister();
}

int lx_exclude_begin(struct lx_context *lx)
{
	int ret;

	lx->away = lx->excludes = false;
	if (!excludes(lx->ctx))
		return 0;
	ret = probe();
	if (ret)
		return ret;
	lx->excludes = true;
	/*
	 * There is one system-wide context per CPU: if another one has set excluder, the load is
	 * refused.
	 */
	if (cmpxchg(per_cpu_ptr(&excluder, lx->ctx->cpu), NULL, lx))
		lx->excludes = false;
	if (!lx->excludes)
		unprobe();
	return lx->excludes ? 0 : pfm_refuse(-EBUSY, "CPU %u has a context already", lx->ctx->cpu);
}

/* When this returns, no probe uses the context any more. */
void lx_exclude_end(struct lx_context *lx)
{
	if (!lx->excludes)
		return;
	WRITE_ONCE(*per_cpu_ptr(&excluder, lx->ctx->cpu), NULL);
	lx->excludes = lx->away = false;
	unprobe();
}

void lx_exclude_init(void)
{
	sched_switch = lx_tracepoint("sched_switch");
}
