// SPDX-License-Identifier: GPL-2.0
/*
 * overflow.c - counter overflows, in the interrupt and in the monitored thread's context.
 *
 * An overflow of the PMU may be an NMI (on x86 always is) and come in the midst of anything, on the CPU where
 * the context's counters are. PMU context is therefore entered in one of two ways:
 *
 * - The PMU's own overflow (LX_HW in lx_on_overflow()): perf's handler has halted the PMU (AMD's counts on, but an
 *   NMI does not interrupt another), and nothing can come in between. If lx->busy is set it interrupted the others, and
 *   if the PMU was disabled before, perf, which schedules events: it sets lx->missed and goes; else everything in PMU
 *   context is its to change.
 * - Commands, timers, software counters, context switches: interrupts are off, and from lx_enter() to lx_leave()
 *   lx->busy is set. Everything in PMU context is theirs then, and not a moment longer; lx->missed is the NMI's.
 *
 * perf's handler is not held off by busy: it folds an event's hardware counter into event->count, and loads the
 * counter anew. So a context that counts in the kernel halts its PMU from lx_enter() to lx_leave(), as perf does
 * when it schedules: nothing overflows between the look for overflows with which a command begins and its end,
 * and what perfmon does itself is not counted. One that counts at user level alone counts nothing meanwhile. What
 * comes all the same (an NMI on its way when the PMU was halted, or counters that began before that) is handled
 * by lx_leave(), which halts the PMU before it looks again: it cannot be kept there for ever, however short the
 * period. Counters are read without perf's update, which an NMI may confuse (see lx_arch_count()), or stopped
 * first.
 */
#include <linux/hardirq.h>
#include <linux/ptrace.h>
#include <linux/timekeeping.h>

#include "compat.h"
#include "linux.h"

/*
 * Without the right to see kernel addresses (4.4.1), the address at which the thread entered the
 * kernel is returned.
 */
static inline u64 ip_of(const struct lx_context *lx, struct pt_regs *regs)
{
	if (!regs)
		return 0;
	if (user_mode(regs) || lx->kernel_ips)
		return instruction_pointer(regs);
	return current->mm ? instruction_pointer(task_pt_regs(current)) : 0;
}

/*
 * Completes lx->where for the overflow that is being handled. It is called only if a sample or
 * message needs it.
 */
void lx_get_location(struct pfm_context *ctx)
{
	struct lx_context *lx = lx_of(ctx);
	struct pfm_where *where = &lx->where;

	where->ip = ip_of(lx, where->regs);
	where->tstamp = ktime_get_mono_fast_ns();
	where->cpu = raw_smp_processor_id();
	where->stack = &lx_stack_ops;
	lx_record_sample(lx);
	if (lx->target.task) {
		where->pid = lx->target.pid;
		where->tid = lx->target.tid;
	} else {
		where->pid = task_tgid_nr_ns(current, lx->ns);
		where->tid = task_pid_nr_ns(current, lx->ns);
	}
}

void lx_where(struct pfm_context *ctx, struct pfm_where *where)
{
	struct lx_context *lx = lx_of(ctx);

	lx->where.regs = lx_user_regs(lx);
	lx_get_location(ctx);
	*where = lx->where;
}

/* Several counters may have passed 2^64: all are delivered to the core in one call. */
static __always_inline void deliver(struct lx_context *lx, struct pt_regs *regs)
{
	if (!lx->any_wrapped)
		return;
	memcpy(lx->ovfl, lx->wrapped, sizeof(lx->ovfl));
	lx_forget_wrapped(lx);
	lx->where.regs = regs;
	pfm_overflow(lx->ctx, lx->ovfl, &lx->where);
}

void lx_deliver(struct lx_context *lx, struct pt_regs *regs)
{
	deliver(lx, regs);
}

/* --- keeping NMIs out of PMU context ----------------------------------------------------------- */

void lx_halt(struct lx_context *lx)
{
	/* read once, because a command may just be adding the first counter */
	struct pmu *pmu = READ_ONCE(lx->pmu);

	if (!pmu || lx->halts || !lx->busy)
		return;
	lx->halted = pmu;
	lx->halts = true;
	pfm_perf_pmu_disable(pmu);
}

static void go_on(struct lx_context *lx)
{
	if (!lx->halts)
		return;
	pfm_perf_pmu_enable(lx->halted);
	barrier();
	/* set last, because lx_perf_is_busy() uses it to subtract our own disabling of the PMU */
	lx->halts = false;
}

/*
 * The second part of lx_leave(): handles overflows of NMIs that found lx->busy set. An NMI that
 * comes later handles its overflow itself.
 */
void lx_catch_up(struct lx_context *lx, struct pt_regs *regs)
{
	while (READ_ONCE(lx->missed)) {
		WRITE_ONCE(lx->busy, true);
		WRITE_ONCE(lx->missed, false);
		barrier();
		lx_halt(lx);
		pfm_count_throttled(lx->ctx, lx->missed_throttled);
		lx->missed_throttled = 0;
		lx_drain_overflows(lx, regs);
		barrier();
		WRITE_ONCE(lx->busy, false);
	}
	go_on(lx);
	lx_publish(lx);
}

/* --- serving ---------------------------------------------------------------------------------- */

void lx_drain_overflows(struct lx_context *lx, struct pt_regs *regs)
{
	if (!lx->running)
		return;
	lx_collect_active(lx);
	deliver(lx, regs);
}

