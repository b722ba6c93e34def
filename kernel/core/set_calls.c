// SPDX-License-Identifier: GPL-2.0 OR MIT
/* set_calls.c - the commands on event sets: create, modify, delete, getinfo (3.1.10 - 3.1.12). */
#include "core.h"

#define GENERIC_FLAGS (PFM_SETFL_OVFL_SWITCH | PFM_SETFL_TIME_SWITCH | PFM_SETFL_EXPL_NEXT | \
		       PFM_SETFL_EXCL_IDLE | PFM_SETFL_EXCL_KERNEL_ONLY_THREADS)

static int check_flags(struct pfm_context *ctx, uint32_t flags)
{
	const struct pfm_machine_ops *ops = pfm_ops(ctx);
	bool kernel_only = flags & PFM_SETFL_EXCL_KERNEL_ONLY_THREADS;

	if (flags & ~(GENERIC_FLAGS | ops->set_flags))
		return pfm_refuse(-EINVAL, "unknown set_flags %#x",
				  flags & ~(GENERIC_FLAGS | ops->set_flags));
	if ((flags & PFM_SETFL_OVFL_SWITCH) && (flags & PFM_SETFL_TIME_SWITCH))
		return pfm_refuse(-EINVAL, "OVFL_SWITCH and TIME_SWITCH exclude each other");
	if ((flags & PFM_SETFL_OVFL_SWITCH) && pfm_inherits(ctx) && !ctx->fmt)
		return pfm_refuse(-EINVAL, "OVFL_SWITCH does not go with INHERIT unless there is a sampling format");
	if (kernel_only && !(ctx->flags & PFM_FL_SYSTEM_WIDE))
		return pfm_refuse(-EINVAL, "EXCL_KERNEL_ONLY_THREADS needs a system-wide context");
	if (kernel_only && (flags & PFM_SETFL_EXCL_IDLE))
		return pfm_refuse(-EINVAL, "EXCL_KERNEL_ONLY_THREADS and EXCL_IDLE exclude each other");
	return ops->check_set ? ops->check_set(ctx, flags) : 0;
}

/* 3.1.10: the effective timeout is the requested one, rounded up to the timer's granularity. */
static int effective_timeout(struct pfm_context *ctx, const pfarg_setdesc_t *d, uint64_t *out)
{
	uint64_t step = pfm_ops(ctx)->timer_ns(ctx->machine), rest;

	*out = 0;
	if (!(d->set_flags & PFM_SETFL_TIME_SWITCH))
		return 0;
	if (!d->set_timeout)
		return pfm_refuse(-EINVAL, "TIME_SWITCH needs a timeout");
	rest = d->set_timeout % step;
	*out = rest ? d->set_timeout - rest + step : d->set_timeout;
	if (*out < d->set_timeout || *out >> 63)
		return pfm_refuse(-EINVAL, "a timeout of %llu ns is too long",
				  (unsigned long long)d->set_timeout);
	return 0;
}

static uint64_t mmap_offset(struct pfm_context *ctx, uint16_t id)
{
	return ctx->flags & PFM_FL_MAP_SETS ? PFM_VIEW_OFFSET(id, pfm_ops(ctx)->page_size(ctx->machine)) : 0;
}

/*
 * 2.2: with MAP_SETS a reserved field may have the value that an earlier call returned, because
 * programs may reuse the structure.
 */
static bool reserved_ok(struct pfm_context *ctx, const pfarg_setdesc_t *d)
{
	bool viewed = ctx->flags & PFM_FL_MAP_SETS;

	return pfm_all_zero(d->set_reserved + viewed, sizeof(d->set_reserved) - viewed * sizeof(d->set_reserved[0]));
}

static int create_one(struct pfm_context *ctx, pfarg_setdesc_t *d)
{
	struct pfm_set *set = pfm_set_find(ctx, d->set_id);
	uint64_t timeout;
	int ret;

	d->set_flags &= ~PFM_SET_RETFL_MASK;
	if (!reserved_ok(ctx, d))
		return pfm_refuse(-EINVAL, "reserved fields must be 0");
	if (d->set_id && ctx->fmt && (ctx->fmt->fmt_flags & PFM_FMTFL_NOSET))
		return pfm_refuse(-EINVAL, "format %s knows set 0 only", ctx->fmt->fmt_name);
	ret = check_flags(ctx, d->set_flags);
	if (!ret)
		ret = effective_timeout(ctx, d, &timeout);
	if (!ret && !set)
		ret = pfm_set_new(ctx, d->set_id, &set);
	if (ret)
		return ret;
	set->flags = d->set_flags;
	if (!(set->flags & PFM_SETFL_OVFL_SWITCH))
		memset(set->switch_pmds, 0, sizeof(set->switch_pmds));
	set->id_next = d->set_id_next;
	set->timeout = set->timeout_left = timeout;
	if (d->set_flags & PFM_SETFL_TIME_SWITCH)
		d->set_timeout = timeout;
	if (ctx->flags & PFM_FL_MAP_SETS)
		pfm_set_mmap_offset(d) = mmap_offset(ctx, d->set_id);
	return 0;
}

