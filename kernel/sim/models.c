// SPDX-License-Identifier: MIT
/*
 * models.c - the list of models, and the names of events in programs. The meaning of event codes is
 * in models/, a file for each model: the codes are those of the real processors.
 */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "sim.h"

static const char *const names[SIM_EV_NAMED] = {
	"page_faults", "minor_faults", "major_faults", "alignment_faults", "emulation_faults",
	"context_switches", "cpu_migrations",
	"cycles", "instructions", "branches", "branches_taken", "branch_misses",
	"loads", "stores", "fp_ops", "nops", "uops", "stalls",
	"l1d_accesses", "l1d_misses", "l1i_accesses", "l1i_misses",
	"l2_accesses", "l2_misses", "l3_accesses", "l3_misses",
	"dtlb_misses", "itlb_misses", "bus_accesses", "interrupts",
	"dear_events", "iear_events", "branch_events", "prefetches", "prefetches_unused", "forwards",
};

/* --- the models ----------------------------------------------------------------------------- */

#define MODEL(model) { #model, "sim:" #model, &pfm_pmu_##model, &sim_codes_##model },

static const struct sim_model models[] = { PFM_PMU_MODELS(MODEL) };

const struct sim_model *sim_model_at(unsigned int i)
{
	return i < sizeof(models) / sizeof(models[0]) ? &models[i] : NULL;
}

const struct sim_model *sim_model_find(const char *name)
{
	const struct sim_model *m = models;

	for (unsigned int i = 0; *name && (m = sim_model_at(i)) && strcmp(m->name, name); i++)
		;
	return m;
}

/* --- event names ---------------------------------------------------------------------------- */

static int event_refused(const struct pfm_sim *sim, const char *name)
{
	return pfm_refuse(-EINVAL, "no event '%s' (cycles, instructions, ... or a code of %s as 0x5b)",
			  name, sim->model->name);
}

/* Makes an event of this computer from a name that is a code. */
static int named_event(struct pfm_sim *sim, const char *name)
{
	char *end;
	uint64_t code = strtoull(name, &end, 16);

	if (strncasecmp(name, "0x", 2) || !name[2] || *end || code > 0xffff)
		return event_refused(sim, name);
	for (unsigned int i = 0; i < sim->num_named; i++)
		if (sim->codes[i] == code)
			return SIM_EV_NAMED + i;
	if (sim->num_named == SIM_MAX_EVENTS - SIM_EV_NAMED)
		return pfm_refuse(-EINVAL, "too many event codes, at '%s'", name);
	snprintf(sim->named[sim->num_named], sizeof(sim->named[0]), "0x%llx", (unsigned long long)code);
	sim->codes[sim->num_named] = code;
	return SIM_EV_NAMED + sim->num_named++;
}

/* Compares a name with one of names[]: in a, '-' counts as '_', and upper case as lower case. */
static bool same_name(const char *a, const char *b)
{
	for (; *a && *b; a++, b++) {
		char x = *a == '-' ? '_' : *a, y = *b;

		if (x >= 'A' && x <= 'Z')
			x += 'a' - 'A';
		if (x != y)
			return false;
	}
	return *a == *b;
}

int sim_event_find(struct pfm_sim *sim, const char *name)
{
	if (!name)
		return pfm_refuse(-EINVAL, "an event has no name");
	for (int i = 0; i < SIM_EV_NAMED; i++)
		if (same_name(name, names[i]))
			return i;
	return named_event(sim, name);
}

const char *sim_event_name(const struct pfm_sim *sim, unsigned int event)
{
	if (event < SIM_EV_NAMED)
		return names[event];
	return event - SIM_EV_NAMED < sim->num_named ? sim->named[event - SIM_EV_NAMED] : NULL;
}

/*
 * A program may name an event by its code. The event counts where exactly that code is programmed
 * or, if the code has no unit mask, that code with any unit mask.
 */
uint64_t sim_model_events(const struct pfm_sim *sim, uint64_t code)
{
	uint64_t events = 0;

	for (const struct sim_encoding *e = sim->model->codes->encodings; e->mask && !events; e++)
		if ((code & e->mask) == e->code)
			events = 1ULL << e->event;
	for (unsigned int i = 0; i < sim->num_named; i++)
		if (sim->codes[i] == code || sim->codes[i] == (code & sim->model->codes->mask))
			events |= 1ULL << (SIM_EV_NAMED + i);
	return events;
}

/*
 * Returns true if the encoding counts every event of that kind, not only those of marked
 * instructions.
 */
static bool is_of(const struct sim_encoding *e, unsigned int event)
{
	return e->event == event && !(e->by & SIM_BY_MARK);
}

bool sim_model_counts(const struct sim_model *model, unsigned int event)
{
	const struct sim_encoding *e = model->codes->encodings;

	while (e->mask && !is_of(e, event))
		e++;
	return e->mask;
}

int64_t sim_model_code(struct pfm_sim *sim, unsigned int event, unsigned int pmd)
{
	const struct sim_codes *codes = sim->model->codes;
	bool elsewhere = false;

	if (event >= SIM_EV_NAMED)
		return sim->codes[event - SIM_EV_NAMED];
	for (const struct sim_encoding *e = codes->encodings; e->mask; e++) {
		if (!is_of(e, event))
			continue;
		if (!codes->takes || codes->takes(pmd, e->code))
			return e->code;
		elsewhere = true;
	}
	if (elsewhere)
		return pfm_refuse(-EINVAL, "PMD%u cannot count '%s'", pmd, names[event]);
	return pfm_refuse(-EINVAL, "%s has no event code for '%s'", sim->model->name, names[event]);
}
