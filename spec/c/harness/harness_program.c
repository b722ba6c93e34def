// SPDX-License-Identifier: MIT
/*
 * harness_program.c - random simulated programs.
 *
 * Each site in a loop takes time, and each sleep or yield follows a site of at least 1 us, so that
 * a program can do only a limited number of things in a given time. Forks, threads and execs, which
 * have programs of their own, are outside of loops only.
 */
#include "harness.h"

const char *const program_events[NUM_PROGRAM_EVENTS] = {
	"cycles", "instructions", "branches", "branch_misses", "l1d_misses", "l2_misses",
};

const char *program_model(struct rng *r)
{
	static char name[40];
	const struct sim_model *model;
	uint32_t n = 0;

	while (sim_model_at(n))
		n++;
	model = sim_model_at(rng_below(r, n));
	snprintf(name, sizeof(name), "%s%s", model->full_name, model->codes->ht && rng_below(r, 2) ? ",ht" : "");
	return name;
}

struct maker {
	struct program_pool	*pool;
	struct program		*p;
	unsigned int		depth;		/* nesting of loops */
	unsigned int		nesting;	/* nesting of programs */
};

static struct program *make(struct program_pool *pool, unsigned int nesting);

static struct pfm_sim_step *next_step(struct maker *m, uint32_t op)
{
	struct pfm_sim_step *s = &m->p->steps[m->p->prog.num_steps++];

	memset(s, 0, sizeof(*s));
	s->op = op;
	return s;
}

static unsigned int room(const struct maker *m)
{
	return PROGRAM_STEPS - m->p->prog.num_steps - m->depth;
}

static uint32_t level(struct maker *m)
{
	static const uint8_t levels[] = { PFM_SIM_USER, PFM_SIM_USER, PFM_SIM_KERNEL };

	if (m->pool->interrupt)
		return PFM_SIM_INTR;
	return m->pool->kernel ? PFM_SIM_KERNEL : levels[rng_below(m->pool->rng, COUNT(levels))];
}

/* Returns the most events of a site: a narrow counter must not wrap twice before its interrupt. */
static uint64_t many(const struct maker *m)
{
	return m->pool->irqs_off ? 1000 : 1 << 27;
}

static void site(struct maker *m, uint64_t min_ns)
{
	struct rng *r = m->pool->rng;
	uint32_t i = m->p->prog.num_steps;
	struct pfm_sim_step *s = next_step(m, PFM_SIM_SITE);

	s->level = level(m);
	s->ns = rng_log(r, m->depth ? (min_ns ? min_ns : 1) : min_ns, 3000);
	s->ip = 0x4000 + rng_below(r, 256) * 16;
	s->num_events = rng_below(r, 3);
	s->events = m->p->events[i];
	for (uint32_t e = 0; e < s->num_events; e++) {
		m->p->events[i][e].name = program_events[rng_below(r, NUM_PROGRAM_EVENTS)];
		m->p->events[i][e].count = rng_log(r, 0, rng_chance(r, 3) ? many(m) : 1000);
	}
	if (m->pool->irqs_off && rng_chance(r, 10))
		s->flags |= PFM_SIM_IRQS_OFF;
	if (rng_chance(r, 20))
		s->flags |= PFM_SIM_DATA | PFM_SIM_FETCH | PFM_SIM_BRANCH;
	s->data_addr = s->ip * 3;
	s->target = s->ip + 64;
	s->latency = rng_below(r, 200);
}

static void body(struct maker *m, unsigned int items);

static void loop(struct maker *m)
{
	struct rng *r = m->pool->rng;
	struct pfm_sim_step *s = next_step(m, PFM_SIM_LOOP);
	bool endless = !m->pool->interrupt && rng_chance(r, 40);

	s->count = endless ? PFM_SIM_FOREVER : rng_log(r, 1, m->pool->interrupt ? 10 : 100000);
	m->depth++;
	site(m, 1);
	body(m, rng_below(r, 3));
	m->depth--;
	next_step(m, PFM_SIM_END);
}

static void pause_or_yield(struct maker *m)
{
	struct pfm_sim_step *s;

	site(m, 1000);
	s = next_step(m, rng_chance(m->pool->rng, 70) ? PFM_SIM_SLEEP : PFM_SIM_YIELD);
	if (s->op == PFM_SIM_SLEEP)
		s->ns = rng_log(m->pool->rng, 100, 100000);
}

static void beget(struct maker *m)
{
	static const uint8_t ops[] = { PFM_SIM_FORK, PFM_SIM_THREAD, PFM_SIM_EXEC };
	struct program *sub = make(m->pool, m->nesting + 1);
	struct pfm_sim_step *s;

	if (!sub)
		return;
	s = next_step(m, ops[rng_below(m->pool->rng, COUNT(ops))]);
	s->program = &sub->prog;
}

static void item(struct maker *m)
{
	struct rng *r = m->pool->rng;
	uint32_t what = rng_below(r, 100);

	if (what < 30 && m->depth < 4)
		loop(m);
	else if (what < 45 && !m->pool->interrupt)
		pause_or_yield(m);
	else if (what < 55 && !m->depth && !m->pool->interrupt && m->nesting < 2)
		beget(m);
	else if (what < 57 && !m->pool->interrupt && m->nesting)
		next_step(m, rng_chance(r, 50) ? PFM_SIM_EXIT : PFM_SIM_EXIT_GROUP);
	else
		site(m, rng_chance(r, 10) ? 0 : 1);
}

static void body(struct maker *m, unsigned int items)
{
	while (items-- && room(m) > 6)
		item(m);
}

static struct program *make(struct program_pool *pool, unsigned int nesting)
{
	struct maker m = { .pool = pool, .nesting = nesting };

	if (pool->used == PROGRAM_POOL)
		return NULL;
	m.p = &pool->programs[pool->used++];
	m.p->prog.num_steps = 0;
	m.p->prog.steps = m.p->steps;
	site(&m, 1);
	body(&m, 1 + rng_below(pool->rng, 5));
	return m.p;
}

const struct pfm_sim_program *program_make(struct program_pool *pool)
{
	struct program *p = make(pool, 0);

	return p ? &p->prog : NULL;
}
