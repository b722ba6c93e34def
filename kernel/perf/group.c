// SPDX-License-Identifier: MIT
/*
 * group.c - turns an event set into a group of kernel events, which count, stop and are read
 * together.
 *
 * A plan describes the event that a PMD needs. The group is opened anew when the plans of its set
 * differ from those that it was opened for. Events of inactive sets stay open, but are disabled.
 */
#include <stdio.h>
#include <unistd.h>

#include "perf.h"
#include "software_perf.h"

/* --- making the plans of a set -------------------------------------------------------------- */

static bool sw_plan(struct perf_plan *plan, uint16_t num, uint64_t value)
{
	plan->type = PERF_TYPE_SOFTWARE;
	plan->config = pfm_software_perf_config(num);
	plan->no_user = !(value & PFM_SW_USER);
	plan->no_kernel = !(value & PFM_SW_KERNEL);
	plan->clock = pfm_software_kind(num) == PFM_SW_IS_TIME;
	return !plan->no_user || !plan->no_kernel;
}

static bool switches(const struct pfm_set *set, const struct pfm_pmd *pmd)
{
	return (set->flags & PFM_SETFL_OVFL_SWITCH) && pmd->switch_cnt;
}

/*
 * Returns true if an overflow of this PMD notifies, switches sets, takes a sample or resets others.
 * Otherwise its value only wraps.
 */
static bool wants_overflow(const struct pfm_context *ctx, const struct pfm_set *set,
			   const struct pfm_pmd *pmd, const struct perf_plan *plan)
{
	if (pmd->flags & PFM_REGFL_OVFL_NOTIFY)
		return true;
	if (switches(set, pmd))
		return true;
	if (!ctx->fmt)
		/* an event in no group is only counted: it has no overflows to reset other PMDs */
		return !plan->alone && !pfm_inherits(ctx) && !pfm_bits_empty(pmd->reset_pmds);
	return pmd->long_reset || pmd->short_reset || pmd->value >> 63;
}

static bool reset_by_others(const struct pfm_set *set, uint16_t num)
{
	for (unsigned int i = 0; i < set->num_pmds; i++)
		if (set->pmds[i].num != num && pfm_bit(set->pmds[i].reset_pmds, num))
			return true;
	return false;
}

static void plan_sampling(const struct pfm_context *ctx, const struct pfm_set *set,
			  const struct pfm_pmd *pmd, struct perf_plan *plan)
{
	bool random = (pmd->flags & PFM_REGFL_RANDOM) && pmd->random_mask, loads;

	plan->sampling = wants_overflow(ctx, set, pmd, plan);
	if (!plan->sampling)
		return;
	/*
	 * the kernel stops the event only if each overflow masks; overflows that switch sets do not
	 * stop it, because below the threshold they switch none (3.7.6)
	 */
	plan->stop = !ctx->fmt && (pmd->flags & PFM_REGFL_OVFL_NOTIFY);
	loads = ctx->fmt || plan->stop || switches(set, pmd);
	plan->fixed = loads && !random && pmd->short_reset && pmd->short_reset == pmd->long_reset &&
		      !reset_by_others(set, pmd->num);
	if (perf_samples_family(ctx)) {
		plan->prompt = perf_prompt(ctx);
		return;
	}
	plan->prompt = plan->stop || !plan->fixed || pmd->last_reset != pmd->short_reset || switches(set, pmd) ||
		       perf_prompt(ctx);
}

/* Returns false if the PMD counts nothing, since its PMC is not in use or selects nothing. */
static bool make_plan(struct pfm_context *ctx, struct pfm_set *set, const struct pfm_pmd *pmd,
		      struct perf_plan *plan)
{
	const struct pfm_reg *reg = pfm_pmu_pmd(ctx->pmu, pmd->num);
	const struct pfm_pmc *pmc = pmd->is_counter ? pfm_set_pmc(set, reg->ctrl) : NULL;
	bool counts;

