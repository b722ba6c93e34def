// SPDX-License-Identifier: MIT
/* oracle_checks.c - compares what calls return with the model's values. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "oracle.h"

void acting(const struct context *c)
{
	if (pfm_sim_act(world.sim, c->owner ? c->owner->tid : 0))
		differs("act: %s", pfm_explain());
}

void take_interrupt(struct context *c)
{
	pfarg_pmd_t d = { .reg_num = world.plan[0].num };

	acting(c);
	if (pfm_read_pmds(c->fd, &d, 1))
		differs("read_pmds: %s", pfm_explain());
	model_interrupts(c);
}

/* Returns what inheriting threads add to a PMD's value: nothing if each has its own period. */
static uint64_t visible(const struct context *c, int set, int i)
{
	const struct set *s = &c->m.sets[set];
	uint64_t sum = s->regs[i].others;

	if (model_has_period(c, s, i))
		return 0;
	for (int k = 0; k < world.num_threads; k++) {
		const struct thread *t = &world.threads[k];

		if (t->heir && t->ctx == c)
			sum += t->heir->sets[set].regs[i].value - t->heir->sets[set].regs[i].base;
	}
	return sum;
}

/* Prints the model's state of a set that differs. */
static void show(const struct context *c, const struct set *s)
{
	trace("context %td%s%s%s: set %u%s, flags %#x", c - contexts, c->loaded ? ", loaded" : "",
	      c->started ? ", started" : "", c->m.masked ? ", masked" : "", s->id,
	      s == &c->m.sets[c->m.active] ? ", active" : "", s->flags);
	for (int i = 0; i < world.num_plan; i++) {
		const struct reg *r = &s->regs[i];

		trace("  PMD%u: value %#llx, last %#llx, long %#llx, short %#llx, mask %#llx, next random %#x",
		      world.plan[i].num, (unsigned long long)r->value, (unsigned long long)r->last,
		      (unsigned long long)r->long_reset, (unsigned long long)r->short_reset,
		      (unsigned long long)r->random_mask, r->random);
		trace("    flags %#x, threshold %llu of %llu, resets %#x%s", r->flags, (unsigned long long)r->left,
		      (unsigned long long)r->thres, r->reset, r->pending ? ", pending" : "");
	}
}

void check_registers(struct context *c)
{
	pfarg_pmd_t d[MAX_PLAN];

	for (int k = 0; k < c->m.num_sets; k++) {
		const struct set *s = &c->m.sets[k];

		memset(d, 0, sizeof(d));
		for (int i = 0; i < world.num_plan; i++) {
			d[i].reg_num = world.plan[i].num;
			d[i].reg_set = s->id;
		}
		if (pfm_read_pmds(c->fd, d, world.num_plan))
			differs("read_pmds: %s", pfm_explain());
		model_interrupts(c);
		for (int i = 0; i < world.num_plan; i++) {
			const struct reg *r = &s->regs[i];
			bool counts_down = world.plan[i].counts && (s->flags & PFM_SETFL_OVFL_SWITCH);
			uint64_t value = r->value + (c->flags & PFM_FL_INHERIT ? visible(c, k, i) : 0);

			if (d[i].reg_last_reset_val != r->last || d[i].reg_value != value)
				show(c, s);
			SAME(d[i].reg_last_reset_val, r->last, "context %td: PMD%u of set %u",
			     c - contexts, d[i].reg_num, s->id);
			SAME(d[i].reg_value, value, "context %td: PMD%u of set %u",
			     c - contexts, d[i].reg_num, s->id);
			SAME(d[i].reg_ovfl_switch_cnt, counts_down ? r->left : 0, "context %td: PMD%u of set %u",
			     c - contexts, d[i].reg_num, s->id);
			SAME(d[i].reg_flags & PFM_REG_RETFL_MASK, 0, "context %td: PMD%u of set %u",
			     c - contexts, d[i].reg_num, s->id);
		}
	}
}

/* Compares the runs and the duration of all threads. */
static void check_runs(const struct context *c, int set, const pfarg_setinfo_t *info)
{
	const struct set *s = &c->m.sets[set];
	uint64_t runs = s->runs + s->others_runs, duration = s->duration + s->others_duration;

	for (int k = 0; k < world.num_threads; k++) {
		const struct thread *t = &world.threads[k];

		if (!t->heir || t->ctx != c)
			continue;
		runs += t->heir->sets[set].runs;
		duration += t->heir->sets[set].duration;
	}
	SAME(info->set_runs, runs, "set %u", s->id);
	SAME(info->set_act_duration, duration, "set %u", s->id);
}

