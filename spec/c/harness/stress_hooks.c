// SPDX-License-Identifier: MIT
/*
 * stress_hooks.c - hooks that inform the ledger: in the core's calls of the machine and, by the
 * linker's --wrap, around the core's handling of overflows, timeouts and resets.
 */
#include "perfmon/perfmon_dfl_smpl.h"
#include "perfmon/perfmon_nway_smpl.h"
#include "stress.h"

static struct pfm_machine_ops real;
static bool in_ctxsw, in_interrupt;
static bool has_reset;	/* a PMD was reset since this was cleared */

/* --- from the core to the machine ----------------------------------------------------------- */

static void resume(struct pfm_context *ctx)
{
	struct ledger *l = ledger_find(ctx);

	real.resume(ctx);
	if (!l)
		return;
	ledger_sync(l);
	l->live = true;
	ledger_mark(l);
}

static void freeze(struct pfm_context *ctx)
{
	struct ledger *l = ledger_find(ctx);

	if (l) {
		ledger_sync(l);
		l->live = false;
	}
	real.freeze(ctx);
}

static int install(struct pfm_context *ctx, struct pfm_set *set)
{
	struct ledger *l = ledger_find(ctx);
	struct led_set *s;

	if (l && !in_ctxsw) {
		CHECK(!l->live, "set %u is installed while another counts", set->id);
		s = ledger_set(l, set->id);
		s->slice = 0;
		s->runs++;
		world.switches++;
	}
	return real.install(ctx, set);
}

static int post(struct pfm_context *ctx, const pfarg_msg_t *msg)
{
	struct ledger *l = ledger_find(ctx);
	int ret = real.post(ctx, msg);

	if (!l || l->closed || ret)
		return ret;
	CHECK(l->queued < ctx->msgq_depth + (msg->type == PFM_MSG_END), "%u messages in a queue of %zu",
	      l->queued, ctx->msgq_depth);
	l->queue[l->queued++] = *msg;
	world.messages++;
	return 0;
}

static void flush(struct pfm_context *ctx)
{
	struct ledger *l = ledger_find(ctx);

	if (l)
		l->queued = 0;
	real.flush(ctx);
}

void hooks_install(struct pfm_sim *sim)
{
	real = sim->ops;
	sim->ops.resume = resume;
	sim->ops.freeze = freeze;
	sim->ops.install = install;
	sim->ops.post = post;
	sim->ops.flush = flush;
}

/* --- context switches ----------------------------------------------------------------------- */

void __real_pfm_ctxsw_in(struct pfm_context *ctx);
void __wrap_pfm_ctxsw_in(struct pfm_context *ctx);

void __wrap_pfm_ctxsw_in(struct pfm_context *ctx)
{
	in_ctxsw = true;
	__real_pfm_ctxsw_in(ctx);
	in_ctxsw = false;
	world.ctxsw++;
}

/* --- timeouts ------------------------------------------------------------------------------- */

void __real_pfm_set_timeout(struct pfm_context *ctx);
void __wrap_pfm_set_timeout(struct pfm_context *ctx);

/* 3.7.6: thresholds are reloaded each time the set becomes active. */
static void check_entered(const struct pfm_set *set)
{
	for (unsigned int i = 0; i < set->num_pmds; i++)
		CHECK(set->pmds[i].switch_left == set->pmds[i].switch_cnt,
		      "set %u was entered, and the threshold of PMD%u was not reloaded", set->id,
		      set->pmds[i].num);
}

void __wrap_pfm_set_timeout(struct pfm_context *ctx)
{
	struct ledger *l = ledger_find(ctx);

	if (l && l->live) {
		uint64_t timeout = ctx->active->timeout, slice;

		ledger_sync(l);
		slice = ledger_set(l, ctx->active->id)->slice;
		CHECK(slice == timeout || (world.pool.irqs_off && slice > timeout),
		      "set %u: its timeout of %llu ns expired after %llu", ctx->active->id,
		      (unsigned long long)timeout, (unsigned long long)slice);
	}
	in_interrupt = true;
	__real_pfm_set_timeout(ctx);
	in_interrupt = false;
	if (pfm_counting(ctx))
		check_entered(ctx->active);
}

/* --- resets --------------------------------------------------------------------------------- */

void __real_pfm_reset_pmds(struct pfm_context *ctx, struct pfm_set *set, const uint64_t *bits,
			   enum pfm_reset kind);
