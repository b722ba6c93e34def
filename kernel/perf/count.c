// SPDX-License-Identifier: MIT
/*
 * count.c - counting: starts and stops the events of the installed set, reads them, and sets their
 * periods in the kernel.
 */
#include <unistd.h>

#include "perf.h"

/* --- reading the counts --------------------------------------------------------------------- */

void perf_note_lost(struct pfm_context *ctx, struct perf_counter *c, uint64_t lost)
{
	uint64_t more = lost - c->lost;

	if (!more)
		return;
	c->lost = lost;
	perf_of(ctx)->reported += more;
	pfm_count_lost(ctx, ctx->active, more);
}

/* Takes the counts of a group read: they come in the order in which the events were opened. */
static void take_counts(struct pfm_context *ctx, struct perf_group *g, const uint64_t *words)
{
	for (unsigned int i = 0; i < g->joined; i++) {
		const uint64_t *entry = words + PERF_HEAD_WORDS + i * PERF_ENTRY_WORDS;

		g->c[i].count = entry[0];
		if (perf_format_lost && g == perf_group_of(ctx->active))
			perf_note_lost(ctx, &g->c[i], entry[2]);
	}
}

/* Reads, one by one, the events that are in no group. */
static bool read_alone(struct perf_group *g)
{
	uint64_t words[PERF_READ_WORDS];
	bool all = true;

	for (unsigned int i = g->joined; i < g->n; i++) {
		if (read(g->c[i].fd, words, sizeof(words)) > 0)
			g->c[i].count = words[PERF_HEAD_WORDS];
		else
			all = false;
	}
	return all;
}

/*
 * Returns the time in ns for which the active set has been active since the events of g were
 * opened; with INHERIT the sum over all threads.
 */
uint64_t perf_active_ns(struct pfm_context *ctx, const struct perf_group *g)
{
	const struct perf_context *p = perf_of(ctx);

	return p->set->duration - g->before + (pfm_counting(ctx) ? perf_ran(ctx) - ctx->since : 0);
}

/*
 * Notes that the events of the active set have been on the PMU for only "running" ns of the active
 * time.
 */
void perf_note_missed(struct pfm_context *ctx, struct perf_group *g, uint64_t running)
{
	struct perf_context *p = perf_of(ctx);
	uint64_t active = perf_active_ns(ctx, g), missed = active > running ? active - running : 0;

	p->failed = true;
	if (missed <= g->missed)
		return;
	p->set->blind += missed - g->missed;
	g->missed = missed;
}

/*
 * Called when an overflow or the timeout has switched sets. The PMDs of the set that was left keep
 * their values from that overflow or timeout; nothing was counted from then until the switch, and
 * this time is the gap. "enabled" is the time in ns for which the set's events had been enabled at
 * the overflow or timeout. "idle" is the time for which the set, up to its last installation, had
 * been active without enabled events. If the context is restricted to a cgroup, the gap is not
 * known, because the events are enabled only while the cgroup runs.
 */
void perf_note_gap(struct pfm_context *ctx, struct pfm_set *left, uint64_t idle, uint64_t enabled)
{
	int64_t gap = (int64_t)(left->duration - idle - enabled);

	if (gap > 0 && perf_of(ctx)->cgroup < 0)
		left->gap += (uint64_t)gap;
}

/*
 * Returns false if the counts are not available: a pinned group that is not on the PMU reads as 0
 * bytes, and its counts so far are lost. If the group was on the PMU only part of the time, it is
 * read, and p->failed is set.
 */
bool perf_read_counts(struct pfm_context *ctx, struct perf_group *g)
{
	struct perf_context *p = perf_of(ctx);
	uint64_t words[PERF_READ_WORDS];
	ssize_t got;

	if (!g || !g->n)
		return true;
	got = read(g->c[0].fd, words, sizeof(words));
	if (got < (ssize_t)(PERF_HEAD_WORDS * sizeof(words[0])) || words[0] != g->joined) {
		perf_note_missed(ctx, g, 0);
		return false;
	}
	g->enabled = words[1];
	if (g->hw && words[2] < words[1])
		perf_note_missed(ctx, g, words[2]);
	take_counts(ctx, g, words);
	if (!read_alone(g))
		p->failed = true;
	return true;
}

static void fold(struct pfm_set *set)
{
	struct perf_group *g = set->os;

	for (unsigned int i = 0; g && i < g->n; i++) {
		struct perf_counter *c = &g->c[i];

		pfm_set_pmd(set, c->plan.num)->value = c->base + (c->count - c->base_count);
	}
}

/*
 * Does nothing while an overflow is replayed, and after one has masked monitoring: the PMDs stay as
 * they were at the overflow.
 */
void perf_collect(struct pfm_context *ctx, struct pfm_set *set)
{
	struct perf_context *p = perf_of(ctx);

	if (set != p->set || p->replaying || p->held)
		return;
	if (!perf_read_counts(ctx, set->os))
		return;
	p->fresh = true;
	fold(set);
	perf_family_collect(ctx, set);
	perf_sampler_collect(ctx, set);
}

void perf_rebase(struct pfm_context *ctx, struct pfm_set *set)
{
	struct perf_context *p = perf_of(ctx);
	struct perf_group *g = set->os;

	perf_read_counts(ctx, g);
	for (unsigned int i = 0; g && i < g->n; i++) {
		g->c[i].base = pfm_set_pmd(set, g->c[i].plan.num)->value;
		g->c[i].base_count = g->c[i].count;
	}
	perf_family_rebase(ctx, set);
	p->fresh = p->program = true;
}

/* --- the periods of the kernel's events ----------------------------------------------------- */