static int must_be_unloaded(struct pfm_context *ctx)
{
	if (!pfm_loaded(ctx))
		return 0;
	return pfm_refuse(-EBUSY, "event sets cannot be changed while the context is loaded");
}

int pfm_do_create_evtsets(struct pfm_context *ctx, pfarg_setdesc_t *v, int n)
{
	int ret = must_be_unloaded(ctx);

	for (int i = 0; i < n && !ret; i++) {
		ret = create_one(ctx, &v[i]);
		if (ret == -EINVAL)
			v[i].set_flags |= PFM_SET_RETFL_EINVAL;
	}
	return ret;
}

static int delete_one(struct pfm_context *ctx, pfarg_setdesc_t *d)
{
	struct pfm_set *set = pfm_set_find(ctx, d->set_id);

	d->set_flags &= ~PFM_SET_RETFL_MASK;
	if (!set) {
		d->set_flags |= PFM_SET_RETFL_NOSET;
		return pfm_refuse(-EINVAL, "set %u does not exist", d->set_id);
	}
	if (set == &ctx->set0) {
		d->set_flags |= PFM_SET_RETFL_EINVAL;
		return pfm_refuse(-EINVAL, "set 0 cannot be deleted");
	}
	pfm_set_delete(ctx, set);
	return 0;
}

int pfm_do_delete_evtsets(struct pfm_context *ctx, pfarg_setdesc_t *v, int n)
{
	int ret = must_be_unloaded(ctx);

	for (int i = 0; i < n && !ret; i++)
		ret = delete_one(ctx, &v[i]);
	return ret;
}

static void fill_info(struct pfm_context *ctx, struct pfm_set *set, pfarg_setinfo_t *info, bool live)
{
	bool counting = live && set == ctx->active && pfm_counting(ctx);

	if (live)
		pfm_see_blind(ctx);
	info->set_id_next = set->id_next;
	info->set_flags = set->flags;
	memcpy(info->set_ovfl_pmds, set->switch_pmds, sizeof(info->set_ovfl_pmds));
	info->set_runs = set->runs + set->ended.runs + set->living.runs;
	info->set_act_duration = set->duration + set->ended.duration + set->living.duration;
	if (counting)
		info->set_act_duration += pfm_ops(ctx)->ran(ctx) - ctx->since;
	info->set_timeout = 0;
	if (set->flags & PFM_SETFL_TIME_SWITCH)
		info->set_timeout = counting ? pfm_ops(ctx)->left(ctx) : set->timeout_left;
	info->set_lost = set->lost + set->ended.lost + set->living.lost +
			 (set == &ctx->set0 ? ctx->dropped_children : 0);
	info->set_throttled = set->throttled + set->ended.throttled + set->living.throttled;
	info->set_blind = set->blind + set->ended.blind + set->living.blind;
	info->set_late = set->late + set->ended.late + set->living.late;
	info->set_gap = set->gap;
	info->set_mmap_offset = mmap_offset(ctx, set->id);
}

static void fill_avail(const struct pfm_pmu *pmu, pfarg_setinfo_t *info)
{
	memset(info->set_avail_pmcs, 0, sizeof(info->set_avail_pmcs));
	memset(info->set_avail_pmds, 0, sizeof(info->set_avail_pmds));
	for (unsigned int i = 0; i < pmu->num_pmcs; i++)
		pfm_bit_set(info->set_avail_pmcs, pmu->pmcs[i].num);
	for (unsigned int i = 0; i < pmu->num_pmds; i++)
		pfm_bit_set(info->set_avail_pmds, pmu->pmds[i].num);
}

static int check_info(struct pfm_context *ctx, pfarg_setinfo_t *info)
{
	if (!pfm_set_find(ctx, info->set_id)) {
		info->set_flags |= PFM_SET_RETFL_NOSET;
		return pfm_refuse(-EINVAL, "set %u does not exist", info->set_id);
	}
	return 0;
}

static void fill_all(struct pfm_context *ctx, bool live)
{
	pfarg_setinfo_t *v = ctx->vector.v;

	for (int i = 0; i < ctx->vector.n; i++)
		fill_info(ctx, pfm_set_find(ctx, v[i].set_id), &v[i], live);
}

static int fill_live(struct pfm_context *ctx, void *arg)
{
	(void)arg;
	fill_all(ctx, true);
	return 0;
}

/*
 * 3.1.12: the call works at any time, and therefore on any CPU. If the target is gone, it returns
 * the last durations.
 */
int pfm_do_getinfo_evtsets(struct pfm_context *ctx, pfarg_setinfo_t *v, int n)
{
	int bad = 0, good = 0, ret;

	for (; good < n && !(bad = check_info(ctx, &v[good])); good++)
		fill_avail(ctx->pmu, &v[good]);
	if (pfm_inherits(ctx))
		pfm_gather(ctx);
	ctx->from_anywhere = true;
	ret = pfm_vector_in_pmu(ctx, fill_live, v, sizeof(*v), good);
	ctx->from_anywhere = false;
	if (ret == -ESRCH) {
		ctx->vector = (struct pfm_vector){ v, good };
		fill_all(ctx, false);
		ret = 0;
	}
	return ret ? ret : bad;
}
