// SPDX-License-Identifier: GPL-2.0
/*
 * counters.c - the kernel's perf events as counters: 64 bits wide, one for each counting PMD in use.
 *
 * perf puts events on the PMU and takes them off as threads come and go, and starts them when they
 * come. Held counters may thus go on counting in the hardware: that is never folded into a PMD.
 */
#include <linux/slab.h>

#include "linux.h"
#include "software_perf.h"

/* --- getting them --------------------------------------------------------------------------- */

static u8 kind_of(u16 num)
{
	if (lx_is_hw(num))
		return LX_HW;
	return num == PFM_SW_TASK_CLOCK || num == PFM_SW_CPU_CLOCK ? LX_CLOCK : LX_SW;
}

static void describe(struct perf_event_attr *attr, const struct lx_counter *c, bool task)
{
	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	attr->pinned = 1;
	attr->sample_period = LX_FAR;
	if (c->kind == LX_HW) {
		attr->type = PERF_TYPE_RAW;
		attr->config = lx_arch_config(c->num);
		attr->exclude_user = attr->exclude_kernel = 1;
		return;
	}
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = pfm_software_perf_config(c->num);
	/* a thread's own time is what both clocks measure there */
	if (c->kind == LX_CLOCK)
		attr->config = task ? PERF_COUNT_SW_TASK_CLOCK : PERF_COUNT_SW_CPU_CLOCK;
}

static void note_perf_context(struct lx_context *lx, struct perf_event_context *perf)
{
	if (lx->perf[0] != perf)
		lx->perf[1] = perf;
}

int lx_counter_need(struct lx_context *lx, u16 num)
{
	struct lx_counter *c = &lx->counters[lx->num_counters];
	struct perf_event_attr attr;
	struct perf_event *event;

	if (lx_counter_of(lx, num))
		return 0;
	if (lx->num_counters == LX_MAX_COUNTERS)
		return pfm_refuse(-EBUSY, "more than %d counters in one context", LX_MAX_COUNTERS);
	memset(c, 0, sizeof(*c));
	c->lx = lx;
	c->num = num;
	c->kind = kind_of(num);
	describe(&attr, c, lx->task);
	event = lx_event_new(lx, &attr, lx_on_overflow, c);
	if (IS_ERR(event))
		return PTR_ERR(event);
	if (event->state == PERF_EVENT_STATE_ERROR) {
		perf_event_release_kernel(event);
		return pfm_refuse(-EBUSY, "no counter is left for PMD%u: other users of the PMU have them",
				  num);
	}
	c->event = event;
	note_perf_context(lx, event->ctx);
	/* from here on it is seen in PMU context, though it is not live yet */
	smp_store_release(&lx->slot[num], lx->num_counters);
	lx->num_counters++;
	return 0;
}

void lx_counters_free(struct lx_context *lx)
{
	for (unsigned int i = 0; i < lx->num_counters; i++)
		perf_event_release_kernel(lx->counters[i].event);
	lx->num_counters = 0;
	memset(lx->slot, LX_NO_COUNTER, sizeof(lx->slot));
}

/* --- one counter, in PMU context ------------------------------------------------------------ */

static bool stopped(const struct perf_event *event)
{
	return event->hw.state & PERF_HES_STOPPED;
}

/* Clocks run on: what they count while held is left out. */
static void hold(struct lx_counter *c)
{
	struct perf_event *event = c->event;

	if (lx_on_cpu(event) && c->kind != LX_CLOCK && !stopped(event))
		event->pmu->stop(event, PERF_EF_UPDATE);
}

/* All events so far. */
static u64 count_of(struct lx_counter *c)
{
	struct perf_event *event = c->event;

	if (!lx_on_cpu(event))
		return local64_read(&event->count);
	if (c->kind == LX_HW)
		return lx_arch_count(event);
	if (c->kind == LX_CLOCK)
		event->pmu->read(event);
	return local64_read(&event->count);
}

static void fold(struct lx_counter *c, struct pfm_pmd *pmd)
{
	u64 now = count_of(c), before = pmd->value;

	pmd->value += now - c->seen;
	c->seen = now;
	if (pmd->value < before)
		pfm_bit_set(c->lx->wrapped, pmd->num);
}

/* Events until the value passes 2^64, as perf's period. */
static s64 period_of(u64 value)
{
	u64 period = -value;

	return period && period < LX_FAR ? period : LX_FAR;
}

