// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * intr.c - counter overflows (3.4.3, 3.5.14, 3.7.6, 3.7.7). In PMU context.
 *
 * The order: thresholds; the format, or the rules without one; mask, which defers resets and the
 * switch to pfm_restart(); else short resets and the switch; then the notification.
 */
#include "core.h"

struct verdict {
	uint64_t	reset[PFM_PMD_BV];	/* short resets asked for */
	bool		notify, mask, block, to_switch;
};

/* 3.7.6: each overflow of a trigger takes its threshold down; at zero the set is left. */
static void count_down(struct pfm_set *set, const uint64_t *ovfl, struct verdict *v)
{
	uint64_t reached[PFM_PMD_BV] = { 0 };
	unsigned int num;

	if (!(set->flags & PFM_SETFL_OVFL_SWITCH))
		return;
	pfm_for_each_bit(num, ovfl) {
		struct pfm_pmd *pmd = pfm_set_pmd(set, num);

		if (pmd->switch_left && !--pmd->switch_left) {
			pfm_bit_set(reached, num);
			v->to_switch = true;
		}
	}
	if (v->to_switch)
		memcpy(set->switch_pmds, reached, sizeof(reached));
}

static void sample_values(struct pfm_context *ctx, struct pfm_set *set, const struct pfm_where *where,
			  pfm_ovfl_arg_t *arg)
{
	unsigned int num, n = 0;

	pfm_for_each_bit(num, arg->smpl_pmds) {
		const struct pfm_reg *reg = pfm_pmu_pmd(ctx->pmu, num);

		arg->smpl_pmds_values[n++] = reg->read ? reg->read(ctx, where)
						       : pfm_set_pmd(set, num)->value;
	}
	arg->num_smpl_pmds = n;
}

static int call_handler(struct pfm_context *ctx, struct pfm_set *set, struct pfm_pmd *pmd,
			const struct pfm_where *where)
{
	pfm_ovfl_arg_t *arg = &ctx->ovfl_arg;

	arg->ovfl_pmd = pmd->num;
	arg->active_set = set->id;
	arg->num_pmds = ctx->pmu->num_pmds;
	arg->ovfl_notify = !!(pmd->flags & PFM_REGFL_OVFL_NOTIFY);
	memset(&arg->ovfl_ctrl, 0, sizeof(arg->ovfl_ctrl));
	arg->pmd_last_reset = pmd->last_reset;
	arg->pmd_value = pmd->value;
	arg->pmd_eventid = pmd->eventid;
	memcpy(arg->smpl_pmds, pmd->smpl_pmds, sizeof(arg->smpl_pmds));
	sample_values(ctx, set, where, arg);
	return ctx->fmt->fmt_handler(ctx->buf, arg, where->tstamp, (void *)where);
}

/* 3.5.14: one call per overflowed PMD, ascending; the first error ends the calls. */
static void ask_handler(struct pfm_context *ctx, struct pfm_set *set, const uint64_t *ovfl,
			const struct pfm_where *where, struct verdict *v)
{
	pfm_ovfl_ctrl_t *ctrl = &ctx->ovfl_arg.ovfl_ctrl;
	unsigned int num;

	ctx->ovfl_arg.any_notify = 0;
	pfm_for_each_bit(num, ovfl)
		if (pfm_set_pmd(set, num)->flags & PFM_REGFL_OVFL_NOTIFY)
			ctx->ovfl_arg.any_notify = 1;
	pfm_for_each_bit(num, ovfl) {
		struct pfm_pmd *pmd = pfm_set_pmd(set, num);

		if (call_handler(ctx, set, pmd, where))
			break;
		v->notify |= ctrl->notify_user && ctx->ovfl_arg.any_notify;
		v->block |= ctrl->block_thread;
		v->mask |= ctrl->mask_monitoring;
		if (ctrl->reset_ovfl_pmds)
			pfm_bit_set(v->reset, num);
	}
}

