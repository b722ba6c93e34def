// SPDX-License-Identifier: MIT
/*
 * itanium2.c - the Itanium 2: four counters, PMC/PMD 4-7. Cache events come in groups whose sets
 * exclude each other; one event of the L1 group has to be on PMC5, one of the L2 group on PMC4, where
 * its unit mask holds for the whole set (but for sets 1 and 2).
 */
#include <string.h>

#include "itanium2.h"

#define FIRST	PMU_ITA2_FIRST_COUNTER
#define THRESHOLD_MAX 7

static unsigned int ita2_count(const struct pfl_model *m)
{
	(void)m;
	return ita2_expand();
}

static void ita2_event(const struct pfl_model *m, unsigned int idx, struct pfl_event *ev)
{
	const struct ita2_event *e = ita2_at(idx);

	(void)m;
	ev->name = e->name;
	ev->desc = e->desc;
	ev->code = e->code;
	ev->nmods = 3;
}

void ita2_attr(const struct pfl_model *m, unsigned int idx, unsigned int a, struct pfl_attr *attr)
{
	static const struct pfl_attr attrs[] = {
		{ "k", "at privilege level 0", 0, PFMLIB_MASK_BOOLEAN, 'k' },
		{ "u", "at privilege level 3", 1, PFMLIB_MASK_BOOLEAN, 'u' },
		{ "thres", "threshold 0 - 7: counts cycles with more occurrences", 2,
		  PFMLIB_MASK_INTEGER, 0 },
	};

	(void)m, (void)idx;
	*attr = attrs[a];
}

int ita2_threshold(const struct ita2_event *ie, const pfmlib_event_t *e, unsigned int *thres)
{
	*thres = 0;
	for (unsigned int i = 0; i < e->num_masks; i++) {
		if (PFMLIB_MASK_INDEX(e->unit_masks[i]) != 2)
			return pfl_explain(PFMLIB_ERR_UMASK, "%s has no unit masks", ie->name);
		*thres = PFMLIB_MASK_VALUE(e->unit_masks[i]);
		if (*thres > THRESHOLD_MAX)
			return pfl_explain(PFMLIB_ERR_INVAL, "%s: threshold %u is above %u", ie->name,
					   *thres, THRESHOLD_MAX);
	}
	return PFMLIB_SUCCESS;
}

/* --- registers of the buffers, which events of a kind share --------------------------------- */

static uint64_t iear_value(const struct ita2_event *e, unsigned int plm, bool pm)
{
	return plm | (uint64_t)pm << 4 | (uint64_t)e->umask << 5 |
		(uint64_t)(e->buffer == ITA2_IEAR_CACHE) << 13;
}

static uint64_t dear_value(const struct ita2_event *e, unsigned int plm, bool pm)
{
	unsigned int mode = e->buffer == ITA2_DEAR_CACHE ? PFMLIB_ITA2_EAR_CACHE_MODE :
		e->buffer == ITA2_DEAR_TLB ? PFMLIB_ITA2_EAR_TLB_MODE : PFMLIB_ITA2_EAR_ALAT_MODE;

	return plm | (uint64_t)pm << 6 | (uint64_t)mode << 7 | (uint64_t)e->umask << 16;
}

static void share(struct pfl_demand *d, unsigned int pmc, uint64_t value)
{
	d->shared[d->nshared].pmc = pmc;
	d->shared[d->nshared++].value = value;
}

static void share_buffers(const struct ita2_event *e, unsigned int plm, bool pm,
			  struct pfl_demand *d)
{
	if (e->buffer == ITA2_BTB)
		share(d, 12, plm | (uint64_t)pm << 6 | 0x3f << 8);	/* all branches */
	if (ita2_is_iear(e))
		share(d, 10, iear_value(e, plm, pm));
	if (ita2_is_dear(e))
		share(d, 11, dear_value(e, plm, pm));
	/* In these modes a misprediction would spoil the address unless the branch buffer is off. */
	if (e->buffer == ITA2_DEAR_TLB || e->buffer == ITA2_DEAR_ALAT)
		share(d, 12, 0);
}

uint64_t ita2_pmc(const struct ita2_event *ie, unsigned int plm, bool pm, unsigned int thres)
{
	return plm | 1 << 5 | (uint64_t)pm << 6 | (uint64_t)ie->code << 8 | (uint64_t)thres << 20 |
		(uint64_t)(ie->buffer > ITA2_BTB ? 0 : ie->umask) << 16;
}

