// SPDX-License-Identifier: MIT
/*
 * software.c - the software counters and virtual registers, which follow every model's own events.
 */
#include <string.h>

#include "model.h"
#include "pmu/software.h"

struct sw_event {
	const char	*name, *desc;
	unsigned int	num;
};

#define EVENT(NAME, name, alias, perf, kind, sim, text)	{ #NAME, text, PFM_SW_##NAME },

static const struct sw_event events[] = {
	PFM_SOFTWARE_EVENTS(EVENT)
	{ "TSTAMP", "the machine's clock in nanoseconds, not a counter", PFM_VIRT_TSTAMP },
	{ "REALTIME", "nanoseconds since 1970, not a counter", PFM_VIRT_REALTIME },
	{ "TID", "the thread's id, not a counter", PFM_VIRT_TID },
	{ "PID", "the process's id, not a counter", PFM_VIRT_PID },
	{ "CPU", "the CPU's number, not a counter", PFM_VIRT_CPU },
};

static bool is_counter(const struct sw_event *e)
{
	return e->num <= PFM_SW_LAST;
}

unsigned int pfl_software_count(void)
{
	return PFL_COUNT(events);
}

void pfl_software_event(unsigned int i, struct pfl_event *ev)
{
	memset(ev, 0, sizeof(*ev));
	ev->name = events[i].name;
	ev->desc = events[i].desc;
	ev->code = events[i].num;
}

int pfl_software_encode(unsigned int i, unsigned int plm, struct pfl_demand *d)
{
	const struct sw_event *e = &events[i];
	struct pfl_alt *alt = &d->alts[d->nalts++];

	if (is_counter(e) && pfm_software_kind(e->num) == PFM_SW_IS_KERNEL && !(plm & PFM_SW_KERNEL))
		return pfl_explain(PFMLIB_ERR_INVAL,
				   "%s occur in the kernel alone: they cannot be counted at user level",
				   e->name);
	alt->pmd = e->num;
	alt->pmc[0] = is_counter(e) ? e->num : PFL_NO_PMC;
	alt->pmc[1] = PFL_NO_PMC;
	pfl_mask_set(&alt->claims, e->num);
	d->nvalues = is_counter(e);
	d->values[0] = plm & (PFM_SW_USER | PFM_SW_KERNEL);
	return PFMLIB_SUCCESS;
}

void pfl_software_registers(pfmlib_regmask_t *pmcs, pfmlib_regmask_t *pmds)
{
	for (unsigned int i = 0; i < PFL_COUNT(events); i++) {
		pfm_regmask_set(pmds, events[i].num);
		if (is_counter(&events[i]))
			pfm_regmask_set(pmcs, events[i].num);
	}
}

const char *pfl_software_register(unsigned int num)
{
	for (unsigned int i = 0; i < PFL_COUNT(events); i++)
		if (events[i].num == num)
			return events[i].name;
	return NULL;
}

/* Without hardware counters, these are the counters that a program of libpfm 3 finds. */
static void counters_alone(const struct pfl_model *m, pfmlib_regmask_t *pmcs, pfmlib_regmask_t *pmds,
			   pfmlib_regmask_t *counters)
{
	(void)m, (void)pmcs, (void)pmds;
	for (unsigned int i = 0; i < PFL_COUNT(events); i++)
		if (is_counter(&events[i]))
			pfm_regmask_set(counters, events[i].num);
}

static const struct pfl_ops software_ops = {
	.registers = counters_alone,
};

struct pfl_model pfl_software = {
	.name = "software",
	.desc = "software events alone",
	.type = PFMLIB_SOFTWARE_PMU,
	.width = 64,
	.ops = &software_ops,
};
