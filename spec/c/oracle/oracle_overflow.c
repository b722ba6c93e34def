// SPDX-License-Identifier: MIT
/* oracle_overflow.c - events, overflows and timeouts (3.1.3, 3.4.3, 3.5.14, 3.7.6, 3.7.7). */
#include <string.h>

#include "oracle.h"

/* Appends a message. If the queue is full, an overflow message is lost; END always has room. */
void model_post(struct context *c, const pfm_msg_t *msg, bool *lost)
{
	unsigned int overflows_queued = 0;

	for (unsigned int i = 0; i < c->queued; i++)
		overflows_queued += c->queue[i].msg_type == PFM_MSG_OVFL;
	if (lost && overflows_queued >= c->depth) {
		*lost = true;
		return;
	}
	c->queue[c->queued++] = *msg;
}

static void notify(struct context *c, struct set *s, uint32_t ovfl, const struct where *at, bool *lost)
{
	pfm_msg_t msg = { .msg_type = PFM_MSG_OVFL };
	pfarg_ovfl_msg_t *o = &msg.pfm_ovfl_msg;

	if (c->flags & PFM_FL_OVFL_NO_MSG)
		return;
	o->msg_active_set = s->id;
	o->msg_ovfl_pid = at->thread->pid;
	o->msg_ovfl_tid = at->thread->tid;
	o->msg_ovfl_cpu = at->thread->cpu;
	o->msg_ovfl_ip = at->ip;
	for (int i = 0; i < world.num_plan; i++) {
		if (ovfl >> i & 1)
			o->msg_ovfl_pmds[world.plan[i].num / 64] |= 1ULL << world.plan[i].num % 64;
	}
	told++;
	model_post(c, &msg, lost);
}

/* Without a format, a notification masks; else triggers are reset, others wrap (3.4.3, 3.7.6). */
static void plain(struct context *c, struct set *s, uint32_t ovfl, bool asked, bool own, struct verdict *v)
{
	(void)c;
	v->notify = v->mask = v->block = asked && own;
	if (v->mask || !(s->flags & PFM_SETFL_OVFL_SWITCH))
		return;
	for (int i = 0; i < world.num_plan; i++) {
		if ((ovfl >> i & 1) && s->regs[i].thres)
			v->reset |= 1U << i;
	}
}

/*
 * Decrements, for each PMD that has overflowed, the number of overflows that are left until its set
 * is switched (3.7.6). Returns the PMDs for which that number has reached 0.
 */
static uint32_t count_down(struct set *s, uint32_t ovfl)
{
	uint32_t zero = 0;

	for (int i = 0; (s->flags & PFM_SETFL_OVFL_SWITCH) && i < world.num_plan; i++) {
		if ((ovfl >> i & 1) && s->regs[i].left && !--s->regs[i].left)
			zero |= 1U << i;
	}
	return zero;
}

static void resets(struct context *c, struct set *s, uint32_t ovfl, uint32_t zero, const struct verdict *v)
{
	uint32_t now = v->reset, chained;

	if (zero && c->kind == NO_FORMAT)
		now = 0;
	chained = model_chain(s, now);
	for (int i = 0; i < world.num_plan; i++) {
		if (!(ovfl >> i & 1))
			continue;
		if (now >> i & 1)
			s->regs[i].pending = false;
		else if (c->kind != NO_FORMAT || (v->reset >> i & 1))
			s->regs[i].pending = true;
		else
			chained |= s->regs[i].reset;	/* wraps: 3.1.2 */
	}
	model_reset(s, chained, false);
}

static void overflow(struct context *c, struct monitor *m, uint32_t ovfl, const struct where *at)
{
	struct set *s = model_active(m);
	struct verdict v = { 0 };
	bool asked = false, lost = false;
	uint32_t zero;

	overflows++;
	for (int i = 0; i < world.num_plan; i++)
		asked |= (ovfl >> i & 1) && (s->regs[i].flags & PFM_REGFL_OVFL_NOTIFY);
	zero = count_down(s, ovfl);
	if (c->kind == NO_FORMAT)
		plain(c, s, ovfl, asked, m == &c->m, &v);
	else
		format_handle(c, s, ovfl, at, &v);
	if (v.notify && asked)
		notify(c, s, ovfl, at, &lost);
	if (v.notify && asked && c->full)
		c->full_told = !lost;
	if (v.mask) {
		for (int i = 0; i < world.num_plan; i++)
			s->regs[i].pending |= ovfl >> i & 1;
		m->masked = true;
		m->due |= zero;
	} else {
		resets(c, s, ovfl, zero, &v);
		if (zero) {
			s->switched = zero;
			model_switch(c, m, model_next(m), false);
		}
		m->masked = lost;	/* our rule: coverage.md, 3.4-e */
	}
	trace("  context %td: set %u overflows: %#x, at zero %#x: notify %d%s, mask %d, block %d, reset %#x",
	      c - contexts, s->id, ovfl, zero, v.notify && asked, lost ? " (lost)" : "", v.mask, v.block, v.reset);
	if (v.block && (c->flags & PFM_FL_NOTIFY_BLOCK) && c->target != c->owner)
		c->blocked = true;
}

