// SPDX-License-Identifier: MIT
/* harness_rules.c - rules that hold between any two calls, whatever was called. */
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

unsigned long world_child_ctxs;

/* --- a context ------------------------------------------------------------------------------ */

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
	CHECK(!sc->target || ctx->outlived || (sc->target->ctx == ctx && sc->target->state != PFM_SIM_DEAD),
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
	rules_sets(ctx);
	state(ctx);
	on_its_cpu(ctx);
	for (struct pfm_context *child_ctx = ctx->child_ctxs; child_ctx; child_ctx = child_ctx->next_child_ctx) {
		rules_sets(child_ctx);
		state(child_ctx);
		on_its_cpu(child_ctx);
		CHECK(child_ctx->root == ctx && child_ctx->state != PFM_CTX_UNLOADED &&
		      child_ctx->started == ctx->started,
		      "a child context of another, or not loaded, or not as its root");
		world_child_ctxs++;
	}
	CHECK(!ctx->part && (!ctx->parts || !ctx->parts->taken), "the buffer is in use");
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