/*
 * perf's software counters count their period up to 0, the others down. A PMU's overflow gets lost when
 * the target is scheduled out before its interrupt comes: the next one, a period later, makes up for it.
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
	if (stopped(event))
		event->pmu->start(event, PERF_EF_RELOAD);
	else if (c->kind == LX_HW)
		lx_arch_restart(event);
}

void lx_load(struct lx_counter *c, u64 value)
{
	struct perf_event *event = c->event;

	c->loaded = true;
	/* perf's own count must be up to date before it is told another period */
	if (lx_on_cpu(event) && (c->kind == LX_CLOCK || !stopped(event)))
		event->pmu->read(event);
	c->seen = local64_read(&event->count);
	set_period(c, period_of(value));
	start(c);
}

static int program(struct lx_counter *c, u64 pmc)
{
	if (c->kind == LX_HW) {
		hold(c);
		return lx_arch_program(c->event, c->num, pmc);
	}
	if (c->kind == LX_SW) {
		c->event->attr.exclude_user = !(pmc & PFM_SW_USER);
		c->event->attr.exclude_kernel = !(pmc & PFM_SW_KERNEL);
	}
	return 0;
}

/* --- the active set ------------------------------------------------------------------------- */

/* The live counter behind a PMD, or NULL. */
static struct lx_counter *live_counter(struct lx_context *lx, const struct pfm_pmd *pmd)
{
	struct lx_counter *c = lx_counter_of(lx, pmd->num);

	return c && c->live ? c : NULL;
}

void lx_collect(struct pfm_context *ctx, struct pfm_set *set)
{
	struct lx_context *lx = lx_of(ctx);

	if (!lx->running || set != ctx->active)
		return;
	for (unsigned int i = 0; i < set->num_pmds; i++) {
		struct lx_counter *c = live_counter(lx, &set->pmds[i]);

		if (c)
			fold(c, &set->pmds[i]);
	}
}

void lx_freeze(struct pfm_context *ctx)
{
	struct lx_context *lx = lx_of(ctx);
	struct pfm_set *set = ctx->active;

	if (!lx->running)
		return;
	for (unsigned int i = 0; i < set->num_pmds; i++) {
		struct lx_counter *c = live_counter(lx, &set->pmds[i]);

		if (!c)
			continue;
		hold(c);
		fold(c, &set->pmds[i]);
		set_period(c, LX_FAR);
	}
	lx->running = false;
}

void lx_resume(struct pfm_context *ctx)
{
	struct lx_context *lx = lx_of(ctx);
	struct pfm_set *set = ctx->active;

	if (lx->running)
		return;
	for (unsigned int i = 0; i < set->num_pmds; i++) {
		struct lx_counter *c = live_counter(lx, &set->pmds[i]);

		if (c)
			lx_load(c, set->pmds[i].value);
	}
	memset(lx->wrapped, 0, sizeof(lx->wrapped));
	lx->running = true;
}

/* What PMC num of the set says to its counter: is it live now? */
static int enliven(struct pfm_context *ctx, struct pfm_set *set, struct pfm_pmc *pmc)
{
	struct lx_context *lx = lx_of(ctx);
	struct lx_counter *c = lx_counter_of(lx, pmc->num);

	if (!lx_pmc_counts(pmc->num, pmc->value) || !pfm_set_pmd(set, pmc->num))
		return 0;
	if (!c)
		return pfm_refuse(-EBUSY, "no counter was had for PMD%u", pmc->num);
	c->live = true;
	lx->kernel_level |= lx_pmc_kernel(pmc->num, pmc->value);
	return program(c, pmc->value);
}

int lx_install(struct pfm_context *ctx, struct pfm_set *set)
{
	struct lx_context *lx = lx_of(ctx);
	int ret = 0;

	for (unsigned int i = 0; i < lx->num_counters; i++)
		lx->counters[i].live = false;
	lx->kernel_level = false;
	for (unsigned int i = 0; i < set->num_pmcs && !ret; i++)
		ret = enliven(ctx, set, &set->pmcs[i]);
	return ret;
}

int lx_write_pmc(struct pfm_context *ctx, struct pfm_set *set, uint16_t num)
{
	struct lx_context *lx = lx_of(ctx);
	struct lx_counter *c = lx_counter_of(lx, num);
	struct pfm_pmd *pmd = pfm_set_pmd(set, num);
	int ret;

	if (c && c->live) {
		hold(c);
		if (lx->running)
			fold(c, pmd);
		c->live = false;
	}
	ret = enliven(ctx, set, pfm_set_pmc(set, num));
	c = lx_counter_of(lx, num);
	if (!ret && lx->running && c && c->live)
		lx_load(c, pmd->value);
	return ret;
}

int lx_write_pmd(struct pfm_context *ctx, struct pfm_set *set, uint16_t num)
{
	struct lx_context *lx = lx_of(ctx);
	struct lx_counter *c = lx_counter_of(lx, num);

	if (!c || !c->live || !lx->running)
		return 0;
	pfm_bit_clear(lx->wrapped, num);
	lx_load(c, pfm_set_pmd(set, num)->value);
	return 0;
}
