// SPDX-License-Identifier: MIT
/* oracle_model.c - what commands do, by the specification (3.1.1 - 3.1.12, 6.2.2). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

struct context contexts[MAX_CTXS];

/* 3.1.2, 3.1.3: nothing is measured, counters are 0; set 0 is there and does not switch (3.7.6). */
void model_new(struct context *c)
{
	memset(&c->m, 0, sizeof(c->m));
	model_insert(&c->m, 0);
	c->loaded = c->started = c->blocked = false;
	c->target = NULL;
	c->queued = 0;
	c->heirs = c->num_ended = 0;
	c->first = -1;
	c->depth = c->kind == CONTROL ? format_depth : 1;
	format_new(c);
}

struct set *model_active(struct monitor *m)
{
	return &m->sets[m->active];
}

int model_find(const struct monitor *m, uint16_t id)
{
	for (int i = 0; i < m->num_sets; i++) {
		if (m->sets[i].id == id)
			return i;
	}
	return -1;
}

/* 3.1.10: "Sets are ordered in increasing value of their set_id". */
struct set *model_insert(struct monitor *m, uint16_t id)
{
	int at = 0;

	while (at < m->num_sets && m->sets[at].id < id)
		at++;
	memmove(m->sets + at + 1, m->sets + at, (m->num_sets - at) * sizeof(*m->sets));
	memset(m->sets + at, 0, sizeof(*m->sets));
	m->num_sets++;
	if (m->num_sets > 1 && at <= m->active)
		m->active++;
	m->sets[at].id = id;
	for (int i = 0; i < world.num_plan; i++)
		m->sets[at].regs[i].event = -1;
	return m->sets + at;
}

/* --- resets: 3.4.2 ---------------------------------------------------------------------------- */

/* Draws a random number: first the seed, then those of Park and Miller's generator. */
static uint32_t draw(struct reg *r)
{
	uint32_t drawn = r->random;
	uint64_t from = drawn % 0x7fffffff ? drawn : 1;

	r->random = from * 16807 % 0x7fffffff;
	return drawn;
}

static void reset_one(struct reg *r, const struct plan_pmd *p, bool is_long)
{
	uint64_t value = is_long ? r->long_reset : r->short_reset;

	if (p->counts && (r->flags & PFM_REGFL_RANDOM)) {
		uint64_t number = draw(r);

		if (r->random_mask >> 32)
			number |= (uint64_t)draw(r) << 32;
		value += number & r->random_mask;
	}
	trace("  PMD%u is reset to %#llx", p->num, (unsigned long long)value);
	r->value = r->last = value;
}

void model_reset(struct set *s, uint32_t regs, bool is_long)
{
	for (int i = 0; i < world.num_plan; i++) {
		if (regs >> i & 1)
			reset_one(&s->regs[i], &world.plan[i], is_long);
	}
}

/* Returns these PMDs and those that their reg_reset_pmds name, not further ones. */
uint32_t model_chain(const struct set *s, uint32_t regs)
{
	uint32_t all = regs;

	for (int i = 0; i < world.num_plan; i++) {
		if (regs >> i & 1)
			all |= s->regs[i].reset;
	}
	return all;
}

uint32_t model_pending(const struct set *s)
{
	uint32_t regs = 0;

	for (int i = 0; i < world.num_plan; i++)
		regs |= (uint32_t)s->regs[i].pending << i;
	return regs;
}

static void reset_pending(struct set *s, bool is_long)
{
	model_reset(s, model_chain(s, model_pending(s)), is_long);
	for (int i = 0; i < world.num_plan; i++)
		s->regs[i].pending = false;
}

/* --- sets: 3.7.5, 3.7.6 ----------------------------------------------------------------------- */

int model_next(const struct monitor *m)
{
	const struct set *s = &m->sets[m->active];

	if (s->flags & PFM_SETFL_EXPL_NEXT)
		return model_find(m, s->next_id);
	return (m->active + 1) % m->num_sets;
}

/* Makes a set the active one, with its whole timeout and thresholds. */
static void begin(struct monitor *m, int to)
{
	struct set *s = &m->sets[to];

	m->active = to;
	s->runs++;
	s->left = s->flags & PFM_SETFL_TIME_SWITCH ? s->timeout : 0;
	for (int i = 0; i < world.num_plan; i++)
		s->regs[i].left = s->regs[i].thres;
}

/* 3.7.7: PMDs that "last overflowed in this new set" are reset when the set is active again. */
void model_switch(struct context *c, struct monitor *m, int to, bool is_long)
{
	trace("  context %td: from set %u to %u", c - contexts, m->sets[m->active].id, m->sets[to].id);
	switched++;
	begin(m, to);
	reset_pending(&m->sets[to], is_long);
}

/* Makes the switch that was deferred while monitoring was masked (3.7.7). */
static void switch_due(struct context *c, struct monitor *m)
{
	if (!m->due || m->masked || !c->started)
		return;
	model_active(m)->switched = m->due;
	m->due = 0;
	model_switch(c, m, model_next(m), true);
}

