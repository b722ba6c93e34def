// SPDX-License-Identifier: MIT
/*
 * sample.c - brings the sums up to date, and suspends and resumes counters. A counter's value at
 * any time is sum + (now - start): a sample adds the count to the sum, and moves start.
 */
#include <errno.h>
#include <string.h>

#include "object.h"

/*
 * One vector reads all values at the same moment: first the thread's own counts, then the
 * children's in the same order.
 */
struct values {
	pfarg_pmd_t	pmds[2 * (PERFCTR_MAX + 1)];
	int		n;
};

static unsigned int counters(const struct vperfctr *v)
{
	return perfctr_counters(&v->state->control.cpu_control);
}

static bool has_tsc(const struct vperfctr *v)
{
	return v->state->control.cpu_control.tsc_on;
}

static bool suspended(const struct vperfctr *v)
{
	return v->state->flags & VPERFCTR_SUSPENDED;
}

static void want(const struct vperfctr *v, struct values *r, uint32_t flags)
{
	const struct perfctr_cpu_control *c = &v->state->control.cpu_control;

	for (unsigned int i = 0; i < counters(v); i++)
		r->pmds[r->n++] = (pfarg_pmd_t){ .reg_num = (uint16_t)c->pmc_map[i], .reg_flags = flags };
	if (has_tsc(v))
		r->pmds[r->n++] = (pfarg_pmd_t){ .reg_num = PERFCTR_TSC, .reg_flags = flags };
}

static int read_values(struct vperfctr *v, struct values *r)
{
	r->n = 0;
	want(v, r, PFM_REGFL_OWN);
	want(v, r, v->counts_ended ? PFM_REGFL_ENDED : 0);
	return pfm_read_pmds(v->ctx, r->pmds, r->n) ? perfctr_failed() : 0;
}

/* --- the TSC, which counts on while counters are suspended ----------------------------------- */

/*
 * Computes the TSC's sum from the thread's CPU clock. It never decreases. A thread that has ended
 * keeps the last value.
 */
static uint64_t clock_sum(const struct vperfctr *v)
{
	uint64_t now = perfctr_thread_clock(v), sum = v->state->cpu_state.tsc_sum;
	uint64_t by_clock = v->clock_sum + (now - v->clock_start);

	return now > v->clock_start && by_clock > sum ? by_clock : sum;
}

/* --- sampling the sums ----------------------------------------------------------------------- */

static void add_own(struct vperfctr *v, const pfarg_pmd_t *own)
{
	struct perfctr_cpu_state *s = &v->state->cpu_state;

	for (unsigned int i = 0; i < counters(v); i++) {
		s->pmc[i].sum += own[i].reg_value - s->pmc[i].start;
		s->pmc[i].start = own[i].reg_value;
	}
}

static void set_children(struct vperfctr *v, const pfarg_pmd_t *own, const pfarg_pmd_t *others)
{
	struct perfctr_sum_ctrs *children = &v->state->children;
	unsigned int n = counters(v), all = n + has_tsc(v);

	for (unsigned int i = 0; i < all; i++) {
		uint64_t value = others[i].reg_value - (v->counts_ended ? 0 : own[i].reg_value);

		*(i < n ? &children->pmc[i] : &children->tsc) = value;
	}
}

int perfctr_sample(struct vperfctr *v)
{
	struct perfctr_cpu_state *s = &v->state->cpu_state;
	uint64_t tsc = s->tsc_start;
	struct values r;
	int ret;

	if (v->ctx < 0)
		return 0;
	ret = read_values(v, &r);
	if (ret)
		return ret;
	perfctr_state_begin(v);
	add_own(v, r.pmds);
	set_children(v, r.pmds, r.pmds + r.n / 2);
	if (has_tsc(v)) {
		const uint64_t now = r.pmds[counters(v)].reg_value;

		s->tsc_sum += now - tsc;
		if (suspended(v))
			s->tsc_sum = clock_sum(v);
		tsc = now;
	}
	perfctr_state_end(v, tsc);
	return 0;
}

/* --- reading a register ---------------------------------------------------------------------- */

uint64_t perfctr_now(struct vperfctr *v, uint64_t num)
{
	pfarg_pmd_t pmd = { .reg_num = (uint16_t)num, .reg_flags = PFM_REGFL_OWN };

	if (v->ctx < 0 || num >= PFM_MAX_PMDS || pfm_read_pmds(v->ctx, &pmd, 1))
		return 0;
	return pmd.reg_value;
}

uint64_t perfctr_tsc_now(struct vperfctr *v)
{
	const struct perfctr_cpu_state *s = &v->state->cpu_state;

	if (!has_tsc(v))
		return 0;
	return suspended(v) ? s->tsc_start + (clock_sum(v) - s->tsc_sum) : perfctr_now(v, PERFCTR_TSC);
}

/* --- suspending and resuming counters -------------------------------------------------------- */

static bool has_bit(const uint64_t *bits, unsigned int num)
{
	return bits[num / 64] >> num % 64 & 1;
}

void perfctr_suspend(struct vperfctr *v, const uint64_t *pmds)
{
	for (unsigned int i = 0; i < counters(v); i++)
		if (has_bit(pmds, v->state->control.cpu_control.pmc_map[i]))
			v->overflown |= 1U << i;
	__atomic_or_fetch(&v->state->flags, VPERFCTR_SUSPENDED, __ATOMIC_RELAXED);
	perfctr_sample(v);
}

/* pfm_restart() loads each counter that overflowed with its ireset; the others continue. */
int perfctr_resume(struct vperfctr *v)
{
	struct perfctr_cpu_state *s = &v->state->cpu_state;
	uint64_t tsc;

	if (!suspended(v))
		return 0;
	perfctr_sample(v);
	tsc = s->tsc_start;
	perfctr_state_begin(v);
	for (unsigned int i = 0; i < counters(v); i++)
		if (v->overflown & 1U << i)
			s->pmc[i].start = (uint64_t)(int64_t)v->state->control.cpu_control.ireset[i];
	v->overflown = 0;
	__atomic_and_fetch(&v->state->flags, ~VPERFCTR_SUSPENDED, __ATOMIC_RELAXED);
	perfctr_state_end(v, tsc);
	return pfm_restart(v->ctx) ? perfctr_failed() : 0;
}
