// SPDX-License-Identifier: GPL-2.0 OR MIT
/* activate.c - start, stop and restart (3.1.5, 3.1.6, 3.1.9). */
#include "core.h"

/*
 * Carries out a switch that was deferred because the context was masked (3.7.7, 3.1.6), or installs
 * an active set that could not be installed before. Returns 0, or the error of the installation.
 */
static int change_sets(struct pfm_context *ctx)
{
	int ret;

	if (ctx->switch_due) {
		ctx->switch_due = false;
		return pfm_switch(ctx, PFM_RESET_LONG);
	}
	ret = pfm_enter_set(ctx, ctx->active, PFM_RESET_LONG);
	if (ret)
		pfm_set_state(ctx, PFM_CTX_MASKED);
	return ret;
}

/*
 * Makes the active set count if the context has the PMU, after a switch that was deferred. Returns
 * 0, or the error of the switch.
 */
static inline int go_on(struct pfm_context *ctx)
{
	int ret = ctx->switch_due || ctx->absent ? change_sets(ctx) : 0;

	if (pfm_counting(ctx))
		pfm_run(ctx);
	return ret;
}

/*
 * Called when a start has failed to install another set, with the error: "left", which was active,
 * counts on if it did. "absent" says that it was not installed before either. Returns the error;
 * its words say so if monitoring has stopped because "left" cannot count on.
 */
static int stay_in(struct pfm_context *ctx, struct pfm_set *left, bool absent, const struct pfm_set *set, int err)
{
	int ret;

	WRITE_ONCE(ctx->active, left);
	ret = absent ? err : pfm_ops(ctx)->install(ctx, left);
	ctx->absent = ret;
	if (!pfm_counting(ctx))
		return err;
	if (!ret) {
		pfm_run(ctx);
		return err;
	}
	ctx->started = false;
	return pfm_refuse(err, "set %u cannot start, nor set %u go on (errno %d): monitoring has stopped", set->id,
			  left->id, -ret);
}

static int start(struct pfm_context *ctx, void *arg)
{
	struct pfm_set *left = ctx->active, *set = arg ? arg : left;
	bool absent = ctx->absent;
	int ret = 0;

	pfm_see_blind(ctx);
	if (pfm_counting(ctx)) {
		pfm_hold(ctx);
		pfm_ops(ctx)->collect(ctx, left);
	}
	if (set != left || absent)
		ret = pfm_enter_set(ctx, set, PFM_RESET_LONG);
	if (ret)
		return set != left ? stay_in(ctx, left, absent, set, ret) : ret;
	if (set != left)
		/*
		 * a deferred switch is dropped: it would have left the set that was active so far
		 */
		ctx->switch_due = false;
	ctx->started = true;	/* 3.7.6: the timeout continues with the remaining time */
	return ctx->state == PFM_CTX_LOADED ? go_on(ctx) : 0;
}

static int must_be_loaded(struct pfm_context *ctx)
{
	return pfm_loaded(ctx) ? 0 : pfm_refuse(-EINVAL, "the context is not loaded");
}

static int start_all(struct pfm_context *ctx, struct pfm_set *set)
{
	int ret = pfm_ops(ctx)->access(ctx, start, set);

	if (!pfm_inherits(ctx))
		return ret;
	if (!ret)
		ctx->inherit_set = NULL;
	/*
	 * a refused start may have stopped the root (stay_in()), or started and masked it: its
	 * child contexts follow
	 */
	pfm_for_child_ctxs(ctx, ctx->started ? start : pfm_stop_here, ret ? NULL : set);
	return ret;
}

int pfm_do_start(struct pfm_context *ctx, const pfarg_start_t *req)
{
	struct pfm_set *set = NULL;
	int ret = must_be_loaded(ctx);

	if (ret)
		return ret;
	if (req) {
		if (req->start_reserved1 || req->start_reserved2 ||
		    !pfm_all_zero(req->start_reserved3, sizeof(req->start_reserved3)))
			return pfm_refuse(-EINVAL, "reserved fields must be 0");
		set = pfm_set_find(ctx, req->start_set);
		if (!set)
			return pfm_refuse(-EINVAL, "set %u does not exist", req->start_set);
	}
	return start_all(ctx, set);
}

/*
 * An instruction of the monitored thread activates monitoring without PFM_START (3.1.5). Runs in
 * PMU context.
 */
void pfm_user_start(struct pfm_context *ctx)
{
	if (ctx->started)
		return;
	ctx->started = true;
	if (ctx->state == PFM_CTX_LOADED)
		go_on(ctx);
}