	memset(plan, 0, sizeof(*plan));
	if (!pmc)
		return false;
	plan->num = pmd->num;
	if (perf_is_named(reg->ctrl)) {
		counts = perf_named_plan(ctx, plan, pmc->value);
	} else if (reg->type == PFM_REG_TYPE_SW) {
		counts = sw_plan(plan, reg->ctrl, pmc->value);
	} else {
		plan->type = PERF_TYPE_RAW;
		plan->hw = 1;
		counts = perf_hw_plan(plan, reg->ctrl, pmc->value);
	}
	plan->viewed = plan->hw && set->view && perf_of(ctx)->self;
	plan->no_idle = !!(set->flags & PFM_SETFL_EXCL_IDLE);
	plan_sampling(ctx, set, pmd, plan);
	return counts;
}

/* Moves the plans of events that are in no group to the end. */
static void alone_last(struct perf_plan *plans, unsigned int n)
{
	unsigned int joined = 0;

	for (unsigned int i = 0; i < n; i++) {
		struct perf_plan plan = plans[i];

		if (plan.alone)
			continue;
		memmove(&plans[joined + 1], &plans[joined], (i - joined) * sizeof(*plans));
		plans[joined++] = plan;
	}
}

/*
 * Returns true if the PMD has an event on the target alone. With INHERIT it has one only if it was
 * written with OWN or its overflows matter, and none if there is a sampling format, too.
 */
static bool is_own(const struct pfm_context *ctx, const struct pfm_pmd *pmd, const struct perf_plan *plan)
{
	if (perf_samples_family(ctx))
		return false;
	return !pfm_inherits(ctx) || (pmd->flags & PFM_REGFL_OWN) || plan->sampling;
}

static unsigned int make_sampler_plans(struct pfm_context *ctx, struct pfm_set *set, struct perf_plan *plans)
{
	unsigned int n = 0;

	for (unsigned int i = 0; perf_samples_family(ctx) && i < set->num_pmds && n < PERF_MAX_COUNTERS; i++)
		n += make_plan(ctx, set, &set->pmds[i], &plans[n]);
	return n;
}

static unsigned int make_family_plans(struct pfm_context *ctx, struct pfm_set *set, struct perf_plan *plans)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < set->num_pmds && n < PERF_MAX_COUNTERS; i++) {
		if (!make_plan(ctx, set, &set->pmds[i], &plans[n]))
			continue;
		plans[n].sampling = plans[n].stop = 0;
		n++;
	}
	alone_last(plans, n);
	return n;
}

/*
 * Makes the plans of a set in the order of its group. Without a format, an event that stops comes
 * first, because as the leader it can stop the group; with a format, a sampling event does.
 */
static unsigned int make_plans(struct pfm_context *ctx, struct pfm_set *set, struct perf_plan *plans)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < set->num_pmds && n < PERF_MAX_COUNTERS; i++)
		n += make_plan(ctx, set, &set->pmds[i], &plans[n]) && is_own(ctx, &set->pmds[i], &plans[n]);
	for (unsigned int i = 0; i < n; i++) {
		struct perf_plan leader = plans[i];

		if (!(ctx->fmt ? leader.sampling : leader.stop))
			continue;
		memmove(&plans[1], &plans[0], i * sizeof(*plans));
		plans[0] = leader;
		break;
	}
	alone_last(plans, n);
	return n;
}

static bool same_plans(struct pfm_context *ctx, struct pfm_set *set, const struct perf_plan *plans, unsigned int n)
{
	const struct perf_group *g = set->os;
	struct perf_plan sampled[PERF_MAX_COUNTERS];

	if (!g || g->n != n)
		return false;
	for (unsigned int i = 0; i < n; i++)
		if (memcmp(&g->c[i].plan, &plans[i], sizeof(*plans)))
			return false;
	return perf_sampler_fits(g->sampler, sampled, make_sampler_plans(ctx, set, sampled));
}

/* --- checking periods ----------------------------------------------------------------------- */

static bool too_short(uint64_t value)
{
	return -value && -value < PERF_CLOCK_MIN_NS;
}

/*
 * Refuses a period that is too short for the kernel's clocks. The PMD's value itself is checked
 * only as it was written: one that has counted since then may be arbitrarily near to its overflow.
 */
