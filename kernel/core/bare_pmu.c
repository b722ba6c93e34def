// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * bare_pmu.c - the core on a bare PMU: makes counters of limited width 64 bits wide (3.1.3, 3.1.4),
 * and saves and loads registers around context switches.
 */
#include "core.h"

static uint64_t width_mask(const struct pfm_context *ctx)
{
	unsigned int width = ctx->pmu->counter_width;

	return width < 64 ? (1ULL << width) - 1 : ~0ULL;
}

static bool emulated(struct pfm_context *ctx, struct pfm_set *set, unsigned int num)
{
	const struct pfm_reg *reg = pfm_pmu_pmd(ctx->pmu, num);
	struct pfm_pmc *pmc = reg->ctrl == PFM_REG_NO_CTRL ? NULL : pfm_set_pmc(set, reg->ctrl);

	return !pmc || !(pmc->flags & PFM_REGFL_NO_EMUL64);
}

static bool software_only(const struct pfm_context *ctx, unsigned int num)
{
	return pfm_pmu_pmd(ctx->pmu, num)->read;
}

static void put_pmd(struct pfm_context *ctx, const struct pfm_pmd *pmd)
{
	uint64_t value = pmd->is_counter ? pmd->value & width_mask(ctx) : pmd->value;

	ctx->machine->bare->set_pmd(ctx, pmd->num, value);
}

int pfm_bare_install(struct pfm_context *ctx, struct pfm_set *set)
{
	const struct pfm_pmu *pmu = ctx->pmu;

	if (!ctx->machine->bare->on_pmu(ctx))
		return 0;
	/* 3.1.2: a PMC that is not used gets its default, which measures nothing */
	for (unsigned int i = 0; i < pmu->num_pmcs; i++) {
		struct pfm_pmc *pmc = pfm_set_pmc(set, pmu->pmcs[i].num);

		ctx->machine->bare->set_pmc(ctx, pmu->pmcs[i].num, pmc ? pmc->value : pmu->pmcs[i].dfl);
	}
	for (unsigned int i = 0; i < set->num_pmds; i++)
		if (!software_only(ctx, set->pmds[i].num))
			put_pmd(ctx, &set->pmds[i]);
	return 0;
}

static void get_pmd(struct pfm_context *ctx, struct pfm_set *set, struct pfm_pmd *pmd)
{
	uint64_t mask = width_mask(ctx), hw = ctx->machine->bare->get_pmd(ctx, pmd->num);

	if (pmd->is_counter && emulated(ctx, set, pmd->num))
		pmd->value = (pmd->value & ~mask) | (hw & mask);
	else
		pmd->value = hw;
}

void pfm_bare_collect(struct pfm_context *ctx, struct pfm_set *set)
{
	if (set != ctx->active || !ctx->machine->bare->on_pmu(ctx))
		return;
	for (unsigned int i = 0; i < set->num_pmds; i++)
		if (!software_only(ctx, set->pmds[i].num))
			get_pmd(ctx, set, &set->pmds[i]);
}

int pfm_bare_write_pmc(struct pfm_context *ctx, struct pfm_set *set, uint16_t num)
{
	if (ctx->machine->bare->on_pmu(ctx))
		ctx->machine->bare->set_pmc(ctx, num, pfm_set_pmc(set, num)->value);
	return 0;
}

int pfm_bare_write_pmd(struct pfm_context *ctx, struct pfm_set *set, uint16_t num)
{
	if (ctx->machine->bare->on_pmu(ctx) && !software_only(ctx, num))
		put_pmd(ctx, pfm_set_pmd(set, num));
	return 0;
}

/*
 * Handles the wrap of a hardware counter: carries into the upper bits. Returns true if the counter
 * has overflowed (3.1.3): the upper bits wrapped as well, or there are none (NO_EMUL64, or a
 * register of 64 bits).
 */
static bool carry(struct pfm_context *ctx, struct pfm_set *set, struct pfm_pmd *pmd)
{
	uint64_t mask = width_mask(ctx);

	/*
	 * a PMD that does not count has no upper bits in memory: its wrap is an overflow of the PMD
	 */
	if (!pmd->is_counter)
		return true;
	if (mask == ~0ULL || !emulated(ctx, set, pmd->num))
		return true;
	pmd->value += mask + 1;
	return !(pmd->value & ~mask);
}

void pfm_bare_interrupt(struct pfm_context *ctx, const uint64_t *wrapped, const struct pfm_where *where)
{
	struct pfm_set *set = ctx->active;
	uint64_t ovfl[PFM_PMD_BV] = { 0 };
	unsigned int num;

	pfm_bare_collect(ctx, set);
	pfm_for_each_bit(num, wrapped) {
		struct pfm_pmd *pmd = pfm_set_pmd(set, num);

		if (pmd && carry(ctx, set, pmd))
			pfm_bit_set(ovfl, num);
	}
	if (!pfm_bits_empty(ovfl))
		pfm_overflow(ctx, ovfl, where);
}

/* --- preemption: 6.5 ------------------------------------------------------------------------ */

void pfm_preempt(struct pfm_context *ctx)
{
	if (pfm_counting(ctx)) {
		pfm_hold(ctx);
		pfm_ops(ctx)->collect(ctx, ctx->active);
	}
	ctx->preempted = true;
	ctx->lost_at = ctx->blind_since = pfm_ops(ctx)->now(ctx->machine);
	ctx->blind = 0;
}

/*
 * The active set may have been written or changed while another context had the PMU, so it is
 * installed again.
 */
void pfm_regain(struct pfm_context *ctx, uint32_t tid)
{
	pfm_see_blind(ctx);
	ctx->preempted = false;
	pfm_ops(ctx)->install(ctx, ctx->active);
	pfm_post_preempted(ctx, tid);
	if (pfm_counting(ctx))
		pfm_run(ctx);
}

/* --- context switches of the target --------------------------------------------------------- */

void pfm_ctxsw_out(struct pfm_context *ctx)
{
	if (!pfm_counting(ctx))
		return;
	pfm_ops(ctx)->freeze(ctx);
	pfm_ops(ctx)->collect(ctx, ctx->active);
}

void pfm_ctxsw_in(struct pfm_context *ctx)
{
	if (ctx->absent)
		/*
		 * no attempt now: the set could not be installed before, and the restart tries
		 * again
		 */
		return;
	ctx->absent = pfm_ops(ctx)->install(ctx, ctx->active);
	if (!pfm_counting(ctx))
		return;
	if (ctx->absent) {
		pfm_mask(ctx);
		pfm_report_install_failure(ctx, ctx->active);
	} else {
		pfm_ops(ctx)->resume(ctx);
	}
}