static int ita2_encode(const struct pfl_model *m, unsigned int idx, const pfmlib_event_t *e,
		       unsigned int plm, unsigned int flags, struct pfl_demand *d)
{
	const struct ita2_event *ie = ita2_at(idx);
	bool pm = flags & PFMLIB_PFP_SYSTEMWIDE;
	unsigned int thres;
	int ret = ita2_threshold(ie, e, &thres);

	(void)m;
	if (ret != PFMLIB_SUCCESS)
		return ret;
	d->tag = ie;
	d->nvalues = 1;
	d->values[0] = ita2_pmc(ie, plm, pm, thres);
	for (unsigned int i = FIRST; i < FIRST + PMU_ITA2_NUM_COUNTERS; i++)
		if (ie->counters >> i & 1)
			pfl_demand_counter(d, i, i);
	share_buffers(ie, plm, pm, d);
	return PFMLIB_SUCCESS;
}

static void ita2_registers(const struct pfl_model *m, pfmlib_regmask_t *pmcs,
			   pfmlib_regmask_t *pmds, pfmlib_regmask_t *counters)
{
	(void)m;
	for (unsigned int i = FIRST; i < PMU_ITA2_NUM_PMCS; i++)
		pfm_regmask_set(pmcs, i);
	for (unsigned int i = 0; i < PMU_ITA2_NUM_PMDS; i++)
		pfm_regmask_set(pmds, i);
	for (unsigned int i = FIRST; i < FIRST + PMU_ITA2_NUM_COUNTERS; i++)
		pfm_regmask_set(counters, i);
}

static uint64_t ita2_address(const struct pfl_model *m, bool pmd, unsigned int n)
{
	(void)m, (void)pmd;
	return n;
}

/* --- rules on sets of events ---------------------------------------------------------------- */

static int check_pair(const struct ita2_event *a, const struct ita2_event *b)
{
	static const uint8_t cancels[] = { 0xa0, 0xac, 0xa8 };
	bool a_cancels = memchr(cancels, a->code, sizeof(cancels)) != NULL;
	bool b_cancels = memchr(cancels, b->code, sizeof(cancels)) != NULL;

	if (a->group && a->group == b->group && a->set != b->set)
		return pfl_explain(PFMLIB_ERR_EVTSET, "%s and %s are of sets %u and %u of the L%u group",
				   a->name, b->name, a->set, b->set, a->group);
	if (a_cancels && b_cancels && a->code != b->code)
		return pfl_explain(PFMLIB_ERR_EVTINCOMP,
				   "%s and %s: only one kind of OZQ cancels can be counted", a->name, b->name);
	if (a->buffer == ITA2_BTB && (b->buffer == ITA2_DEAR_TLB || b->buffer == ITA2_DEAR_ALAT))
		return pfl_explain(PFMLIB_ERR_EVTINCOMP,
				   "%s needs the branch trace buffer, which %s switches off", a->name, b->name);
	return PFMLIB_SUCCESS;
}

int ita2_check(const struct pfl_demand *const *d, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int k = 0; k < n; k++) {
			int ret = PFMLIB_SUCCESS;

			if (i != k && d[i]->tag && d[k]->tag)
				ret = check_pair(d[i]->tag, d[k]->tag);
			if (ret != PFMLIB_SUCCESS)
				return ret;
		}
	return PFMLIB_SUCCESS;
}

/* The event of the group on this counter; *present: is there any event of the group? */
static const struct ita2_event *group_on(const struct pfl_demand *const *d, unsigned int n,
					 const unsigned int *choice, unsigned int group,
					 unsigned int pmd, bool *present)
{
	const struct ita2_event *found = NULL;

	*present = false;
	for (unsigned int i = 0; i < n; i++) {
		const struct ita2_event *e = d[i]->tag;

		if (!e || e->group != group)
			continue;
		*present = true;
		if (choice[i] == pmd)
			found = e;
	}
	return found;
}

static bool umasks_follow(const struct pfl_demand *const *d, unsigned int n,
			  const struct ita2_event *key)
{
	if (key->set == 1 || key->set == 2)
		return true;
	for (unsigned int i = 0; i < n; i++) {
		const struct ita2_event *e = d[i]->tag;

		if (e && e->group == PFMLIB_ITA2_EVT_L2_CACHE_GRP && e->umask && e->umask != key->umask)
			return false;
	}
	return true;
}

/* The groups' events have rules about their counters. */
bool ita2_judged(const struct pfl_demand *d)
{
	const struct ita2_event *e = d->tag;

	return e && e->group;
}

bool ita2_accept(const struct pfl_demand *const *d, const unsigned int *choice, unsigned int n)
{
	const struct ita2_event *key;
	bool present;

	key = group_on(d, n, choice, PFMLIB_ITA2_EVT_L1_CACHE_GRP, 5, &present);
	if (present && !key)
		return false;
	key = group_on(d, n, choice, PFMLIB_ITA2_EVT_L2_CACHE_GRP, 4, &present);
	if (!present)
		return true;
	return key && umasks_follow(d, n, key);
}

