// SPDX-License-Identifier: MIT
/* ia64_buffers.c - event address registers and branch trace buffers. */
#include "ia64.h"

/* --- settings by names of events, which share the registers --------------------------------- */

static void share(struct pfl_demand *d, unsigned int pmc, uint64_t value)
{
	d->shared[d->nshared].pmc = pmc;
	d->shared[d->nshared++].value = value;
}

static pfmlib_ita2_ear_t ear_of(const struct ia64_event *e)
{
	pfmlib_ita2_ear_t ear = { .ear_used = 1, .ear_umask = e->umask };

	ear.ear_mode = e->buffer == IA64_IEAR_CACHE || e->buffer == IA64_DEAR_CACHE ? PFMLIB_ITA2_EAR_CACHE_MODE :
		e->buffer == IA64_DEAR_ALAT ? PFMLIB_ITA2_EAR_ALAT_MODE : PFMLIB_ITA2_EAR_TLB_MODE;
	return ear;
}

/* Returns true if the event uses the data EAR in a mode in which the branch buffer must be off. */
static bool spoils_btb(const struct ia64_model *regs, const struct ia64_event *e)
{
	return regs->dear_spoils_btb && (e->buffer == IA64_DEAR_TLB || e->buffer == IA64_DEAR_ALAT);
}

void ia64_share_buffers(const struct pfl_model *m, const struct ia64_event *e, unsigned int plm, bool pm,
			struct pfl_demand *d)
{
	const struct ia64_model *regs = ia64_model(m);
	const pfmlib_ita2_ear_t ear = ear_of(e);

	if (e->buffer == IA64_BTB)
		share(d, regs->btb_pmc, plm | (uint64_t)pm << 6 | regs->all_branches);
	if (ia64_is_iear(e))
		share(d, regs->iear_pmc, regs->iear(&ear, plm, pm));
	if (ia64_is_dear(e))
		share(d, regs->dear_pmc, regs->dear(&ear, plm, pm));
	if (spoils_btb(regs, e))
		share(d, regs->btb_pmc, 0);
}

/* --- explicit settings, which replace those by names ---------------------------------------- */

static const struct ia64_event *find_event(const struct ia64_dispatch *x,
					   bool (*is)(const struct ia64_model *, const struct ia64_event *))
{
	for (unsigned int i = 0; i < x->in->pfp_event_count; i++) {
		const struct ia64_event *e = ia64_of(&x->in->pfp_events[i]);

		if (e && is(x->regs, e))
			return e;
	}
	return NULL;
}

static bool is_btb(const struct ia64_model *regs, const struct ia64_event *e)
{
	(void)regs;
	return e->buffer == IA64_BTB;
}

static bool is_iear(const struct ia64_model *regs, const struct ia64_event *e)
{
	(void)regs;
	return ia64_is_iear(e);
}

static bool is_dear(const struct ia64_model *regs, const struct ia64_event *e)
{
	(void)regs;
	return ia64_is_dear(e);
}

static unsigned int plm_or_default(const struct ia64_dispatch *x, unsigned int plm)
{
	return plm ? plm & 0xf : x->in->pfp_dfl_plm;
}

static void add_pmds(struct ia64_dispatch *x, const uint8_t *nums, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		ia64_add_pmd(x, nums[i]);
}

int ia64_iear(struct ia64_dispatch *x)
{
	const pfmlib_ita2_ear_t *ear = &x->iear;
	int ret = PFMLIB_SUCCESS;

	if (!ear->ear_used && !find_event(x, is_iear))
		return PFMLIB_SUCCESS;
	if (ear->ear_used && (unsigned int)ear->ear_mode > PFMLIB_ITA2_EAR_TLB_MODE)
		return pfl_explain(PFMLIB_ERR_INVAL, "the instruction EAR has no ALAT mode");
	if (ear->ear_used)
		ret = ia64_add_pmc(x, x->regs->iear_pmc,
				   x->regs->iear(ear, plm_or_default(x, ear->ear_plm), ia64_pm(x)));
	add_pmds(x, x->regs->iear_pmd, PFL_COUNT(x->regs->iear_pmd));
	return ret;
}

int ia64_dear(struct ia64_dispatch *x)
{
	const pfmlib_ita2_ear_t *ear = &x->dear;
	int ret = PFMLIB_SUCCESS;

	if (!ear->ear_used && !find_event(x, is_dear))
		return PFMLIB_SUCCESS;
	if (ear->ear_used && (unsigned int)ear->ear_mode > PFMLIB_ITA2_EAR_ALAT_MODE)
		return pfl_explain(PFMLIB_ERR_INVAL, "invalid mode %u of the data EAR", ear->ear_mode);
	if (ear->ear_used)
		ret = ia64_add_pmc(x, x->regs->dear_pmc,
				   x->regs->dear(ear, plm_or_default(x, ear->ear_plm), ia64_pm(x)));
	add_pmds(x, x->regs->dear_pmd, PFL_COUNT(x->regs->dear_pmd));
	return ret;
}

static uint64_t btb_value(const struct ia64_dispatch *x, const pfmlib_ita2_btb_t *btb)
{
	pfm_ita2_pmc_reg_t reg = { 0 };

	reg.pmc12_ita2_reg.btbc_plm = plm_or_default(x, btb->btb_plm);
	reg.pmc12_ita2_reg.btbc_pm = ia64_pm(x);
	reg.pmc12_ita2_reg.btbc_ds = btb->btb_ds & 1;
	reg.pmc12_ita2_reg.btbc_tm = btb->btb_tm & 3;
	reg.pmc12_ita2_reg.btbc_ptm = btb->btb_ptm & 3;
	reg.pmc12_ita2_reg.btbc_ppm = btb->btb_ppm & 3;
	reg.pmc12_ita2_reg.btbc_brt = btb->btb_brt & 3;
	return reg.pmc_val;
}

void ia64_add_trace(struct ia64_dispatch *x)
{
	const struct ia64_model *regs = x->regs;

	for (unsigned int i = regs->btb_entries[0]; i <= regs->btb_entries[1]; i++)
		ia64_add_pmd(x, i);
	for (unsigned int i = regs->btb_pmd[0]; i <= regs->btb_pmd[1]; i++)
		ia64_add_pmd(x, i);
}

bool ia64_traces_branches(const struct ia64_dispatch *x)
{
	return x->btb.btb_used || find_event(x, is_btb);
}

int ia64_btb(struct ia64_dispatch *x)
{
	bool off = find_event(x, spoils_btb) || (x->regs->dear_spoils_btb && x->dear.ear_used &&
						 x->dear.ear_mode != PFMLIB_ITA2_EAR_CACHE_MODE);
	bool on = ia64_traces_branches(x);
	int ret = PFMLIB_SUCCESS;

	if (on && off)
		return pfl_explain(PFMLIB_ERR_EVTINCOMP,
				   "the data EAR in TLB or ALAT mode excludes the branch trace buffer");
	if (off)
		return ia64_add_pmc(x, x->regs->btb_pmc, 0);
	if (x->btb.btb_used)
		ret = ia64_add_pmc(x, x->regs->btb_pmc, btb_value(x, &x->btb));
	if (on)
		ia64_add_trace(x);
	return ret;
}
