// SPDX-License-Identifier: MIT
/*
 * current.c - the current model: the forced one, else that of libperfmon's machine if libperfmon is
 * in this process, else the host's.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PFM_NO_MMAP_REDIRECT
#include "perfmon/perfmon.h"
#include "perfmon/sim.h"
#include "model.h"

/*
 * In libpfm.so and libpfm.a these functions are in the same library. Otherwise they are NULL, or
 * those of a libperfmon that was loaded before.
 */
#pragma weak pfm_get_machine
#pragma weak pfm_get_config
#pragma weak pfm_sim_get
#pragma weak pfm_sim_put
#pragma weak pfm_sim_simulates

static const struct pfl_model *current, *forced;
/* NULL: there is no machine, or it was not asked yet */
static const struct pfl_model *machine_model;
static pfm_machine_info_t machine_info;
static pfarg_config_t machine_config;

const struct pfl_model *pfl_current(void)
{
	return current;
}

bool pfl_machine_lacks(const struct pfl_model *m, unsigned int pmc)
{
	return m == machine_model && (pmc >= PFM_MAX_PMCS ||
		!(machine_config.cf_impl_pmcs[pmc / 64] >> pmc % 64 & 1));
}

bool pfl_machine_is_real(const struct pfl_model *m)
{
	return m == machine_model && strncmp(machine_info.name, "sim:", 4) != 0;
}

const char *pfl_why_no_hardware_event(const struct pfl_model *m)
{
	if (m != &pfl_software || m != machine_model)
		return "";
	return machine_info.hw_counters ? ": the machine's PMU has counters, but its events have no names here" :
		": there are no hardware counters";
}

/*
 * Returns true if the simulated machine in use simulates what the counter would count, and also if
 * there is no simulated machine.
 */
static bool simulates(unsigned int pmd, const struct pfm_sim_pmc *pmcs, int n)
{
	struct pfm_sim *(*get)(void) = pfm_sim_get;
	void (*put)(struct pfm_sim *) = pfm_sim_put;
	int (*ask)(struct pfm_sim *, int, const struct pfm_sim_pmc *, int) = pfm_sim_simulates;
	struct pfm_sim *sim;
	bool known;

	if (!get || !put || !ask) {
		get = dlsym(RTLD_DEFAULT, "pfm_sim_get");
		put = dlsym(RTLD_DEFAULT, "pfm_sim_put");
		ask = dlsym(RTLD_DEFAULT, "pfm_sim_simulates");
	}
	sim = get && put && ask ? get() : NULL;
	known = !sim || ask(sim, (int)pmd, pmcs, n) != 0;
	if (sim)
		put(sim);
	return known;
}

const char *pfl_machine_idle(const struct pfl_model *m, const struct pfl_demand *d, const struct pfl_alt *alt)
{
	struct pfm_sim_pmc pmcs[PFL_COUNT(d->values) + PFL_COUNT(d->shared)];
	int n = 0;

	if (m != machine_model || pfl_machine_is_real(m))
		return NULL;
	if (alt->field)
		pmcs[n++] = (struct pfm_sim_pmc){ .num = alt->pmc[0], .value = alt->field };
	for (unsigned int v = 0; !alt->field && v < d->nvalues; v++)
		pmcs[n++] = (struct pfm_sim_pmc){ .num = alt->pmc[v], .value = d->values[v] };
	for (unsigned int s = 0; s < d->nshared; s++)
		pmcs[n++] = (struct pfm_sim_pmc){ .num = d->shared[s].pmc, .value = d->shared[s].value };
	return simulates(alt->pmd, pmcs, n) ? NULL : machine_info.name;
}

/*
 * Returns the model of this processor, or NULL. For an Intel processor libpfm4 also finds its
 * generic model: the one that has more events is used.
 */
static const struct pfl_model *present_model(void)
{
	const struct pfl_model *found = NULL;

	for (unsigned int i = 0; i < pfl_models_count(); i++) {
		const struct pfl_model *m = pfl_model_at(i);

		if (m->present && (!found || m->nevents > found->nevents))
			found = m;
	}
	return found;
}

static const struct pfl_model *host_model(void)
{
	const struct pfl_model *m = present_model();

	return m ? m : &pfl_software;
}

static const struct pfl_model *model_of_machine(const pfm_machine_info_t *info)
{
	const char *colon = strchr(info->name, ':');
	const struct pfl_model *m = NULL;
	char name[32];

	if (colon) {	/* a name such as "sim:k8" or "sim:k8,live" */
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(colon + 1, ","), colon + 1);
		m = pfl_model_named(name);
	}
	if (m)
		return m;
	if (colon || info->hw_counters == 0)	/* a simulated model without a table here */
		return &pfl_software;
	m = present_model();
	if (!m && strcasestr(info->pmu, "armv8"))
		m = pfl_model_named("armv8");
	return m ? m : &pfl_software;
}

/* Looks for libperfmon at run time, because a program need not be linked with it. */
static bool ask_machine(void)
{
	int (*get_machine)(pfm_machine_info_t *) = pfm_get_machine;
	int (*get_config)(pfarg_config_t *) = pfm_get_config;

	if (!get_machine || !get_config) {
		get_machine = dlsym(RTLD_DEFAULT, "pfm_get_machine");
		get_config = dlsym(RTLD_DEFAULT, "pfm_get_config");
	}

	machine_model = NULL;
	if (!get_machine || !get_config || get_machine(&machine_info) < 0)
		return false;
	memset(&machine_config, 0, sizeof(machine_config));
	if (get_config(&machine_config) < 0)
		return false;
	machine_model = model_of_machine(&machine_info);
	return true;
}

/* Returns the model given by libpfm 3's number, or by a name. */
static const struct pfl_model *model_in_text(const char *text)
{
	char *end;
	long type = strtol(text, &end, 0);

	return *text && !*end ? pfl_model_of_type((int)type) : pfl_model_named(text);
}

static int force_from_environment(void)
{
	const char *text = getenv("LIBPFM_FORCE_PMU");

	if (!text)
		return PFMLIB_SUCCESS;
	current = model_in_text(text);
	if (!current)
		return pfl_explain(PFMLIB_ERR_NOTSUPP, "LIBPFM_FORCE_PMU: no PMU model %s", text);
	return PFMLIB_SUCCESS;
}

int pfm_initialize(void)
{
	bool machine;
	int ret;

	pfl_explain_clear();
	pfl_options_init();
	pfl_models_init();
	machine = ask_machine();
	current = forced;
	ret = force_from_environment();
	if (ret != PFMLIB_SUCCESS)
		return ret;
	if (!current)
		current = machine ? machine_model : host_model();
	pfl_verbose("PMU model: %s (%s)", current->name, current->desc);
	return PFMLIB_SUCCESS;
}

static int force(const struct pfl_model *m, const char *given)
{
	if (!m)
		return pfl_explain(PFMLIB_ERR_NOTSUPP, "there is no PMU model %s", given);
	forced = m;
	if (current)
		current = m;
	return PFMLIB_SUCCESS;
}

int pfm_force_pmu(int type)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", type);
	return force(pfl_model_of_type(type), number);
}

int pfm_force_pmu_byname(const char *name)
{
	if (name)
		return force(pfl_model_named(name), name);
	forced = NULL;
	return current ? pfm_initialize() : PFMLIB_SUCCESS;
}