/*
 * Without a format: who notifies masks (3.1.9). A trigger of a switch is reloaded (3.7.6). Any other
 * counter wraps and goes on (3.4.3).
 */
static void without_format(struct pfm_set *set, const uint64_t *ovfl, struct verdict *v)
{
	unsigned int num;

	pfm_for_each_bit(num, ovfl) {
		struct pfm_pmd *pmd = pfm_set_pmd(set, num);

		if (pmd->flags & PFM_REGFL_OVFL_NOTIFY)
			v->notify = v->mask = v->block = true;
		else if ((set->flags & PFM_SETFL_OVFL_SWITCH) && pmd->switch_cnt && !v->to_switch)
			pfm_bit_set(v->reset, num);
	}
}

/* Which overflowed PMDs still want a reset, at the restart or when the set comes back. */
static void note_due(struct pfm_context *ctx, struct pfm_set *set, const uint64_t *ovfl,
		     const struct verdict *v)
{
	unsigned int num;

	pfm_for_each_bit(num, ovfl) {
		struct pfm_pmd *pmd = pfm_set_pmd(set, num);
		bool trigger = (set->flags & PFM_SETFL_OVFL_SWITCH) && pmd->switch_cnt;

		if (!v->mask && pfm_bit(v->reset, num))
			continue;
		if (v->mask || ctx->fmt || trigger)
			pfm_bit_set(set->ovfl_pmds, num);
	}
}

static void change_set(struct pfm_context *ctx)
{
	pfm_hold(ctx);
	if (!pfm_switch(ctx, PFM_RESET_SHORT))
		pfm_run(ctx);
}

static void block_target(struct pfm_context *ctx)
{
	if (!(ctx->flags & PFM_FL_NOTIFY_BLOCK) || ctx->self || ctx->blocked)
		return;
	ctx->blocked = true;
	pfm_ops(ctx)->block(ctx);
}

/* A notification that finds the queue full is lost; monitoring is held, as if it had come. */
static void notify(struct pfm_context *ctx, const uint64_t *ovfl, const struct pfm_where *where)
{
	if (ctx->flags & PFM_FL_OVFL_NO_MSG) {
		pfm_ops(ctx)->signal(ctx);
	} else if (pfm_post_overflow(ctx, ovfl, where) && pfm_counting(ctx)) {
		pfm_mask(ctx);
	}
}

static void judge(struct pfm_context *ctx, struct pfm_set *set, const uint64_t *ovfl,
		  const struct pfm_where *where, struct verdict *v)
{
	memset(v, 0, sizeof(*v));
	count_down(set, ovfl, v);
	if (pfm_throttle(ctx)) {
		/* 4.4.4: too many; held until the restart, which the message asks for */
		set->throttled++;
		v->notify = v->mask = true;
	} else if (ctx->fmt) {
		ask_handler(ctx, set, ovfl, where, v);
	} else {
		without_format(set, ovfl, v);
	}
}

void pfm_overflow(struct pfm_context *ctx, const uint64_t *ovfl, const struct pfm_where *where)
{
	struct pfm_set *set = ctx->active;
	uint16_t set_id = set->id;
	struct verdict v;

	if (!pfm_counting(ctx))
		return;
	judge(ctx, set, ovfl, where, &v);
	note_due(ctx, set, ovfl, &v);
	ctx->ovfl_arg.active_set = set_id;
	if (v.mask) {
		pfm_mask(ctx);
		ctx->switch_due = v.to_switch;
	} else {
		pfm_reset_pmds(ctx, set, v.reset, PFM_RESET_SHORT);
		if (v.to_switch)
			change_set(ctx);
	}
	if (v.block)
		block_target(ctx);
	if (v.notify)
		notify(ctx, ovfl, where);
}

void pfm_count_lost(struct pfm_context *ctx, uint64_t n)
{
	ctx->active->lost += n;
}

void pfm_count_throttled(struct pfm_context *ctx, uint64_t n)
{
	ctx->active->throttled += n;
}
