// SPDX-License-Identifier: GPL-2.0
/*
 * access.c - running a function in PMU context.
 *
 * If the target is the calling thread, the function is called here. If the target runs on another
 * CPU, the function is called in an interrupt there. If the target does not run, the function is
 * called here under the locks of the perf contexts with the target's events: perf takes these locks
 * before it schedules the events in.
 */
#include <linux/smp.h>
#include <linux/ptrace.h>

#include "linux.h"

struct call {
	struct pfm_context	*ctx;
	int			(*fn)(struct pfm_context *ctx, void *arg);
	void			*arg;
	pid_t			caller;
	int			ret;
};

struct pt_regs *lx_user_regs(const struct lx_context *lx)
{
	struct task_struct *task = lx->target.task ? lx->target.task : current;

	if (task != current && lx->target.task && lx->target.ref->ended)
		return NULL;	/* the task is dead, and its stack may have been freed */
	return task->flags & PF_KTHREAD ? NULL : task_pt_regs(task);
}

/* Calls fn between lx_enter() and lx_leave(). Interrupts are off. */
static inline int run(struct pfm_context *ctx, int (*fn)(struct pfm_context *, void *), void *arg)
{
	struct lx_context *lx = lx_of(ctx);
	int ret;

	lx_enter(lx);
	/* An overflow that is pending came before the command, so it is handled first. */
	if (lx->running && lx_has_to_drain(lx))
		lx_drain_overflows(lx, lx_user_regs(lx));
	ret = fn(ctx, arg);
	if (!lx_left_clean(lx))
		lx_catch_up(lx, lx_user_regs(lx));
	return ret;
}

static int run_call(struct call *call)
{
	return run(call->ctx, call->fn, call->arg);
}

static int run_here(struct call *call)
{
	int ret;

	local_irq_disable();
	ret = run_call(call);
	local_irq_enable();
	return ret;
}

static void run_there(void *arg)
{
	struct call *call = arg;
	struct lx_context *lx = lx_of(call->ctx);

	if (lx->target.task && lx->target.task != current)
		return;		/* the target has left this CPU; call->ret is still -EAGAIN */
	lx_refuse_for(call->caller);
	call->ret = run_call(call);
	lx_refuse_for(0);
}

/*
 * Returns the second perf context that was locked, or NULL, which the caller passes to
 * lx_unlock_perf(). lx_unlock_perf() cannot look at lx->perf[1]: a command can set it between the
 * two calls, when it makes the first counter of another kind while the thread records its own end
 * (record.c). The second lock is hidden from sparse, which cannot follow a conditional lock.
 */
struct perf_event_context *lx_lock_perf(struct lx_context *lx) __acquires(&lx->perf[0]->lock)
{
	struct perf_event_context *other = READ_ONCE(lx->perf[1]);

	if (other) {
		raw_spin_lock(&other->lock);
		__release(&other->lock);
	}
	raw_spin_lock_nested(&lx->perf[0]->lock, SINGLE_DEPTH_NESTING);
	return other;
}

void lx_unlock_perf(struct lx_context *lx, struct perf_event_context *other) __releases(&lx->perf[0]->lock)
{
	raw_spin_unlock(&lx->perf[0]->lock);
	if (other) {
		__acquire(&other->lock);
		raw_spin_unlock(&other->lock);
	}
}

bool lx_scheduled_in(const struct lx_context *lx)
{
	const struct perf_event_context *other = READ_ONCE(lx->perf[1]);

	return lx->perf[0]->is_active || (other && other->is_active);
}

/* Returns -EAGAIN if the target has left the CPU to which the interrupt was sent. */
static int run_on_thread(struct lx_context *lx, struct call *call)
{
	struct perf_event_context *other;
	bool away;

	local_irq_disable();
	other = lx_lock_perf(lx);
	away = !lx_scheduled_in(lx);
	if (away)
		call->ret = run_call(call);
	lx_unlock_perf(lx, other);
	local_irq_enable();
	if (!away)
		smp_call_function_single(task_cpu(lx->target.task), run_there, call, 1);
	return call->ret;
}

static int access_thread(struct lx_context *lx, struct call *call)
{
	while (run_on_thread(lx, call) == -EAGAIN) {
		call->ret = -EAGAIN;
		cond_resched();
	}
	return call->ret;
}

/*
 * 3.1.2, 4.3.2: commands must come from the monitored CPU. If pfm_any_cpu() is true, they may come
 * from any CPU.
 */
static int access_cpu(struct pfm_context *ctx, struct call *call)
{
	if (get_cpu() == ctx->cpu) {
		call->ret = run_here(call);
	} else if (!pfm_any_cpu(ctx)) {
		call->ret = pfm_refuse(-EBUSY, "the context monitors CPU %u and is commanded from there"
				       PFM_ANY_CPU_HINT, ctx->cpu);
	} else if (smp_call_function_single(ctx->cpu, run_there, call, 1)) {
		/* the CPU is offline, so perf schedules no event in there, and fn may run here */
		call->ret = run_here(call);
	}
	put_cpu();
	return call->ret;
}

static noinline int access_elsewhere(struct pfm_context *ctx, int (*fn)(struct pfm_context *, void *), void *arg)
{
	struct lx_context *lx = lx_of(ctx);
	struct call call = { ctx, fn, arg, current->pid, -EAGAIN };

	return lx->target.task ? access_thread(lx, &call) : access_cpu(ctx, &call);
}

/* fn notes readers and threads to wake in msgs.wake; the caller wakes them in lx_unlock(). */
int lx_access(struct pfm_context *ctx, int (*fn)(struct pfm_context *, void *), void *arg)
{
	int ret;

	if (lx_of(ctx)->target.task != current)
		return access_elsewhere(ctx, fn, arg);
	local_irq_disable();
	ret = run(ctx, fn, arg);
	local_irq_enable();
	return ret;
}
