// SPDX-License-Identifier: GPL-2.0
/*
 * counters.c - the kernel's perf events as counters: 64 bits wide, one for each counting PMD in
 * use. perf puts events on the PMU and takes them off as threads are scheduled in and out, and
 * starts them when it schedules them in. A counter that perfmon holds may thus go on counting in
 * the hardware; what it counts then is never added to its PMD. Where the architecture allows, the
 * PMU's counters are held and released all together by their enable bits, without perf's knowledge.
 * A counter that has moved while it was held is loaded anew when it is released.
 */
#include <linux/slab.h>

#include "linux.h"
#include "software_perf.h"

/* --- making counters ------------------------------------------------------------------------ */

static u8 kind_of(u16 num)
{
	if (lx_is_hw(num))
		return LX_HW;
	return pfm_software_kind(num) == PFM_SW_IS_TIME ? LX_CLOCK : LX_SW;
}

static void describe(struct perf_event_attr *attr, const struct lx_counter *c, bool task)
{
	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	attr->pinned = 1;
	attr->sample_period = LX_FAR;
	if (c->kind == LX_HW) {
		attr->type = lx_arch_type();
		attr->config = lx_arch_config(c->num);
		attr->config1 = task && lx_has_views(c->lx) ? LX_USER_READ : 0;
		attr->exclude_user = attr->exclude_kernel = 1;
		return;
	}
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = pfm_software_perf_config(c->num);
	/* every PMD that counts time counts a thread's run time, or on a CPU the elapsed time */
	if (c->kind == LX_CLOCK)
		attr->config = task ? PERF_COUNT_SW_TASK_CLOCK : PERF_COUNT_SW_CPU_CLOCK;
}

/*
 * Notes the event's perf context. The first event of lx becomes its anchor event, by which the run
 * time is measured.
 */
void lx_note_event(struct lx_context *lx, struct perf_event *event)
{
	if (!lx->perf[0])
		lx->perf[0] = event->ctx;
	else if (lx->perf[0] != event->ctx)
		WRITE_ONCE(lx->perf[1], event->ctx);
	if (!lx->anchor_event)
		lx->anchor_event = event;
}

static void join_others(struct lx_context *lx, struct perf_event *event)
{
	for (unsigned int i = 0; i < lx->num_counters; i++)
		if (lx->counters[i].kind == LX_HW) {
			lx_group_join(lx->counters[i].event, event);
			return;
		}
}

/*
 * Returns for how long the target ran while the event was not on the PMU. The result does not
 * change while the event is on the PMU or the target sleeps.
 */
static u64 idle_of(const struct perf_event *event)
{
	return event->tstamp - event->total_time_running;
}

static u64 idle_at_first(struct perf_event *event)
{
	u64 idle;

	raw_spin_lock_irq(&event->ctx->lock);
	idle = idle_of(event);
	raw_spin_unlock_irq(&event->ctx->lock);
	return idle;
}

/*
 * Returns true for a child context that only counts. If other users occupy the PMU when it begins,
 * its load does not fail: its time off the PMU (missed_ns) shows how much is missing.
 */
static bool may_do_without(const struct lx_context *lx)
{
	return lx->root != lx && !lx->ctx->fmt;
}

int lx_counter_need(struct lx_context *lx, u16 num)
{
	struct lx_counter *c = &lx->counters[lx->num_counters];
	struct perf_event_attr attr;
	struct perf_event *event;

	if (lx_counter_of(lx, num))
		return 0;
	if (lx->num_counters == lx->room_counters)
		return pfm_refuse(-EBUSY, "more than %d counters in one context", lx->room_counters);
	memset(c, 0, sizeof(*c));
	c->lx = lx;
	c->num = num;
	c->at = lx->num_counters;
	c->kind = kind_of(num);
	describe(&attr, c, lx->target.task);
	event = lx_event_new(lx, &attr, lx_on_overflow, c);
	if (IS_ERR(event))
		return PTR_ERR(event);
	if (event->state == PERF_EVENT_STATE_ERROR && !may_do_without(lx)) {
		perf_event_release_kernel(event);
		return pfm_refuse(-EBUSY, "no counter is left for PMD%u: other users of the PMU have them",
				  num);
	}
	c->event = event;
	c->idle = idle_at_first(event);
	lx_note_event(lx, event);
	if (c->kind == LX_HW) {
		WRITE_ONCE(lx->pmu, event->pmu);
		join_others(lx, event);
		if (lx_has_views(lx))
			lx_view_counters(lx, event);
	}
	/* from here on code in PMU context finds the counter, though it is not live yet */
	smp_store_release(&lx->slot[num], lx->num_counters);
	lx->num_counters++;
	return 0;
}