/* Called in PMU context when the target has executed a program: starts an ON_EXEC context. */
void pfm_target_exec(struct pfm_context *ctx)
{
	ctx->waits_exec = false;
	if (pfm_wants_pmu(ctx))
		go_on(ctx);
}

int pfm_stop_here(struct pfm_context *ctx, void *arg)
{
	(void)arg;
	pfm_see_blind(ctx);
	if (pfm_counting(ctx)) {
		pfm_hold(ctx);
		pfm_ops(ctx)->collect(ctx, ctx->active);
	}
	ctx->started = false;
	return 0;
}

/*
 * An instruction of the monitored thread stops monitoring without PFM_STOP (3.1.6). Runs in PMU
 * context.
 */
void pfm_user_stop(struct pfm_context *ctx)
{
	pfm_stop_here(ctx, NULL);
}

int pfm_do_stop(struct pfm_context *ctx)
{
	int ret = must_be_loaded(ctx);

	if (!ret)
		ret = pfm_ops(ctx)->access(ctx, pfm_stop_here, NULL);
	if (!ret && pfm_inherits(ctx))
		pfm_for_child_ctxs(ctx, pfm_stop_here, NULL);
	return ret;
}

static bool has_restart(const struct pfm_buffer_fmt *fmt)
{
	return fmt && (fmt->fmt_ops ? (bool)fmt->fmt_ops->restart : (bool)fmt->fmt_restart);
}

/* 3.1.9: the decision at a restart if there is no format, or if it has no restart function */
static const pfm_ovfl_ctrl_t reset_and_go_on = { .reset_ovfl_pmds = 1 };

/* Asks the format for its decision at a restart (3.5.15). */
static inline int ask_format(struct pfm_context *ctx, void *buf, bool active, pfm_ovfl_ctrl_t *ctrl)
{
	int err;

	if (!has_restart(ctx->fmt)) {
		*ctrl = reset_and_go_on;
		return 0;
	}
	memset(ctrl, 0, sizeof(*ctrl));
	err = ctx->fmt->fmt_ops ? ctx->fmt->fmt_ops->restart(ctx->fmt_self, active, ctrl)
				: ctx->fmt->fmt_restart(buf, active, ctrl);
	return err ? pfm_refuse(-err, "format %s refused the restart", ctx->fmt->fmt_name) : 0;
}

static inline void long_reset(struct pfm_context *ctx)
{
	struct pfm_set *set = ctx->active;

	WRITE_ONCE(ctx->owes, false);
	pfm_reset_pmds(ctx, set, set->ovfl_pmds, PFM_RESET_LONG);
	memset(set->ovfl_pmds, 0, sizeof(set->ovfl_pmds));
}

/*
 * Ends the masked state (3.1.9). If the context is stopped, it stays stopped, and a deferred switch
 * is not made (3.1.6).
 */
static int unmask(struct pfm_context *ctx)
{
	pfm_set_state(ctx, PFM_CTX_LOADED);
	return ctx->started ? go_on(ctx) : 0;
}

/*
 * Masks when there is no overflow (3.5.15). No interrupt has collected the counts, so they are
 * collected here.
 */
static void mask_now(struct pfm_context *ctx)
{
	bool counted = pfm_counting(ctx);

	pfm_mask(ctx);
	if (counted)
		pfm_ops(ctx)->collect(ctx, ctx->active);
}

static inline int follow(struct pfm_context *ctx, const pfm_ovfl_ctrl_t *ctrl)
{
	bool was_masked = ctx->state == PFM_CTX_MASKED;

	if (ctrl->reset_ovfl_pmds)
		long_reset(ctx);
	if (ctrl->mask_monitoring && !was_masked)
		mask_now(ctx);
	return !ctrl->mask_monitoring && was_masked ? unmask(ctx) : 0;
}

static int restart(struct pfm_context *ctx, void *arg)
{
	bool was_masked = ctx->state == PFM_CTX_MASKED;
	int ret;

	(void)arg;
	pfm_see_blind(ctx);
	if (!was_masked && !has_restart(ctx->fmt) && !ctx->blocked)
		return pfm_refuse(-EBUSY, "monitoring is not masked: nothing to restart");
	ret = ask_format(ctx, ctx->buf, !was_masked, &ctx->restart);
	if (ret)
		return ret;
	ret = follow(ctx, &ctx->restart);
	if (ctx->blocked) {
		ctx->blocked = false;
		pfm_ops(ctx)->unblock(ctx);
	}
	return ret;
}

/* --- PFM_FL_INHERIT with a format: each thread is masked by itself; a restart is for all ----- */

