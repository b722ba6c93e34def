// SPDX-License-Identifier: MIT
/*
 * lbr.c - the last branch records of Core 2 and Nehalem: pairs of registers with source and target
 * of the last taken branches; TOS is the number of the latest pair. They are recorded while a set
 * uses them, and frozen from an overflow to its interrupt (FREEZE_LBRS_ON_PMI). Source: Intel's
 * Software Developer's Manual, volume 3.
 */
#include "sim/sim.h"

/*
 * Bits of LBR_SELECT. They exclude branches at level 0, branches at other levels, conditional
 * branches and indirect jumps. There are no bits for calls, which this computer does not have.
 */
#define SELECT_RING0	1
#define SELECT_OTHERS	2
#define SELECT_JCC	4
#define SELECT_IND_JMP	0x40

#define FROM_ADDR	(~0ULL >> 1)
#define FROM_WRONG	(1ULL << 63)

static bool is_on(const struct sim_cpu *cpu)
{
	const struct sim_lbr *lbr = &cpu->sim->model->codes->lbr;

	return pfm_bit(cpu->ctx->active->used_pmds, lbr->tos) && (!lbr->on || cpu->pmcs[lbr->pmc] & lbr->on);
}

void sim_lbr_wanted(const struct sim_cpu *cpu, unsigned int level, struct sim_wanted *wanted)
{
	const struct sim_lbr *lbr = &cpu->sim->model->codes->lbr;
	uint64_t select = lbr->selects ? cpu->pmcs[lbr->pmc] : 0;

	if (!is_on(cpu) || select & (level == PFM_SIM_USER ? SELECT_OTHERS : SELECT_RING0))
		return;
	for (unsigned int b = 0; b < SIM_KINDS; b++)
		if (b & SIM_TAKEN && !(select & (b & SIM_INDIRECT ? SELECT_IND_JMP : SELECT_JCC)))
			wanted->branches |= 1 << b;
}

static void put(struct sim_cpu *cpu, const struct sim_node *site)
{
	const struct sim_lbr *lbr = &cpu->sim->model->codes->lbr;
	unsigned int top = (cpu->pmds[lbr->tos] + 1) % lbr->size;
	uint64_t *pair = &cpu->pmds[lbr->first + 2 * top];

	cpu->pmds[lbr->tos] = top;
	pair[0] = site->ip;
	if (lbr->selects)
		pair[0] = (site->ip & FROM_ADDR) | (site->branch & SIM_WRONG ? FROM_WRONG : 0);
	pair[1] = site->target;
}

void sim_lbr(struct sim_cpu *cpu, const struct sim_program *prog, const struct sim_node *node, uint64_t n)
{
	struct sim_branches b = { .n = 0 };

	if (!node->branches || !is_on(cpu))
		return;
	sim_last_branches(cpu, prog, node, n, &b);
	while (b.n)
		put(cpu, b.found[--b.n]);
}
