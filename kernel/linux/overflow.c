// SPDX-License-Identifier: GPL-2.0
/*
 * overflow.c - counter overflows, in the interrupt and in the monitored thread's context.
 *
 * An overflow of the PMU may be an NMI (on x86 always is) and come in the midst of anything, on the CPU where
 * the context's counters are. PMU context is therefore entered in one of two ways:
 *
 * - The PMU's own overflow (LX_HW in lx_on_overflow()): perf's handler has halted the PMU, and nothing can come
 *   in between. If lx->busy is set it interrupted the others: it counts its throttling, sets lx->missed and goes;
 *   else everything in PMU context is its to change.
 * - Commands, timers, software counters, context switches: interrupts are off, and from lx_enter() to lx_leave()
 *   lx->busy is set. Everything in PMU context is theirs then, and not a moment longer; lx->missed is the NMI's.
 *
 * perf's handler is not held off by busy: it folds an event's hardware counter into event->count, and loads the
 * counter anew. So a context that counts in the kernel halts its PMU from lx_enter() to lx_leave(), as perf does
 * when it schedules: nothing overflows between the look for overflows with which a command begins and its end,
 * and what perfmon does itself is not counted. One that counts at user level alone counts nothing meanwhile. What
 * comes all the same (an NMI on its way when the PMU was halted, or counters that began before that) is settled
 * by lx_leave(), which halts the PMU before it looks again: it cannot be kept there for ever, however short the
 * period. Counters are read without perf's update, which an NMI may confuse (see lx_arch_count()), or stopped
 * first.
 */
#include <linux/hardirq.h>
#include <linux/ptrace.h>
#include <linux/timekeeping.h>

#include "compat.h"
#include "linux.h"

/* 4.4.1: a creator who may not look into the kernel sees where the thread entered it. */
static inline u64 ip_of(const struct lx_context *lx, struct pt_regs *regs)
{
	if (!regs)
		return 0;
	if (user_mode(regs) || lx->kernel_ips)
		return instruction_pointer(regs);
	return current->mm ? instruction_pointer(task_pt_regs(current)) : 0;
}

static inline void locate(struct lx_context *lx, struct pt_regs *regs, struct pfm_where *where)
{
	where->ip = ip_of(lx, regs);
	where->tstamp = ktime_get_mono_fast_ns();
	where->cpu = raw_smp_processor_id();
	where->regs = regs;
	if (lx->task) {
		where->pid = lx->pid;
		where->tid = lx->tid;
	} else {
		where->pid = task_tgid_nr_ns(current, lx->ns);
		where->tid = task_pid_nr_ns(current, lx->ns);
	}
}

/* Several counters may pass 2^64 at once; the core hears of them once. */
void lx_deliver(struct lx_context *lx, struct pt_regs *regs)
{
	if (!lx->any_wrapped)
		return;
	memcpy(lx->ovfl, lx->wrapped, sizeof(lx->ovfl));
	lx_forget_wrapped(lx);
	locate(lx, regs, &lx->where);
	pfm_overflow(lx->ctx, lx->ovfl, &lx->where);
}

/* --- the NMI kept out, and let in ------------------------------------------------------------- */

void lx_halt(struct lx_context *lx)
{
	if (!lx->pmu || lx->halted || !lx->busy)
		return;
	lx->halted = lx->pmu;
	pfm_perf_pmu_disable(lx->pmu);
}

static void go_on(struct lx_context *lx)
{
	struct pmu *pmu = lx->halted;

	if (!pmu)
		return;
	lx->halted = NULL;
	pfm_perf_pmu_enable(pmu);
}

void lx_enter(struct lx_context *lx)
{
	WRITE_ONCE(lx->busy, true);
	barrier();
	if (lx->running && lx->kernel_hw)
		lx_halt(lx);
}

/* Had an NMI to wait? Those that come from now on need not. */
static bool let_nmi_in(struct lx_context *lx)
{
	bool missed;

	barrier();
	WRITE_ONCE(lx->busy, false);
	missed = READ_ONCE(lx->missed);
	WRITE_ONCE(lx->missed, false);
	return missed;
}

void lx_leave(struct lx_context *lx, struct pt_regs *regs)
{
	while (let_nmi_in(lx)) {
		WRITE_ONCE(lx->busy, true);
		barrier();
		lx_halt(lx);
		lx_settle(lx, regs);
	}
	go_on(lx);
}

/* --- serving ---------------------------------------------------------------------------------- */

void lx_settle(struct lx_context *lx, struct pt_regs *regs)
{
	if (!lx->running)
		return;
	lx_collect(lx->ctx, lx->ctx->active);
	lx_deliver(lx, regs);
}

/*
 * A timer goes by another clock than the one that is counted: what little is missing is granted; if
 * it is more, the timer goes on.
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

/* Held, and perf has let it go: its period means nothing now. */
static void be_quiet(struct lx_counter *c)
{
	c->stale = true;
	if (c->kind == LX_HW && lx_arch_bit(c->event))
		lx_arch_load(c->event, LX_FAR);
}

static inline void serve(struct lx_counter *c, struct pt_regs *regs)
{
	struct lx_context *lx = c->lx;
	struct perf_event *event = c->event;

	if (!lx->running || !lx_live(c)) {
		be_quiet(c);
		return;
	}
	if (c->kind == LX_CLOCK) {
		if (clock_is_due(c)) {
			event->hw.sample_period = LX_FAR;
			lx_settle(lx, regs);
		}
	} else {
		c->loaded = false;
		lx_settle(lx, regs);
		/* 3.4.3: it wraps and goes on; perf would interrupt again after the same period */
		if (!c->loaded && lx_live(c) && lx->running)
			lx_load(c, pfm_set_pmd(lx->ctx->active, c->num)->value);
	}
}

/* What was asked for meanwhile: an NMI's overflow, wakings. safe: no lock of the scheduler is held. */
void lx_end_service(struct lx_context *lx, bool safe)
{
	if (!atomic_read(&lx->wake))
		return;
	if (safe && in_hardirq() && !in_nmi() && !IS_ENABLED(CONFIG_PREEMPT_RT))
		lx_wake(lx);
	else
		lx_wake_soon(lx);
}

static void serve_soft(struct lx_counter *c, struct pt_regs *regs)
{
	struct lx_context *lx = c->lx;

	lx_enter(lx);
	if (c->kind == LX_CLOCK)
		lx->firing = c->event;
	serve(c, regs);
	lx_leave(lx, regs);
	lx->firing = NULL;
	lx_end_service(lx, c->kind != LX_SW);
}

void lx_on_overflow(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *regs)
{
	struct lx_counter *c = event->overflow_handler_context;
	struct lx_context *lx = c->lx;
	unsigned long flags;

	/* 4.4.4: perf protects the machine from its PMU's interrupts, and timers' */
	if (event->hw.interrupts == LX_THROTTLED)
		lx->ctx->active->throttled++;
	local_irq_save(flags);
	if (READ_ONCE(lx->busy)) {
		WRITE_ONCE(lx->missed, true);
	} else if (c->kind == LX_HW) {
		serve(c, regs);
		lx_end_service(lx, true);
	} else {
		serve_soft(c, regs);
	}
	local_irq_restore(flags);
}