/*
 * A timer and the counted time are measured by different clocks. If little of the period is missing
 * when the timer fires, it counts as elapsed; if more is missing, the timer is set again.
 */
static bool clock_is_due(struct lx_counter *c)
{
	struct pfm_pmd *pmd = pfm_set_pmd(c->lx->ctx->active, c->num);
	u64 missing;

	lx_collect(c->lx->ctx, c->lx->ctx->active);
	if (pfm_bit(c->lx->wrapped, c->num))
		return true;
	missing = -pmd->value;
	c->event->hw.sample_period = missing < LX_FAR ? missing : LX_FAR;
	if (missing > LX_CLOCK_MIN_NS)
		return false;
	pmd->value = 0;
	lx_wrapped(c->lx, c->num);
	return true;
}

/* Parks a counter that perf started although its set is held. Its overflow must be ignored. */
static void park_counter(struct lx_counter *c)
{
	c->stale = true;
	if (c->kind == LX_HW && lx_arch_bit(c->event))
		lx_arch_load(c->event, LX_FAR);
}

static __always_inline void handle_count(struct lx_counter *c, struct pt_regs *regs)
{
	struct lx_context *lx = c->lx;

	if (!lx->running || !lx_live(c)) {
		park_counter(c);
		return;
	}
	/*
	 * 4.4.4: perf throttles a PMU or timer that interrupts too often; the context counts how
	 * often
	 */
	if (c->event->hw.interrupts == LX_THROTTLED)
		pfm_count_throttled(lx->ctx, 1);
	c->loaded = false;
	if (lx->live == BIT_ULL(c->at) && !lx->any_wrapped)
		lx_serve_alone(c);
	else
		lx_collect_active(lx);
	deliver(lx, regs);
	/*
	 * 3.4.3: the PMD wraps and goes on; perf alone would interrupt again after the same period
	 */
	if (!c->loaded && lx_live(c) && lx->running)
		lx_load(c, pfm_set_pmd(lx->ctx->active, c->num)->value);
}

static void serve_clock(struct lx_counter *c, struct pt_regs *regs)
{
	struct lx_context *lx = c->lx;

	if (!lx->running || !lx_live(c)) {
		park_counter(c);
		return;
	}
	if (c->event->hw.interrupts == LX_THROTTLED)
		pfm_count_throttled(lx->ctx, 1);
	if (clock_is_due(c)) {
		c->event->hw.sample_period = LX_FAR;
		lx_drain_overflows(lx, regs);
	}
}

/* A wakeup takes locks that sleep on PREEMPT_RT. lockdep may check other kernels for that, too. */
#define WAKES_IN_IRQ (!IS_ENABLED(CONFIG_PREEMPT_RT) && !IS_ENABLED(CONFIG_PROVE_RAW_LOCK_NESTING))

/*
 * Wakes the readers and threads that msgs.wake names. If safe is true, the scheduler's locks are
 * not held, so they are woken at once.
 */
void lx_end_service(struct lx_context *lx, bool safe)
{
	struct lx_context *root = lx->root;	/* child contexts have no messages of their own */

	if (!atomic_read(&root->msgs.wake))
		return;
	if (safe && WAKES_IN_IRQ && in_hardirq() && !in_nmi())
		lx_wake(root);
	else
		lx_wake_soon(root);
}

static void serve_soft(struct lx_counter *c, struct pt_regs *regs)
{
	struct lx_context *lx = c->lx;

	lx_enter(lx);
	if (c->kind == LX_CLOCK) {
		lx->firing = c->event;
		serve_clock(c, regs);
	} else {
		handle_count(c, regs);
	}
	lx_leave(lx, regs);
	lx->firing = NULL;
	lx_end_service(lx, c->kind != LX_SW);
}

static __always_inline void handle_hw(struct lx_counter *c, struct pt_regs *regs)
{
	handle_count(c, regs);
	lx_publish(c->lx);
	lx_arch_end_overflow(c->event);
	lx_end_service(c->lx, true);
}

/*
 * An NMI found the PMU disabled: perf may be removing events or assigning counters to them, so no event may be stopped
 * or started. lx_late() asks for an interrupt, which handles what was missed as soon as perf is done. If the target has
 * left the CPU, its next overflow does that when it is back.
 */
static noinline void serve_later(struct lx_counter *c)
{
	lx_load_at_start(c);
	if (c->lx->running)
		lx_late(c->lx);
}

/*
 * Returns true if the overflow cannot be handled now. lx_leave() handles it if PMU context is in
 * use, otherwise serve_later() arranges that.
 */
static __always_inline bool comes_late(struct lx_counter *c)
{
	struct lx_context *lx = c->lx;

	if (!READ_ONCE(lx->busy)) {
		if (likely(c->kind != LX_HW || !lx_perf_is_busy(lx, c->event->pmu)))
			return false;
		serve_later(c);
	}
	lx->missed_throttled += c->event->hw.interrupts == LX_THROTTLED;
	WRITE_ONCE(lx->missed, true);
	return true;
}

void lx_on_overflow(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *regs)
{
	struct lx_counter *c = event->overflow_handler_context;
	unsigned long flags;

	if (c->kind == LX_HW) {		/* we are in the PMU's interrupt */
		if (!comes_late(c))
			handle_hw(c, regs);
		return;
	}
	local_irq_save(flags);
	if (!comes_late(c))
		serve_soft(c, regs);
	local_irq_restore(flags);
}