void lx_counters_free(struct lx_context *lx)
{
	while (lx->num_counters) {
		struct lx_counter *c = &lx->counters[--lx->num_counters];

		perf_event_release_kernel(c->event);
		lx->slot[c->num] = LX_NO_COUNTER;
	}
	lx->pmu = NULL;
	lx->displaced = 0;
}

/* --- one counter, in PMU context ------------------------------------------------------------ */

static bool stopped(const struct perf_event *event)
{
	return event->hw.state & PERF_HES_STOPPED;
}

/*
 * Returns true if perf has throttled the event. perf's tick then restarts the event with the period
 * that is set at that time.
 */
static bool throttled(const struct lx_counter *c)
{
	return c->kind == LX_HW && c->event->hw.interrupts == LX_THROTTLED;
}

/*
 * Stops the event if it is running. A clock event is not stopped: what it counts while its counter
 * is held is skipped by the next load, which sets c->seen to the event's count.
 */
static void stop(struct lx_counter *c)
{
	struct perf_event *event = c->event;

	if (lx_on_cpu(event) && c->kind != LX_CLOCK && !stopped(event) && !throttled(c))
		event->pmu->stop(event, PERF_EF_UPDATE);
}

/*
 * Notes for how long the event had no place on the PMU. Time that passes while the counters are
 * held is not charged to the set.
 */
static void note_missed(struct lx_counter *c)
{
	struct lx_context *lx = c->lx;
	u64 missed = pfm_perf_time(c->event->ctx) - c->event->total_time_running - c->idle;

	WRITE_ONCE(lx->root->starved, true);
	if ((s64)(missed - lx->missed_ns) <= 0)
		return;
	if (lx->running)
		lx->ctx->active->blind += missed - lx->missed_ns;
	lx->missed_ns = missed;
}

/*
 * Returns the count of an event that is not on the PMU. If other users occupy the PMU for good,
 * perf puts the event, which is pinned, into the state ERROR until its thread ends. In that state,
 * or if the target has run while the event had no place on the PMU, the context is starved.
 */
static noinline u64 count_away(struct lx_counter *c)
{
	const struct perf_event *event = c->event;

	if (c->kind == LX_HW && (READ_ONCE(event->group_leader->state) == PERF_EVENT_STATE_ERROR ||
				 idle_of(event) != c->idle))
		note_missed(c);
	return local64_read(&event->count);
}

/* Returns how many events have been counted so far, after an update of event->count. */
static __always_inline u64 count_of(struct lx_counter *c)
{
	struct perf_event *event = c->event;

	if (!lx_on_cpu(event))
		return count_away(c);
	if (c->kind == LX_HW)
		return lx_arch_count(event);
	if (c->kind == LX_CLOCK)
		event->pmu->read(event);
	return local64_read(&event->count);
}

/*
 * Adds to the PMD the events that were counted since c->seen was set. Returns true if the PMD
 * passed 2^64.
 */
static __always_inline bool add_count(struct lx_counter *c, struct pfm_pmd *pmd)
{
	u64 now = count_of(c), before = pmd->value, value = before + now - c->seen;

	pmd->value = value;
	c->seen = now;
	return value < before;
}

static __always_inline void fold(struct lx_counter *c, struct pfm_pmd *pmd)
{
	if (add_count(c, pmd))
		lx_wrapped(c->lx, pmd->num);
}

static s64 rare_period(const struct lx_counter *c, u64 period)
{
	u64 far = c->kind == LX_HW && lx_has_views(c->lx) ? LX_VIEW_FAR : LX_FAR;

	if (!period || period >= far)
		return far;
	return c->kind == LX_HW && period < LX_SHORTEST ? LX_SHORTEST : period;
}