static int check_period(const struct pfm_context *ctx, const struct pfm_set *set, const struct perf_plan *plan,
			const struct pfm_pmd *pmd)
{
	uint64_t bad = 0;

	if (plan->sampling && perf_samples_family(ctx))
		return perf_sampler_check(ctx, set, pmd, plan);
	if (plan->alone && plan->sampling)
		return pfm_refuse(-EINVAL, "PMD%u: its event can only be counted: it has no overflows", pmd->num);
	if (!plan->clock || !plan->sampling || (pmd->flags & PFM_REGFL_RANDOM))
		return 0;
	if (too_short(pmd->short_reset))
		bad = pmd->short_reset;
	else if (too_short(pmd->long_reset))
		bad = pmd->long_reset;
	else if (too_short(pmd->value) && pmd->value == pmd->last_reset)
		bad = pmd->value;
	if (!bad)
		return 0;
	return pfm_refuse(-EINVAL, "PMD%u: a period of %llu ns is too short: the kernel's clocks go down to %u",
			  pmd->num, (unsigned long long)-bad, (unsigned int)PERF_CLOCK_MIN_NS);
}

static uint64_t first_period(const struct perf_plan *plan, const struct pfm_pmd *pmd)
{
	uint64_t distance = -pmd->value;

	if (!distance || distance > PERF_FAR)
		return PERF_FAR;
	if (plan->clock && distance < PERF_CLOCK_MIN_NS)
		return PERF_CLOCK_MIN_NS;
	return distance;
}

/* --- opening the events of a set ------------------------------------------------------------ */

static void close_group(struct pfm_context *ctx, struct perf_group *g)
{
	if (!g)
		return;
	for (unsigned int i = g->n; i-- > 0;) {
		perf_forget(g->c[i].fd);
		if (g->c[i].fd >= 0)
			pfm_fast_close(ctx, g->c[i].fd);
	}
	perf_family_close(g->family);
	perf_sampler_close(g->sampler);
	pfm_os_free(g);
}

void perf_group_close(struct pfm_context *ctx, struct pfm_set *set)
{
	perf_view_events(set, set->os, false);
	close_group(ctx, set->os);
	set->os = NULL;
}

static void prepare_attr(const struct pfm_context *ctx, const struct perf_group *g, const struct perf_counter *c,
			 const struct pfm_pmd *pmd, struct perf_event_attr *attr)
{
	perf_attr_init(attr, &c->plan);
	if (perf_leads(g, c)) {
		attr->disabled = 1;
		/* the event is on the PMU all of the time, or in error */
		attr->pinned = g->hw || c->plan.alone;
	}
	if (!c->plan.sampling)
		return;
	attr->sample_period = c->period;
	attr->precise_ip = c->plan.precise;
	perf_stack_attr(&ctx->format_needs, attr);
	if (c->period != -pmd->short_reset) {
		/*
		 * the kernel wakes up this process at the first overflow, after which the period
		 * changes
		 */
		attr->wakeup_events = 1;
		attr->watermark = 0;
	}
}

static int open_counter(struct pfm_context *ctx, struct perf_group *g, struct perf_counter *c,
			const struct pfm_pmd *pmd)
{
	struct perf_context *p = perf_of(ctx);
	struct perf_event_attr attr;
	char what[16];

	snprintf(what, sizeof(what), "PMD%u", c->plan.num);
	c->base = pmd->value;
	c->period = c->next = first_period(&c->plan, pmd);
	prepare_attr(ctx, g, c, pmd, &attr);
	c->fd = perf_open(&attr, p->cgroup >= 0 ? p->cgroup : p->pid, p->cpu, perf_leads(g, c) ? -1 : g->c[0].fd);
	if (c->fd < 0)
		return perf_refuse_open(p, what, &attr, errno);
	if (c->plan.filter && perf_set_filter(c->fd, c->plan.filter))
		return perf_refuse_filter(what, c->plan.filter, errno);
	if (perf_event_id(c->fd, &c->id) || (c->plan.sampling && perf_ring_join(p->rings.r, c->fd))) {
		int err = errno;

		return pfm_refuse(-err, "%s: ioctl(2) of its event: %s", what, strerror(err));
	}
	return 0;
}

