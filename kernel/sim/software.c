// SPDX-License-Identifier: MIT
/*
 * software.c - software counters and virtual PMDs (3.2.2), which are added to the model's
 * registers, and the events that they count here.
 */
#include <stdlib.h>

#include "pmu/software.h"
#include "sim.h"

/* --- the events of the counters ------------------------------------------------------------- */

/*
 * A software counter: whether the computer simulates it, whether it counts time, or which events it
 * counts.
 */
struct counted {
	bool		simulated, time;
	uint64_t	events;
};

#define BIT(event)		(1ULL << SIM_EV_##event)
#define SIM_SW_TIME(NAME)	{ .simulated = true, .time = true }
#define SIM_SW_EVENT(NAME)	{ .simulated = true, .events = BIT(NAME) }
#define SIM_SW_FAULTS(NAME)	{ .simulated = true, .events = BIT(NAME) | BIT(MINOR_FAULTS) | BIT(MAJOR_FAULTS) }
#define SIM_SW_NONE(NAME)	{ .simulated = false }
#define COUNTED(NAME, name, alias, perf, kind, sim, ...)	SIM_SW_##sim(NAME),

static const struct counted counted[PFM_NUM_SW] = { PFM_SOFTWARE_EVENTS(COUNTED) };

bool sim_software_decode(unsigned int pmd, uint64_t pmc, uint64_t *events, unsigned int *levels,
			 bool *time)
{
	*time = counted[pmd - PFM_SW_FIRST].time;
	*events = counted[pmd - PFM_SW_FIRST].events;
	*levels = 0;
	if (pmc & PFM_SW_USER)
		*levels |= 1 << PFM_SIM_USER;
	if (pmc & PFM_SW_KERNEL)
		*levels |= 1 << PFM_SIM_KERNEL | 1 << PFM_SIM_INTR;
	return *levels;
}

/* --- registers ------------------------------------------------------------------------------ */

/* The clock of the simulated computer starts at the beginning of 1970. */
static uint64_t read_realtime(struct pfm_context *ctx, const struct pfm_where *where)
{
	return where ? where->tstamp : sim_of(ctx)->now;
}

static uint64_t read_cpu(struct pfm_context *ctx, const struct pfm_where *where)
{
	const struct sim_ctx *sc = sim_ctx_of(ctx);

	if (where)
		return where->cpu;
	return sc->target ? sc->target->cpu : ctx->cpu;
}

static int check_pmc(struct pfm_context *ctx, struct pfm_set *set, uint16_t num, uint64_t *value)
{
	const struct pfm_pmu *pmu = sim_of(ctx)->hw;

	if (num >= PFM_SW_FIRST && num <= PFM_SW_LAST)
		return pfm_software_check_pmc(num, *value);
	return pmu->check_pmc ? pmu->check_pmc(ctx, set, num, value) : 0;
}

static bool is_simulated(const struct pfm_reg *reg)
{
	return reg->num < PFM_SW_FIRST || reg->num > PFM_SW_LAST || counted[reg->num - PFM_SW_FIRST].simulated;
}

/* Removes the registers of software events that the computer does not simulate. */
static void remove_others(struct pfm_reg *regs, uint16_t *n)
{
	uint16_t kept = 0;

	for (uint16_t i = 0; i < *n; i++)
		if (is_simulated(&regs[i]))
			regs[kept++] = regs[i];
	*n = kept;
}

/* Appends the hardware's registers with numbers from first up to last. */
static void append(struct pfm_reg *to, uint16_t *n, const struct pfm_reg *from, uint16_t num_from,
		   unsigned int first, unsigned int last)
{
	for (uint16_t i = 0; i < num_from; i++)
		if (from[i].num >= first && from[i].num <= last)
			to[(*n)++] = from[i];
}

bool sim_pmu_compose(struct pfm_pmu *pmu, const struct pfm_pmu *hw)
{
	struct pfm_reg *pmcs = pfm_os_calloc(hw->num_pmcs + PFM_NUM_SW, sizeof(*pmcs));
	struct pfm_reg *pmds = pfm_os_calloc(hw->num_pmds + PFM_NUM_SW + PFM_NUM_VIRT, sizeof(*pmds));

	*pmu = *hw;
	pmu->pmcs = pmcs;
	pmu->pmds = pmds;
	pmu->num_pmcs = pmu->num_pmds = 0;
	pmu->check_pmc = check_pmc;
	if (!pmcs || !pmds)
		return false;
	append(pmcs, &pmu->num_pmcs, hw->pmcs, hw->num_pmcs, 0, PFM_SW_FIRST - 1);
	append(pmds, &pmu->num_pmds, hw->pmds, hw->num_pmds, 0, PFM_SW_FIRST - 1);
	pfm_software_append(pmcs, &pmu->num_pmcs, pmds, &pmu->num_pmds, read_realtime, read_cpu);
	remove_others(pmcs, &pmu->num_pmcs);
	remove_others(pmds, &pmu->num_pmds);
	append(pmcs, &pmu->num_pmcs, hw->pmcs, hw->num_pmcs, PFM_VIRT_LAST + 1, PFM_MAX_PMCS);
	append(pmds, &pmu->num_pmds, hw->pmds, hw->num_pmds, PFM_VIRT_LAST + 1, PFM_MAX_PMDS);
	return true;
}

void sim_pmu_discard(struct pfm_pmu *pmu)
{
	pfm_os_free((void *)pmu->pmcs);
	pfm_os_free((void *)pmu->pmds);
}
