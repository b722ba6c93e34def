// SPDX-License-Identifier: MIT
/*
 * replay.c - passes the kernel's records to the core as overflows. A record has the counts of the
 * whole group at the overflow, so that the core sees the PMDs as they were, whenever the record is
 * replayed. If the counts show that the PMD has not overflowed, because its period has changed
 * since, the record is dropped.
 */
#include "perf.h"

struct sample {
	uint64_t	id;
	struct pfm_where where;
	uint64_t	enabled;	/* time for which the group had been started, in ns */
	uint64_t	n;		/* number of counters in values */
	const uint64_t	*values;	/* {count, id[, lost]} for each counter */
	struct perf_stack stack;
};

#define VALUE_WORDS (perf_format_lost ? 3U : 2U)

/* Parses a sample. The fields are those of SAMPLE_TYPE in event.c, in the order of perf_event.h. */
static bool parse(struct pfm_context *ctx, const union perf_record *rec, struct sample *s)
{
	const uint64_t *w = rec->words + 1;

	if (rec->header.size < 9 * sizeof(*w))
		return false;
	s->id = w[0];
	s->where = (struct pfm_where){ .ip = w[1], .pid = ((const uint32_t *)&w[2])[0],
				       .tid = ((const uint32_t *)&w[2])[1], .tstamp = w[3], .cpu = (uint16_t)w[4],
				       .regs = &s->stack, .stack = &perf_stack_ops };
	perf_name_exited(ctx, &s->where);
	s->n = w[5];
	s->enabled = w[6];
	s->values = w + 8;	/* skips nr, time enabled and time running */
	if (s->n > PERF_MAX_COUNTERS || rec->header.size < (9 + s->n * VALUE_WORDS) * sizeof(*w))
		return false;
	return perf_stack_parse(&ctx->format_needs, &s->stack, s->values + s->n * VALUE_WORDS,
				rec->words + rec->header.size / sizeof(*w));
}

/* Returns true for a record of the set timeout, which has only its id and its own count. */
static bool timer_record(struct pfm_context *ctx, const union perf_record *rec)
{
	struct perf_timer *t = &perf_of(ctx)->timer;

	if (t->fd < 0 || rec->words[1] != t->id)
		return false;
	perf_timer_record(ctx, rec->words[5]);
	return true;
}

static struct perf_counter *by_id(struct perf_group *g, uint64_t id)
{
	for (unsigned int i = 0; g && i < g->n; i++)
		if (g->c[i].id == id)
			return &g->c[i];
	return NULL;
}

/* --- overflows found by the counts ---------------------------------------------------------- */

/*
 * Returns how many counts before the PMD's overflow an overflow of the kernel's event may come and
 * still be taken for it. Only clock events have such a slack, because a timer and its counter
 * differ a little. A timer that fired late fires earlier the next time: so if the kernel keeps the
 * PMD's fixed period, each firing is an overflow of the PMD.
 */
static uint64_t slack(const struct perf_counter *c, uint64_t count, uint64_t distance)
{
	/* true if the overflow came after the last change of the period */
	bool own = (int64_t)(count - c->set_at) > 0;

	if (!c->plan.clock)
		return 0;
	return c->plan.fixed && own && c->period == distance ? distance : distance / 1024 + 1000;
}

static bool overflowed(const struct perf_counter *c, uint64_t count)
{
	uint64_t distance = -c->base;
	int64_t moved = (int64_t)(count - c->base_count);

	return distance && distance < PERF_FAR && moved > 0 &&
	       (uint64_t)moved + slack(c, count, distance) >= distance;
}

/*
 * Updates c->next as the kernel reloads the period: a counter's next period begins where the last
 * one ended, a timer's where it fired.
 */
static void follow_kernel(struct perf_counter *c, uint64_t count)
{
	if ((int64_t)(count - c->set_at) <= 0)
		return;		/* the overflow came before the period was set */
	if (c->plan.clock || count - c->next >= c->period)
		c->next = count + c->period;
	else
		c->next += c->period;
}

/*
 * Returns how many periods a timer has skipped. The delays of the timer are summed up, and each
 * whole period in the sum is one that was skipped. 1/64 of the sum is subtracted each time, so that
 * a slow drift does not count as a loss.
 */
static uint64_t timer_missed(struct perf_counter *c, uint64_t moved, uint64_t distance)
{
	uint64_t missed;

	c->late += moved;
	c->late = c->late > distance ? c->late - distance : 0;
	missed = c->late / distance;
	c->late -= missed * distance;
	c->late -= c->late / 64;
	return missed;
}

