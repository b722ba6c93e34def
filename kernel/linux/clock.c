// SPDX-License-Identifier: GPL-2.0
/*
 * clock.c - the target's run time, and the set timeout, which elapses only while the target runs
 * (3.7.6).
 *
 * perf keeps the target's run time in the perf context. The timeout is a clock event of perf: its
 * timer runs only while the target runs. lx_timer_set() sets a running timer anew, which perf
 * itself never does. If the event is on this CPU, lx_timer_set() sets the timer directly. If the
 * event is on no CPU, or the timer's handler is running, it stores a period in the event, from
 * which perf sets the timer when it schedules the event in or when the handler has returned.
 */
#include <linux/hrtimer.h>
#include <linux/timekeeping.h>

#include <asm/irq_regs.h>

#include "compat.h"
#include "linux.h"

/* the bit in lx->late that stands for lx->clock; a bit n below it stands for counters[n] */
#define CLOCK_BIT	63

static bool to_be_set(struct lx_context *lx)
{
	return atomic64_read(&lx->late) & 1LL << CLOCK_BIT;
}

static void expire(struct lx_context *lx, struct perf_event *event, struct pt_regs *regs)
{
	lx->armed = false;
	event->hw.sample_period = LX_FAR;
	/*
	 * An overflow of which the interrupt is still pending belongs to the set that is being
	 * left, so it is handled first.
	 */
	lx_drain_overflows(lx, regs);
	if (!lx->armed)
		pfm_set_timeout(lx->ctx);
}

static void on_timeout(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *regs)
{
	struct lx_context *lx = event->overflow_handler_context;
	unsigned long flags;

	local_irq_save(flags);
	if (!lx->busy) {
		lx_enter(lx);
		lx->firing = event;
		/*
		 * If an NMI has just switched sets, this timeout belonged to the previous set, and
		 * is ignored.
		 */
		if (lx->armed && !to_be_set(lx))
			expire(lx, event, regs);
		lx_leave(lx, regs);
		lx->firing = NULL;
		lx_end_service(lx, true);
	}
	local_irq_restore(flags);
}

static bool timed(struct pfm_context *ctx)
{
	for (struct pfm_set *set = &ctx->set0; set; set = set->next)
		if (set->flags & PFM_SETFL_TIME_SWITCH)
			return true;
	return false;
}

static int open_clock(struct lx_context *lx, bool has_timer)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = lx->target.task ? PERF_COUNT_SW_TASK_CLOCK : PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attr),
		.pinned = 1,
	};
	struct perf_event *event;

	if (has_timer)
		attr.sample_period = LX_FAR;
	event = lx_event_new(lx, &attr, on_timeout, lx);
	if (IS_ERR(event))
		return PTR_ERR(event);
	lx->clock = event;
	lx_note_event(lx, event);
	return 0;
}

/*
 * Makes the clock event only for a timeout, or as anchor event of a context without counters: it
 * costs time at every context switch.
 */
int lx_clock_open(struct lx_context *lx)
{
	bool has_timer = timed(lx->ctx);

	lx->armed = false;
	return has_timer || !lx->anchor_event ? open_clock(lx, has_timer) : 0;
}

void lx_clock_close(struct lx_context *lx)
{
	if (lx->clock)
		perf_event_release_kernel(lx->clock);
	lx->clock = NULL;
}

/* --- timers that an NMI could not set --------------------------------------------------------- */

static struct perf_event *event_of(struct lx_context *lx, unsigned int bit)
{
	return bit == CLOCK_BIT ? lx->clock : lx->counters[bit].event;
}

/*
 * Called in an NMI, which cannot set a timer, because the interrupted code may hold the lock of the
 * hrtimers: notes the event in lx->late, and has an interrupt (irq_work) set its timer.
 */
static void set_later(struct lx_context *lx, const struct perf_event *event)
{
	unsigned int bit = CLOCK_BIT;

	if (event != lx->clock)
		for (bit = 0; event_of(lx, bit) != event;)
			bit++;
	atomic64_or(1LL << bit, &lx->late);
	lx_late(lx);
}

