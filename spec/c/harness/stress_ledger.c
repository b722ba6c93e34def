// SPDX-License-Identifier: MIT
/* stress_ledger.c - computes what every counter must hold from what really happened. */
#include "stress.h"

struct ledger *ledger_find(const struct pfm_context *ctx)
{
	for (unsigned int i = 0; i < world.num_ledgers; i++)
		if (world.ledgers[i].ctx == ctx)
			return &world.ledgers[i];
	return NULL;
}

int ledger_index(uint16_t pmd)
{
	for (unsigned int i = 0; i < world.num_pmds; i++)
		if (world.pmds[i] == pmd)
			return i;
	return -1;
}

struct led_set *ledger_set(struct ledger *l, uint16_t id)
{
	for (unsigned int i = 0; i < NUM_IDS; i++)
		if (set_ids[i] == id)
			return &l->sets[i];
	fail("set %u was never created", id);
}

/* --- what really happened ------------------------------------------------------------------- */

static uint64_t of(const struct sim_tally *tally, int event, unsigned int level)
{
	if (event == SIM_EV_NEVER)
		return 0;
	return event == EVENT_TIME ? tally->time[level] : tally->count[event][level];
}

static uint64_t of_kernel_threads(const struct sim_cpu *cpu, int event, unsigned int level)
{
	uint64_t sum = of(&cpu->idle.truth, event, level);

	for (unsigned int i = 0; i < cpu->sim->num_threads; i++) {
		const struct sim_thread *t = cpu->sim->threads[i];

		if (t->kernel && t->affinity == 1ULL << cpu->num)
			sum += of(&t->truth, event, level);
	}
	return sum;
}

/* 3.1.10, 5.5: returns the events at a level that the active set's flags do not exclude. */
static uint64_t seen(const struct ledger *l, int event, unsigned int level)
{
	const struct sim_ctx *sc = l->ctx->os;
	const struct sim_cpu *cpu = sc->cpu;
	uint32_t flags = l->ctx->active->flags;
	uint64_t n;

	if (sc->target)
		return of(&sc->target->truth, event, level);
	n = of(&cpu->truth, event, level);
	if (level == PFM_SIM_INTR)
		return n;
	if (flags & PFM_SETFL_EXCL_KERNEL_ONLY_THREADS)
		return n - of_kernel_threads(cpu, event, level);
	if (flags & (PFM_SETFL_EXCL_IDLE | PFM_ITA_SETFL_IDLE_EXCL))
		return n - of(&cpu->idle.truth, event, level);
	return n;
}

/* 5.5.2: INTR_ONLY does not concern a set that monitors user level alone. */
static bool any_privileged(const struct ledger *l)
{
	const struct led_set *s = ledger_set((struct ledger *)l, l->ctx->active->id);

	for (unsigned int i = 0; i < world.num_pmds; i++)
		if (s->counters[i].on && (s->counters[i].levels & ~(1U << PFM_SIM_USER)))
			return true;
	return false;
}

static uint64_t seen_by(const struct ledger *l, const struct counter *c)
{
	uint32_t flags = l->ctx->active->flags;
	unsigned int levels = c->levels;
	uint64_t sum = 0;

	if (flags & PFM_ITA_SETFL_EXCL_INTR)
		levels &= ~(1U << PFM_SIM_INTR);
	if ((flags & PFM_ITA_SETFL_INTR_ONLY) && any_privileged(l))
		levels &= 1U << PFM_SIM_INTR;
	for (unsigned int level = 0; level < PFM_SIM_LEVELS; level++)
		if (levels >> level & 1)
			sum += seen(l, c->event, level);
	return sum;
}

/* 3.7.6: a timeout goes on while the excluded idle thread runs. */
static uint64_t time_passed(const struct ledger *l)
{
	const struct sim_ctx *sc = l->ctx->os;
	uint64_t ns = 0;

	for (unsigned int level = 0; level < PFM_SIM_LEVELS; level++)
		ns += of(sc->target ? &sc->target->truth : &sc->cpu->truth, EVENT_TIME, level);
	return ns;
}

static uint64_t time_seen(const struct ledger *l)
{
	uint64_t ns = 0;

	for (unsigned int level = 0; level < PFM_SIM_LEVELS; level++)
		ns += seen(l, EVENT_TIME, level);
	return ns;
}

/* --- keeping the account -------------------------------------------------------------------- */

static uint64_t width_mask(void)
{
	return ~0ULL >> (64 - world.sim->pmu.counter_width);
}

bool counter_equal(const struct counter *c, uint64_t value)
{
	uint64_t mask = c->narrow ? width_mask() : ~0ULL;

	return (c->expect & mask) == (value & mask);
}

static void counter_add(struct counter *c, uint64_t n)
{
	uint64_t mask = c->narrow ? width_mask() : ~0ULL;

	if (n > mask - (c->expect & mask))
		c->owed = true;
	c->expect += n;
}

