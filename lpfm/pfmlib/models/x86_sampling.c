// SPDX-License-Identifier: MIT
/*
 * x86_sampling.c - what libpfm 3's own structures of x86 models say apart from events: precise
 * samples (PEBS) of Core and Nehalem, Nehalem's last branch records, AMD's instruction-based
 * sampling (IBS). It becomes PMCs and PMDs.
 */
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "perfmon/pfmlib_amd64.h"
#include "perfmon/pfmlib_core.h"
#include "perfmon/pfmlib_intel_nhm.h"

/* Sets a PMC, and replaces the value that an event has given it. */
static int put_pmc(const struct pfl_model *m, const pfmlib_input_param_t *in, pfmlib_output_param_t *out,
		   unsigned int num, uint64_t addr, uint64_t value)
{
	pfmlib_reg_t *reg = pfl_find_pmc(out, num);

	if (pfm_regmask_isset((pfmlib_regmask_t *)&in->pfp_unavail_pmcs, num) || pfl_machine_lacks(m, num))
		return pfl_explain(PFMLIB_ERR_NOASSIGN, "PMC %u is needed and not available", num);
	if (!reg)
		reg = &out->pfp_pmcs[out->pfp_pmc_count++];
	reg->reg_num = num;
	reg->reg_value = value;
	reg->reg_addr = reg->reg_alt_addr = addr;
	return PFMLIB_SUCCESS;
}

static void add_pmd(pfmlib_output_param_t *out, unsigned int num, uint64_t addr)
{
	pfmlib_reg_t *reg = &out->pfp_pmds[out->pfp_pmd_count++];

	reg->reg_num = num;
	reg->reg_addr = reg->reg_alt_addr = addr;
}

/* --- precise samples ------------------------------------------------------------------------ */

#define PEBS_ENABLE	17	/* numbers of PMCs */
#define PEBS_LD_LAT	18
#define LATENCY_EVENT	0x100b	/* the code of MEM_INST_RETIRED:LATENCY_ABOVE_THRESHOLD */

static bool core_samples(const struct pfl_model *m, const void *model_in)
{
	return m->type == PFMLIB_CORE_PMU && ((const pfmlib_core_input_param_t *)model_in)->pfp_core_pebs.pebs_used;
}

/* Core samples only one event precisely: the first that can be. */
static bool is_first_of_core(const pfmlib_input_param_t *in, unsigned int i)
{
	for (unsigned int before = 0; before < i; before++)
		if (pfm_core_is_pebs((pfmlib_event_t *)&in->pfp_events[before]))
			return false;
	return pfm_core_is_pebs((pfmlib_event_t *)&in->pfp_events[i]);
}

/*
 * On Core only counter 0 samples precisely, so the event loses its other alternatives. On
 * Nehalem all general counters do, and precise events have no alternatives on other counters.
 */
void pfl_x86_narrow(const struct pfl_model *m, const pfmlib_input_param_t *in, const void *model_in, unsigned int i,
		    struct pfl_demand *d)
{
	unsigned int kept = 0;

	if (!core_samples(m, model_in) || !is_first_of_core(in, i))
		return;
	for (unsigned int a = 0; a < d->nalts; a++)
		if (d->alts[a].pmd == 0)
			d->alts[kept++] = d->alts[a];
	d->nalts = kept;
}

static int core_pebs(const struct pfl_model *m, const pfmlib_input_param_t *in, pfmlib_output_param_t *out)
{
	for (unsigned int i = 0; i < in->pfp_event_count; i++)
		if (is_first_of_core(in, i))
			return put_pmc(m, in, out, PEBS_ENABLE, 0x3f1, 1);
	return PFMLIB_SUCCESS;
}

static int nhm_pebs(const struct pfl_model *m, const pfmlib_input_param_t *in, const pfmlib_nhm_pebs_t *pebs,
		    pfmlib_output_param_t *out)
{
	uint64_t records = 0, latencies = 0;
	int ret;

	for (unsigned int i = 0; i < in->pfp_event_count; i++) {
		unsigned int pmd = out->pfp_pmds[i].reg_num;
		const pfmlib_reg_t *event = pfl_find_pmc(out, pmd);

		if (!event || !pfm_nhm_is_pebs((pfmlib_event_t *)&in->pfp_events[i]))
			continue;
		records |= 1ULL << pmd;
		if (pebs->ld_lat_thres && (event->reg_value & 0xffff) == LATENCY_EVENT)
			latencies |= 1ULL << (32 + pmd);
	}
	if (!records)
		return PFMLIB_SUCCESS;
	if (latencies && (pebs->ld_lat_thres < 3 || pebs->ld_lat_thres > 0xffff))
		return pfl_explain(PFMLIB_ERR_INVAL, "ld_lat_thres %u, from 3 to 65535 can be given",
				   pebs->ld_lat_thres);
	ret = put_pmc(m, in, out, PEBS_ENABLE, 0x3f1, records | latencies);
	if (ret == PFMLIB_SUCCESS && latencies)
		ret = put_pmc(m, in, out, PEBS_LD_LAT, 0x3f6, pebs->ld_lat_thres);
	return ret;
}

/* --- last branch records -------------------------------------------------------------------- */

#define LBR_SELECT	30	/* the number of a PMC */
#define LBR_TOS		31	/* the number of a PMD, which the pairs follow */
#define LBR_PAIRS	16