void __wrap_pfm_reset_pmds(struct pfm_context *ctx, struct pfm_set *set, const uint64_t *bits,
			   enum pfm_reset kind);

/* 3.4.1, 3.4.2: a PMD is reset to the reset value plus some bits of the mask. */
static void check_reset(const struct pfm_pmd *pmd, enum pfm_reset kind)
{
	uint64_t base = kind == PFM_RESET_LONG ? pmd->long_reset : pmd->short_reset;
	uint64_t allowed = pmd->flags & PFM_REGFL_RANDOM ? pmd->random_mask : 0;

	CHECK(!((pmd->value - base) & ~allowed), "PMD%u was reset to %#llx, not %#llx", pmd->num,
	      (unsigned long long)pmd->value, (unsigned long long)base);
	CHECK(pmd->last_reset == pmd->value, "PMD%u: last_reset", pmd->num);
	CHECK((kind == PFM_RESET_SHORT) == in_interrupt, "PMD%u: the other reset value was due",
	      pmd->num);
}

static void note_reset(struct ledger *l, struct pfm_set *set, unsigned int num, enum pfm_reset kind)
{
	const struct pfm_pmd *pmd = pfm_set_pmd(set, num);
	int i = ledger_index(num);

	if (i < 0)
		return;
	check_reset(pmd, kind);
	ledger_set(l, set->id)->counters[i].expect = pmd->value;
}

static void note_resets(struct ledger *l, struct pfm_set *set, const uint64_t *bits, enum pfm_reset kind)
{
	unsigned int num;

	pfm_for_each_bit(num, bits)
		note_reset(l, set, num, kind);
}

void __wrap_pfm_reset_pmds(struct pfm_context *ctx, struct pfm_set *set, const uint64_t *bits,
			   enum pfm_reset kind)
{
	struct ledger *l = ledger_find(ctx);
	uint64_t all[PFM_PMD_BV];
	unsigned int num;

	if (l)
		ledger_sync(l);
	has_reset |= !pfm_bits_empty(bits);
	__real_pfm_reset_pmds(ctx, set, bits, kind);
	if (!l)
		return;
	memcpy(all, bits, sizeof(all));
	pfm_for_each_bit(num, bits)
		pfm_bits_or(all, pfm_set_pmd(set, num)->reset_pmds);
	note_resets(l, set, all, kind);
}

void __real_pfm_reset_these(struct pfm_context *ctx, struct pfm_set *set, const uint64_t *bits, enum pfm_reset kind);
void __wrap_pfm_reset_these(struct pfm_context *ctx, struct pfm_set *set, const uint64_t *bits, enum pfm_reset kind);

/* Called for the short resets of an overflow: of hits, and of PMDs in their reset_pmds (3.1.2). */
void __wrap_pfm_reset_these(struct pfm_context *ctx, struct pfm_set *set, const uint64_t *bits, enum pfm_reset kind)
{
	struct ledger *l = ledger_find(ctx);

	if (l)
		ledger_sync(l);
	has_reset |= !pfm_bits_empty(bits);
	__real_pfm_reset_these(ctx, set, bits, kind);
	if (l)
		note_resets(l, set, bits, kind);
}

void __real_pfm_reset_pmd(struct pfm_context *ctx, struct pfm_set *set, struct pfm_pmd *pmd, enum pfm_reset kind);
void __wrap_pfm_reset_pmd(struct pfm_context *ctx, struct pfm_set *set, struct pfm_pmd *pmd, enum pfm_reset kind);

/* Called for the reset of a PMD that is the only one to overflow, and that has no reset_pmds. */
void __wrap_pfm_reset_pmd(struct pfm_context *ctx, struct pfm_set *set, struct pfm_pmd *pmd, enum pfm_reset kind)
{
	struct ledger *l = ledger_find(ctx);
	uint64_t bits[PFM_PMD_BV] = { 0 };

	if (l)
		ledger_sync(l);
	has_reset = true;
	CHECK(pfm_bits_empty(pmd->reset_pmds), "PMD%u was reset, and not those that its reset_pmds name", pmd->num);
	__real_pfm_reset_pmd(ctx, set, pmd, kind);
	pfm_bit_set(bits, pmd->num);
	if (l)
		note_resets(l, set, bits, kind);
}

/* --- sampling buffers ----------------------------------------------------------------------- */

struct fill {
	uint64_t	count, offs, size;
};

