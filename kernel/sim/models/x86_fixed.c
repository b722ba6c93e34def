// SPDX-License-Identifier: MIT
/*
 * x86_fixed.c - architectural perfmon of Intel's processors: fixed-function counters in addition to
 * the general ones.
 */
#include "sim/models/x86.h"

#define FIXED_OS	1
#define FIXED_USR	2
#define FIXED_PMI	8

static const uint64_t fixed_codes[] = { 0xc0, 0x3c, X86_REF_CYCLES };

bool sim_x86_fixed_takes(unsigned int pmd, uint64_t code)
{
	return pmd < X86_FIXED ? code != X86_REF_CYCLES : code == fixed_codes[pmd - X86_FIXED];
}

bool sim_x86_fixed_decode(const uint64_t *pmcs, unsigned int pmd, uint64_t *code, unsigned int *levels)
{
	uint64_t ctrl;

	if (pmd < X86_FIXED)
		return sim_x86_decode(pmcs, pmd, code, levels);
	ctrl = pmcs[X86_FIXED] >> 4 * (pmd - X86_FIXED);
	sim_x86_fields((ctrl & FIXED_USR ? X86_USR : 0) | (ctrl & FIXED_OS ? X86_OS : 0), code, levels);
	*code = fixed_codes[pmd - X86_FIXED];
	return *levels;
}

uint64_t sim_x86_fixed_encode(unsigned int pmd, uint64_t code, unsigned int levels)
{
	uint64_t ctrl = FIXED_PMI;

	if (pmd < X86_FIXED)
		return sim_x86_encode(pmd, code, levels);
	if (levels >> PFM_SIM_USER & 1)
		ctrl |= FIXED_USR;
	if (levels & ~(1U << PFM_SIM_USER))
		ctrl |= FIXED_OS;
	return ctrl << 4 * (pmd - X86_FIXED);
}

/*
 * Fixed-function counters have no thresholds. pmc is a general counter's PMC if its enable bit is
 * set, and PMC16 if not.
 */
void sim_x86_fixed_filter(const uint64_t *pmcs, uint64_t pmc, uint64_t code, struct sim_filter *f)
{
	if (pmc & X86_EN)
		sim_x86_filter(pmcs, pmc, code, f);
}
