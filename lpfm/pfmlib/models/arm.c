// SPDX-License-Identifier: MIT
/*
 * arm.c - ARM cores that libpfm4 has tables for. PMC/PMD 0 to N-1 are the event counters, 31 the
 * cycle counter, which takes CPU_CYCLES alone.
 */
#include "encode4.h"

#define CYCLE_COUNTER	31
#define CPU_CYCLES	0x11

static int arm_encode(const struct pfl_model *m, unsigned int idx, const pfmlib_event_t *e,
		      unsigned int plm, unsigned int flags, struct pfl_demand *d)
{
	const struct l4_pmu *pmu = m->data;
	uint64_t codes[L4_MAX_CODES];
	unsigned int n;
	int ret = pfl4_codes(m, idx, e, plm, codes, &n);

	(void)flags;
	if (ret != PFMLIB_SUCCESS)
		return ret;
	d->nvalues = 1;
	d->values[0] = codes[0];
	for (unsigned int i = 0; i < pmu->counters && i < PFL_MAX_ALTS - 1; i++)
		pfl_demand_counter(d, i, i);
	if ((codes[0] & 0xffff) == CPU_CYCLES)
		pfl_demand_counter(d, CYCLE_COUNTER, CYCLE_COUNTER);
	return PFMLIB_SUCCESS;
}

static void arm_registers(const struct pfl_model *m, pfmlib_regmask_t *pmcs, pfmlib_regmask_t *pmds,
			  pfmlib_regmask_t *counters)
{
	const struct l4_pmu *pmu = m->data;

	for (unsigned int i = 0; i < pmu->counters && i < CYCLE_COUNTER; i++)
		pfm_regmask_set(counters, i);
	pfm_regmask_set(counters, CYCLE_COUNTER);
	*pmcs = *pmds = *counters;
}

static uint64_t arm_address(const struct pfl_model *m, bool pmd, unsigned int n)
{
	(void)m, (void)pmd;
	return n;
}

const struct pfl_ops pfl_arm_ops = {
	.event = pfl4_event,
	.attr = pfl4_attr,
	.encode = arm_encode,
	.registers = arm_registers,
	.address = arm_address,
};
