// SPDX-License-Identifier: MIT
/* ia64_opcodes.c - the two opcode matchers: one for register pairs 0 and 2, one for 1 and 3. */
#include <string.h>

#include "ia64.h"

unsigned int ia64_count_retired(const pfmlib_input_param_t *in, unsigned int *kinds)
{
	unsigned int n = 0;

	*kinds = 0;
	for (unsigned int i = 0; i < in->pfp_event_count; i++) {
		const struct ia64_event *e = ia64_of(&in->pfp_events[i]);

		if (!e || e->code != IA64_INST_RETIRED)
			continue;
		*kinds |= 1U << e->umask;
		n++;
	}
	return n;
}

/* Returns a bit for each register pair that an IA64_TAGGED_INST_RETIRED event names. */
static unsigned int tagged_pairs(const pfmlib_input_param_t *in)
{
	unsigned int pairs = 0;

	for (unsigned int i = 0; i < in->pfp_event_count; i++) {
		const struct ia64_event *e = ia64_of(&in->pfp_events[i]);

		if (e && strncmp(e->name, "IA64_TAGGED", 11) == 0)
			pairs |= 1U << e->umask;
	}
	return pairs;
}

/*
 * Returns the bits of PMC15 to clear for the two pairs of a matcher: those of the pairs that events
 * name, or both if none is named.
 */
static uint64_t matched_pairs(const struct ia64_dispatch *x, unsigned int first)
{
	unsigned int pairs = tagged_pairs(x->in) & (1U << first | 4U << first);

	return pairs ? pairs : 1U << first | 4U << first;
}

static bool inverted(const struct ia64_dispatch *x)
{
	return x->code.rr_used && x->code.rr_flags & PFMLIB_ITA2_RR_INV;
}

/* --- Itanium 2: PMC8 and 9, and PMC15 ------------------------------------------------------- */

static int opcode8(struct ia64_dispatch *x, uint64_t *pmc15)
{
	const pfmlib_ita2_input_param_t *p = x->model_in;
	pfm_ita2_pmc_reg_t reg;

	if (!x->opcode[0] && !x->code.rr_used)
		return PFMLIB_SUCCESS;
	reg.pmc_val = x->opcode[0] ? p->pfp_ita2_pmc8.pmc_val : 0xffffffff3fffffffULL;
	reg.pmc8_9_ita2_reg.opcm_ig_ad = !x->code.rr_used;
	reg.pmc8_9_ita2_reg.opcm_inv = inverted(x);
	reg.pmc8_9_ita2_reg.opcm_bit2 = 1;
	if (x->opcode[0])
		*pmc15 &= ~matched_pairs(x, 0);
	return ia64_add_pmc(x, 8, reg.pmc_val);
}

static int opcode9(struct ia64_dispatch *x, uint64_t *pmc15)
{
	const pfmlib_ita2_input_param_t *p = x->model_in;
	pfm_ita2_pmc_reg_t reg;
	unsigned int kinds;

	if (!x->opcode[1])
		return PFMLIB_SUCCESS;
	if (ia64_count_retired(x->in, &kinds) != x->in->pfp_event_count)
		return pfl_explain(PFMLIB_ERR_FEATCOMB,
				   "opcode matcher PMC9 qualifies retired-instruction events alone");
	reg.pmc_val = p->pfp_ita2_pmc9.pmc_val;
	reg.pmc8_9_ita2_reg.opcm_ig_ad = 1;
	reg.pmc8_9_ita2_reg.opcm_inv = 0;
	reg.pmc8_9_ita2_reg.opcm_bit2 = 1;
	*pmc15 &= ~matched_pairs(x, 1);
	return ia64_add_pmc(x, 9, reg.pmc_val);
}

int ita2_opcodes(struct ia64_dispatch *x)
{
	uint64_t pmc15 = 0xffffffff;
	int ret;

	if (!x->opcode[0] && !x->opcode[1] && !x->code.rr_used)
		return PFMLIB_SUCCESS;
	ret = opcode8(x, &pmc15);
	if (ret == PFMLIB_SUCCESS)
		ret = opcode9(x, &pmc15);
	return ret == PFMLIB_SUCCESS ? ia64_add_pmc(x, 15, pmc15) : ret;
}

/*
 * --- Montecito: mask and match are in PMC32 and 33, or 34 and 35. PMC36 keeps its reset value, by
 * which the matchers restrict events; until they are set, they match everything.
 */

#define MATCH_ALL	0x000f01ffffffffffULL

static uint64_t mask_value(const pfmlib_mont_opcm_t *m)
{
	pfm_mont_pmc_reg_t reg = { 0 };

	reg.pmc32_34_mont_reg.opcm_mask = m->opcm_mask;
	reg.pmc32_34_mont_reg.opcm_b = m->opcm_b;
	reg.pmc32_34_mont_reg.opcm_f = m->opcm_f;
	reg.pmc32_34_mont_reg.opcm_i = m->opcm_i;
	reg.pmc32_34_mont_reg.opcm_m = m->opcm_m;
	return reg.pmc_val;
}

static uint64_t match_value(const pfmlib_mont_opcm_t *m)
{
	pfm_mont_pmc_reg_t reg = { 0 };

	reg.pmc33_35_mont_reg.opcm_match = m->opcm_match;
	return reg.pmc_val;
}

/* PMC32 also says whether a code range restricts events, and whether it is inverted. */
static int first_matcher(struct ia64_dispatch *x)
{
	const pfmlib_mont_input_param_t *p = x->model_in;
	pfm_mont_pmc_reg_t reg;
	int ret;

	if (!x->opcode[0] && !x->code.rr_used)
		return PFMLIB_SUCCESS;
	reg.pmc_val = x->opcode[0] ? mask_value(&p->pfp_mont_opcm1) : MATCH_ALL;
	reg.pmc32_34_mont_reg.opcm_ig_ad = !x->code.rr_used;
	reg.pmc32_34_mont_reg.opcm_inv = inverted(x);
	ret = ia64_add_pmc(x, 32, reg.pmc_val);
	if (ret != PFMLIB_SUCCESS || !x->opcode[0])
		return ret;
	return ia64_add_pmc(x, 33, match_value(&p->pfp_mont_opcm1));
}

static int second_matcher(struct ia64_dispatch *x)
{
	const pfmlib_mont_input_param_t *p = x->model_in;
	int ret;

	if (!x->opcode[1])
		return PFMLIB_SUCCESS;
	ret = ia64_add_pmc(x, 34, mask_value(&p->pfp_mont_opcm2));
	return ret == PFMLIB_SUCCESS ? ia64_add_pmc(x, 35, match_value(&p->pfp_mont_opcm2)) : ret;
}

int mont_opcodes(struct ia64_dispatch *x)
{
	int ret = first_matcher(x);

	return ret == PFMLIB_SUCCESS ? second_matcher(x) : ret;
}
