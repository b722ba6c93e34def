// SPDX-License-Identifier: MIT
/* ia64.c - events and dispatch, as far as all Itanium processors agree. */
#include <string.h>

#include "ia64.h"

/* --- events --------------------------------------------------------------------------------- */

static bool has_table(const struct pfl_model *m)
{
	return m == &pfl_itanium || m == &pfl_montecito;
}

static const struct ia64_event *at(const struct pfl_model *m, unsigned int idx)
{
	return has_table(m) ? (const struct ia64_event *)m->data + idx : ita2_at(idx);
}

const struct ia64_event *ia64_of_model(const struct pfl_model *wanted, unsigned int event)
{
	const struct pfl_model *m;
	unsigned int idx;

	if (pfl_event_locate(event, &m, &idx) != PFMLIB_SUCCESS || idx >= m->nevents || m != wanted)
		return NULL;
	return at(m, idx);
}

static const struct ia64_event *located(unsigned int event)
{
	const struct pfl_model *m;
	unsigned int idx;

	if (pfl_event_locate(event, &m, &idx) != PFMLIB_SUCCESS || idx >= m->nevents)
		return NULL;
	return has_table(m) || m == &pfl_itanium2 ? at(m, idx) : NULL;
}

const struct ia64_event *ia64_of(const pfmlib_event_t *e)
{
	return located(e->event);
}

void ia64_event(const struct pfl_model *m, unsigned int idx, struct pfl_event *ev)
{
	const struct ia64_event *e = at(m, idx);

	ev->name = e->name;
	ev->desc = e->desc;
	ev->code = e->code;
	ev->nmods = 3;
}

void ia64_attr(const struct pfl_model *m, unsigned int idx, unsigned int a, struct pfl_attr *attr)
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

static int threshold(const struct ia64_event *ie, const pfmlib_event_t *e, unsigned int *thres)
{
	*thres = 0;
	for (unsigned int i = 0; i < e->num_masks; i++) {
		if (PFMLIB_MASK_INDEX(e->unit_masks[i]) != 2)
			return pfl_explain(PFMLIB_ERR_UMASK, "%s has no unit masks", ie->name);
		*thres = PFMLIB_MASK_VALUE(e->unit_masks[i]);
		if (*thres > IA64_THRESHOLD_MAX)
			return pfl_explain(PFMLIB_ERR_INVAL, "%s: threshold %u is above %u", ie->name,
					   *thres, IA64_THRESHOLD_MAX);
	}
	return PFMLIB_SUCCESS;
}

static uint64_t pmc_value(const struct ia64_event *e, unsigned int plm, bool pm, unsigned int thres)
{
	return plm | 1 << 5 | (uint64_t)pm << 6 | (uint64_t)e->code << 8 | (uint64_t)thres << 20 |
		(uint64_t)(e->buffer > IA64_BTB ? 0 : e->umask) << 16;
}

/*
 * Returns the bits that only Montecito's PMCs have: the instruction set, which is always IA-64, and
 * the MESI states, bits 27 to 30. An event that counts lines by state counts them in all four.
 */
static uint64_t montecito_bits(const struct ia64_event *e)
{
	return (uint64_t)PFMLIB_ITA2_ISM_IA64 << 24 | (e->mesi ? 0xfULL << 27 : 0);
}

int ia64_encode(const struct pfl_model *m, unsigned int idx, const pfmlib_event_t *e, unsigned int plm,
		unsigned int flags, struct pfl_demand *d)
{
	const struct ia64_event *ie = at(m, idx);
	bool pm = flags & PFMLIB_PFP_SYSTEMWIDE;
	unsigned int thres;
	int ret = threshold(ie, e, &thres);

	if (ret != PFMLIB_SUCCESS)
		return ret;
	d->tag = ie;
	d->nvalues = 1;
	d->values[0] = pmc_value(ie, plm, pm, thres) | (m == &pfl_montecito ? montecito_bits(ie) : 0);
	for (unsigned int i = IA64_FIRST_COUNTER; i < IA64_FIRST_COUNTER + m->ncounters; i++)
		if (ie->counters >> i & 1)
			pfl_demand_counter(d, i, i);
	ia64_share_buffers(m, ie, plm, pm, d);
	return PFMLIB_SUCCESS;
}

/* --- registers ------------------------------------------------------------------------------ */

void ia64_add_range(pfmlib_regmask_t *mask, unsigned int first, unsigned int last)
{
	for (unsigned int i = first; i <= last; i++)
		pfm_regmask_set(mask, i);
}

uint64_t ia64_address(const struct pfl_model *m, bool pmd, unsigned int n)
{
	(void)m, (void)pmd;
	return n;
}

const struct ia64_model *ia64_model(const struct pfl_model *m)
{
	return m == &pfl_itanium ? &ia64_model_itanium :
		m == &pfl_montecito ? &ia64_model_montecito : &ia64_model_itanium2;
}