static bool any_masked(const struct pfm_context *root)
{
	bool any = pfm_state_acquire(root) == PFM_CTX_MASKED;

	for (const struct pfm_context *c = root->child_ctxs; c && !any; c = c->next_child_ctx)
		any = pfm_state_acquire(c) == PFM_CTX_MASKED;
	return any;
}

/*
 * Calls the format's restart for a part. is_active is 1 if the part is not full or, if all threads
 * share one part, if no thread is masked.
 */
static int ask_family_format(struct pfm_context *root, void *buf, bool active, pfm_ovfl_ctrl_t *ctrl)
{
	return ask_format(root, buf, root->num_parts > 1 ? active : !any_masked(root), ctrl);
}

static int restart_part(struct pfm_context *root, void *part)
{
	return pfm_part_restart(root, part, ask_family_format);
}

/*
 * Calls the format's restart for each part. Each call has an access() of its own, because
 * interrupts may be off during one. If the format refuses the restart of a part, those of the other
 * parts are called nevertheless. Returns 0, or the error of the first refusal.
 */
static int restart_parts(struct pfm_context *root)
{
	pfm_ovfl_ctrl_t *all = &root->restart;
	int refused = 0;

	memset(all, 0, sizeof(*all));
	for (unsigned int i = 0; i < root->num_parts; i++) {
		struct pfm_part *part = &root->parts[i];
		int ret = 0;

		memset(&part->ctrl, 0, sizeof(part->ctrl));
		if (pfm_part_is_due(root, part))
			ret = pfm_ops(root)->access(root, restart_part, part);
		/* The root's thread has ended, but its child contexts still use the buffer. */
		if (ret == -ESRCH)
			ret = restart_part(root, part);
		if (!refused)
			refused = ret;
		all->reset_ovfl_pmds |= part->ctrl.reset_ovfl_pmds;
		all->mask_monitoring |= part->ctrl.mask_monitoring;
	}
	return refused;
}

/*
 * Applies the format's decisions to a thread. A masked thread follows the decision for the part
 * that masked it, and stays masked if that part has had no restart since. A thread that was masked
 * for another reason goes on, unless there is only one part: then the format decides about it, too.
 * A thread that is not masked follows the combined decisions for all parts.
 */
static int restart_thread(struct pfm_context *ctx, void *arg)
{
	const pfm_ovfl_ctrl_t *ctrl = &pfm_root(ctx)->restart;
	bool was_masked = ctx->state == PFM_CTX_MASKED;
	struct pfm_part *part = ctx->held_by;
	int ret;

	(void)arg;
	if (was_masked) {
		if (part && part->restarts == ctx->held_at)
			return 0;
		if (part)
			ctrl = &part->ctrl;
		else if (pfm_root(ctx)->num_parts > 1)
			ctrl = &reset_and_go_on;
	}
	ret = follow(ctx, ctrl);
	if (ctrl->mask_monitoring) {
		ctx->held_by = was_masked ? part : ctx->num_parts == 1 ? ctx->parts : NULL;
		ctx->held_at = ctx->held_by ? ctx->held_by->restarts : 0;
	}
	return ret;
}

/*
 * Returns true if the restart has work to do in the child context. If a format masked the child
 * context, its state MASKED is visible here, because the restart took the part after the overflow
 * had released it.
 */
static bool waits(const struct pfm_context *child_ctx)
{
	return pfm_state_acquire(child_ctx) == PFM_CTX_MASKED || READ_ONCE(child_ctx->owes) ||
	       child_ctx->root->restart.mask_monitoring;
}

static int restart_family(struct pfm_context *root)
{
	int ret, refused;

	if (!has_restart(root->fmt) && !any_masked(root))
		return pfm_refuse(-EBUSY, "monitoring is not masked: nothing to restart");
	refused = restart_parts(root);
	if (refused && root->num_parts == 1)
		return refused;
	ret = pfm_ops(root)->access(root, restart_thread, NULL);
	for (struct pfm_context *child_ctx = root->child_ctxs; child_ctx; child_ctx = child_ctx->next_child_ctx)
		if (waits(child_ctx))
			pfm_ops(child_ctx)->access(child_ctx, restart_thread, NULL);
	return refused ? refused : ret == -ESRCH ? 0 : ret;
}

int pfm_do_restart(struct pfm_context *ctx)
{
	if (!pfm_loaded(ctx))
		return pfm_refuse(-EBUSY, "the context is not loaded");
	if (ctx->parts)
		return restart_family(ctx);
	return pfm_ops(ctx)->access(ctx, restart, NULL);
}