static struct perf_group *new_group(const struct perf_plan *plans, unsigned int n)
{
	struct perf_group *g = pfm_os_alloc(sizeof(*g) + n * sizeof(g->c[0]));

	if (!g)
		return NULL;
	g->n = n;
	for (unsigned int i = 0; i < n; i++) {
		g->c[i].plan = plans[i];
		g->c[i].fd = -1;
		g->hw |= plans[i].hw;
		g->joined += !plans[i].alone || !i;
		g->sampling |= plans[i].sampling;
	}
	return g;
}

static int open_group(struct pfm_context *ctx, struct pfm_set *set, const struct perf_plan *plans,
		      unsigned int n, struct perf_group **out)
{
	struct perf_group *g = new_group(plans, n);
	int ret = 0;

	if (!g)
		return pfm_refuse(-ENOMEM, "no memory for a set's events");
	g->before = set->duration;
	if (n && ctx->flags & PFM_FL_ON_EXEC)
		ret = pfm_refuse(-EINVAL, "PMD%u: ON_EXEC does not go with OWN or with overflows: an exec cannot start "
				 "events of one thread alone", plans[0].num);
	else if (g->sampling)
		ret = perf_ring_need(ctx);
	for (unsigned int i = 0; i < n && !ret; i++) {
		const struct pfm_pmd *pmd = pfm_set_pmd(set, plans[i].num);

		ret = check_period(ctx, set, &plans[i], pmd);
		if (!ret)
			ret = open_counter(ctx, g, &g->c[i], pmd);
	}
	if (ret)
		close_group(ctx, g);
	else
		*out = g;
	return ret;
}

/*
 * Opens the events that children inherit, only once in a load: a child gets copies only of events
 * that existed before its fork.
 */
static int open_family(struct pfm_context *ctx, struct pfm_set *set, struct perf_group *g)
{
	struct perf_group *old = set->os;
	struct perf_plan plans[PERF_MAX_COUNTERS];

	if (!pfm_inherits(ctx) || perf_samples_family(ctx))
		return 0;
	if (!old || !old->family)
		return perf_family_open(ctx, plans, make_family_plans(ctx, set, plans), &g->family);
	g->family = old->family;
	g->before = old->before;
	g->missed = old->missed;
	old->family = NULL;
	return 0;
}

/*
 * Opens the sampling events that children inherit, once in a load. Other plans are refused later,
 * because a change would not reach the copies that children already have.
 */
static int open_sampler(struct pfm_context *ctx, struct pfm_set *set, struct perf_group *g)
{
	struct perf_group *old = set->os;
	struct perf_plan plans[PERF_MAX_COUNTERS];
	unsigned int n = make_sampler_plans(ctx, set, plans);

	if (!old || !old->sampler)
		return perf_sampler_open(ctx, plans, n, &g->sampler);
	if (!perf_sampler_fits(old->sampler, plans, n))
		return pfm_refuse(-EBUSY, "INHERIT: sampling PMDs cannot be changed while the context is loaded: "
				  "children have inherited them");
	g->sampler = old->sampler;
	old->sampler = NULL;
	return 0;
}

/*
 * Replaces the set's events by those that the plans describe. If these cannot be opened, the set
 * keeps its events. Only open_family() and open_sampler() take events over, and then they succeed.
 */
static int reopen(struct pfm_context *ctx, struct pfm_set *set, const struct perf_plan *plans, unsigned int n)
{
	struct perf_group *g = NULL;
	int ret = open_group(ctx, set, plans, n, &g);

	if (!ret)
		ret = open_sampler(ctx, set, g);
	if (!ret)
		ret = open_family(ctx, set, g);
	if (ret) {
		close_group(ctx, g);
		return ret;
	}
	perf_group_close(ctx, set);
	set->os = g;
	return 0;
}

