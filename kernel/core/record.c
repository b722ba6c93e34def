// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * record.c - what is told of programs besides their overflows (6.3.2), and of overflows that nobody saw.
 */
#include "core.h"
#include "perfmon/perfmon_stack_smpl.h"

/* Does any overflow of the active set notify? Then one that a record keeps from being sampled does. */
static bool notifies(const struct pfm_context *ctx)
{
	const struct pfm_set *set = ctx->active;

	for (unsigned int i = 0; i < set->num_pmds; i++)
		if (set->pmds[i].flags & PFM_REGFL_OVFL_NOTIFY)
			return true;
	return false;
}

/* True: the buffer is full by that. */
static bool keep(struct pfm_context *ctx, const struct pfm_record *rec)
{
	const struct pfm_fmt_ops *ops = ctx->fmt->fmt_ops;

	return ops ? ops->record(ctx->fmt_self, rec) : ctx->fmt->fmt_record(ctx->buf, rec);
}

/* 3.6.5, of a buffer that a record has filled. */
void pfm_record(struct pfm_context *ctx, const struct pfm_record *rec)
{
	if (!ctx->want.records || !keep(ctx, rec) || !pfm_wants_pmu(ctx))
		return;
	pfm_mask(ctx);
	if (notifies(ctx))
		pfm_tell_held(ctx, ctx->active);
}

static void tell_lost(struct pfm_context *ctx, uint64_t n, unsigned int why)
{
	const struct pfm_record rec = { .type = PFM_RECORD_LOST, .count = n, .why = why };

	if (n)
		pfm_record(ctx, &rec);
}

void pfm_count_lost(struct pfm_context *ctx, uint64_t n)
{
	ctx->active->lost += n;
	tell_lost(ctx, n, PFM_STACK_SMPL_LOST_SOURCE);
}

/* No sample is lost by that, only overflows: nothing happened that would have been seen. */
void pfm_count_late(struct pfm_context *ctx, uint64_t n)
{
	ctx->active->lost += n;
	ctx->active->late += n;
}

void pfm_count_throttled(struct pfm_context *ctx, uint64_t n)
{
	ctx->active->throttled += n;
	tell_lost(ctx, n, PFM_STACK_SMPL_LOST_THROTTLED);
}
