// SPDX-License-Identifier: MIT
/* harness_rules.c - what holds between any two calls, whatever was called. */
#include "harness.h"

struct pfm_context *context_of(int fd)
{
	sigset_t saved;
	struct pfm_desc *d = pfm_desc_enter(fd, &saved);
	struct pfm_context *ctx = d ? d->ctx : NULL;

	pfm_desc_leave(d, &saved);
	CHECK(ctx, "descriptor %d has no context", fd);
	return ctx;
}

/* --- a set ---------------------------------------------------------------------------------- */

static bool within(const uint64_t *bits, const uint64_t *of)
{
	for (int i = 0; i < PFM_PMD_BV; i++)
		if (bits[i] & ~of[i])
			return false;
	return true;
}

static void registers(const struct pfm_set *s)
{
	CHECK(pfm_bits_rank(s->used_pmds, PFM_MAX_PMDS) == s->num_pmds, "set %u: used_pmds", s->id);
	CHECK(pfm_bits_rank(s->used_pmcs, PFM_MAX_PMCS) == s->num_pmcs, "set %u: used_pmcs", s->id);
	CHECK(s->num_pmds <= s->room_pmds && s->num_pmcs <= s->room_pmcs, "set %u: no room", s->id);
	CHECK(within(s->ovfl_pmds, s->used_pmds), "set %u: a PMD overflowed that is not used", s->id);
	CHECK(within(s->switch_pmds, s->used_pmds), "set %u: a PMD switched that is not used", s->id);
	for (unsigned int i = 0; i < s->num_pmds; i++) {
		const struct pfm_pmd *pmd = &s->pmds[i];

		CHECK(!i || pmd[-1].num < pmd->num, "set %u: PMDs are out of order", s->id);
		CHECK(pmd->switch_left <= pmd->switch_cnt, "set %u PMD%u: threshold %llu of %llu", s->id,
		      pmd->num, (unsigned long long)pmd->switch_left,
		      (unsigned long long)pmd->switch_cnt);
		CHECK(within(pmd->reset_pmds, s->used_pmds) && within(pmd->smpl_pmds, s->used_pmds),
		      "set %u PMD%u names PMDs that are not used", s->id, pmd->num);
	}
}

static void timeout(const struct pfm_set *s)
{
	if (s->flags & PFM_SETFL_TIME_SWITCH)
		CHECK(s->timeout && s->timeout_left <= s->timeout, "set %u: timeout %llu, left %llu",
		      s->id, (unsigned long long)s->timeout, (unsigned long long)s->timeout_left);
	else
		CHECK(!s->timeout, "set %u: a timeout without TIME_SWITCH", s->id);
}

/* --- a context ------------------------------------------------------------------------------ */

static void sets(struct pfm_context *ctx)
{
	unsigned int n = 0;
	bool has_active = false;

	CHECK(!ctx->set0.id, "no set 0");
	for (struct pfm_set *s = &ctx->set0; s; s = s->next, n++) {
		CHECK(!s->next || s->next->id > s->id, "set %u is out of order", s->id);
		CHECK(pfm_set_find(ctx, s->id) == s, "set %u is not found", s->id);
		has_active |= s == ctx->active;
		registers(s);
		timeout(s);
	}
	CHECK(n == ctx->num_sets, "%u sets, not %u", n, ctx->num_sets);
	CHECK(has_active, "the active set is not among the sets");
}

