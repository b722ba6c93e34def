// SPDX-License-Identifier: MIT
/* models.c - all PMU models: our own tables, then libpfm4's. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "libpfm4.h"
#include "model.h"

#define MAX_MODELS 256

static const struct pfl_model *models[MAX_MODELS];
static unsigned int nmodels;
static pthread_once_t once = PTHREAD_ONCE_INIT;

#define ADDRESS(model)	&pfl_##model,

static struct pfl_model *const own_models[] = { PFL_OWN_MODELS(ADDRESS) };

static const struct { const char *alias, *name; } aliases[] = {
	{ "k8", "amd64_k8_revg" }, { "amd64", "amd64_k8_revg" },
	{ "p4", "netburst" }, { "em64t", "netburst_p" }, { "pentium4", "netburst" },
	{ "ita2", "itanium2" }, { "i386_p6", "p6" }, { "pentium_m", "pm" }, { "i386_pm", "pm" },
	{ "core2", "core" }, { "nehalem", "nhm" }, { "fam10h", "amd64_fam10h_barcelona" },
	{ "sw", "software" }, { "armv8_pmuv3", "armv8" },
};

static const struct pfl_ops *ops_of(const struct l4_pmu *pmu)
{
	switch (l4_family(pmu)) {
	case L4_X86:		return &pfl_x86_ops;
	case L4_NETBURST:	return &pfl_netburst_ops;
	case L4_ARM:		return &pfl_arm_ops;
	default:		return NULL;
	}
}

static void complete(struct pfl_model *m, const struct l4_pmu *pmu)
{
	pfmlib_regmask_t pmcs = { 0 }, pmds = { 0 }, counters = { 0 };
	int old = l4_old_type(pmu->id);

	m->name = pmu->name;
	m->desc = pmu->desc;
	m->type = old >= 0 ? old : PFMLIB_LIBPFM4_PMU(pmu->id);
	m->nevents = pmu->nevents;
	m->present = pmu->present;
	m->data = pmu;
	m->width = strncmp(pmu->name, "core", 4) == 0 || l4_family(pmu) == L4_NETBURST ? 40 :
		l4_family(pmu) == L4_ARM ? 32 : 48;
	m->ops->registers(m, &pmcs, &pmds, &counters);
	pfm_regmask_weight(&counters, &m->ncounters);
}

static void add_libpfm4_model(int id)
{
	struct l4_pmu *pmu = calloc(1, sizeof(*pmu));
	struct pfl_model *m = calloc(1, sizeof(*m));

	if (pmu && m && l4_core_pmu(id, pmu)) {
		m->ops = ops_of(pmu);
		if (m->ops && nmodels < MAX_MODELS) {
			complete(m, pmu);
			models[nmodels++] = m;
			return;
		}
		free(pmu->ids);
	}
	free(pmu);
	free(m);
}

/* Returns true if libpfm4 has the model, too. Then libpfm4's table is used, and not our own. */
static bool libpfm4_has(const char *name)
{
	for (unsigned int i = 0; i < nmodels; i++)
		if (strcmp(models[i]->name, name) == 0)
			return true;
	return false;
}

static void add_own_model(struct pfl_model *m)
{
	if (libpfm4_has(m->name) || nmodels == MAX_MODELS)
		return;
	if (m->ops->count)
		m->nevents = m->ops->count(m);
	models[nmodels++] = m;
}

static void init(void)
{
	if (l4_init())
		for (int id = 0; id < l4_max_id(); id++)
			add_libpfm4_model(id);
	for (size_t i = 0; i < PFL_COUNT(own_models); i++)
		add_own_model(own_models[i]);
}

void pfl_models_init(void)
{
	pthread_once(&once, init);
}

unsigned int pfl_models_count(void)
{
	pfl_models_init();
	return nmodels;
}

const struct pfl_model *pfl_model_at(unsigned int i)
{
	return i < pfl_models_count() ? models[i] : NULL;
}

unsigned int pfl_model_number(const struct pfl_model *m)
{
	unsigned int i = 0;

	while (models[i] != m)
		i++;
	return i;
}

static const struct pfl_model *exactly_named(const char *name)
{
	for (unsigned int i = 0; i < pfl_models_count(); i++)
		if (pfl_same_name(name, strlen(name), models[i]->name))
			return models[i];
	return NULL;
}

const struct pfl_model *pfl_model_named(const char *name)
{
	const struct pfl_model *m = exactly_named(name);

	for (size_t i = 0; !m && i < PFL_COUNT(aliases); i++)
		if (pfl_same_name(name, strlen(name), aliases[i].alias))
			m = exactly_named(aliases[i].name);
	return m;
}

/*
 * Returns the model with a type number of libpfm 3, or NULL. If several models have the number,
 * returns one that is present. If none of them is present, returns k8 for AMD64, and otherwise the
 * first.
 */
const struct pfl_model *pfl_model_of_type(int type)
{
	const struct pfl_model *found = NULL;

	if (type == PFMLIB_AMD64_PMU)
		found = pfl_model_named("k8");
	for (unsigned int i = 0; i < pfl_models_count(); i++)
		if (models[i]->type == type && (!found || models[i]->present))
			found = models[i];
	return found;
}

/* --- events of a model and of the system ---------------------------------------------------- */

unsigned int pfl_num_events(const struct pfl_model *m)
{
	return m->nevents + pfl_software_count();
}

unsigned int pfl_event_index(const struct pfl_model *m, unsigned int idx)
{
	return m == pfl_current() ? idx : (pfl_model_number(m) + 1) << 16 | idx;
}

int pfl_event_locate(unsigned int event, const struct pfl_model **m, unsigned int *idx)
{
	unsigned int number = event >> 16;

	if (!pfl_current())
		return PFMLIB_ERR_NOINIT;
	*m = number ? pfl_model_at(number - 1) : pfl_current();
	*idx = event & 0xffff;
	if (!*m || *idx >= pfl_num_events(*m))
		return pfl_explain(PFMLIB_ERR_INVAL, "there is no event with index %u", event);
	return PFMLIB_SUCCESS;
}

void pfl_event_get(const struct pfl_model *m, unsigned int idx, struct pfl_event *ev)
{
	if (idx >= m->nevents) {
		pfl_software_event(idx - m->nevents, ev);
		return;
	}
	memset(ev, 0, sizeof(*ev));
	m->ops->event(m, idx, ev);
}

void pfl_attr_get(const struct pfl_model *m, unsigned int idx, unsigned int a, struct pfl_attr *at)
{
	memset(at, 0, sizeof(*at));
	m->ops->attr(m, idx, a, at);
}
