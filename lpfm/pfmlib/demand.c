// SPDX-License-Identifier: MIT
/* demand.c - the registers that an event demands, without those that are not available. */
#include <string.h>

#include "model.h"

void pfl_demand_counter(struct pfl_demand *d, unsigned int pmc, unsigned int pmd)
{
	struct pfl_alt *alt = &d->alts[d->nalts++];

	memset(alt, 0, sizeof(*alt));
	alt->pmd = pmd;
	alt->pmc[0] = pmc;
	alt->pmc[1] = PFL_NO_PMC;
	pfl_mask_set(&alt->claims, pmc);
}

void pfl_demand_field(struct pfl_demand *d, unsigned int pmc, uint64_t field, unsigned int pmd, unsigned int which)
{
	struct pfl_alt *alt = &d->alts[d->nalts++];

	memset(alt, 0, sizeof(*alt));
	alt->pmd = pmd;
	alt->pmc[0] = pmc;
	alt->pmc[1] = PFL_NO_PMC;
	alt->field = field;
	pfl_mask_set(&alt->claims, PFL_FIELDS + which);
}

static bool lacks(const pfmlib_regmask_t *unavail, const struct pfl_model *m, unsigned int pmc)
{
	return pfm_regmask_isset(unavail, pmc) || pfl_machine_lacks(m, pmc);
}

static bool alt_usable(const struct pfl_alt *alt, const pfmlib_regmask_t *unavail,
		       const struct pfl_model *m)
{
	if (alt->pmc[0] == PFL_NO_PMC)
		return true;
	if (alt->field)
		return !lacks(unavail, m, alt->pmc[0]);
	for (unsigned int i = 0; i < PFL_COUNT(alt->claims.w); i++)
		for (uint64_t w = alt->claims.w[i]; w; w &= w - 1)
			if (lacks(unavail, m, i * 64 + __builtin_ctzll(w)))
				return false;
	return true;
}

static void drop_alts(struct pfl_demand *d, const pfmlib_regmask_t *unavail,
		      const struct pfl_model *m)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < d->nalts; i++)
		if (alt_usable(&d->alts[i], unavail, m))
			d->alts[kept++] = d->alts[i];
	d->nalts = kept;
}

/*
 * Removes the alternatives that a simulated machine does not simulate: their counter would stay at
 * 0, which would be a wrong count.
 */
static int drop_idle(struct pfl_demand *d, const struct pfl_model *m)
{
	const char *machine = NULL;
	unsigned int kept = 0;
	char name[256];

	for (unsigned int i = 0; i < d->nalts; i++) {
		const char *idle = pfl_machine_idle(m, d, &d->alts[i]);

		if (idle)
			machine = idle;
		else
			d->alts[kept++] = d->alts[i];
	}
	d->nalts = kept;
	if (kept || !machine)
		return PFMLIB_SUCCESS;
	pfl_event_text(&d->event, name, sizeof(name));
	return pfl_explain(PFMLIB_ERR_NOTSUPP, "%s is not simulated by %s", name, machine);
}

/* Refuses an event that this processor does not implement. */
static int check_host(const struct pfl_model *m, unsigned int idx, const struct pfl_demand *d)
{
	char name[256];

	if (idx >= m->nevents || !pfl_machine_is_real(m) || !pfl_host_lacks(d->values[0]))
		return PFMLIB_SUCCESS;
	pfl_event_text(&d->event, name, sizeof(name));
	return pfl_explain(PFMLIB_ERR_NOTSUPP, "this processor does not implement %s", name);
}

static int check_shared(const struct pfl_demand *d, const pfmlib_regmask_t *unavail,
			const struct pfl_model *m)
{
	char name[256];

	for (unsigned int i = 0; i < d->nshared; i++) {
		if (!lacks(unavail, m, d->shared[i].pmc))
			continue;
		pfl_event_text(&d->event, name, sizeof(name));
		return pfl_explain(PFMLIB_ERR_NOASSIGN, "%s needs PMC %u, which is not available",
				   name, d->shared[i].pmc);
	}
	return PFMLIB_SUCCESS;
}

static int encode(const struct pfl_model *m, unsigned int idx, const pfmlib_event_t *e,
		  const pfmlib_input_param_t *in, struct pfl_demand *d)
{
	unsigned int plm = e->plm ? e->plm : in->pfp_dfl_plm;

	if (plm == 0 || plm & ~0xfU)
		return pfl_explain(PFMLIB_ERR_INVAL, "invalid privilege level mask 0x%x", plm);
	if (e->num_masks > PFMLIB_MAX_MASKS_PER_EVENT)
		return pfl_explain(PFMLIB_ERR_TOOMANY, "%u unit masks, at most %u can be given",
				   e->num_masks, PFMLIB_MAX_MASKS_PER_EVENT);
	if (idx < m->nevents)
		return m->ops->encode(m, idx, e, plm, in->pfp_flags, d);
	if (e->num_masks)
		return pfl_explain(PFMLIB_ERR_UMASK, "a software counter has no unit masks");
	return pfl_software_encode(idx - m->nevents, plm, d);
}

int pfl_demand_fill(const struct pfl_model *m, unsigned int idx, const pfmlib_event_t *e,
		    const pfmlib_input_param_t *in, struct pfl_demand *d)
{
	char name[256];
	int ret;

	memset(d, 0, sizeof(*d));
	d->event = *e;
	ret = encode(m, idx, e, in, d);
	if (ret != PFMLIB_SUCCESS)
		return ret;
	ret = check_host(m, idx, d);
	if (ret == PFMLIB_SUCCESS)
		ret = drop_idle(d, m);
	if (ret == PFMLIB_SUCCESS)
		ret = check_shared(d, &in->pfp_unavail_pmcs, m);
	if (ret != PFMLIB_SUCCESS)
		return ret;
	drop_alts(d, &in->pfp_unavail_pmcs, m);
	if (d->nalts)
		return PFMLIB_SUCCESS;
	pfl_event_text(e, name, sizeof(name));
	return pfl_explain(PFMLIB_ERR_NOASSIGN, "no counter that %s can use is available", name);
}