static int nhm_lbr(const struct pfl_model *m, const pfmlib_input_param_t *in, const pfmlib_nhm_lbr_t *lbr,
		   pfmlib_output_param_t *out)
{
	unsigned int plm = lbr->lbr_plm ? lbr->lbr_plm : in->pfp_dfl_plm;
	uint64_t select = lbr->lbr_filter | (plm & PFM_PLM0 ? 0 : 1) | (plm & PFM_PLM3 ? 0 : 2);
	int ret;

	if (lbr->lbr_filter & ~PFMLIB_NHM_LBR_ALL)
		return pfl_explain(PFMLIB_ERR_INVAL, "unknown lbr_filter 0x%x", lbr->lbr_filter);
	ret = put_pmc(m, in, out, LBR_SELECT, 0x1c8, select);
	if (ret != PFMLIB_SUCCESS)
		return ret;
	add_pmd(out, LBR_TOS, 0x1c9);
	for (unsigned int i = 0; i < LBR_PAIRS; i++) {
		add_pmd(out, LBR_TOS + 1 + 2 * i, 0x680 + i);
		add_pmd(out, LBR_TOS + 2 + 2 * i, 0x6c0 + i);
	}
	return PFMLIB_SUCCESS;
}

static int finish_nhm(const struct pfl_model *m, const pfmlib_input_param_t *in, const pfmlib_nhm_input_param_t *mod,
		      pfmlib_output_param_t *out)
{
	int ret = PFMLIB_SUCCESS;

	if (mod->pfp_nhm_pebs.pebs_used)
		ret = nhm_pebs(m, in, &mod->pfp_nhm_pebs, out);
	if (ret == PFMLIB_SUCCESS && mod->pfp_nhm_lbr.lbr_used)
		ret = nhm_lbr(m, in, &mod->pfp_nhm_lbr, out);
	return ret;
}

/* --- instruction-based sampling ------------------------------------------------------------- */

#define IBS_MAXCNT	0xfffff	/* a period; its lowest four bits are 0 */

/* Adds a control register as PMC and as PMD; *base receives the index of that PMD. */
static int add_ibs(const struct pfl_model *m, const pfmlib_input_param_t *in, const ibs_param_t *ibs, uint64_t bits,
		   unsigned int pmc, unsigned int pmd, uint64_t addr, pfmlib_output_param_t *out, uint32_t *base)
{
	int ret;

	if (ibs->maxcnt > IBS_MAXCNT)
		return pfl_explain(PFMLIB_ERR_INVAL, "maxcnt %u has more than 20 bits", ibs->maxcnt);
	ret = put_pmc(m, in, out, pmc, addr, bits | ibs->maxcnt >> 4);
	*base = out->pfp_pmd_count;
	if (ret == PFMLIB_SUCCESS)
		add_pmd(out, pmd, addr);
	return ret;
}

static int finish_amd64(const struct pfl_model *m, const pfmlib_input_param_t *in,
			const pfmlib_amd64_input_param_t *mod, pfmlib_output_param_t *out,
			pfmlib_amd64_output_param_t *mod_out)
{
	uint64_t random = mod->ibsfetch.options & IBS_OPTIONS_RANDEN ? 1ULL << 57 : 0;
	uint64_t ops = mod->ibsop.options & IBS_OPTIONS_UOPS ? 1ULL << 19 : 0;
	int ret = PFMLIB_SUCCESS;

	if (!mod->flags)
		return ret;
	if (!mod_out)
		return pfl_explain(PFMLIB_ERR_INVAL, "instruction-based sampling needs a model output");
	if (!strstr(m->name, "fam10h"))
		return pfl_explain(PFMLIB_ERR_BADHOST, "%s has no instruction-based sampling", m->name);
	if (mod->flags & PFMLIB_AMD64_USE_IBSFETCH)
		ret = add_ibs(m, in, &mod->ibsfetch, random | 1ULL << 48, 4, 4, 0xc0011030, out,
			      &mod_out->ibsfetch_base);
	if (ret == PFMLIB_SUCCESS && mod->flags & PFMLIB_AMD64_USE_IBSOP)
		ret = add_ibs(m, in, &mod->ibsop, ops | 1ULL << 17, 5, 7, 0xc0011033, out, &mod_out->ibsop_base);
	return ret;
}

/* --- finish(), and names of data sources ---------------------------------------------------- */

int pfl_x86_finish(const struct pfl_model *m, const pfmlib_input_param_t *in, const void *model_in,
		   pfmlib_output_param_t *out, void *model_out)
{
	if (model_out && !model_in)
		return pfl_explain(PFMLIB_ERR_INVAL, "%s has no output of its own without input", m->name);
	if (!model_in)
		return PFMLIB_SUCCESS;
	switch (m->type) {
	case PFMLIB_AMD64_PMU:
		return finish_amd64(m, in, model_in, out, model_out);
	case PFMLIB_CORE_PMU:
		return core_samples(m, model_in) ? core_pebs(m, in, out) : PFMLIB_SUCCESS;
	case PFMLIB_INTEL_NHM_PMU:
	case PFMLIB_INTEL_WSM_PMU:
		return finish_nhm(m, in, model_in, out);
	default:
		return PFMLIB_SUCCESS;
	}
}

int pfm_nhm_data_src_desc(unsigned int val, char **desc)
{
	static const char *const sources[] = {
		"L3 miss of unknown kind", "L1 data cache", "line that is being fetched already", "L2",
		"L3, no other core had it", "L3, another core had it unchanged", "L3, another core had changed it",
		"reserved", "L3 miss, from another package's caches", "reserved", "local memory, then shared",
		"remote memory, then shared", "local memory, then exclusive", "remote memory, then exclusive",
		"reserved", "uncacheable memory",
	};

	if (val >= PFL_COUNT(sources) || !desc)
		return PFMLIB_ERR_INVAL;
	*desc = strdup(sources[val]);
	return *desc ? PFMLIB_SUCCESS : PFMLIB_ERR_NOMEM;
}