static struct fill fill_of(const struct ledger *l)
{
	const pfm_dfl_smpl_hdr_t *h = l->map;
	const pfm_default_smpl_hdr_t *h6 = l->map;

	if (l->format == FMT_2X)
		return (struct fill){ h->hdr_count, h->hdr_cur_offs, h->hdr_buf_size };
	return (struct fill){ h6->hdr_count, h6->hdr_cur_offs, h6->hdr_buf_size };
}

static uint32_t flags_of(const struct ledger *l)
{
	const pfm_dfl_smpl_hdr_t *h = l->map;
	const pfm_default_smpl_hdr_t *h6 = l->map;

	return l->format == FMT_2X ? h->hdr_buf_flags : h6->hdr_flags;
}

/* Returns the size of a sample (3.6.4). */
static uint64_t sample_size(const struct ledger *l, const struct pfm_pmd *pmd)
{
	uint64_t body = pfm_bits_rank(pmd->smpl_pmds, PFM_MAX_PMDS) * sizeof(uint64_t);
	uint32_t flags = flags_of(l);

	if (flags & PFM_DFL_SMPL_NO_HDR)
		return body;
	if (flags & PFM_DFL_SMPL_IIP_HDR)
		return body + sizeof(uint64_t);
	return body + (l->format == FMT_2X ? sizeof(pfm_dfl_smpl_entry_t)
					   : sizeof(pfm_default_smpl_entry_t));
}

static void check_sample(const struct ledger *l, uint64_t at, uint16_t pmd, uint16_t set)
{
	const pfm_dfl_smpl_entry_t *e = (const void *)((const char *)l->map + at);

	if (l->format != FMT_2X || flags_of(l))
		return;
	CHECK(e->ovfl_pmd == pmd && e->set == set, "a sample of set %u PMD%u says %u PMD%u", set, pmd,
	      e->set, e->ovfl_pmd);
}

/* 3.6.5: each overflowed PMD has a sample, in order, unless the buffer is full. */
static void check_samples(const struct ledger *l, struct pfm_set *set, const uint64_t *ovfl,
			  const struct fill *was)
{
	struct fill now = fill_of(l);
	uint64_t offs = was->offs, count = was->count;
	unsigned int num;

	pfm_for_each_bit(num, ovfl) {
		if (count == now.count)
			break;
		check_sample(l, offs, num, set->id);
		offs += sample_size(l, pfm_set_pmd(set, num));
		count++;
		world.samples++;
	}
	CHECK(now.count == count && now.offs == offs && offs <= now.size && offs <= l->map_size,
	      "%llu samples end at %llu of %llu, must be %llu ending at %llu",
	      (unsigned long long)now.count, (unsigned long long)now.offs,
	      (unsigned long long)now.size, (unsigned long long)count, (unsigned long long)offs);
	CHECK(num >= PFM_MAX_PMDS || l->ctx->state == PFM_CTX_MASKED, "a sample is missing");
}

static void check_regions(const struct ledger *l)
{
	const pfm_nway_smpl_hdr_t *h = l->map;

	CHECK(h->hdr_cur < h->hdr_num_regions && h->hdr_tail < h->hdr_num_regions, "n-way: region %u",
	      h->hdr_cur);
	for (unsigned int i = 0; i < h->hdr_num_regions; i++) {
		const pfm_nway_region_t *r = &h->hdr_regions[i];

		CHECK(r->cur_offs >= r->offs && r->cur_offs - r->offs <= h->hdr_region_size &&
		      r->cur_offs <= l->map_size, "n-way: region %u ends at %llu", i,
		      (unsigned long long)r->cur_offs);
	}
}

/* --- overflows ------------------------------------------------------------------------------ */

void __real_pfm_overflow(struct pfm_context *ctx, const uint64_t *ovfl, const struct pfm_where *where);
void __wrap_pfm_overflow(struct pfm_context *ctx, const uint64_t *ovfl, const struct pfm_where *where);

/* Checks that exactly the counters that wrapped overflow, with the values that they must have. */
static void check_overflows(struct ledger *l, struct pfm_set *set, const uint64_t *ovfl)
{
	struct led_set *s = ledger_set(l, set->id);

	for (unsigned int i = 0; i < world.num_pmds; i++) {
		struct counter *c = &s->counters[i];
		const struct pfm_pmd *pmd = pfm_set_pmd(set, world.pmds[i]);
		bool told = pfm_bit(ovfl, world.pmds[i]);

		CHECK(told == c->owed, "fd %d set %u PMD%u overflowed: %d, it was told: %d", l->fd,
		      set->id, world.pmds[i], c->owed, told);
		CHECK(!pmd || counter_equal(c, pmd->value),
		      "fd %d set %u PMD%u at an overflow: %#llx, not %#llx", l->fd, set->id,
		      world.pmds[i], (unsigned long long)pmd->value, (unsigned long long)c->expect);
		c->owed = false;
	}
}