/*
 * Counts the overflows that should have come before this one, and did not. Some of them may be
 * records that the kernel reported as lost (p->reported): those were reported to the core. A timer
 * that excludes a privilege level runs on while the thread is at that level, so its overflows are
 * not missing.
 */
static void count_missed(struct pfm_context *ctx, struct perf_counter *c)
{
	struct perf_context *p = perf_of(ctx);
	uint64_t distance = -c->base, moved = c->count - c->base_count, missed, known;

	if (c->plan.clock && (c->plan.no_user || c->plan.no_kernel || c->plan.no_idle))
		return;
	if (c->plan.clock && c->plan.fixed)
		missed = timer_missed(c, moved, distance);
	else
		missed = moved < distance ? 0 : moved / distance - 1;
	known = missed < p->reported ? missed : p->reported;
	p->reported -= known;
	if (c->throttled)
		pfm_count_throttled(ctx, missed - known);
	else if (c->plan.clock)
		pfm_count_late(ctx, missed - known);
	else
		pfm_count_lost(ctx, p->set, missed - known);
	c->throttled = false;
}

/* --- replaying an overflow ------------------------------------------------------------------ */

static void load_counts(struct pfm_context *ctx, struct perf_group *g, const struct sample *s)
{
	for (unsigned int i = 0; i < s->n; i++) {
		const uint64_t *v = s->values + i * VALUE_WORDS;
		struct perf_counter *c = i < g->n && g->c[i].id == v[1] ? &g->c[i] : by_id(g, v[1]);

		if (!c)
			continue;
		c->count = v[0];
		if (perf_format_lost)
			perf_note_lost(ctx, c, v[2]);
	}
}

/*
 * Finds the PMDs that passed 2^64: the PMD of this record, and others, but not timers, with records
 * still to come.
 */
static void find_overflows(struct perf_group *g, const struct perf_counter *cause, uint64_t *ovfl)
{
	for (unsigned int i = 0; i < g->n; i++) {
		const struct perf_counter *c = &g->c[i];

		if (c == cause || (c->plan.sampling && !c->plan.clock && overflowed(c, c->count)))
			pfm_bit_set(ovfl, c->plan.num);
	}
}

/*
 * Sets the PMDs to their values at the overflow. A reset of a counter takes effect at the count at
 * which the counter passed 2^64, so that no events are lost. A reset of a timer with a fixed period
 * takes effect at the count at which the timer fired.
 */
static void load_values(struct pfm_set *set, struct perf_group *g, const uint64_t *ovfl)
{
	for (unsigned int i = 0; i < g->n; i++) {
		struct perf_counter *c = &g->c[i];
		struct pfm_pmd *pmd = pfm_set_pmd(set, c->plan.num);
		uint64_t moved = c->count - c->base_count, distance = -c->base;

		pmd->value = c->base + moved;
		if (!pfm_bit(ovfl, c->plan.num))
			continue;
		if (moved < distance)
			/* a timer that fired a little early counts as an overflow */
			pmd->value = 0;
		else if (!(c->plan.clock && c->plan.fixed))
			c->count -= moved % distance;
	}
}

/*
 * Takes over the PMDs' values after the core has handled the overflow. PMDs that the core has reset
 * count on from their new values. The others keep their base, because a timer may have passed 2^64
 * while its record is still to come.
 */
static void values_from_core(struct pfm_set *set, struct perf_group *g, const uint64_t *ovfl)
{
	for (unsigned int i = 0; i < g->n; i++) {
		struct perf_counter *c = &g->c[i];
		uint64_t value = pfm_set_pmd(set, c->plan.num)->value;

		if (!pfm_bit(ovfl, c->plan.num) && value == c->base + (c->count - c->base_count))
			continue;
		c->base = value;
		c->base_count = c->count;
	}
}

static void deliver(struct pfm_context *ctx, struct perf_group *g, struct perf_counter *c,
		    struct sample *s)
{
	struct perf_context *p = perf_of(ctx);
	struct pfm_set *set = p->set;
	uint64_t ovfl[PFM_PMD_BV] = { 0 }, runs = set->runs, idle = g->before + g->idle;

	find_overflows(g, c, ovfl);
	load_values(set, g, ovfl);
	p->replaying = true;
	pfm_overflow(ctx, ovfl, &s->where);
	p->replaying = false;
	p->program = true;
	if (p->set != set || set->runs != runs || ctx->absent) {
		/* if a set succeeds itself, its events may have been reopened: g may be gone */
		perf_note_gap(ctx, set, idle, s->enabled);
		return;
	}
	values_from_core(set, g, ovfl);
	p->held = !pfm_counting(ctx);
}