static void check_set(const struct context *c, const struct set *s, const pfarg_setinfo_t *info)
{
	bool is_active = c->loaded && s == &c->m.sets[c->m.active];

	SAME(info->set_flags, s->flags, "set %u", s->id);
	SAME(info->set_lost + info->set_throttled + info->set_blind + info->set_late + info->set_gap, 0,
	     "set %u", s->id);
	if (s->flags & PFM_SETFL_EXPL_NEXT)
		SAME(info->set_id_next, s->next_id, "set %u", s->id);
	check_runs(c, s - c->m.sets, info);
	for (int i = 0; i < world.num_plan; i++) {
		unsigned int num = world.plan[i].num;

		SAME(info->set_ovfl_pmds[num / 64] >> num % 64 & 1, s->switched >> i & 1, "set %u, PMD%u", s->id, num);
	}
	if (is_active || !(s->flags & PFM_SETFL_TIME_SWITCH))
		SAME(info->set_timeout, s->flags & PFM_SETFL_TIME_SWITCH ? s->left : 0, "set %u", s->id);
}

void check_sets(struct context *c)
{
	pfarg_setinfo_t info[MAX_SETS];

	memset(info, 0, sizeof(info));
	for (int i = 0; i < c->m.num_sets; i++)
		info[i].set_id = c->m.sets[i].id;
	if (pfm_getinfo_evtsets(c->fd, info, c->m.num_sets))
		differs("getinfo_evtsets: %s", pfm_explain());
	for (int i = 0; i < c->m.num_sets; i++)
		check_set(c, &c->m.sets[i], &info[i]);
}

/* Compares the filled part word by word, so that a difference's place is printed; then all. */
void check_buffer(struct context *c)
{
	size_t filled = 0;

	if (!c->buf_size)
		return;
	filled = c->kind == CONTROL ? c->buf_size : ((uint64_t *)c->buf)[1];

	for (size_t at = 0; at + 8 <= filled; at += 8) {
		uint64_t is, wanted;

		memcpy(&is, c->map + at, 8);
		memcpy(&wanted, c->buf + at, 8);
		SAME(is, wanted, "buffer at %zu", at);
	}
	SAME(memcmp(c->map, c->buf, c->buf_size), 0, "buffer");
}

/* Reads a message, if the model has one; else there must be none. */
bool check_message(struct context *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	pfm_msg_t msg;
	ssize_t n;
	uint64_t is[sizeof(msg) / 8], wanted[sizeof(msg) / 8];

	SAME(poll(&p, 1, 0), !!c->queued, "poll");
	n = read(c->fd, &msg, sizeof(msg));
	if (!c->queued) {
		SAME(n, -1, "read of an empty queue");
		SAME(errno, EAGAIN, "read of an empty queue");
		return false;
	}
	SAME(n, sizeof(msg), "read");
	memcpy(is, &msg, sizeof(msg));
	memcpy(wanted, &c->queue[0], sizeof(msg));
	for (size_t i = 0; i < sizeof(msg) / 8; i++)
		SAME(is[i], wanted[i], "message, word %zu", i);
	trace("message: type %u, set %u", msg.msg_type, msg.pfm_ovfl_msg.msg_active_set);
	memmove(c->queue, c->queue + 1, --c->queued * sizeof(*c->queue));
	return true;
}

/*
 * Returns true if a notification holds the thread, which is then at user level (3.5.14). With skid,
 * if a command or a context switch brought the interrupt, the thread is held when it is to run.
 */
static bool is_held(const struct thread *t, enum pfm_sim_state state)
{
	return t->ctx && t->ctx->blocked && t->program->steps[t->pc].site.level == PFM_SIM_USER &&
	       (!world.skid || state == PFM_SIM_BLOCKED);
}

/* Compares which threads have ended or are blocked, and how long each ran. */
void check_states(void)
{
	struct pfm_sim_thread is[MAX_THREADS + 8];
	int n = pfm_sim_threads(world.sim, is, MAX_THREADS + 8);

	for (int i = 0; i < world.num_threads; i++) {
		const struct thread *t = &world.threads[i];
		int k = 0;

		while (k < n && is[k].tid != t->tid)
			k++;
		SAME(is[k].state == PFM_SIM_DEAD, t->dead, "thread %u", t->tid);
		if (!t->dead && t->program->steps[t->pc].op == PFM_SIM_SITE)
			SAME(is[k].state == PFM_SIM_BLOCKED, is_held(t, is[k].state), "thread %u", t->tid);
		SAME(is[k].ran_ns, t->ran, "thread %u", t->tid);
	}
}

void check_all(struct context *c)
{
	acting(c);
	format_check(c);
	check_registers(c);
	check_sets(c);
	check_buffer(c);
}