static bool is_here(const struct perf_event *event)
{
	return lx_on_cpu(event) && event->oncpu == smp_processor_id();
}

/*
 * Sets the timers that an NMI could not set. For an event that is not on this CPU perf sets the
 * timer when it schedules the event in.
 */
static void set_late_ones(struct lx_context *lx)
{
	u64 late = atomic64_xchg(&lx->late, 0);

	while (late) {
		unsigned int bit = __ffs64(late);
		struct perf_event *event = event_of(lx, bit);

		late &= late - 1;
		if (is_here(event))
			lx_timer_set(lx, event, event->hw.sample_period);
	}
}

/*
 * Handles the overflows that NMIs missed, and places the counters that they could not place. If the
 * target has left the CPU, nothing is done: perf places the counters when it schedules them in, and
 * the next overflow handles the missed ones.
 */
static void catch_up(struct lx_context *lx)
{
	if (!(READ_ONCE(lx->missed) || READ_ONCE(lx->displaced)) || !is_here(lx->anchor_event))
		return;
	lx_enter(lx);
	if (lx_arch_place(lx))
		WRITE_ONCE(lx->root->starved, true);
	lx_leave(lx, get_irq_regs());
	lx_end_service(lx, true);
}

static void do_late(struct irq_work *work)
{
	struct lx_context *lx = container_of(work, struct lx_context, late_work);

	set_late_ones(lx);
	catch_up(lx);
}

void lx_late(struct lx_context *lx)
{
	irq_work_queue(&lx->late_work);
}

void lx_clock_init_context(struct lx_context *lx)
{
	lx->late_work = IRQ_WORK_INIT_HARD(do_late);
}

void lx_clock_drain(struct lx_context *lx)
{
	irq_work_sync(&lx->late_work);
}

/*
 * Returns how many ns are left until the timeout. In an NMI the lock that hrtimer_get_remaining()
 * takes cannot be taken.
 */
static s64 time_left(struct lx_context *lx)
{
	if (!in_nmi())
		return ktime_to_ns(hrtimer_get_remaining(&lx->clock->hw.hrtimer));
	if (to_be_set(lx))
		return lx->clock->hw.sample_period;
	return ktime_to_ns(hrtimer_get_expires(&lx->clock->hw.hrtimer)) - ktime_get_mono_fast_ns();
}

void lx_timer_set(struct lx_context *lx, struct perf_event *event, u64 ns)
{
	if (ns < LX_CLOCK_MIN_NS)
		ns = LX_CLOCK_MIN_NS;
	event->hw.sample_period = ns;
	if (lx->firing == event)
		return;
	if (in_nmi())
		set_later(lx, event);
	else if (lx_on_cpu(event))
		hrtimer_start(&event->hw.hrtimer, ns_to_ktime(ns), HRTIMER_MODE_REL_PINNED_HARD);
	else
		local64_set(&event->hw.period_left, ns);
}

uint64_t lx_timer_ns(struct pfm_machine *m)
{
	return LX_CLOCK_MIN_NS;
}

void lx_arm(struct pfm_context *ctx, uint64_t ns)
{
	struct lx_context *lx = lx_of(ctx);

	lx_timer_set(lx, lx->clock, ns);
	lx->armed = true;
}

uint64_t lx_left(struct pfm_context *ctx)
{
	struct lx_context *lx = lx_of(ctx);
	s64 left;

	if (!lx->armed)
		return 0;
	if (lx_on_cpu(lx->clock))
		left = time_left(lx);
	else
		left = local64_read(&lx->clock->hw.period_left);
	return left > 0 ? left : 1;
}

uint64_t lx_disarm(struct pfm_context *ctx)
{
	struct lx_context *lx = lx_of(ctx);
	uint64_t left = lx_left(ctx);

	if (lx->armed)
		lx_timer_set(lx, lx->clock, LX_FAR);
	lx->armed = false;
	return left;
}

uint64_t lx_ran(struct pfm_context *ctx)
{
	return pfm_perf_time(lx_of(ctx)->anchor_event->ctx);
}
