// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * overflow.c - counter overflows (3.4.3, 3.5.14, 3.7.6, 3.7.7), in PMU context. An overflow is
 * handled in this order: thresholds; the decision of the format, or of the rules without one; a
 * mask, which defers resets and the switch to pfm_restart(), or else short resets and the switch;
 * the notification.
 */
#include "core.h"

struct decision {
	bool	notify, mask, block, to_switch, others, located;
	/* filled: the format notifies or masks; by_format: the format masks */
	bool	filled, by_format;
	unsigned int	resets;		/* number of hits with reset_now */
};

/* Iterates over the PMDs that overflowed, in ascending order. */
#define for_each_hit(pmd, ctx, set) \
	for (unsigned int i_ = 0; i_ < (ctx)->num_hits && ((pmd) = &(set)->pmds[(ctx)->hits[i_]], true); i_++)

static void list_hits(struct pfm_context *ctx, struct pfm_set *set, const uint64_t *ovfl)
{
	unsigned int num, n = 0;

	ctx->ovfl_arg.any_notify = 0;
	pfm_for_each_bit_of(num, ovfl, set->pmd_words) {
		uint16_t at = set->pmd_at[num];

		ctx->hits[n++] = at;
		set->pmds[at].reset_now = 0;
		ctx->ovfl_arg.any_notify |= !!(set->pmds[at].flags & PFM_REGFL_OVFL_NOTIFY);
	}
	ctx->num_hits = n;
}

static void list_hit(struct pfm_context *ctx, struct pfm_pmd *pmd)
{
	pmd->reset_now = 0;
	ctx->ovfl_arg.any_notify = !!(pmd->flags & PFM_REGFL_OVFL_NOTIFY);
	ctx->hits[0] = (uint16_t)(pmd - ctx->active->pmds);
	ctx->num_hits = 1;
}

static void want_reset(struct pfm_pmd *pmd, struct decision *v)
{
	pmd->reset_now = 1;
	v->resets++;
}

/*
 * 3.7.6: each overflow of a PMD with a threshold decrements the threshold; when one is 0, the set
 * must be left.
 */
static void count_down(struct pfm_context *ctx, struct pfm_set *set, struct decision *v)
{
	struct pfm_pmd *pmd;

	for_each_hit(pmd, ctx, set) {
		if (!pmd->switch_left || --pmd->switch_left)
			continue;
		if (!v->to_switch)
			memset(ctx->switch_pmds, 0, sizeof(ctx->switch_pmds));
		pfm_bit_set(ctx->switch_pmds, pmd->num);
		v->to_switch = true;
	}
}

