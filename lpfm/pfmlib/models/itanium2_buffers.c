// SPDX-License-Identifier: MIT
/* itanium2_buffers.c - event address registers, branch trace buffer, opcode matchers. */
#include <string.h>

#include "itanium2.h"

static bool any_event(const pfmlib_input_param_t *in, bool (*is)(const struct ita2_event *))
{
	for (unsigned int i = 0; i < in->pfp_event_count; i++) {
		const struct ita2_event *e = ita2_of(&in->pfp_events[i]);

		if (e && is(e))
			return true;
	}
	return false;
}

static bool is_btb(const struct ita2_event *e)
{
	return e->buffer == ITA2_BTB;
}

static bool needs_btb_off(const struct ita2_event *e)
{
	return e->buffer == ITA2_DEAR_TLB || e->buffer == ITA2_DEAR_ALAT;
}

static bool is_iear(const struct ita2_event *e)
{
	return ita2_is_iear(e);
}

static bool is_dear(const struct ita2_event *e)
{
	return ita2_is_dear(e);
}

static unsigned int plm_or_default(const struct ita2_dispatch *x, unsigned int plm)
{
	return plm ? plm & 0xf : x->in->pfp_dfl_plm;
}

/* The event's name has programmed PMC10 already; explicit settings replace that. */
int ita2_iear(struct ita2_dispatch *x)
{
	const pfmlib_ita2_ear_t *ear = &x->mod_in->pfp_ita2_iear;
	pfm_ita2_pmc_reg_t reg = { 0 };
	int ret = PFMLIB_SUCCESS;

	if (!ear->ear_used && !any_event(x->in, is_iear))
		return PFMLIB_SUCCESS;
	if (ear->ear_used) {
		if (ear->ear_mode == PFMLIB_ITA2_EAR_ALAT_MODE)
			return pfl_explain(PFMLIB_ERR_INVAL, "the instruction EAR has no ALAT mode");
		reg.pmc10_ita2_cache_reg.iear_plm = plm_or_default(x, ear->ear_plm);
		reg.pmc10_ita2_cache_reg.iear_pm = ita2_pm(x);
		reg.pmc10_ita2_cache_reg.iear_ism = ear->ear_ism;
		if (ear->ear_mode == PFMLIB_ITA2_EAR_CACHE_MODE) {
			reg.pmc10_ita2_cache_reg.iear_umask = ear->ear_umask;
			reg.pmc10_ita2_cache_reg.iear_ct = 1;
		} else {
			reg.pmc10_ita2_tlb_reg.iear_umask = ear->ear_umask;
		}
		ret = ita2_add_pmc(x, 10, reg.pmc_val);
	}
	ita2_add_pmd(x, 0);
	ita2_add_pmd(x, 1);
	return ret;
}

int ita2_dear(struct ita2_dispatch *x)
{
	const pfmlib_ita2_ear_t *ear = &x->mod_in->pfp_ita2_dear;
	pfm_ita2_pmc_reg_t reg = { 0 };
	int ret = PFMLIB_SUCCESS;

	if (!ear->ear_used && !any_event(x->in, is_dear))
		return PFMLIB_SUCCESS;
	if (ear->ear_used) {
		if ((unsigned int)ear->ear_mode > PFMLIB_ITA2_EAR_ALAT_MODE)
			return pfl_explain(PFMLIB_ERR_INVAL, "invalid mode %u of the data EAR", ear->ear_mode);
		reg.pmc11_ita2_reg.dear_plm = plm_or_default(x, ear->ear_plm);
		reg.pmc11_ita2_reg.dear_pm = ita2_pm(x);
		reg.pmc11_ita2_reg.dear_mode = ear->ear_mode;
		reg.pmc11_ita2_reg.dear_umask = ear->ear_umask;
		reg.pmc11_ita2_reg.dear_ism = ear->ear_ism;
		ret = ita2_add_pmc(x, 11, reg.pmc_val);
	}
	ita2_add_pmd(x, 2);
	ita2_add_pmd(x, 3);
	ita2_add_pmd(x, 17);
	return ret;
}

static uint64_t btb_value(const struct ita2_dispatch *x, const pfmlib_ita2_btb_t *btb)
{
	pfm_ita2_pmc_reg_t reg = { 0 };

	reg.pmc12_ita2_reg.btbc_plm = plm_or_default(x, btb->btb_plm);
	reg.pmc12_ita2_reg.btbc_pm = ita2_pm(x);
	reg.pmc12_ita2_reg.btbc_ds = btb->btb_ds & 1;
	reg.pmc12_ita2_reg.btbc_tm = btb->btb_tm & 3;
	reg.pmc12_ita2_reg.btbc_ptm = btb->btb_ptm & 3;
	reg.pmc12_ita2_reg.btbc_ppm = btb->btb_ppm & 3;
	reg.pmc12_ita2_reg.btbc_brt = btb->btb_brt & 3;
	return reg.pmc_val;
}

