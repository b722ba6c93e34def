// SPDX-License-Identifier: MIT
/*
 * branches.c - finds the last branches of a program, for Itanium's branch buffer and Intel's branch
 * records.
 */
#include "sim/sim.h"

static void last_branches(struct sim_branches *b, const struct sim_program *prog, const struct sim_node *node,
			  uint64_t times)
{
	unsigned int before;

	if (!node->branches)
		return;
	if (node->op == PFM_SIM_SITE) {
		if (b->wanted[node->level] >> node->branch & 1 && sim_filter_passes(&b->filter, node))
			b->found[b->n++] = node;
		return;
	}
	do {
		before = b->n;
		for (uint32_t i = node->num_kids; i-- > 0 && b->n < SIM_BRANCHES;) {
			const struct sim_node *kid = &prog->nodes[prog->kids[node->first + i]];

			last_branches(b, prog, kid, kid->op == PFM_SIM_LOOP ? kid->count : 1);
		}
	} while (--times && b->n < SIM_BRANCHES && b->n > before);
}

void sim_last_branches(const struct sim_cpu *cpu, const struct sim_program *prog, const struct sim_node *node,
		       uint64_t n, struct sim_branches *b)
{
	for (unsigned int level = 0; level < PFM_SIM_LEVELS; level++) {
		struct sim_wanted wanted = { 0 };

		cpu->sim->model->codes->wanted(cpu, level, &wanted);
		b->wanted[level] = wanted.branches;
	}
	last_branches(b, prog, node, n);
}