void ledger_sync(struct ledger *l)
{
	struct led_set *s;
	uint64_t now;

	if (!l->live)
		return;
	s = ledger_set(l, l->ctx->active->id);
	for (unsigned int i = 0; i < world.num_pmds; i++) {
		struct counter *c = &s->counters[i];

		if (!c->on)
			continue;
		now = seen_by(l, c);
		counter_add(c, now - c->mark);
		c->mark = now;
	}
	now = time_seen(l);
	s->duration += now - l->time_mark;
	l->time_mark = now;
	now = time_passed(l);
	s->slice += now - l->wall_mark;
	l->wall_mark = now;
}

void ledger_mark(struct ledger *l)
{
	struct led_set *s = ledger_set(l, l->ctx->active->id);

	for (unsigned int i = 0; i < world.num_pmds; i++)
		if (s->counters[i].on)
			s->counters[i].mark = seen_by(l, &s->counters[i]);
	l->time_mark = time_seen(l);
	l->wall_mark = time_passed(l);
}

/* --- comparing ------------------------------------------------------------------------------ */

/* Returns the thread's own value, without its children's: the ledger knows no other. */
static uint64_t own_value(const struct ledger *l, const pfarg_pmd_t *v)
{
	const struct pfm_pmd *pmd = pfm_set_pmd(pfm_set_find(l->ctx, v->reg_set), v->reg_num);

	return pfm_inherits(l->ctx) && pmd ? pmd->value : v->reg_value;
}

static bool read_set(struct ledger *l, unsigned int s, uint64_t *values)
{
	pfarg_pmd_t v[MAX_COUNTERS] = { { 0 } };

	for (unsigned int i = 0; i < world.num_pmds; i++) {
		v[i].reg_num = world.pmds[i];
		v[i].reg_set = set_ids[s];
	}
	if (pfm_read_pmds(l->fd, v, world.num_pmds)) {
		CHECK(errno == EBUSY, "reading set %u: %s", set_ids[s], pfm_explain());
		return false;
	}
	for (unsigned int i = 0; i < world.num_pmds; i++)
		values[i] = own_value(l, &v[i]);
	return true;
}

static void compare_values(const struct ledger *l, unsigned int s, const uint64_t *values)
{
	for (unsigned int i = 0; i < world.num_pmds; i++) {
		const struct counter *c = &l->sets[s].counters[i];

		CHECK(counter_equal(c, values[i]), "fd %d set %u PMD%u is %#llx, must be %#llx", l->fd,
		      set_ids[s], world.pmds[i], (unsigned long long)values[i],
		      (unsigned long long)c->expect);
		CHECK(!c->owed, "fd %d set %u PMD%u: an overflow was lost", l->fd, set_ids[s],
		      world.pmds[i]);
	}
}

static uint64_t timeout_left(const struct ledger *l, unsigned int s)
{
	uint64_t timeout = pfm_set_find(l->ctx, set_ids[s])->timeout, slice = l->sets[s].slice;

	return slice < timeout ? timeout - slice : 0;
}

static void compare_info(struct ledger *l, unsigned int s)
{
	pfarg_setinfo_t info = { .set_id = set_ids[s] };
	struct led_set *set = &l->sets[s];
	const struct pfm_set *children;
	bool is_active = l->ctx->active->id == set_ids[s] && l->ctx->state != PFM_CTX_UNLOADED;

	CHECK(!pfm_getinfo_evtsets(l->fd, &info, 1), "set %u: %s", set_ids[s], pfm_explain());
	children = pfm_set_find(l->ctx, set_ids[s]);
	info.set_act_duration -= children->ended.duration + children->living.duration;
	info.set_runs -= children->ended.runs + children->living.runs;
	CHECK(info.set_act_duration == set->duration, "fd %d set %u was active %llu ns, must be %llu",
	      l->fd, set_ids[s], (unsigned long long)info.set_act_duration,
	      (unsigned long long)set->duration);
	CHECK(info.set_runs == set->runs, "fd %d set %u: %llu runs, must be %llu", l->fd, set_ids[s],
	      (unsigned long long)info.set_runs, (unsigned long long)set->runs);
	if (!is_active || !(info.set_flags & PFM_SETFL_TIME_SWITCH))
		return;
	CHECK(info.set_timeout == timeout_left(l, s), "fd %d set %u: %llu ns left, must be %llu", l->fd,
	      set_ids[s], (unsigned long long)info.set_timeout,
	      (unsigned long long)timeout_left(l, s));
	CHECK(world.pool.irqs_off || set->slice <= l->ctx->active->timeout,
	      "fd %d set %u: a timeout was lost", l->fd, set_ids[s]);
}

bool ledger_compare(struct ledger *l)
{
	uint64_t values[MAX_COUNTERS];

	for (unsigned int s = 0; s < NUM_IDS; s++) {
		if (!l->sets[s].exists)
			continue;
		if (!read_set(l, s, values))
			return false;
		ledger_sync(l);
		compare_values(l, s, values);
		compare_info(l, s);
	}
	return true;
}
