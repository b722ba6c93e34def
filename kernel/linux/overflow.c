// SPDX-License-Identifier: GPL-2.0
/*
 * overflow.c - counter overflows, in the interrupt and in the monitored thread's context.
 *
 * The interrupt of a PMU overflow may be an NMI (on x86 it always is), and so it may interrupt any
 * code on the CPU where the context's counters are. PMU context is therefore entered in one of two
 * ways:
 *
 * - By the interrupt of a PMU overflow (LX_HW in lx_on_overflow()). perf's handler has halted the
 *   PMU (AMD's PMU may count on, but an NMI does not interrupt another NMI), so nothing can
 *   interrupt it. If lx->busy is set, the NMI has interrupted code of the second kind. If perf had
 *   disabled the PMU before, the NMI has interrupted perf, which was scheduling events. In both
 *   cases the overflow is handled later: lx->missed is set. Otherwise this code may change
 *   everything in PMU context.
 * - By commands, timers, software counters and context switches. Interrupts are off, and lx->busy
 *   is set from lx_enter() to lx_leave(). Between these two calls this code may change everything
 *   in PMU context, but an NMI may set lx->missed at any time.
 *
 * lx->busy does not stop perf's own part of the NMI handler: it adds what the hardware has counted
 * to event->count, and loads the counter anew. So a context that counts in the kernel halts its PMU
 * from lx_enter() to lx_leave(), as perf does while it schedules events. Nothing overflows then
 * between the drain with which a command begins and the end of the command, and what perfmon itself
 * does is not counted. A context that counts only at user level need not halt the PMU: it counts
 * nothing in that time. Some overflows come all the same: by an NMI that was on its way when the
 * PMU was halted, or by a counter that was started before. lx_leave() handles them, and halts the
 * PMU before it looks for further ones. So it comes to an end, however short the period is.
 * Counters are read without perf's update function, which an NMI may confuse (see lx_arch_count()),
 * or they are stopped first.
 */
#include <linux/hardirq.h>
#include <linux/ptrace.h>
#include <linux/timekeeping.h>

#include "compat.h"
#include "linux.h"

/*
 * Returns the address of an overflow. If it is in the kernel and the context may not see kernel
 * addresses (4.4.1), the address from which the thread entered the kernel is returned instead, or 0
 * for a thread of the kernel.
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

/* Delivers all overflows in lx->wrapped to the core, in one call. */
static __always_inline void deliver(struct lx_context *lx, struct pt_regs *regs)
{
	if (!lx->any_wrapped)
		return;
	memcpy(lx->ovfl, lx->wrapped, sizeof(lx->ovfl));
	lx_forget_wrapped(lx);
	lx->where.regs = regs;
	pfm_overflow(lx->ctx, lx->ovfl, &lx->where);
}

/* Delivers the overflow of this PMD alone. */
static __always_inline void deliver_one(struct lx_context *lx, struct pfm_pmd *pmd, struct pt_regs *regs)
{
	memset(lx->ovfl, 0, sizeof(lx->ovfl));
	pfm_bit_set(lx->ovfl, pmd->num);
	lx->where.regs = regs;
	pfm_overflow_of(lx->ctx, pmd, lx->ovfl, &lx->where);
}

void lx_deliver(struct lx_context *lx, struct pt_regs *regs)
{
	deliver(lx, regs);
}

/* --- keeping NMIs out of PMU context --------------------------------------------------------- */

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
	/*
	 * This is cleared last: until then lx_perf_is_busy() does not take lx_halt()'s disabling of
	 * the PMU for perf's.
	 */
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

/* --- handling overflows ---------------------------------------------------------------------- */

void lx_drain_overflows(struct lx_context *lx, struct pt_regs *regs)
{
	if (!lx->running)
		return;
	lx_collect_active(lx);
	deliver(lx, regs);
}

/*
 * Called when the timer of a clock event has fired. The timer and the counted time are measured by
 * different clocks. If at most LX_CLOCK_MIN_NS of the period are missing, the period counts as
 * elapsed, and true is returned. If more is missing, perf sets the timer again, by the period that
 * is stored here.
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

/* Parks a counter that perf started although it is held or not live: its overflow is ignored. */
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
	 * 4.4.4: perf throttles a PMU or timer that interrupts too often. The context counts how
	 * often that happens.
	 */
	if (c->event->hw.interrupts == LX_THROTTLED)
		pfm_count_throttled(lx->ctx, 1);
	c->loaded = false;
	if (lx->live == BIT_ULL(c->at) && !lx->any_wrapped) {
		struct pfm_pmd *pmd = lx_serve_alone(c);

		if (pmd)
			deliver_one(lx, pmd, regs);
	} else {
		lx_collect_active(lx);
		deliver(lx, regs);
	}
	/*
	 * 3.4.3: a PMD that has wrapped counts on from its value. perf alone would interrupt again
	 * after the same period, so the counter is loaded with the period that fits the value.
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
 * Wakes the readers and threads that msgs.wake names: at once if that is possible and safe is true,
 * which means that the caller holds no lock of the scheduler; else in an interrupt that comes soon.
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
 * Called if an NMI found the PMU disabled: perf may be removing events or assigning counters to
 * them, so no event may be stopped or started. lx_late() asks for an interrupt, which handles the
 * missed overflow as soon as perf is done. If the target has left the CPU by then, its next
 * overflow also handles the missed one.
 */
static noinline void serve_later(struct lx_counter *c)
{
	lx_load_at_start(c);
	if (c->lx->running)
		lx_late(c->lx);
}

/*
 * Returns true if the overflow cannot be handled now. If the interrupt came while other code was in
 * PMU context (lx->busy), that code handles the overflow in lx_leave(); otherwise serve_later() has
 * it handled.
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