/* --- what is not per event ------------------------------------------------------------------ */

unsigned int ita2_pm(const struct ita2_dispatch *x)
{
	return x->in->pfp_flags & PFMLIB_PFP_SYSTEMWIDE ? 1 : 0;
}

static pfmlib_reg_t *find_pmc(pfmlib_output_param_t *out, unsigned int num)
{
	for (unsigned int i = 0; i < out->pfp_pmc_count; i++)
		if (out->pfp_pmcs[i].reg_num == num)
			return &out->pfp_pmcs[i];
	return NULL;
}

int ita2_add_pmc(struct ita2_dispatch *x, unsigned int num, uint64_t value)
{
	pfmlib_reg_t *reg = find_pmc(x->out, num);

	if (pfm_regmask_isset(&x->in->pfp_unavail_pmcs, num) ||
	    pfl_machine_lacks(&pfl_itanium2, num))
		return pfl_explain(PFMLIB_ERR_NOASSIGN, "PMC %u is needed and not available", num);
	if (!reg)
		reg = &x->out->pfp_pmcs[x->out->pfp_pmc_count++];
	reg->reg_num = num;
	reg->reg_value = value;
	reg->reg_addr = reg->reg_alt_addr = num;
	return PFMLIB_SUCCESS;
}

void ita2_add_pmd(struct ita2_dispatch *x, unsigned int num)
{
	pfmlib_reg_t *reg = &x->out->pfp_pmds[x->out->pfp_pmd_count++];

	reg->reg_num = num;
	reg->reg_addr = reg->reg_alt_addr = num;
}

/* Threshold and instruction set of each event's counter; the bit of PMC4 that powers all of them. */
static int tune_counters(struct ita2_dispatch *x)
{
	pfmlib_reg_t *pmc4 = find_pmc(x->out, 4);

	if (pmc4)
		pmc4->reg_value |= 1 << 23;
	for (unsigned int i = 0; i < x->in->pfp_event_count && i < PMU_ITA2_NUM_COUNTERS; i++) {
		const pfmlib_ita2_counter_t *c = &x->mod_in->pfp_ita2_counters[i];
		pfmlib_reg_t *reg = find_pmc(x->out, x->out->pfp_pmds[i].reg_num);

		if (c->thres > THRESHOLD_MAX || (unsigned int)c->ism > PFMLIB_ITA2_ISM_IA64)
			return pfl_explain(PFMLIB_ERR_INVAL, "counter %u: invalid threshold or instruction set", i);
		if (!reg || !ita2_of(&x->in->pfp_events[i]))
			continue;
		reg->reg_value |= (uint64_t)c->thres << 20 | (uint64_t)c->ism << 24;
	}
	return PFMLIB_SUCCESS;
}

static int ita2_finish(const struct pfl_model *m, const pfmlib_input_param_t *in, const void *model_in,
		       pfmlib_output_param_t *out, void *model_out)
{
	static const pfmlib_ita2_input_param_t nothing;
	/* Code ranges come before what looks at them: data ranges (PMC13) and opcodes (PMC8). */
	static int (*const steps[])(struct ita2_dispatch *) = {
		ita2_check_qualifiers, tune_counters, ita2_iear, ita2_dear, ita2_code_ranges,
		ita2_data_ranges, ita2_opcodes, ita2_btb
	};
	struct ita2_dispatch x = { in, model_in ? model_in : &nothing, out, model_out };
	int ret = PFMLIB_SUCCESS;

	(void)m;
	if (model_out && !model_in)
		return pfl_explain(PFMLIB_ERR_INVAL, "model output without model input");
	if (model_out)
		memset(model_out, 0, sizeof(pfmlib_ita2_output_param_t));
	for (size_t i = 0; ret == PFMLIB_SUCCESS && i < PFL_COUNT(steps); i++)
		ret = steps[i](&x);
	return ret;
}

static const struct pfl_ops ita2_ops = {
	.count = ita2_count,
	.event = ita2_event,
	.attr = ita2_attr,
	.encode = ita2_encode,
	.registers = ita2_registers,
	.address = ita2_address,
	.check = ita2_check,
	.accept = ita2_accept,
	.judged = ita2_judged,
	.finish = ita2_finish,
};

struct pfl_model pfl_itanium2 = {
	.name = "itanium2",
	.desc = "Intel Itanium 2",
	.type = PFMLIB_ITANIUM2_PMU,
	.ncounters = PMU_ITA2_NUM_COUNTERS,
	.width = PMU_ITA2_COUNTER_WIDTH,
	.ops = &ita2_ops,
};
