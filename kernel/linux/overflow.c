// SPDX-License-Identifier: GPL-2.0
/*
 * overflow.c - counter overflows, in the interrupt and in the monitored thread's context.
 */
#include <linux/hardirq.h>
#include <linux/ptrace.h>
#include <linux/timekeeping.h>

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
		lx->firing = event;
		if (clock_is_due(c)) {
			event->hw.sample_period = LX_FAR;
			lx_settle(lx, regs);
		}
		lx->firing = NULL;
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
		lx_keep_nmi_out(lx);
		serve(c, regs);
		if (lx_let_nmi_in(lx))
			lx_settle(lx, regs);
		lx_end_service(lx, c->kind != LX_SW);
	}
	local_irq_restore(flags);
}
