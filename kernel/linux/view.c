// SPDX-License-Identifier: GPL-2.0
/*
 * view.c - publishes the registers of a thread's counters, for reads at user level (2.2): the
 * mapped page of the active set names the register of each counter, and the value to add to it.
 *
 * The page changes in commands, overflows and timers, which end with lx_publish(). It also changes
 * when perf moves events: at context switches, when other events are added or removed, and after
 * throttling. perf does all that while the PMU is disabled, so the PMU's pmu_enable() is redirected
 * to this file while any context has views. Between two changes of the page a counter counts on
 * from the value that was loaded, and when it wraps, its overflow changes the page. For that reason
 * no period of a counter with a view exceeds the range of the counter (LX_VIEW_FAR).
 *
 * A page is changed on the CPU of the thread that reads it, or while that thread cannot run. So the
 * thread, if it checks the sequence number, sees all of a change or nothing. Only this thread may
 * read counters. It is identified by its thread pointer (set_owner), in the address space in which
 * the page is mapped.
 */
#include <linux/hashtable.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>

#include "linux.h"

/* --- writing a view's page ------------------------------------------------------------------ */

/*
 * Returns the thread pointer of the thread that may read the counters, which must be current.
 * Returns 0 if it may not read them, or if perf could move them unnoticed: then every read takes a
 * system call.
 */
static u64 owner_of(const struct lx_context *lx)
{
	bool own = lx->view.perf && lx->target.task == current && current->mm && current->mm == READ_ONCE(lx->view.mm);

	return own && lx_arch_may_read(lx) ? lx_arch_thread_pointer() : 0;
}

static s64 extend(u64 bits, unsigned int shift)
{
	return (s64)(bits << shift) >> shift;
}

/*
 * Returns what a program must add to the value in the counter's register to get the PMD's value.
 * count and prev_count are read as a pair: an NMI that comes in between may make perf update both.
 */
static u64 base_of(const struct lx_counter *c, const struct pfm_pmd *pmd)
{
	const struct perf_event *event = c->event;
	u64 count, before;

	do {
		count = local64_read(&event->count);
		before = local64_read(&event->hw.prev_count);
		barrier();
	} while (count != local64_read(&event->count) || before != local64_read(&event->hw.prev_count));
	return pmd->value + count - c->seen - extend(before, lx_arch_unused_bits());
}

/*
 * Returns the index of the event's register as in perf's mmap page; 0 if programs may not read it,
 * or the event is on no counter.
 */
static unsigned int index_of(struct perf_event *event)
{
	unsigned int index;

	if (!lx_on_cpu(event) || event->oncpu != raw_smp_processor_id() || event->hw.state & PERF_HES_STOPPED)
		return PFM_VIEW_CALL;
	index = event->pmu->event_idx(event);
	return index <= LX_VIEW_MAX_INDEX ? index : PFM_VIEW_CALL;
}

static void put_counter(pfm_set_view_t *view, const struct lx_counter *c, const struct pfm_pmd *pmd)
{
	unsigned int index = c->kind == LX_HW ? index_of(c->event) : PFM_VIEW_CALL;

	view->set_index[c->num] = index;
	if (index != PFM_VIEW_CALL)
		view->set_base[c->num] = base_of(c, pmd);
}

static void put_counters(struct lx_context *lx, struct pfm_set *set)
{
	for (u64 rest = lx->live; rest; rest &= rest - 1) {
		const struct lx_counter *c = &lx->counters[__ffs(rest)];

		put_counter(set->view, c, &set->pmds[set->pmd_at[c->num]]);
	}
}

void lx_live_view(struct pfm_context *ctx, struct pfm_set *set)
{
	struct lx_context *lx = lx_of(ctx);

	set->view->set_owner = owner_of(lx);
	set->view->set_shift = lx_arch_unused_bits();
	if (lx->running)
		put_counters(lx, set);
}

/*
 * Writes to the view what may change when perf moves events: which thread may read the counters
 * from their registers, and the register and base value of each counter.
 */
static void put_moved(struct lx_context *lx, struct pfm_set *set)
{
	pfm_view_begin(set->view);
	set->view->set_owner = owner_of(lx);
	if (lx->running)
		put_counters(lx, set);
	pfm_view_end(set->view);
}

/*
 * Changes the page of the active set. If this call has interrupted another one, it only sets
 * republish, and the interrupted call starts again. If the active set has changed since the start,
 * the page of the set that was active then is written once more, too.
 */
