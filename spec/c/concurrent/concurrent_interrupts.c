// SPDX-License-Identifier: MIT
/*
 * concurrent_interrupts.c - what the CPUs do to contexts: their counters count and wrap, their
 * timeouts expire, their threads come and go, run other programs, and end.
 */
#include "concurrent.h"

/* --- counting ------------------------------------------------------------------------------- */

static uint64_t step_of(uint64_t value)
{
	uint32_t how = rng_below(&me.rng, 10);

	if (how < 3)
		return 0;
	if (how < 5)
		return -value + rng_below(&me.rng, 3);	/* the PMD wraps, or nearly wraps */
	return rng_below(&me.rng, 1000);
}

static void count(struct file *f)
{
	for (unsigned int num = 0; num < NUM_COUNTERS; num++) {
		uint64_t before = f->counts[num];

		if (!f->on[num])
			continue;
		f->counts[num] += step_of(before);
		if (f->counts[num] < before) {
			pfm_bit_set(f->pending, num);
			f->is_pending = true;
		}
	}
}

static void pass_time(struct file *f)
{
	uint64_t ns = rng_below(&me.rng, 200);

	f->ran += ns;
	if (f->armed)
		f->timeout -= ns < f->timeout ? ns : f->timeout;
}

/* Takes the interrupt of the counters that wrapped. */
void settle(struct file *f)
{
	uint64_t wrapped[PFM_PMD_BV];
	struct pfm_where where;

	if (!f->running)
		return;
	pfm_ops(f->ctx)->collect(f->ctx, f->ctx->active);
	if (!f->is_pending)
		return;
	memcpy(wrapped, f->pending, sizeof(wrapped));
	memset(f->pending, 0, sizeof(f->pending));
	f->is_pending = false;
	pfm_ops(f->ctx)->where(f->ctx, &where);
	ledger_overflow(f, wrapped, &where);
}

/*
 * As in perfmon.ko: an overflow that has not been reported yet belongs to the set before the
 * switch.
 */
static void expire(struct file *f)
{
	f->armed = false;
	settle(f);
	if (f->armed)
		return;
	f->posts = f->signals = 0;
	pfm_set_timeout(f->ctx);
	ledger_told(f, f->ctx->absent);
	atomic_fetch_add(&tally.timeouts, 1);
}

static void run(struct file *f)
{
	if (!f->running || f->held)
		return;
	pass_time(f);
	count(f);
	if (f->armed && !f->timeout)
		expire(f);
	else if (rng_chance(&me.rng, 80))
		settle(f);		/* else the interrupt comes later */
}

/* --- context switches ----------------------------------------------------------------------- */

static void switch_context(struct file *f)
{
	atomic_fetch_add(&tally.ctxsw, 1);
	settle(f);
	if (f->scheduled_in) {
		pfm_ctxsw_out(f->ctx);
	} else if (f->installed) {
		bool counted = pfm_counting(f->ctx);

		f->posts = f->signals = 0;
		f->coming_in = true;
		pfm_ctxsw_in(f->ctx);
		f->coming_in = false;
		ledger_told(f, counted && f->ctx->absent);
	}
	f->scheduled_in = !f->scheduled_in;
}

/* Counts overflows of the set as lost, and one as throttled. */
static void lose(struct file *f)
{
	if (!f->installed)
		return;
	pfm_count_lost(f->ctx, f->ctx->active, 2);
	ledger_of(f, f->installed->id)->lost += 2;
	pfm_count_throttled(f->ctx, 1);
	ledger_of(f, f->installed->id)->throttled++;
}

static void interrupt(struct file *f)
{
	uint32_t what = rng_below(&me.rng, 100);

	if (what < 4 || !f->scheduled_in)
		switch_context(f);
	else if (what < 98)
		run(f);
	else
		lose(f);
}

/* --- ends ----------------------------------------------------------------------------------- */

/* If a thread's exec changes its rights, perf removes its events; later the context is unloaded. */
static void exec_other(struct file *f)
{
	pmu_lock(f);
	if (f->attached && !f->lost) {
		settle(f);
		f->lost = true;
	}
	pmu_unlock(f);
}

static void end_target(struct file *f)
{
	unsigned int head = atomic_load(&f->head);
	bool tell;

	if (!f->ctx || !pfm_loaded(f->ctx))
		return;
	tell = !(f->ctx->flags & PFM_FL_SYSTEM_WIDE) && !f->ctx->self && f->ctx->tid != TARGET_WITH_FD;
	if (rng_chance(&me.rng, 50))
		exec_other(f);
	head = atomic_load(&f->head);
	if (f->root) {
		pfm_target_exit(f->ctx);
		CHECK(!f->ctx, "the child is gone, and has a child context");
		return;
	}
	pfm_target_exit(f->ctx);
	if (f->ctx->child_ctxs)
		return;
	CHECK(!pfm_loaded(f->ctx), "the target is gone, and the context loaded");
	CHECK(!tell || atomic_load(&f->head) != head, "the target is gone, and END did not come");
}

static void end_somebody(struct file *f)
{
	if (rng_chance(&me.rng, 30))
		exec_other(f);		/* the events are off before the context is unloaded */
	pthread_mutex_lock(lock_of(f));
	end_target(f);
	pthread_mutex_unlock(lock_of(f));
}

/* Forks the target: the child gets the next number. */
static void fork_somebody(struct file *f)
{
	static atomic_uint next = 1000;

	pthread_mutex_lock(lock_of(f));
	if (f->ctx)
		pfm_fork(f->ctx, (void *)(uintptr_t)atomic_fetch_add(&next, 1));
	pthread_mutex_unlock(lock_of(f));
}

static void interrupt_file(struct file *f)
{
	pmu_lock(f);
	for (int i = 0; i < 6 && f->attached && !f->lost; i++)
		interrupt(f);
	pmu_unlock(f);
}

void interrupt_somebody(void)
{
	struct file *f = file_pick_attached();

	if (!f)
		return;
	me.cpu = rng_below(&me.rng, NUM_CPUS);
	if (!rng_below(&me.rng, 300))
		end_somebody(f);
	else if (!rng_below(&me.rng, 100))
		fork_somebody(f);
	else
		interrupt_file(f);
	file_put(f);
}