/* 3.5.14: "the interrupt handler determines which counters overflowed" before it was called. */
static void interrupt(struct context *c, struct monitor *m, const struct where *at)
{
	uint32_t ovfl = m->overflowed;

	m->interrupted = false;
	m->overflowed = 0;
	if (ovfl)
		overflow(c, m, ovfl, at);
}

static uint64_t counts(const struct site *site, const struct plan_pmd *p, const struct reg *r)
{
	uint64_t sum = 0;

	for (int i = 0; p->software && i < p->num_events; i++)
		sum += site->counts[p->events[i]];
	return p->software ? sum : site->counts[r->event];
}

/*
 * Counts the events of a site. Returns the PMDs with hardware counters that wrap, and adds those
 * that overflow to *ovfl.
 */
static uint32_t count(struct set *s, const struct site *site, uint32_t *ovfl)
{
	uint32_t wrapped = 0;

	for (int i = 0; i < world.num_plan; i++) {
		const struct plan_pmd *p = &world.plan[i];
		struct reg *r = &s->regs[i];
		uint64_t mask = p->width < 64 ? (1ULL << p->width) - 1 : ~0ULL, before = r->value, n;

		if (!p->counts || r->event < 0 || !(r->levels >> site->level & 1))
			continue;
		n = counts(site, p, r);
		r->value += n;
		if (((before + n) & mask) >= (before & mask))
			continue;
		wrapped |= 1U << i;
		if (r->narrow)
			r->value &= mask;
		if (r->narrow || r->value < before)
			*ovfl |= 1U << i;
	}
	return wrapped;
}

/* The events of a site happen together, when its time is over. */
static void collect(struct context *c, struct monitor *m, const struct site *site, struct thread *t)
{
	struct where at = { .thread = t, .ip = site->ip };

	if (m->interrupted)
		m->skid--;
	if (c->started && !m->masked && count(model_active(m), site, &m->overflowed) && !m->interrupted) {
		m->interrupted = true;
		m->skid = world.skid;
		trace("  context %td: wraps, and interrupts in %u sites", c - contexts, m->skid);
	}
	if (m->interrupted && !m->skid)
		interrupt(c, m, &at);
}

static void interrupt_earlier(struct context *c, struct monitor *m, struct thread *t, uint64_t ago)
{
	struct where at = { .thread = t, .ip = t->ip };

	world.now -= ago;
	interrupt(c, m, &at);
	world.now += ago;
}

/* Lets time pass: if a timeout ends within a site, the switch comes before the site's events. */
static void passes(struct context *c, struct monitor *m, struct thread *t, uint64_t ns, bool site_ends)
{
	if (!c->started || m->masked)
		return;
	while (ns) {
		struct set *s = model_active(m);
		uint64_t some = ns;

		if ((s->flags & PFM_SETFL_TIME_SWITCH) && s->left < some)
			some = s->left;
		s->duration += some;
		ns -= some;
		if (!(s->flags & PFM_SETFL_TIME_SWITCH))
			continue;
		s->left -= some;
		if (s->left)
			continue;
		if (!ns && site_ends)
			longjmp(world.tie, 1);	/* the specification leaves the order open */
		/* the overflow belongs to the set that was active when it began (3.7.7) */
		if (m->interrupted)
			interrupt_earlier(c, m, t, ns);
		if (m->masked || c->blocked)
			longjmp(world.tie, 1);	/* open: is the timeout before the mask or hold? */
		if (s->left || s != model_active(m))
			continue;
		s->switched = 0;
		model_switch(c, m, model_next(m), false);
	}
}

static struct context *wide(const struct thread *t)
{
	for (int i = 0; i < MAX_CTXS; i++) {
		struct context *c = &contexts[i];

		if (c->fd >= 0 && c->loaded && (c->flags & PFM_FL_SYSTEM_WIDE) && !t->cpu)
			return c;
	}
	return NULL;
}

static struct monitor *monitor_of(const struct thread *t, struct context **c)
{
	*c = t->ctx ? t->ctx : wide(t);
	return !*c ? NULL : t->heir ? t->heir : &(*c)->m;
}

void model_interrupt(struct thread *t, uint64_t ago)
{
	struct context *c;
	struct monitor *m = monitor_of(t, &c);

	if (m && m->interrupted)
		interrupt_earlier(c, m, t, ago);
}

void model_interrupts(const struct context *c)
{
	for (unsigned int cpu = 0; cpu < world.cpus; cpu++) {
		struct thread *t = world.last[cpu];
		struct context *of;

		if (t && !t->dead && monitor_of(t, &of) && of == c)
			model_interrupt(t, 0);
	}
}

void model_runs(struct thread *t, uint64_t ns)
{
	struct context *c;
	struct monitor *m = monitor_of(t, &c);
	const struct step *step = &t->program->steps[t->pc];
	bool ends;

	if (ns > t->left)
		differs("thread %u ran past a site of which %llu ns were left", t->tid, (unsigned long long)t->left);
	t->left -= ns;
	t->ip = step->site.ip;
	ends = !t->left;
	if (m)
		passes(c, m, t, ns, ends);
	if (m && ends)
		collect(c, m, &step->site, t);
}