/* --- dispatch ------------------------------------------------------------------------------- */

int ia64_finish(const struct pfl_model *m, const pfmlib_input_param_t *in, const void *model_in,
		pfmlib_output_param_t *out, void *model_out)
{
	const struct ia64_model *model = ia64_model(m);
	struct ia64_dispatch x = { .model = m, .regs = model, .in = in, .out = out, .model_in = model_in };
	int ret = PFMLIB_SUCCESS;

	if (model_out && !model_in)
		return pfl_explain(PFMLIB_ERR_INVAL, "model output without model input");
	if (model_in)
		model->take(&x);
	if (model_out) {
		memset(model_out, 0, model->out_size);
		x.code_out = (void *)((char *)model_out + model->code_out);
		x.data_out = (void *)((char *)model_out + model->data_out);
	}
	for (unsigned int i = 0; ret == PFMLIB_SUCCESS && i < model->nsteps; i++)
		ret = model->steps[i](&x);
	return ret;
}

bool ia64_pm(const struct ia64_dispatch *x)
{
	return x->in->pfp_flags & PFMLIB_PFP_SYSTEMWIDE;
}

int ia64_add_pmc(struct ia64_dispatch *x, unsigned int num, uint64_t value)
{
	pfmlib_reg_t *reg = pfl_find_pmc(x->out, num);

	if (pfm_regmask_isset(&x->in->pfp_unavail_pmcs, num) || pfl_machine_lacks(x->model, num))
		return pfl_explain(PFMLIB_ERR_NOASSIGN, "PMC %u is needed and not available", num);
	if (!reg)
		reg = &x->out->pfp_pmcs[x->out->pfp_pmc_count++];
	reg->reg_num = num;
	reg->reg_value = value;
	reg->reg_addr = reg->reg_alt_addr = num;
	return PFMLIB_SUCCESS;
}

void ia64_add_pmd(struct ia64_dispatch *x, unsigned int num)
{
	pfmlib_reg_t *reg = &x->out->pfp_pmds[x->out->pfp_pmd_count++];

	reg->reg_num = num;
	reg->reg_addr = reg->reg_alt_addr = num;
}

static int check_event(const struct ia64_dispatch *x, unsigned int i)
{
	const struct ia64_event *e = ia64_of(&x->in->pfp_events[i]);
	bool opcodes = x->opcode[0] || x->opcode[1];
	unsigned int plm = x->in->pfp_events[i].plm;

	if (!e)
		return PFMLIB_SUCCESS;
	if ((x->code.rr_used || x->data.rr_used) && plm && plm != x->in->pfp_dfl_plm)
		return pfl_explain(PFMLIB_ERR_FEATCOMB,
				   "%s: with ranges all events have the default privilege level", e->name);
	if (i < x->model->ncounters && x->counters[i].flags & PFMLIB_ITA2_FL_EVT_NO_QUALCHECK)
		return PFMLIB_SUCCESS;
	if ((x->code.rr_used && !e->irange) || (x->data.rr_used && !e->drange) || (opcodes && !e->opcode))
		return pfl_explain(PFMLIB_ERR_FEATCOMB, "%s cannot be restricted by %s", e->name,
				   x->code.rr_used && !e->irange ? "code ranges" :
				   x->data.rr_used && !e->drange ? "data ranges" : "opcodes");
	return PFMLIB_SUCCESS;
}

int ia64_check_qualifiers(struct ia64_dispatch *x)
{
	int ret = PFMLIB_SUCCESS;

	if ((x->code.rr_used || x->data.rr_used) && !x->code_out)
		return pfl_explain(PFMLIB_ERR_INVAL, "ranges need the model's output structure");
	for (unsigned int i = 0; ret == PFMLIB_SUCCESS && i < x->in->pfp_event_count; i++)
		ret = check_event(x, i);
	return ret;
}

int ia64_tune_counters(struct ia64_dispatch *x)
{
	for (unsigned int i = 0; i < x->in->pfp_event_count && i < x->model->ncounters; i++) {
		const pfmlib_ita2_counter_t *c = &x->counters[i];
		pfmlib_reg_t *reg = pfl_find_pmc(x->out, x->out->pfp_pmds[i].reg_num);

		if (c->thres > IA64_THRESHOLD_MAX || (unsigned int)c->ism > PFMLIB_ITA2_ISM_IA64)
			return pfl_explain(PFMLIB_ERR_INVAL, "counter %u: invalid threshold or instruction set", i);
		if (!reg || !ia64_of(&x->in->pfp_events[i]))
			continue;
		reg->reg_value |= (uint64_t)c->thres << 20 | (uint64_t)c->ism << 24;
	}
	return PFMLIB_SUCCESS;
}
