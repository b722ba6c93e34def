// SPDX-License-Identifier: MIT
/*
 * itanium2.c - the Itanium 2: four counters, PMC/PMD 4-7. Cache events come in groups of sets:
 * events of two sets of a group cannot be counted together. One event of the L1 group has to be on
 * PMC5, one of the L2 group on PMC4, where its unit mask holds for the whole set (but for sets 1
 * and 2).
 */
#include <stddef.h>
#include <string.h>

#include "ia64.h"

#define FIRST	PMU_ITA2_FIRST_COUNTER
static unsigned int ita2_count(const struct pfl_model *m)
{
	(void)m;
	return ita2_expand();
}

static void ita2_registers(const struct pfl_model *m, pfmlib_regmask_t *pmcs,
			   pfmlib_regmask_t *pmds, pfmlib_regmask_t *counters)
{
	(void)m;
	ia64_add_range(pmcs, FIRST, PMU_ITA2_NUM_PMCS - 1);
	ia64_add_range(pmds, 0, PMU_ITA2_NUM_PMDS - 1);
	ia64_add_range(counters, FIRST, FIRST + PMU_ITA2_NUM_COUNTERS - 1);
}

/* --- rules on sets of events ---------------------------------------------------------------- */

static int check_pair(const struct ia64_event *a, const struct ia64_event *b)
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
	if (a->buffer == IA64_BTB && (b->buffer == IA64_DEAR_TLB || b->buffer == IA64_DEAR_ALAT))
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

/*
 * Returns the event of the group on this counter; *present tells whether there is any event of the
 * group.
 */
static const struct ia64_event *group_on(const struct pfl_demand *const *d, unsigned int n,
					 const unsigned int *choice, unsigned int group,
					 unsigned int pmd, bool *present)
{
	const struct ia64_event *found = NULL;

	*present = false;
	for (unsigned int i = 0; i < n; i++) {
		const struct ia64_event *e = d[i]->tag;

		if (!e || e->group != group)
			continue;
		*present = true;
		if (choice[i] == pmd)
			found = e;
	}
	return found;
}

static bool umasks_follow(const struct pfl_demand *const *d, unsigned int n,
			  const struct ia64_event *key)
{
	if (key->set == 1 || key->set == 2)
		return true;
	for (unsigned int i = 0; i < n; i++) {
		const struct ia64_event *e = d[i]->tag;

		if (e && e->group == PFMLIB_ITA2_EVT_L2_CACHE_GRP && e->umask && e->umask != key->umask)
			return false;
	}
	return true;
}

/* Returns true for events of the groups that have rules about their counters. */
bool ita2_judged(const struct pfl_demand *d)
{
	const struct ia64_event *e = d->tag;

	return e && e->group;
}

bool ita2_accept(const struct pfl_demand *const *d, const unsigned int *choice, unsigned int n)
{
	const struct ia64_event *key;
	bool present;

	key = group_on(d, n, choice, PFMLIB_ITA2_EVT_L1_CACHE_GRP, 5, &present);
	if (present && !key)
		return false;
	key = group_on(d, n, choice, PFMLIB_ITA2_EVT_L2_CACHE_GRP, 4, &present);
	if (!present)
		return true;
	return key && umasks_follow(d, n, key);
}

/* --- registers of the buffers --------------------------------------------------------------- */

static uint64_t iear_value(const pfmlib_ita2_ear_t *ear, unsigned int plm, bool pm)
{
	pfm_ita2_pmc_reg_t reg = { 0 };

	reg.pmc10_ita2_cache_reg.iear_plm = plm;
	reg.pmc10_ita2_cache_reg.iear_pm = pm;
	reg.pmc10_ita2_cache_reg.iear_ism = ear->ear_ism;
	if (ear->ear_mode == PFMLIB_ITA2_EAR_CACHE_MODE) {
		reg.pmc10_ita2_cache_reg.iear_umask = ear->ear_umask;
		reg.pmc10_ita2_cache_reg.iear_ct = 1;
	} else {
		reg.pmc10_ita2_tlb_reg.iear_umask = ear->ear_umask;
	}
	return reg.pmc_val;
}

static uint64_t dear_value(const pfmlib_ita2_ear_t *ear, unsigned int plm, bool pm)
{
	pfm_ita2_pmc_reg_t reg = { 0 };

	reg.pmc11_ita2_reg.dear_plm = plm;
	reg.pmc11_ita2_reg.dear_pm = pm;
	reg.pmc11_ita2_reg.dear_mode = ear->ear_mode;
	reg.pmc11_ita2_reg.dear_umask = ear->ear_umask;
	reg.pmc11_ita2_reg.dear_ism = ear->ear_ism;
	return reg.pmc_val;
}

/* --- settings that belong to no single event ------------------------------------------------ */

/* Sets the bit of PMC4 that powers all counters. */
static int power(struct ia64_dispatch *x)
{
	pfmlib_reg_t *pmc4 = pfl_find_pmc(x->out, 4);

	if (pmc4)
		pmc4->reg_value |= 1 << 23;
	return PFMLIB_SUCCESS;
}

static void take(struct ia64_dispatch *x)
{
	const pfmlib_ita2_input_param_t *p = x->model_in;

	memcpy(x->counters, p->pfp_ita2_counters, sizeof(p->pfp_ita2_counters));
	x->iear = p->pfp_ita2_iear;
	x->dear = p->pfp_ita2_dear;
	x->btb = p->pfp_ita2_btb;
	x->code = p->pfp_ita2_irange;
	x->data = p->pfp_ita2_drange;
	x->opcode[0] = p->pfp_ita2_pmc8.opcm_used;
	x->opcode[1] = p->pfp_ita2_pmc9.opcm_used;
}

/*
 * Code ranges are handled before the steps that depend on them: data ranges (PMC13) and opcodes
 * (PMC8).
 */
static const ia64_step steps[] = {
	ia64_check_qualifiers, power, ia64_tune_counters, ia64_iear, ia64_dear, ia64_code_ranges,
	ia64_data_ranges, ita2_opcodes, ia64_btb
};

const struct ia64_model ia64_model_itanium2 = {
	.iear_pmc = 10, .dear_pmc = 11, .btb_pmc = 12, .code_pmc = 14, .data_pmc = 13,
	.iear_pmd = { 0, 1 }, .dear_pmd = { 2, 3, 17 }, .btb_pmd = { 16, 16 }, .btb_entries = { 8, 15 },
	.fine_bits = 12, .all_branches = 0x3f00, .dear_spoils_btb = true, .iear = iear_value, .dear = dear_value,
	.take = take, .steps = steps, .nsteps = PFL_COUNT(steps), .out_size = sizeof(pfmlib_ita2_output_param_t),
	.code_out = offsetof(pfmlib_ita2_output_param_t, pfp_ita2_irange),
	.data_out = offsetof(pfmlib_ita2_output_param_t, pfp_ita2_drange),
};

static const struct pfl_ops ita2_ops = {
	.count = ita2_count,
	.event = ia64_event,
	.attr = ia64_attr,
	.encode = ia64_encode,
	.registers = ita2_registers,
	.address = ia64_address,
	.check = ita2_check,
	.accept = ita2_accept,
	.judged = ita2_judged,
	.finish = ia64_finish,
};

struct pfl_model pfl_itanium2 = {
	.name = "itanium2",
	.desc = "Intel Itanium 2",
	.type = PFMLIB_ITANIUM2_PMU,
	.ncounters = PMU_ITA2_NUM_COUNTERS,
	.width = PMU_ITA2_COUNTER_WIDTH,
	.ops = &ita2_ops,
};