/* Returns perf's period for a PMD with this value: the number of events until it passes 2^64. */
static __always_inline s64 period_of(const struct lx_counter *c, u64 value)
{
	u64 period = -value;

	return period - LX_SHORTEST < LX_VIEW_FAR - LX_SHORTEST ? period : rare_period(c, period);
}

/*
 * The period_left of perf's software events counts up to 0 from minus the period, that of other
 * events counts down from the period. If the target is scheduled out before the interrupt of a PMU
 * overflow comes, the interrupt is lost: the next interrupt, a period later, finds the overflow.
 */
static void set_period(struct lx_counter *c, s64 period)
{
	struct hw_perf_event *hw = &c->event->hw;

	if (c->kind == LX_CLOCK) {
		lx_timer_set(c->lx, c->event, period);
	} else if (c->kind == LX_SW) {
		local64_set(&hw->period_left, -period);
	} else {
		hw->sample_period = period;
		local64_set(&hw->period_left, period);
	}
}

static void start(struct lx_counter *c)
{
	struct perf_event *event = c->event;

	if (!lx_on_cpu(event) || c->kind == LX_CLOCK)
		return;
	if (throttled(c))
		lx_arch_reload_throttled(event);
	else if (stopped(event))
		event->pmu->start(event, PERF_EF_RELOAD);
}

/* Brings event->count up to date, which must be done before the period is changed. */
static void update(struct lx_counter *c)
{
	struct perf_event *event = c->event;

	if (c->kind == LX_HW && !throttled(c))
		/* The counter is stopped first: an NMI may disturb the update of a running one. */
		stop(c);
	else if (lx_on_cpu(event) && (c->kind == LX_CLOCK || !stopped(event)))
		event->pmu->read(event);
}

/*
 * Loads the counter. Returns its enable bit, which the caller must set, or 0 if the counter is
 * counting already or perf will start it.
 */
static __always_inline u64 load(struct lx_counter *c, u64 value)
{
	struct perf_event *event = c->event;
	s64 period = period_of(c, value);
	u64 bit = c->kind == LX_HW ? lx_arch_bit(event) : 0;

	c->loaded = true;
	c->stale = false;
	if (bit) {
		lx_arch_load(event, period);
		c->seen = local64_read(&event->count);
		return bit;
	}
	update(c);
	c->seen = local64_read(&event->count);
	set_period(c, period);
	start(c);
	return 0;
}

static __always_inline void load_now(struct lx_counter *c, u64 value)
{
	u64 bit = load(c, value);

	if (bit)
		lx_arch_enable(bit);
}

void lx_load(struct lx_counter *c, u64 value)
{
	load_now(c, value);
}

/*
 * The hardware is not touched: perf loads the period when it starts the event. If the counter is
 * live and running, it then overflows after LX_SOON events. With a shorter period the events of the
 * NMI handler itself could cause the next NMI: if an NMI comes while perf is about to disable the
 * PMU, the handler enables the PMU again before it returns.
 */
void lx_load_at_start(struct lx_counter *c)
{
	c->stale = true;
	set_period(c, rare_period(c, c->lx->running && lx_live(c) ? LX_SOON : 0));
}

/*
 * Called at the release of a counter if its PMD passed 2^64 while the counter was held. The
 * shortest period makes an interrupt come soon, which delivers the overflow.
 */
static noinline u64 overflow_soon(struct lx_counter *c, struct pfm_pmd *pmd)
{
	pmd->passed = false;
	lx_wrapped(c->lx, pmd->num);
	return load(c, -(c->kind == LX_CLOCK ? LX_CLOCK_MIN_NS : 1));
}

/*
 * Releases a held counter, and returns its enable bit as load() does. The hardware has kept the
 * counter's value, so it is loaded only if the counter has moved or the PMD was changed.
 */
static __always_inline u64 let_go(struct lx_counter *c, struct pfm_pmd *pmd)
{
	u64 bit = c->kind == LX_HW && !c->stale ? lx_arch_bit(c->event) : 0;

	if (pmd->passed)
		return overflow_soon(c, pmd);
	return bit && lx_arch_count(c->event) == c->seen ? bit : load(c, pmd->value);
}