/* 3.7.6: if no threshold is reached, those of the overflowed PMDs are one less. */
static void check_thresholds(struct pfm_context *ctx, struct pfm_set *set, const uint64_t *ovfl,
			     const uint64_t *left, uint64_t runs)
{
	bool reached = false;
	unsigned int num, i = 0;

	if (!(set->flags & PFM_SETFL_OVFL_SWITCH))
		return;
	pfm_for_each_bit(num, ovfl)
		reached |= left[i++] == 1;
	i = 0;
	if (reached)
		CHECK(ctx->switch_due || ctx->active != set || set->runs > runs,
		      "set %u: a threshold was reached, and nothing was switched", set->id);
	else
		pfm_for_each_bit(num, ovfl) {
			CHECK(pfm_set_pmd(set, num)->switch_left == left[i] - !!left[i],
			      "set %u PMD%u: its threshold was not counted down", set->id, num);
			i++;
		}
}

static void overflow(struct ledger *l, const uint64_t *ovfl, const struct pfm_where *where)
{
	struct pfm_context *ctx = l->ctx;
	struct pfm_set *set = ctx->active;
	bool sampled = l->map && l->format != FMT_NWAY && pfm_counting(ctx);
	struct fill was = sampled ? fill_of(l) : (struct fill){ 0 };
	uint64_t left[PFM_MAX_PMDS], runs = set->runs;
	unsigned int num, i = 0;

	pfm_for_each_bit(num, ovfl)
		left[i++] = pfm_set_pmd(set, num)->switch_left;
	has_reset = false;
	in_interrupt = true;
	__real_pfm_overflow(ctx, ovfl, where);
	in_interrupt = false;
	check_thresholds(ctx, set, ovfl, left, runs);
	if (ctx->active != set || set->runs > runs)
		check_entered(ctx->active);
	/* 3.5.14: masking has priority over reset */
	if (l->format <= FMT_06 && ctx->state == PFM_CTX_MASKED)
		CHECK(!has_reset, "set %u: PMDs were reset although monitoring is masked", set->id);
	if (sampled)
		check_samples(l, set, ovfl, &was);
	if (l->map && l->format == FMT_NWAY)
		check_regions(l);
}

void __wrap_pfm_overflow(struct pfm_context *ctx, const uint64_t *ovfl, const struct pfm_where *where)
{
	struct ledger *l = ledger_find(ctx);

	world.overflows++;
	if (!l) {
		__real_pfm_overflow(ctx, ovfl, where);
		return;
	}
	ledger_sync(l);
	CHECK(l->live, "fd %d: an overflow, and nothing counts", l->fd);
	check_overflows(l, ctx->active, ovfl);
	overflow(l, ovfl, where);
}

/* --- a format with random verdicts (3.5.14, 3.5.15) ----------------------------------------- */

static void at_random(pfm_ovfl_ctrl_t *ctrl)
{
	uint32_t bits = rng_next(&world.rng) >> 40;

	ctrl->notify_user = bits & 1;
	ctrl->reset_ovfl_pmds = (bits >> 1 & 3) != 0;
	ctrl->block_thread = (bits >> 3 & 3) == 0;
	ctrl->mask_monitoring = (bits >> 5 & 3) == 0;
}

static int wild_handler(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data)
{
	(void)buf;
	(void)tstamp;
	(void)data;
	at_random(&arg->ovfl_ctrl);
	return rng_chance(&world.rng, 2) ? EINVAL : 0;
}

static int wild_restart(void *buf, int is_active, pfm_ovfl_ctrl_t *ctrl)
{
	(void)buf;
	(void)is_active;
	at_random(ctrl);
	return rng_chance(&world.rng, 2) ? EBUSY : 0;
}

pfm_buffer_fmt_t wild_format = {
	.fmt_name = "wild",
	.fmt_uuid = { 0x77 },
	.fmt_msgq_depth = 3,
	.fmt_handler = wild_handler,
	.fmt_restart = wild_restart,
};