/* --- functions that the core calls ---------------------------------------------------------- */

/*
 * Opens the installed set's events anew if its registers need different events. If these cannot be
 * opened, the set's former events count on.
 */
int perf_group_check(struct pfm_context *ctx)
{
	struct perf_context *p = perf_of(ctx);
	struct perf_plan plans[PERF_MAX_COUNTERS];
	unsigned int n = make_plans(ctx, p->set, plans);
	int ret;

	p->check = p->unfit = false;
	if (same_plans(ctx, p->set, plans, n))
		return 0;
	perf_freeze(ctx);
	perf_collect(ctx, p->set);
	perf_drop(ctx);
	ret = reopen(ctx, p->set, plans, n);
	perf_view_events(p->set, p->set->os, true);
	p->program = true;
	p->unfit = ret;		/* if not 0, opening is tried again at the next command */
	if (ret)
		return ret;
	p->held = false;
	if (pfm_counting(ctx) && !pfm_inherits(ctx))
		perf_group_of(p->set)->before += perf_ran(ctx) - ctx->since;
	perf_family_rebase(ctx, p->set);
	return 0;
}

/* A set that could not be installed may be repaired by several commands, so it is not checked. */
int perf_fits(struct pfm_context *ctx)
{
	struct perf_context *p = perf_of(ctx);
	int ret = p->check && !ctx->absent ? perf_group_check(ctx) : 0;

	p->check |= ret;
	return ret;
}

int perf_install(struct pfm_context *ctx, struct pfm_set *set)
{
	struct perf_context *p = perf_of(ctx);
	struct perf_plan plans[PERF_MAX_COUNTERS];
	unsigned int n = make_plans(ctx, set, plans);
	struct perf_group *g;
	int ret = 0;

	perf_freeze(ctx);
	if (p->held)
		/*
		 * the overflows that wait for a restart belong to the set that is left, so the
		 * restart of another set cannot replay them
		 */
		perf_drop(ctx);
	p->held = p->check = p->unfit = false;
	p->set = set;
	if (set->flags & PFM_SETFL_TIME_SWITCH)
		ret = perf_timer_need(ctx);
	if (!ret && !same_plans(ctx, set, plans, n)) {
		ret = reopen(ctx, set, plans, n);
		if (ret)
			perf_group_close(ctx, set);
		p->unfit = ret;
		perf_view_events(set, set->os, true);
	}
	/* the target has got another id by exec(2); it lives, so no END follows */
	if (ret == -ESRCH && perf_lives(ctx->pid))
		return -EBUSY;
	if (ret)
		return ret;
	perf_rebase(ctx, set);
	g = set->os;
	g->idle = set->duration - g->before - g->enabled;
	return 0;
}

struct perf_counter *perf_counter_of(struct perf_group *g, uint16_t num)
{
	for (unsigned int i = 0; g && i < g->n; i++)
		if (g->c[i].plan.num == num)
			return &g->c[i];
	return NULL;
}

int perf_write_pmc(struct pfm_context *ctx, struct pfm_set *set, uint16_t num)
{
	(void)set, (void)num;
	perf_of(ctx)->check = true;
	return 0;
}

/*
 * A written value holds from the count at the overflow if an overflow is being replayed, else from
 * the present count.
 */
int perf_write_pmd(struct pfm_context *ctx, struct pfm_set *set, uint16_t num)
{
	struct perf_context *p = perf_of(ctx);
	struct pfm_pmd *pmd = pfm_set_pmd(set, num);
	struct perf_counter *c = perf_counter_of(set->os, num);
	struct perf_plan plan;

	if (!p->replaying) {
		p->check = true;
		if (make_plan(ctx, set, pmd, &plan) && check_period(ctx, set, &plan, pmd))
			return -EINVAL;
		perf_family_rebase_one(ctx, set, num);
	}
	if (!c)
		return 0;
	if (!p->replaying && !p->held && !p->fresh)
		perf_read_counts(ctx, set->os);
	c->base = pmd->value;
	c->base_count = c->count;
	p->program = true;
	return 0;
}