static int program(struct lx_counter *c, u64 pmc)
{
	c->stale = true;
	if (c->kind == LX_HW) {
		if (!lx_arch_bit(c->event))
			stop(c);
		return lx_arch_program(c->event, c->num, pmc);
	}
	if (c->kind == LX_SW) {
		c->event->attr.exclude_user = !(pmc & PFM_SW_USER);
		c->event->attr.exclude_kernel = !(pmc & PFM_SW_KERNEL);
	}
	return 0;
}

/* --- the counters of the active set --------------------------------------------------------- */

/*
 * Returns the first counter of the bits. How its address was computed is hidden from the compiler,
 * which would compute the address again for each access.
 */
static __always_inline struct lx_counter *first(struct lx_context *lx, u64 bits)
{
	struct lx_counter *c = &lx->counters[__ffs(bits)];

	OPTIMIZER_HIDE_VAR(c);
	return c;
}

/* Iterates over the counters of the bits, which are those of lx->live. */
#define for_each_of(c, lx, bits) \
	for (u64 rest_ = (bits); rest_ && ((c) = first(lx, rest_), true); rest_ &= rest_ - 1)

/* Iterates over the counters that count something in the active set. */
#define for_each_live(c, lx)	for_each_of(c, lx, (lx)->live)

/* Returns the PMD of a live counter, which is always in use and therefore found. */
static inline struct pfm_pmd *pmd_of(struct pfm_set *set, const struct lx_counter *c)
{
	return &set->pmds[set->pmd_at[c->num]];
}

static void set_live(struct lx_counter *c, bool is)
{
	u64 bit = 1ULL << c->at;

	c->lx->live = is ? c->lx->live | bit : c->lx->live & ~bit;
}

void lx_collect_active(struct lx_context *lx)
{
	struct pfm_set *set = lx->ctx->active;
	struct lx_counter *c;

	for_each_live(c, lx)
		fold(c, pmd_of(set, c));
}

struct pfm_pmd *lx_serve_alone(struct lx_counter *c)
{
	struct pfm_context *ctx = c->lx->ctx;
	struct pfm_set *set = ctx->active;
	struct pfm_pmd *pmd = pmd_of(set, c);

	if (add_count(c, pmd)) {
		if (!pfm_goes_on(ctx, set, pmd) || !pfm_counting(ctx) || ctx->root)
			return pmd;
		if (pfm_is_reset(set, pmd))
			pfm_reset_value(pmd, PFM_RESET_SHORT);
	}
	load_now(c, pmd->value);
	return NULL;
}

void lx_collect(struct pfm_context *ctx, struct pfm_set *set)
{
	if (lx_of(ctx)->running && set == ctx->active)
		lx_collect_active(lx_of(ctx));
}

/* Returns true if the counter at this place, which is an entry of lx->slot[], is live. */
static inline bool live_at(const struct lx_context *lx, u8 at)
{
	return at != LX_NO_COUNTER && lx->live >> at & 1;
}

void lx_collect_one(struct lx_context *lx, struct pfm_pmd *pmd)
{
	u8 at = lx->slot[pmd->num];

	if (live_at(lx, at))
		fold(&lx->counters[at], pmd);
}

/*
 * Holds at once all live counters that have an enable bit. Returns the other live counters (bit n
 * stands for counters[n]), which the caller must stop one by one.
 */
static __always_inline u64 hold_many(struct lx_context *lx)
{
	struct lx_counter *c;
	u64 bits = 0, others = 0;

	for_each_live(c, lx) {
		u64 bit = c->kind == LX_HW ? lx_arch_bit(c->event) : 0;

		bits |= bit;
		if (!bit)
			others |= 1ULL << c->at;
	}
	if (bits)
		lx_arch_disable(bits);
	return others;
}

/*
 * Notes in pmd->passed the overflows that came while the counters were being held: clock events and
 * software events count on until each of them is held. They are delivered after the release.
 */
static noinline void keep_wrapped(struct lx_context *lx, struct pfm_set *set)
{
	unsigned int num;

	pfm_for_each_bit_of(num, lx->wrapped, set->pmd_words)
		set->pmds[set->pmd_at[num]].passed = true;
	lx_forget_wrapped(lx);
}