static void change(struct lx_context *lx, bool only_moved)
{
	struct pfm_context *ctx = lx->ctx;
	struct pfm_set *set;

	if (READ_ONCE(lx->view.publishing)) {
		WRITE_ONCE(lx->view.republish, true);
		return;
	}
	do {
		WRITE_ONCE(lx->view.republish, false);
		WRITE_ONCE(lx->view.publishing, true);
		barrier();
		set = READ_ONCE(ctx->active);
		if (only_moved)
			put_moved(lx, set);
		else
			pfm_view_write(ctx, set);
		if (set != READ_ONCE(ctx->active))
			pfm_view_write(ctx, set);
		barrier();
		WRITE_ONCE(lx->view.publishing, false);
		only_moved = false;
		barrier();
	} while (READ_ONCE(lx->view.republish));
}

void lx_publish_now(struct lx_context *lx)
{
	change(lx, false);
}

/* --- the contexts that have views, by thread ------------------------------------------------- */

static DEFINE_HASHTABLE(viewers, 6);
/* protects the table and the contexts found in it; the innermost lock */
static DEFINE_RAW_SPINLOCK(viewers_lock);

static struct hlist_head *bucket_of(const struct task_struct *task)
{
	return &viewers[hash_min((unsigned long)task, HASH_BITS(viewers))];
}

static struct lx_context *find(const struct task_struct *task)
{
	struct lx_context *lx;

	hlist_for_each_entry(lx, bucket_of(task), view.by_viewer)
		if (lx->target.task == task)
			return lx;
	return NULL;
}

/*
 * Called when perf has enabled the PMU. If the context is busy, nothing is done, as lx_leave()
 * publishes the page. If its events are scheduled out, nothing is done either, as this function is
 * called again when they are scheduled in.
 */
static void perf_has_moved(void)
{
	struct lx_context *lx;
	unsigned long flags;

	raw_spin_lock_irqsave(&viewers_lock, flags);
	lx = find(current);
	if (lx && !READ_ONCE(lx->busy) && lx->view.perf && lx->view.perf->is_active)
		change(lx, true);
	raw_spin_unlock_irqrestore(&viewers_lock, flags);
}

/* --- redirecting the PMUs' pmu_enable() ------------------------------------------------------ */

struct enabler {
	struct pmu	*pmu;
	void		(*enable)(struct pmu *pmu);	/* the PMU's own pmu_enable() */
	unsigned int	users;
};

static struct enabler enablers[8];
static DEFINE_MUTEX(enablers_lock);

static void on_enable(struct pmu *pmu)
{
	const struct enabler *e = enablers;

	while (READ_ONCE(e->pmu) != pmu)
		e++;
	e->enable(pmu);
	if (!hlist_empty(bucket_of(current)) && !in_nmi())
		perf_has_moved();
}

/*
 * Returns the PMU's entry, which it makes if there is none, or NULL if the table is full. An entry
 * is never removed: on_enable() may still be running for a PMU on which no view is left.
 */
static struct enabler *enabler_of(struct pmu *pmu)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(enablers); i++) {
		struct enabler *e = &enablers[i];

		if (!e->pmu) {
			e->enable = pmu->pmu_enable;
			smp_wmb();	/* on_enable() must find the function if it finds the PMU */
			WRITE_ONCE(e->pmu, pmu);
		}
		if (e->pmu == pmu)
			return e;
	}
	return NULL;
}

static bool follow(struct pmu *pmu)
{
	struct enabler *e;

	mutex_lock(&enablers_lock);
	e = enabler_of(pmu);
	if (e && !e->users++) {
		e->enable = pmu->pmu_enable;
		WRITE_ONCE(pmu->pmu_enable, on_enable);
	}
	mutex_unlock(&enablers_lock);
	return e;
}

static void unfollow(struct pmu *pmu)
{
	struct enabler *e;

	mutex_lock(&enablers_lock);
	e = enabler_of(pmu);
	if (!--e->users)
		WRITE_ONCE(pmu->pmu_enable, e->enable);
	mutex_unlock(&enablers_lock);
}

/* --- a context's views, from its load to its end -------------------------------------------- */

/* Called for each hardware counter: the first one enters the context into the table of viewers. */
void lx_view_counters(struct lx_context *lx, struct perf_event *event)
{
	unsigned long flags;

	if (lx->view.perf || !lx->target.task || !follow(event->pmu))
		return;
	raw_spin_lock_irqsave(&viewers_lock, flags);
	lx->view.perf = event->ctx;
	hlist_add_head(&lx->view.by_viewer, bucket_of(lx->target.task));
	raw_spin_unlock_irqrestore(&viewers_lock, flags);
}

void lx_view_end(struct lx_context *lx)
{
	unsigned long flags;

	if (!lx->view.perf)
		return;
	raw_spin_lock_irqsave(&viewers_lock, flags);
	hlist_del_init(&lx->view.by_viewer);
	lx->view.perf = NULL;
	raw_spin_unlock_irqrestore(&viewers_lock, flags);
	unfollow(lx->pmu);
	lx_arch_forbid_read(lx);
}

/* synchronize_rcu() waits for all calls of on_enable(), which run with interrupts off. */
void lx_view_exit(void)
{
	synchronize_rcu();
}