/* --- commands --------------------------------------------------------------------------------- */

bool model_is_broken(const struct monitor *m)
{
	for (int i = 0; i < m->num_sets; i++) {
		if ((m->sets[i].flags & PFM_SETFL_EXPL_NEXT) && model_find(m, m->sets[i].next_id) < 0)
			return true;
	}
	return false;
}

int model_load(struct context *c, struct thread *t, uint16_t id)
{
	int set = model_find(&c->m, id);

	if (c->loaded)
		return EBUSY;
	if (set < 0)
		return EINVAL;
	if (model_is_broken(&c->m))
		return EINVAL;
	if (!(c->flags & PFM_FL_SYSTEM_WIDE)) {
		if (t->dead)
			return ESRCH;
		if (t->ctx || t->heir)
			return EBUSY;
		if (t == c->owner && (c->flags & PFM_FL_NOTIFY_BLOCK))
			return EINVAL;
		t->ctx = c;
	}
	c->target = t;
	c->loaded = true;
	c->started = c->blocked = false;
	c->queued = 0;
	c->full_told = false;
	c->full &= c->kind != CONTROL;
	c->heirs = 1;
	c->first = -1;
	c->m.masked = c->m.interrupted = false;
	c->m.due = c->m.overflowed = 0;
	for (int i = 0; i < c->m.num_sets; i++) {
		c->m.sets[i].switched = 0;
		for (int k = 0; k < world.num_plan; k++)
			c->m.sets[i].regs[k].pending = false;
	}
	begin(&c->m, set);
	return 0;
}

/* Returns true if the PMD has a period in each thread, and so is not added up. */
bool model_has_period(const struct context *c, const struct set *s, int i)
{
	const struct reg *r = &s->regs[i];

	return c->kind != NO_FORMAT && world.plan[i].counts && (r->long_reset || r->short_reset);
}

static void fold_set(const struct context *c, struct set *s, const struct set *of)
{
	s->others_runs += of->runs;
	s->others_duration += of->duration;
	for (int i = 0; i < world.num_plan; i++) {
		if (!model_has_period(c, s, i))
			s->regs[i].others += of->regs[i].value - of->regs[i].base;
	}
}

/* INHERIT: adds a thread's counts to the sum, but for PMDs with a period. */
static void fold(struct context *c, const struct monitor *heir)
{
	for (int k = 0; k < c->m.num_sets; k++)
		fold_set(c, &c->m.sets[k], &heir->sets[k]);
}

static void detach(struct context *c)
{
	for (int i = 0; i < world.num_threads; i++) {
		struct thread *t = &world.threads[i];

		if (t->ctx != c)
			continue;
		if (t->heir)
			fold(c, t->heir);
		free(t->heir);
		t->heir = NULL;
		t->ctx = NULL;
	}
	while (c->num_ended)
		free(c->ended[--c->num_ended]);
	c->loaded = c->started = c->blocked = c->m.masked = false;
	c->m.due = 0;
	c->target = NULL;
	c->heirs = 0;
}

int model_unload(struct context *c)
{
	if (!c->loaded)
		return EINVAL;
	detach(c);
	return 0;
}

/* Starts a monitor in a set; -1: the active set. */
static void start_monitor(struct context *c, struct monitor *m, int set)
{
	if (set >= 0 && set != m->active) {
		m->due = 0;
		model_switch(c, m, set, true);
	}
	switch_due(c, m);
}

int model_start(struct context *c, const uint16_t *id)
{
	int set = id ? model_find(&c->m, *id) : -1;

	if (!c->loaded || (id && set < 0))
		return EINVAL;
	c->started = true;
	c->first = -1;
	start_monitor(c, &c->m, set);
	for (int i = 0; i < world.num_threads; i++) {
		if (world.threads[i].heir && world.threads[i].ctx == c)
			start_monitor(c, world.threads[i].heir, set);
	}
	return 0;
}

int model_stop(struct context *c)
{
	if (!c->loaded)
		return EINVAL;
	c->started = false;
	return 0;
}

static void restart_monitor(struct context *c, struct monitor *m, bool reset, bool mask)
{
	if (reset)
		reset_pending(model_active(m), true);
	m->masked = mask;
	switch_due(c, m);
}

static bool is_any_masked(const struct context *c)
{
	bool any = c->m.masked;

	for (int i = 0; i < world.num_threads; i++)
		any |= world.threads[i].heir && world.threads[i].ctx == c && world.threads[i].heir->masked;
	return any;
}

int model_restart(struct context *c)
{
	bool reset = true, mask = false;
	int err;

	if (!c->loaded || (c->kind == NO_FORMAT && !c->m.masked))
		return EBUSY;
	restarts++;
	if (c->kind != NO_FORMAT) {
		/* INHERIT: "it means that monitoring is masked" (3.5.15), of a thread */
		err = format_restart(c, !is_any_masked(c), &reset, &mask);
		if (err)
			return err;
	}
	trace("  all are to %s, %s", reset ? "reset" : "go on", mask ? "masked" : "not masked");
	restart_monitor(c, &c->m, reset, mask);
	for (int i = 0; c->kind != NO_FORMAT && i < world.num_threads; i++) {
		if (world.threads[i].heir && world.threads[i].ctx == c)
			restart_monitor(c, world.threads[i].heir, reset, mask);
	}
	c->blocked = false;
	return 0;
}