static void replay_sample(struct pfm_context *ctx, const union perf_record *rec)
{
	struct perf_context *p = perf_of(ctx);
	struct perf_group *g = perf_group_of(p->set);
	struct perf_counter *c;
	struct sample s;

	if (timer_record(ctx, rec) || !parse(ctx, rec, &s))
		return;
	c = by_id(g, s.id);
	if (!c)
		return;		/* the overflow is of a set that is no longer active */
	if (c->plan.stop)
		perf_freeze(ctx);
	c->armed = false;
	load_counts(ctx, g, &s);
	follow_kernel(c, c->count);
	if (!overflowed(c, c->count)) {
		p->program = true;
		p->fresh = false;
		return;
	}
	count_missed(ctx, c);
	deliver(ctx, g, c, &s);
}

/* --- replaying other records ---------------------------------------------------------------- */

static void replay_throttle(struct pfm_context *ctx, const union perf_record *rec)
{
	/* the record has {time, id, stream id} */
	struct perf_counter *c = by_id(perf_group_of(perf_of(ctx)->set), rec->words[2]);

	pfm_count_throttled(ctx, 1);
	if (c)
		c->throttled = true;
}

/*
 * Handles a LOST record, {id, lost}. Kernels with PERF_FORMAT_LOST also count lost records by
 * event, and these counts are used instead.
 */
static void replay_lost(struct pfm_context *ctx, const union perf_record *rec)
{
	perf_record_lost(ctx);
	if (perf_format_lost)
		return;
	perf_of(ctx)->reported += rec->words[2];
	pfm_count_lost(ctx, ctx->active, rec->words[2]);
}

static void replay(struct pfm_context *ctx, const union perf_record *rec)
{
	if (rec->header.type == PERF_RECORD_SAMPLE && perf_samples_family(ctx))
		perf_sampler_replay(ctx, rec);
	else if (rec->header.type == PERF_RECORD_SAMPLE)
		replay_sample(ctx, rec);
	else if (rec->header.type == PERF_RECORD_READ && perf_samples_family(ctx))
		perf_sampler_count(ctx, rec);
	else if (rec->header.type == PERF_RECORD_THROTTLE)
		replay_throttle(ctx, rec);
	else if (rec->header.type == PERF_RECORD_LOST)
		replay_lost(ctx, rec);
	else
		perf_record_replay(ctx, rec);
}

/*
 * Returns true if records are to be replayed now. While monitoring is stopped there are no
 * overflows, but there may be records of what programs do.
 */
static bool goes_on(struct pfm_context *ctx)
{
	bool records = ctx->format_needs.records && ctx->state == PFM_CTX_LOADED;

	return !perf_of(ctx)->held && (pfm_counting(ctx) || records);
}

/*
 * Without a format, overflows after the one that masked came in the masked state, and are dropped.
 */
void perf_drain(struct pfm_context *ctx, bool all)
{
	struct perf_context *p = perf_of(ctx);
	const union perf_record *rec;

	if (p->replaying)
		return;
	perf_rings_round(ctx, all);
	do {
		while (goes_on(ctx) && (rec = perf_rings_next(&p->rings)))
			replay(ctx, rec);
	} while (perf_timer_expire(ctx));
	if (p->held && !ctx->fmt)
		perf_drop(ctx);
}

void perf_drop(struct pfm_context *ctx)
{
	struct perf_context *p = perf_of(ctx);
	const union perf_record *rec;
	uint64_t n = 0;

	if (p->replaying)
		return;
	perf_rings_round(ctx, true);
	while ((rec = perf_rings_next(&p->rings))) {
		struct perf_counter *c = NULL;

		if (rec->header.type != PERF_RECORD_SAMPLE)
			perf_record_replay(ctx, rec);
		else if (perf_samples_family(ctx))
			n++;
		else
			c = by_id(perf_group_of(p->set), rec->words[1]);
		if (!c)
			continue;
		c->armed = false;
		n++;
	}
	if (ctx->fmt)
		pfm_count_lost(ctx, p->set, n);
}

/*
 * Replays the overflows that came before a command. If the target's own group has sampling events,
 * it is stopped until the command has ended. Sampling events that children inherit (sampler.c) go
 * on.
 */
void perf_quiet(struct pfm_context *ctx)
{
	struct perf_context *p = perf_of(ctx);
	struct perf_group *g = perf_group_of(p->set);

	p->fresh = false;
	if (g && g->sampling)
		perf_freeze(ctx);
	perf_drain(ctx, true);
}