int ita2_btb(struct ita2_dispatch *x)
{
	const pfmlib_ita2_btb_t *btb = &x->mod_in->pfp_ita2_btb;
	const pfmlib_ita2_ear_t *dear = &x->mod_in->pfp_ita2_dear;
	bool off = any_event(x->in, needs_btb_off) ||
		(dear->ear_used && dear->ear_mode != PFMLIB_ITA2_EAR_CACHE_MODE);
	bool on = btb->btb_used || any_event(x->in, is_btb);
	int ret = PFMLIB_SUCCESS;

	if (on && off)
		return pfl_explain(PFMLIB_ERR_EVTINCOMP,
				   "the data EAR in TLB or ALAT mode excludes the branch trace buffer");
	if (off)
		return ita2_add_pmc(x, 12, 0);
	if (btb->btb_used)
		ret = ita2_add_pmc(x, 12, btb_value(x, btb));
	for (unsigned int i = 8; on && i < 17; i++)
		ita2_add_pmd(x, i);
	return ret;
}

/* --- opcode matchers ------------------------------------------------------------------------ */

unsigned int ita2_count_retired(const pfmlib_input_param_t *in, unsigned int *kinds)
{
	unsigned int n = 0;

	*kinds = 0;
	for (unsigned int i = 0; i < in->pfp_event_count; i++) {
		const struct ita2_event *e = ita2_of(&in->pfp_events[i]);

		if (!e || e->code != ITA2_INST_RETIRED)
			continue;
		*kinds |= 1U << e->umask;
		n++;
	}
	return n;
}

/* A bit for each register pair that an IA64_TAGGED_INST_RETIRED event names. */
static unsigned int tagged_pairs(const pfmlib_input_param_t *in)
{
	unsigned int pairs = 0;

	for (unsigned int i = 0; i < in->pfp_event_count; i++) {
		const struct ita2_event *e = ita2_of(&in->pfp_events[i]);

		if (e && strncmp(e->name, "IA64_TAGGED", 11) == 0)
			pairs |= 1U << e->umask;
	}
	return pairs;
}

/* Bits of PMC15 to clear for the two pairs of a matcher: those named by events, both if none is. */
static uint64_t matched_pairs(const struct ita2_dispatch *x, unsigned int first)
{
	unsigned int pairs = tagged_pairs(x->in) & (1U << first | 4U << first);

	return pairs ? pairs : 1U << first | 4U << first;
}

static int opcode8(struct ita2_dispatch *x, uint64_t *pmc15)
{
	const pfmlib_ita2_opcm_t *opcm = &x->mod_in->pfp_ita2_pmc8;
	const pfmlib_ita2_input_rr_t *code = &x->mod_in->pfp_ita2_irange;
	pfm_ita2_pmc_reg_t reg;

	if (!opcm->opcm_used && !code->rr_used)
		return PFMLIB_SUCCESS;
	reg.pmc_val = opcm->opcm_used ? opcm->pmc_val : 0xffffffff3fffffffULL;
	reg.pmc8_9_ita2_reg.opcm_ig_ad = !code->rr_used;
	reg.pmc8_9_ita2_reg.opcm_inv = code->rr_used && code->rr_flags & PFMLIB_ITA2_RR_INV;
	reg.pmc8_9_ita2_reg.opcm_bit2 = 1;
	if (opcm->opcm_used)
		*pmc15 &= ~matched_pairs(x, 0);
	return ita2_add_pmc(x, 8, reg.pmc_val);
}

static int opcode9(struct ita2_dispatch *x, uint64_t *pmc15)
{
	const pfmlib_ita2_opcm_t *opcm = &x->mod_in->pfp_ita2_pmc9;
	pfm_ita2_pmc_reg_t reg;
	unsigned int kinds;

	if (!opcm->opcm_used)
		return PFMLIB_SUCCESS;
	if (ita2_count_retired(x->in, &kinds) != x->in->pfp_event_count)
		return pfl_explain(PFMLIB_ERR_FEATCOMB,
				   "opcode matcher PMC9 qualifies retired-instruction events alone");
	reg.pmc_val = opcm->pmc_val;
	reg.pmc8_9_ita2_reg.opcm_ig_ad = 1;
	reg.pmc8_9_ita2_reg.opcm_inv = 0;
	reg.pmc8_9_ita2_reg.opcm_bit2 = 1;
	*pmc15 &= ~matched_pairs(x, 1);
	return ita2_add_pmc(x, 9, reg.pmc_val);
}

int ita2_opcodes(struct ita2_dispatch *x)
{
	uint64_t pmc15 = 0xffffffff;
	int ret;

	if (!x->mod_in->pfp_ita2_pmc8.opcm_used && !x->mod_in->pfp_ita2_pmc9.opcm_used &&
	    !x->mod_in->pfp_ita2_irange.rr_used)
		return PFMLIB_SUCCESS;
	ret = opcode8(x, &pmc15);
	if (ret == PFMLIB_SUCCESS)
		ret = opcode9(x, &pmc15);
	return ret == PFMLIB_SUCCESS ? ita2_add_pmc(x, 15, pmc15) : ret;
}