/* INHERIT: takes out of the sum what other threads have counted so far. */
static void begin_sum(struct context *c, struct set *s, int i)
{
	int set = s - c->m.sets;

	s->regs[i].others = 0;
	for (int k = 0; k < world.num_threads; k++) {
		struct thread *t = &world.threads[k];

		if (t->heir && t->ctx == c)
			t->heir->sets[set].regs[i].base = t->heir->sets[set].regs[i].value;
	}
}

/* 3.1.3; PFM_RESTART resets a PMD that overflowed even if it was written since (3.4.2). */
void model_write(struct context *c, struct set *s, int i, const pfarg_pmd_t *d)
{
	const struct plan_pmd *p = &world.plan[i];
	struct reg *r = &s->regs[i];

	r->value = r->last = d->reg_value;
	r->long_reset = d->reg_long_reset;
	r->short_reset = d->reg_short_reset;
	r->flags = d->reg_flags;
	r->thres = r->left = p->counts ? d->reg_ovfl_switch_cnt : 0;
	r->random_mask = d->reg_random_mask;
	r->random = d->reg_random_seed;
	r->eventid = d->reg_smpl_eventid;
	r->reset = r->smpl = 0;
	for (int k = 0; k < world.num_plan; k++) {
		unsigned int num = world.plan[k].num;

		r->reset |= (uint32_t)(d->reg_reset_pmds[num / 64] >> num % 64 & 1) << k;
		r->smpl |= (uint32_t)(d->reg_smpl_pmds[num / 64] >> num % 64 & 1) << k;
	}
	begin_sum(c, s, i);
	if (!c->m.masked || s != model_active(&c->m))
		r->pending = false;
}

/*
 * 6.2.2: "a long reset of the PMD register", and of "the PMD registers in the reg_smpl_reset
 * field".
 */
void model_read_reset(struct context *c, struct set *s, int i)
{
	uint32_t regs = model_chain(s, 1U << i);

	model_reset(s, regs, true);
	for (int k = 0; k < world.num_plan; k++) {
		if (regs >> k & 1)
			begin_sum(c, s, k);
	}
	s->regs[i].pending = false;
}

/* --- threads ---------------------------------------------------------------------------------- */

/* Begins a set of a child; left: the same set of an ended thread, or NULL. */
static void inherit(const struct context *c, struct set *s, const struct set *left)
{
	s->runs = s->duration = 0;
	for (int i = 0; i < world.num_plan; i++) {
		struct reg *r = &s->regs[i];

		r->pending = false;
		r->others = r->base = 0;
		if (model_has_period(c, s, i)) {
			r->value = left ? left->regs[i].value : r->long_reset;
			r->last = left ? left->regs[i].last : r->long_reset;
		} else {
			r->value = r->last = 0;
		}
	}
}

/*
 * Our own PFM_FL_INHERIT (perfmon.h): the child has the same sets. A PMD with a period begins at
 * the long reset, or where an ended thread left it, the last one first; others at 0. The child
 * begins in the monitored thread's active set; with timeouts, in the set after that of the child
 * before.
 */
void model_birth(struct thread *parent, struct thread *child)
{
	struct context *c = parent->ctx;
	struct monitor *m, *left;
	int first;

	if (!c || !(c->flags & PFM_FL_INHERIT))
		return;
	births++;
	m = malloc(sizeof(*m));
	*m = c->m;
	m->masked = m->interrupted = false;
	m->due = m->overflowed = 0;
	left = c->num_ended ? c->ended[--c->num_ended] : NULL;
	for (int k = 0; k < m->num_sets; k++)
		inherit(c, &m->sets[k], left ? &left->sets[k] : NULL);
	free(left);
	first = c->first < 0 ? c->m.active : c->first;
	begin(m, first);
	c->first = m->sets[first].flags & PFM_SETFL_TIME_SWITCH ? model_next(m) : -1;
	child->heir = m;
	child->ctx = c;
	c->heirs++;
}

/*
 * 3.3.6: the context is detached, and END says so, unless the thread has the context's descriptor.
 */
void model_exit(struct thread *t)
{
	struct context *c = t->ctx;
	pfm_msg_t end = { .msg_type = PFM_MSG_END };

	t->dead = true;
	if (!c)
		return;
	if (t->heir) {
		fold(c, t->heir);
		for (int k = 0; k < c->m.num_sets; k++)
			reset_pending(&t->heir->sets[k], true);	/* as by a restart */
		c->ended[c->num_ended++] = t->heir;
		t->heir = NULL;
	}
	t->ctx = NULL;
	if (--c->heirs)
		return;
	detach(c);
	if (!c->shared[t - world.threads])
		model_post(c, &end, NULL);
}
