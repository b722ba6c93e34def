// SPDX-License-Identifier: GPL-2.0 OR MIT
/* record.c - records of what programs do (6.3.2), and of lost overflows. */
#include "core.h"
#include "perfmon/perfmon_stack_smpl.h"

_Static_assert(PFM_STACK_SMPL_LOST_REASONS <= PFM_LOST_REASONS, "each reason has its count");

/*
 * Returns true if any PMD of the active set has OVFL_NOTIFY. Then the program waits for messages,
 * so it must get one when a record fills the buffer, too.
 */
static bool notifies(const struct pfm_context *ctx)
{
	const struct pfm_set *set = ctx->active;

	for (unsigned int i = 0; i < set->num_pmds; i++)
		if (set->pmds[i].flags & PFM_REGFL_OVFL_NOTIFY)
			return true;
	return false;
}

/* Makes the format store the record. Returns true if the buffer is full afterwards. */
static bool keep(struct pfm_context *ctx, const struct pfm_record *rec)
{
	const struct pfm_fmt_ops *ops = ctx->fmt->fmt_ops;

	return ops ? ops->record(ctx->fmt_self, rec) : ctx->fmt->fmt_record(pfm_buffer_of(ctx), rec);
}

/*
 * Stores a record. If it fills the buffer, monitoring is masked and the program is notified, as for
 * a sample (3.6.5).
 */
static void record(struct pfm_context *ctx, const struct pfm_record *rec)
{
	bool notify = true;

	if (!keep(ctx, rec))
		return;
	if (ctx->part)
		notify = pfm_part_filled(ctx->part, true);
	if (!pfm_wants_pmu(ctx))
		return;
	pfm_mask(ctx);
	pfm_held_by_part(ctx);
	if (notify && notifies(ctx))
		pfm_report_install_failure(ctx, ctx->active);
}

/* --- PFM_FL_INHERIT: a record goes into a part of the buffer, if the part is not taken -------- */

static void note_untold(struct pfm_context *ctx, uint64_t n, unsigned int why)
{
	ctx->untold[why] += n;
	ctx->has_untold = true;
}

void pfm_untold(struct pfm_context *ctx, uint64_t n)
{
	if (ctx->format_needs.records)
		note_untold(ctx, n, PFM_STACK_SMPL_LOST_SOURCE);
}

void pfm_tell_untold_now(struct pfm_context *ctx)
{
	for (unsigned int i = 0; i < PFM_LOST_REASONS; i++) {
		const struct pfm_record rec = { .type = PFM_RECORD_LOST, .count = ctx->untold[i], .why = i };

		ctx->untold[i] = 0;
		if (rec.count)
			record(ctx, &rec);
	}
	ctx->has_untold = false;
}

static void record_in_part(struct pfm_context *ctx, const struct pfm_record *rec)
{
	bool lost = rec->type == PFM_RECORD_LOST;

	if (!pfm_part_take(ctx)) {
		note_untold(ctx, lost ? rec->count : 1, lost ? rec->why : PFM_STACK_SMPL_LOST_RECORDS);
		return;
	}
	pfm_tell_untold(ctx);
	record(ctx, rec);
	pfm_part_leave(ctx);
}

void pfm_record(struct pfm_context *ctx, const struct pfm_record *rec)
{
	if (!ctx->format_needs.records)
		return;
	if (ctx->parts)
		record_in_part(ctx, rec);
	else
		record(ctx, rec);
}

static void record_lost(struct pfm_context *ctx, uint64_t n, unsigned int why)
{
	const struct pfm_record rec = { .type = PFM_RECORD_LOST, .count = n, .why = why };

	if (n)
		pfm_record(ctx, &rec);
}

void pfm_count_lost(struct pfm_context *ctx, struct pfm_set *set, uint64_t n)
{
	set->lost += n;
	record_lost(ctx, n, PFM_STACK_SMPL_LOST_SOURCE);
}

/*
 * No LOST record is written: no sample was lost, but several periods passed with only one overflow.
 */
void pfm_count_late(struct pfm_context *ctx, uint64_t n)
{
	ctx->active->lost += n;
	ctx->active->late += n;
}

void pfm_count_throttled(struct pfm_context *ctx, uint64_t n)
{
	ctx->active->throttled += n;
	record_lost(ctx, n, PFM_STACK_SMPL_LOST_THROTTLED);
}