static __always_inline void hold_all(struct lx_context *lx)
{
	struct pfm_set *set = lx->ctx->active;
	struct lx_counter *c;
	u64 others;

	if (!lx->running)
		return;
	others = hold_many(lx);
	for_each_of(c, lx, others)
		stop(c);
	for_each_live(c, lx)
		fold(c, pmd_of(set, c));
	for_each_of(c, lx, others) {
		set_period(c, LX_FAR);
		c->stale = true;
	}
	lx->running = false;
	if (lx->any_wrapped)
		keep_wrapped(lx, set);
}

static __always_inline void let_all_go(struct lx_context *lx)
{
	struct pfm_set *set = lx->ctx->active;
	struct lx_counter *c;
	u64 bits = 0;

	if (lx->running)
		return;
	if (lx->kernel_hw)
		lx_halt(lx);	/* all counters begin together when the PMU is enabled again */
	for_each_live(c, lx) {
		if (!lx_on_cpu(c->event))
			count_away(c);
		bits |= let_go(c, pmd_of(set, c));
	}
	lx->running = true;
	if (bits)
		lx_arch_enable(bits);
}

void lx_freeze(struct pfm_context *ctx)
{
	struct lx_context *lx = lx_of(ctx);

	lx->wanted = false;
	hold_all(lx);
}

void lx_resume(struct pfm_context *ctx)
{
	struct lx_context *lx = lx_of(ctx);

	lx->wanted = true;
	if (!lx->away)
		let_all_go(lx);
}

void lx_leave_out(struct lx_context *lx, bool away)
{
	lx->away = away;
	if (!lx->wanted)
		return;
	if (away)
		hold_all(lx);
	else
		let_all_go(lx);
}

/* If the PMC counts something in this set, programs its counter and marks the counter as live. */
static int enliven(struct pfm_context *ctx, struct pfm_set *set, struct pfm_pmc *pmc)
{
	struct lx_context *lx = lx_of(ctx);
	struct lx_counter *c = lx_counter_of(lx, pmc->num);

	if (!lx_pmc_counts(pmc->num, pmc->value) || !pfm_set_pmd(set, pmc->num))
		return 0;
	if (!c)
		return pfm_refuse(-EBUSY, "PMD%u has no counter: perf gave none at the load", pmc->num);
	set_live(c, true);
	lx->hw |= c->kind == LX_HW;
	if (lx_pmc_kernel(pmc->num, pmc->value)) {
		lx->kernel_level = true;
		lx->kernel_hw |= c->kind == LX_HW;
	}
	return program(c, pmc->value);
}

int lx_install(struct pfm_context *ctx, struct pfm_set *set)
{
	struct lx_context *lx = lx_of(ctx);
	int ret = 0;

	lx->live = 0;
	lx->kernel_level = lx->kernel_hw = lx->hw = false;
	lx->away = lx->excludes && lx_leaves_out(set, current);
	for (unsigned int i = 0; i < set->num_pmcs && !ret; i++)
		ret = enliven(ctx, set, &set->pmcs[i]);
	return ret ? ret : lx_arch_place(lx);
}

int lx_write_pmc(struct pfm_context *ctx, struct pfm_set *set, uint16_t num)
{
	struct lx_context *lx = lx_of(ctx);
	struct pfm_pmd *pmd = pfm_set_pmd(set, num);
	struct lx_counter *c = lx_counter_of(lx, num);
	int ret;

	if (c && lx_live(c)) {
		stop(c);
		if (lx->running)
			fold(c, pmd);
		set_live(c, false);
	}
	ret = enliven(ctx, set, pfm_set_pmc(set, num));
	if (!ret)
		ret = lx_arch_place(lx);
	c = lx_counter_of(lx, num);
	if (!ret && lx->running && lx->kernel_hw)
		lx_halt(lx);
	if (!ret && lx->running && c && lx_live(c))
		lx_load(c, pmd->value);
	return ret;
}

int lx_write_pmd(struct pfm_context *ctx, struct pfm_set *set, uint16_t num)
{
	struct lx_context *lx = lx_of(ctx);
	u8 at = lx->slot[num];

	if (!live_at(lx, at))
		return 0;
	if (lx->running) {
		if (lx->any_wrapped)
			lx_unwrap(lx, num);
		load_now(&lx->counters[at], set->pmds[set->pmd_at[num]].value);
	} else {
		lx->counters[at].stale = true;
	}
	return 0;
}
