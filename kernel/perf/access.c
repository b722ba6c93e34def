// SPDX-License-Identifier: MIT
/*
 * access.c - implements access(), which runs a function of the core. Before it, earlier overflows
 * are replayed; after it, the counters are started or stopped as the core demands.
 */
#include "perf.h"

/*
 * Makes counting go on after an overflow has masked monitoring. Without a format, events that the
 * kernel counted after that overflow are not counted (3.1.9). With a format, the overflows that
 * came until the kernel's events were stopped are replayed first. They are few, because the events
 * are stopped soon after the overflow.
 */
static void go_on(struct pfm_context *ctx)
{
	struct perf_context *p = perf_of(ctx);

	if (!p->held)
		return;
	p->held = false;
	if (ctx->fmt) {
		p->program = true;
		perf_drain(ctx, true);
	} else {
		perf_rebase(ctx, p->set);
	}
}

/*
 * Drops the overflows that wait to be replayed after a stop in the masked state, and counts them as
 * lost.
 */
static void give_up(struct pfm_context *ctx)
{
	struct perf_context *p = perf_of(ctx);

	perf_drop(ctx);
	p->held = false;
	perf_rebase(ctx, p->set);
}

/* If the set's registers need events that cannot be opened, its former events count on. */
static int run(struct pfm_context *ctx)
{
	struct perf_context *p = perf_of(ctx);
	int ret = p->check || p->unfit ? perf_group_check(ctx) : 0, err;

	go_on(ctx);
	err = pfm_counting(ctx) ? perf_start(ctx) : 0;
	return ret ? ret : err;
}

static int resume_group(struct pfm_context *ctx)
{
	struct perf_context *p = perf_of(ctx);
	int ret = 0;

	if (!p || !p->set)
		return 0;
	if (p->check && !ctx->absent && !pfm_counting(ctx))
		ret = perf_group_check(ctx);
	if (!ret && pfm_counting(ctx))
		ret = run(ctx);
	if (p->held && !ctx->started)
		give_up(ctx);
	pfm_view_update(ctx, ctx->active);
	if (p->ended && !p->held)
		perf_resume_life(ctx);
	return ret;
}

/* Returns the error that has made the counts invalid since the last command; 0: there was none. */
static int complaint(struct pfm_context *ctx, bool was_started)
{
	struct perf_context *p = perf_of(ctx);
	int err = p->error;

	p->error = 0;
	if (was_started && !ctx->started)
		return 0;	/* a stop succeeds even after an error */
	if (err)
		return pfm_refuse(err, "the counters could not go on: %s", strerror(-err));
	/*
	 * Commands that are allowed on any CPU (queries, the last close) do not fail because counts
	 * are incomplete.
	 */
	return p->failed && !ctx->from_anywhere ? perf_refuse_busy() : 0;
}

/* Stops the context after a start that failed. */
static void undo_start(struct pfm_context *ctx)
{
	ctx->started = false;
	perf_freeze(ctx);
	perf_disarm(ctx);
}

int perf_access(struct pfm_context *ctx, int (*fn)(struct pfm_context *, void *), void *arg)
{
	bool was_started = ctx->started;
	int ret = perf_right_cpu(ctx), err;

	if (ret)
		return ret;
	perf_quiet(ctx);
	ret = fn(ctx, arg);
	err = resume_group(ctx);
	if (err && !was_started)
		undo_start(ctx);
	if (!ret)
		ret = err;
	return ret ? ret : complaint(ctx, was_started);
}

void perf_records_came(struct pfm_context *ctx)
{
	int err;

	perf_drain(ctx, perf_prompt(ctx));
	err = resume_group(ctx);
	if (err)
		perf_of(ctx)->error = err;
}
