// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * switch.c - makes the active set count, holds it, and switches to another one (3.7.6, 3.7.7).
 * Everything runs in PMU context.
 */
#include "core.h"

/* Makes the active set count from now on. Its timeout continues with the remaining time. */
void pfm_run(struct pfm_context *ctx)
{
	const struct pfm_machine_ops *ops = pfm_ops(ctx);

	ctx->since = ops->ran(ctx);
	if (ctx->active->flags & PFM_SETFL_TIME_SWITCH)
		ops->arm(ctx, ctx->active->timeout_left);
	ops->resume(ctx);
}

/*
 * Called when the active set stops counting: updates its duration (3.1.12), and saves the rest of
 * its timeout (3.7.6).
 */
static void account(struct pfm_context *ctx)
{
	struct pfm_set *set = ctx->active;
	uint64_t ran = pfm_ops(ctx)->ran(ctx);

	set->duration += ran - ctx->since;
	ctx->since = ran;
	if (set->flags & PFM_SETFL_TIME_SWITCH)
		set->timeout_left = pfm_ops(ctx)->disarm(ctx);
}

void pfm_hold_now(struct pfm_context *ctx)
{
	pfm_ops(ctx)->freeze(ctx);
	account(ctx);
}

void pfm_note_blind(struct pfm_context *ctx)
{
	uint64_t now = pfm_ops(ctx)->now(ctx->machine);

	if (pfm_wants_pmu(ctx)) {
		ctx->blind += now - ctx->blind_since;
		ctx->active->blind += now - ctx->blind_since;
	}
	ctx->blind_since = now;
}

static void reload_thresholds(struct pfm_set *set)
{
	for (unsigned int i = 0; i < set->num_pmds; i++)
		set->pmds[i].switch_left = set->pmds[i].switch_cnt;
}

/*
 * Makes "set" the active one. Its thresholds and timeout begin again (3.1.7, 3.7.6), its runs are
 * counted, and those of its PMDs are reset that have overflowed and not been reset yet (3.7.7). Its
 * counters are frozen; the caller decides whether they count. Returns 0, or the error of install().
 */
int pfm_enter_set(struct pfm_context *ctx, struct pfm_set *set, enum pfm_reset kind)
{
	struct pfm_set *left = ctx->active;
	int ret;

	/* first_set() in inherit.c reads this outside of PMU context */
	WRITE_ONCE(ctx->active, set);
	if (left != set)
		pfm_view_update(ctx, left);
	ret = pfm_ops(ctx)->install(ctx, set);
	ctx->absent = ret;
	if (ret)
		return ret;
	reload_thresholds(set);
	set->timeout_left = set->timeout;
	set->runs++;
	pfm_reset_pmds(ctx, set, set->ovfl_pmds, kind);
	memset(set->ovfl_pmds, 0, sizeof(set->ovfl_pmds));
	return 0;
}

/*
 * Switches to the next set. The caller has collected the old one and holds its counters. Returns 0,
 * or the error of install().
 */
int pfm_switch(struct pfm_context *ctx, enum pfm_reset kind)
{
	struct pfm_set *next = pfm_set_successor(ctx, ctx->active);
	int ret;

	/*
	 * 3.7.6: stored only now that the switch is made, because a deferred switch may never be
	 * made
	 */
	memcpy(ctx->active->switch_pmds, ctx->switch_pmds, sizeof(ctx->switch_pmds));
	ret = pfm_enter_set(ctx, next, kind);
	/*
	 * The new set could not be installed. The old one keeps its counts, and a restart tries
	 * again.
	 */
	if (ret)
		pfm_set_state(ctx, PFM_CTX_MASKED);
	return ret;
}

int pfm_change_set(struct pfm_context *ctx)
{
	struct pfm_set *left = ctx->active;
	uint64_t held;
	int ret;

	pfm_hold_now(ctx);
	held = ctx->since;
	ret = pfm_switch(ctx, PFM_RESET_SHORT);
	if (!ret) {
		pfm_run(ctx);
		/* one set is active at any time (3.1.5): the old one during the switch */
		left->duration += ctx->since - held;
	}
	/* no message is posted if the target has ended: a restart would fail, and END follows */
	return ret == -ESRCH ? 0 : ret;
}