static void sample_values(struct pfm_context *ctx, struct pfm_set *set, const struct pfm_pmd *pmd,
			  const struct pfm_where *where)
{
	pfm_ovfl_arg_t *arg = &ctx->ovfl_arg;
	unsigned int num, n = 0;

	pfm_for_each_bit_of(num, pmd->smpl_pmds, set->pmd_words) {
		/* no NULL check: a PMD in smpl_pmds is in use (3.1.3) */
		const struct pfm_pmd *other = &set->pmds[set->pmd_at[num]];

		arg->smpl_pmds_values[n++] = other->reg->read ? other->reg->read(ctx, where) : other->value;
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
	arg->num_smpl_pmds = 0;
	if (pmd->samples)
		sample_values(ctx, set, pmd, where);
	if (ctx->fmt->fmt_ops)
		return ctx->fmt->fmt_ops->handler(ctx->fmt_self, arg, where);
	return ctx->fmt->fmt_handler(pfm_buffer_of(ctx), arg, where->tstamp, (void *)where);
}

/*
 * Asks the machine to complete "where", once per overflow, and only if a sample or a message needs
 * it.
 */
static void get_location(struct pfm_context *ctx, struct decision *v)
{
	if (pfm_ops(ctx)->get_location && !v->located)
		pfm_ops(ctx)->get_location(ctx);
	v->located = true;
}

/*
 * 3.5.14: the handler is called once for each overflowed PMD, in ascending order; the first error
 * ends the calls.
 */
static void ask_handler(struct pfm_context *ctx, struct pfm_set *set, const struct pfm_where *where,
			struct decision *v)
{
	pfm_ovfl_ctrl_t *ctrl = &ctx->ovfl_arg.ovfl_ctrl;
	struct pfm_pmd *pmd;

	get_location(ctx, v);
	for_each_hit(pmd, ctx, set) {
		if (call_handler(ctx, set, pmd, where)) {
			if (ctx->fmt->fmt_ops)
				v->by_format = v->notify = true;
			break;
		}
		v->notify |= ctrl->notify_user && ctx->ovfl_arg.any_notify;
		v->filled |= ctrl->notify_user;
		v->block |= ctrl->block_thread;
		v->by_format |= ctrl->mask_monitoring;
		if (ctrl->reset_ovfl_pmds)
			want_reset(pmd, v);
	}
	v->mask |= v->by_format;
	v->filled |= v->by_format;
	if (ctx->part && v->filled)
		v->notify &= pfm_part_filled(ctx->part, v->by_format);
}

/*
 * Makes the decision without a format: a PMD with OVFL_NOTIFY notifies and masks (3.1.9), a PMD
 * that triggers set switches is reset (3.7.6), and any other counter wraps and counts on (3.4.3).
 */
static void default_policy(struct pfm_context *ctx, struct pfm_set *set, struct decision *v)
{
	struct pfm_pmd *pmd;

	for_each_hit(pmd, ctx, set) {
		bool trigger = (set->flags & PFM_SETFL_OVFL_SWITCH) && pmd->switch_cnt;

		if (pmd->flags & PFM_REGFL_OVFL_NOTIFY)
			v->notify = v->mask = v->block = true;
		else if (!trigger)
			v->others = set->resets_others;
		else if (!v->to_switch)
			want_reset(pmd, v);
	}
}

/*
 * Notes the overflowed PMDs that are not reset now: they are reset at the restart, or when the set
 * becomes active again.
 */
static void defer_resets(struct pfm_context *ctx, struct pfm_set *set, const struct decision *v)
{
	struct pfm_pmd *pmd;

	WRITE_ONCE(ctx->owes, true);
	for_each_hit(pmd, ctx, set) {
		bool trigger = (set->flags & PFM_SETFL_OVFL_SWITCH) && pmd->switch_cnt;

		if (!v->mask && pmd->reset_now)
			continue;
		if (v->mask || ctx->fmt || trigger)
			pfm_bit_set(set->ovfl_pmds, pmd->num);
	}
}

/*
 * 3.5.14: the restart must not reset a PMD that this overflow resets now, even if an earlier
 * overflow had deferred its reset.
 */
static void settle_hits(struct pfm_context *ctx, struct pfm_set *set)
{
	struct pfm_pmd *pmd;

	for_each_hit(pmd, ctx, set)
		if (pmd->reset_now)
			pfm_bit_clear(set->ovfl_pmds, pmd->num);
}

/*
 * Makes the short resets (3.1.2), each PMD once: of the hits with reset_now, and of the PMDs in
 * reset_pmds of all hits but those of which the reset is deferred. Not inlined, because with the
 * array "bits" in its frame handle() would be slower at every overflow.
 */
static __attribute__((__noinline__)) void short_reset(struct pfm_context *ctx, struct pfm_set *set)
{
	uint64_t bits[PFM_PMD_BV] = { 0 };
	struct pfm_pmd *pmd;

	for_each_hit(pmd, ctx, set) {
		if (pmd->reset_now)
			pfm_bit_set(bits, pmd->num);
		/* the reset of this PMD is deferred (3.7.7) */
		else if (pfm_bit(set->ovfl_pmds, pmd->num))
			continue;
		pfm_bits_or(bits, pmd->reset_pmds);
	}
	pfm_reset_these(ctx, set, bits, PFM_RESET_SHORT);
}

/* Resets all hits. Most overflows have only one. */
static void reset_hits(struct pfm_context *ctx, struct pfm_set *set, const uint64_t *ovfl)
{
	if (ctx->num_hits == 1 && !set->resets_others)
		pfm_reset_pmd(ctx, set, &set->pmds[ctx->hits[0]], PFM_RESET_SHORT);
	else
		pfm_reset_pmds(ctx, set, ovfl, PFM_RESET_SHORT);
}

static void block_target(struct pfm_context *ctx)
{
	if (!(ctx->flags & PFM_FL_NOTIFY_BLOCK) || ctx->self || ctx->blocked)
		return;
	ctx->blocked = true;
	pfm_ops(ctx)->block(ctx);
}

/*
 * Posts the message of an overflow. If the message queue is full, the message is lost and
 * monitoring is masked.
 */
static __attribute__((__noinline__))
void post(struct pfm_context *ctx, const uint64_t *ovfl, const struct pfm_where *where, bool filled)
{
	bool lost;

	if (ctx->part)
		ctx->part->post = filled ? ctx->part->fills : 0;
	lost = pfm_post_overflow(ctx, ovfl, where);
	if (ctx->part && filled)
		ctx->part->reported = !lost;
	if (lost && pfm_counting(ctx))
		pfm_mask(ctx);
}

/* Posts the message, or only sends the signal if the context has PFM_FL_OVFL_NO_MSG. */
static inline void notify(struct pfm_context *ctx, const uint64_t *ovfl, const struct pfm_where *where,
			  struct decision *v)
{
	if (ctx->flags & PFM_FL_OVFL_NO_MSG) {
		pfm_ops(ctx)->signal(pfm_root(ctx));
		return;
	}
	get_location(ctx, v);
	post(ctx, ovfl, where, v->filled);
}

void pfm_report_install_failure(struct pfm_context *ctx, const struct pfm_set *set)
{
	static const uint64_t none[PFM_PMD_BV];
	struct decision v = { .located = true, .filled = ctx->part };
	bool alone = ctx->parts && !ctx->part;
	struct pfm_where where;

	/*
	 * A child context without a format posts no message. It is counted as dropped when it ends.
	 */
	if (ctx->root && !ctx->fmt) {
		ctx->dropped_children++;
		return;
	}
	pfm_ops(ctx)->where(ctx, &where);
	ctx->ovfl_arg.active_set = set->id;
	block_target(ctx);
	if (alone)
		pfm_part_wait(ctx);
	notify(ctx, none, &where, &v);
	if (alone)
		pfm_part_leave(ctx);
}

static void decide(struct pfm_context *ctx, struct pfm_set *set, const struct pfm_where *where,
		  struct decision *v)
{
	if (set->flags & PFM_SETFL_OVFL_SWITCH)
		count_down(ctx, set, v);
	if (pfm_throttle(ctx)) {
		/*
		 * 4.4.4: there were too many overflows. Monitoring is masked until the restart, for
		 * which a message asks.
		 */
		set->throttled++;
		v->notify = v->mask = v->block = true;
	} else if (ctx->fmt) {
		ask_handler(ctx, set, where, v);
	} else {
		default_policy(ctx, set, v);
	}
}

/*
 * Handles an overflow completely. "only" is the PMD that overflowed if it is the only one, else
 * NULL.
 */
static __attribute__((__noinline__))
void handle(struct pfm_context *ctx, struct pfm_set *set, const uint64_t *ovfl, struct pfm_pmd *only,
	   const struct pfm_where *where)
{
	struct decision v = { 0 };

	if (only)
		list_hit(ctx, only);
	else
		list_hits(ctx, set, ovfl);
	decide(ctx, set, where, &v);
	if (v.mask || v.resets < ctx->num_hits)
		defer_resets(ctx, set, &v);
	ctx->ovfl_arg.active_set = set->id;
	if (v.mask) {
		pfm_mask(ctx);
		if (v.by_format)
			pfm_held_by_part(ctx);
		ctx->switch_due = v.to_switch;
	} else {
		settle_hits(ctx, set);
		if (v.resets == ctx->num_hits)
			reset_hits(ctx, set, ovfl);
		else if (v.resets || v.others)
			short_reset(ctx, set);
		if (v.to_switch && pfm_change_set(ctx))
			v.notify = v.block = true;
	}
	if (v.block)
		block_target(ctx);
	if (v.notify)
		notify(ctx, ovfl, where, &v);
}

/*
 * Called when a restart, another context, or the code that this interrupt has interrupted has taken
 * the part of the buffer: the samples are lost.
 */
static __attribute__((__noinline__)) void lose(struct pfm_context *ctx, struct pfm_set *set, const uint64_t *ovfl)
{
	unsigned int n = pfm_bits_rank(ovfl, PFM_MAX_PMDS);

	set->lost += n;
	pfm_untold(ctx, n);
	pfm_reset_pmds(ctx, set, ovfl, PFM_RESET_SHORT);
}

/*
 * With PFM_FL_INHERIT samples go into a part of the buffer that the root shares with its child
 * contexts.
 */
static __attribute__((__noinline__))
void serve_in_part(struct pfm_context *ctx, struct pfm_set *set, const uint64_t *ovfl, struct pfm_pmd *only,
		   const struct pfm_where *where)
{
	if (!pfm_part_take(ctx)) {
		lose(ctx, set, ovfl);
		return;
	}
	pfm_tell_untold(ctx);
	handle(ctx, set, ovfl, only, where);
	pfm_part_leave(ctx);
}

/* Returns true if the PMD's overflow does no more than notify and mask (3.1.9). */
static inline bool only_notifies(const struct pfm_context *ctx, const struct pfm_set *set, const struct pfm_pmd *pmd)
{
	return (pmd->flags & PFM_REGFL_OVFL_NOTIFY) && !ctx->fmt && !READ_ONCE(ctx->machine->ovfl_rate_max) &&
	       !(set->flags & PFM_SETFL_OVFL_SWITCH);
}

/* Does what handle() does for a PMD that only notifies, in half as many instructions. */
static void mask_and_notify(struct pfm_context *ctx, struct pfm_set *set, const uint64_t *ovfl, struct pfm_pmd *pmd,
			    const struct pfm_where *where)
{
	struct decision v = { 0 };

	WRITE_ONCE(ctx->owes, true);
	pfm_bit_set(set->ovfl_pmds, pmd->num);
	ctx->ovfl_arg.active_set = set->id;
	pfm_mask(ctx);
	ctx->switch_due = false;
	block_target(ctx);
	notify(ctx, ovfl, where, &v);
}

/* Handles the overflow of "pmd" or, if it is NULL, of several PMDs. */
static inline __attribute__((__always_inline__))
void serve(struct pfm_context *ctx, const uint64_t *ovfl, struct pfm_pmd *pmd, const struct pfm_where *where)
{
	struct pfm_set *set = ctx->active;

	/* a child context without a format only counts */
	if (!pfm_counting(ctx) || (ctx->root && !ctx->fmt))
		return;
	if (pmd && pfm_goes_on(ctx, set, pmd)) {
		if (pfm_is_reset(set, pmd))
			pfm_reset_pmd(ctx, set, pmd, PFM_RESET_SHORT);
	} else if (ctx->parts) {
		serve_in_part(ctx, set, ovfl, pmd, where);
	} else if (pmd && only_notifies(ctx, set, pmd)) {
		mask_and_notify(ctx, set, ovfl, pmd, where);
	} else {
		handle(ctx, set, ovfl, pmd, where);
	}
}

void pfm_overflow(struct pfm_context *ctx, const uint64_t *ovfl, const struct pfm_where *where)
{
	if (pfm_counting(ctx))
		serve(ctx, ovfl, pfm_only_pmd(ctx->active, ovfl), where);
}

void pfm_overflow_of(struct pfm_context *ctx, struct pfm_pmd *pmd, const uint64_t *ovfl, const struct pfm_where *where)
{
	serve(ctx, ovfl, pmd, where);
}

void pfm_set_timeout(struct pfm_context *ctx)
{
	struct pfm_set *set = ctx->active;

	if (!pfm_counting(ctx) || !(set->flags & PFM_SETFL_TIME_SWITCH))
		return;
	memset(ctx->switch_pmds, 0, sizeof(ctx->switch_pmds));
	if (pfm_change_set(ctx))
		pfm_report_install_failure(ctx, set);
}