static uint64_t distance_of(const struct perf_counter *c)
{
	uint64_t distance = -c->base;

	return distance && distance < PERF_FAR ? distance : PERF_FAR;
}

/*
 * Returns true if the kernel's next overflow is close enough to the wanted count. A timer and its
 * counter differ a little.
 */
static bool near_enough(const struct perf_counter *c, uint64_t want)
{
	int64_t off = (int64_t)(c->next - want);
	uint64_t size = off < 0 ? -(uint64_t)off : (uint64_t)off;

	return size <= (c->plan.clock ? distance_of(c) / 1024 + 1000 : 0);
}

/*
 * Returns the shortest period that may be set for the remainder of a period. The kernel's event
 * overflows again each time this period has passed, until the library's service thread sets the
 * next period. Software events are rare, so 1 is long enough.
 */
static uint64_t shortest(const struct perf_counter *c)
{
	uint64_t least = c->plan.clock || c->plan.hw ? distance_of(c) / 16 : 1;

	if (c->plan.clock && least < PERF_CLOCK_MIN_NS)
		return PERF_CLOCK_MIN_NS;
	return least ? least : 1;
}

/*
 * Sets the period of the kernel's event so that the event overflows when the PMD does. If the PMD's
 * overflow is overdue already, the shortest period is set, unless the event will overflow soon
 * anyway.
 */
static int program(struct perf_counter *c)
{
	uint64_t want = c->base_count + distance_of(c), least = shortest(c);
	int64_t rest = (int64_t)(want - c->count), ahead = (int64_t)(c->next - c->count);

	if (near_enough(c, want))
		return 0;
	if (rest < (int64_t)least) {
		if (ahead > 0 && (uint64_t)ahead <= distance_of(c) / 2)
			return 0;
		rest = (int64_t)least;
	}
	if (perf_set_period(c->fd, (uint64_t)rest))
		return pfm_refuse(-errno, "PMD%u: the kernel refuses a period of %llu: %s", c->plan.num,
				  (unsigned long long)rest, strerror(errno));
	c->period = (uint64_t)rest;
	c->set_at = c->count;
	c->next = c->count + (uint64_t)rest;
	return 0;
}

static bool periods_fit(const struct perf_group *g)
{
	for (unsigned int i = 0; i < g->n; i++)
		if (g->c[i].plan.sampling &&
		    !near_enough(&g->c[i], g->c[i].base_count + distance_of(&g->c[i])))
			return false;
	return true;
}

/*
 * A software event must be stopped before its period is set, because the kernel mishandles a change
 * of the period while the event runs.
 */
static bool must_stop(const struct perf_group *g)
{
	for (unsigned int i = 0; i < g->n; i++)
		if (g->c[i].plan.sampling && !g->c[i].plan.clock && !g->c[i].plan.hw)
			return true;
	return false;
}

static int program_all(struct pfm_context *ctx, struct perf_group *g)
{
	struct perf_context *p = perf_of(ctx);
	int ret = 0;

	p->program = false;
	if (!g || !g->sampling || periods_fit(g))
		return 0;
	if (p->running && must_stop(g))
		perf_freeze(ctx);
	if (!perf_read_counts(ctx, g))
		return 0;
	for (unsigned int i = 0; i < g->n && !ret; i++)
		if (g->c[i].plan.sampling)
			ret = program(&g->c[i]);
	return ret;
}

/* --- starting and stopping events ----------------------------------------------------------- */

/*
 * Allows the next overflow of an event that the kernel stops at overflows: each of them needs a
 * REFRESH.
 */
static void arm_counter(struct perf_counter *c)
{
	if (!c->plan.stop || c->armed)
		return;
	perf_ioctl(c->fd, PERF_EVENT_IOC_REFRESH, 1);
	c->armed = true;
}

/* Starts or stops the group, and each event that is in no group. */
static void run_leaders(struct perf_group *g, unsigned long request)
{
	for (unsigned int i = g->n; i-- > 0;)
		if (perf_leads(g, &g->c[i]))
			perf_ioctl(g->c[i].fd, request, 0);
}

static void start_group(struct perf_context *p, struct perf_group *g)
{
	p->running = true;
	p->on_exec = false;
	if (!g)
		return;
	perf_family_run(g, true);
	perf_sampler_run(g->sampler, true);
	if (!g->n)
		return;
	for (unsigned int i = g->n; i-- > 0;)
		arm_counter(&g->c[i]);
	run_leaders(g, PERF_EVENT_IOC_ENABLE);
}

void perf_freeze(struct pfm_context *ctx)
{
	struct perf_context *p = perf_of(ctx);
	struct perf_group *g = perf_group_of(p->set);

	if (!p->running)
		return;
	p->running = false;
	if (!g)
		return;
	perf_family_run(g, false);
	run_leaders(g, PERF_EVENT_IOC_DISABLE);
	if (!g->sampler)
		return;
	perf_sampler_run(g->sampler, false);
	perf_drain(ctx, true);		/* once the events are stopped, no more records come */
}

/*
 * Only notes that counting continues: resume_group() starts the counters when the core has
 * finished.
 */
void perf_resume(struct pfm_context *ctx)
{
	perf_of(ctx)->program = true;
}

int perf_start(struct pfm_context *ctx)
{
	struct perf_context *p = perf_of(ctx);
	struct perf_group *g = p->set->os;
	int ret = p->program ? program_all(ctx, g) : 0;

	if (ret || p->running)
		return ret;
	p->failed = false;
	start_group(p, g);
	if (g && g->hw)
		/* this read notices if a pinned group has no place on the PMU */
		perf_read_counts(ctx, g);
	return 0;
}