static void state(struct pfm_context *ctx)
{
	const struct sim_ctx *sc = ctx->os;

	if (ctx->state == PFM_CTX_UNLOADED) {
		CHECK(!ctx->started && !ctx->blocked && !ctx->switch_due && !ctx->self,
		      "unloaded, but started %d blocked %d switch due %d self %d", ctx->started,
		      ctx->blocked, ctx->switch_due, ctx->self);
		CHECK(!sc->target && !sc->cpu && !sc->armed, "unloaded, but bound");
		return;
	}
	CHECK(!!sc->target != !!sc->cpu, "bound to a thread and a CPU, or to neither");
	CHECK(!sc->target || (sc->target->ctx == ctx && sc->target->state != PFM_SIM_DEAD),
	      "bound to a thread that is not");
	CHECK(!sc->cpu || (sc->cpu->sys == ctx && sc->cpu->ctx == ctx), "not on its CPU");
	CHECK(!sc->running || pfm_counting(ctx), "its counters run, and it is held");
	CHECK(!sc->armed || (pfm_counting(ctx) && (ctx->active->flags & PFM_SETFL_TIME_SWITCH)),
	      "a timeout runs, and monitoring does not");
	CHECK(!ctx->switch_due || ctx->state == PFM_CTX_MASKED || !ctx->started,
	      "a switch waits, but nothing is masked or stopped");
	CHECK(sc->target && sc->target->state == PFM_SIM_BLOCKED ? ctx->blocked : true,
	      "the target is blocked by nobody");
}

static void on_its_cpu(struct pfm_context *ctx)
{
	const struct sim_ctx *sc = ctx->os;

	if (ctx->state == PFM_CTX_UNLOADED || !sc->target || sc->target->state != PFM_SIM_RUNNING)
		return;
	CHECK(sim_of(ctx)->cpus[sc->target->cpu].ctx == ctx, "its thread runs without its registers");
	CHECK(!pfm_counting(ctx) || sc->running, "its thread runs, and is not counted");
}

void rules_context(struct pfm_context *ctx)
{
	sets(ctx);
	state(ctx);
	on_its_cpu(ctx);
	CHECK(!!ctx->buf == !!ctx->buf_size, "a buffer of %zu bytes at %p", ctx->buf_size, ctx->buf);
}

/* --- a computer ----------------------------------------------------------------------------- */

static unsigned int loaded(const struct pfm_machine *m, bool system_wide)
{
	unsigned int n = 0;

	for (struct pfm_context *c = m->loaded; c; c = c->next_loaded)
		n += !!(c->flags & PFM_FL_SYSTEM_WIDE) == system_wide;
	return n;
}

static void cpus(struct pfm_sim *sim)
{
	for (uint32_t i = 0; i < sim->num_cpus; i++) {
		const struct sim_cpu *cpu = &sim->cpus[i];
		const struct pfm_context *ctx = cpu->ctx;

		CHECK(cpu->cur->state == PFM_SIM_RUNNING && cpu->cur->cpu == i,
		      "CPU %u runs what does not run", i);
		CHECK(cpu->at <= sim->now, "CPU %u is ahead of the time", i);
		CHECK(!ctx || ctx == cpu->sys || ctx == cpu->cur->ctx, "CPU %u: a stray context", i);
	}
}

void rules_machine(struct pfm_sim *sim, struct pfm_context *const *open, unsigned int n)
{
	const struct pfm_machine *m = &sim->machine;
	uint64_t bytes = 0, bound = 0;

	for (unsigned int i = 0; i < n; i++) {
		bytes += open[i]->buf_size;
		bound += open[i]->state != PFM_CTX_UNLOADED;
	}
	CHECK(m->smpl_buf_size_cur == bytes, "buffers of %llu bytes, accounted are %llu",
	      (unsigned long long)bytes, (unsigned long long)m->smpl_buf_size_cur);
	CHECK(m->thread_sessions == loaded(m, false) && m->sys_sessions == loaded(m, true),
	      "%llu and %llu sessions", (unsigned long long)m->thread_sessions,
	      (unsigned long long)m->sys_sessions);
	CHECK(m->thread_sessions + m->sys_sessions == bound, "%llu contexts are bound",
	      (unsigned long long)bound);
	CHECK(m->ops->coexist || !m->thread_sessions || !m->sys_sessions, "both kinds are loaded");
	cpus(sim);
}
