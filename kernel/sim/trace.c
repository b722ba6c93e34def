// SPDX-License-Identifier: MIT
/*
 * trace.c - what Itanium 2 keeps of single events: the event address registers for data (PMD2, 3,
 * 17) and instructions (PMD0, 1), and the branch trace buffer (PMD8-16).
 *
 * They hold the last ones, so that after any number of iterations only the end of one is looked at.
 */
#include "sim.h"

#define CODE_IEAR	0x43	/* the events whose restrictions (5.6) hold for the registers */
#define CODE_DEAR	0xc8
#define CODE_BTB	0x11

#define PMC_IEAR	10
#define PMC_DEAR	11
#define PMC_BTB		12

static unsigned int plm_allows(uint64_t pmc, unsigned int level)
{
	return pmc & (level == PFM_SIM_USER ? 8 : 1);
}

static void restricted_as(const struct sim_cpu *cpu, uint64_t code, struct sim_filter *f)
{
	memset(f, 0, sizeof(*f));
	cpu->sim->model->codes->filter(cpu->pmcs, 0, code, f);
}

/* The last site of node with at least that latency at an allowed level; NULL: none. */
static const struct sim_node *last_miss(const struct sim_program *prog, const struct sim_node *node,
					bool data, uint64_t pmc, uint32_t latency, const struct sim_filter *f)
{
	const uint32_t *max = data ? node->max_data : node->max_fetch;
	bool any = false;

	for (unsigned int l = 0; l < PFM_SIM_LEVELS; l++)
		any |= plm_allows(pmc, l) && max[l] > latency;
	if (!any || node->op == PFM_SIM_SITE)
		return any && sim_filter_passes(f, node) ? node : NULL;
	for (uint32_t i = node->num_kids; i-- > 0;) {
		const struct sim_node *kid = &prog->nodes[prog->kids[node->first + i]];
		const struct sim_node *found = last_miss(prog, kid, data, pmc, latency, f);

		if (found)
			return found;
	}
	return NULL;
}

/* Bits 16-19 of PMC11: 4 << n cycles and more. Mode (bits 7, 8) 0: the data cache. */
static void trace_data(struct sim_cpu *cpu, const struct sim_program *prog, const struct sim_node *node)
{
	uint64_t pmc = cpu->pmcs[PMC_DEAR];
	uint32_t threshold = 4U << (pmc >> 16 & 0xf);
	const struct sim_node *miss;
	struct sim_filter f;

	restricted_as(cpu, CODE_DEAR, &f);
	miss = pmc >> 7 & 3 ? NULL : last_miss(prog, node, true, pmc, threshold, &f);
	if (!miss)
		return;
	cpu->pmds[2] = miss->data_addr;
	cpu->pmds[3] = (miss->latency & 0x1fff) | 1ULL << 62;	/* stat: from the data cache */
	cpu->pmds[17] = (miss->ip & ~0xfULL) | 1ULL << 3 | (miss->ip & 3);	/* vl, slot */
}

/* Bits 5-12 of PMC10: a mask of latencies, its lowest 1 says from where on; bit 13: the cache. */
static void trace_fetch(struct sim_cpu *cpu, const struct sim_program *prog, const struct sim_node *node)
{
	uint64_t pmc = cpu->pmcs[PMC_IEAR];
	unsigned int umask = pmc >> 5 & 0xff;
	uint32_t threshold = umask ? 4U << __builtin_ctz(umask) : 0;
	const struct sim_node *miss;
	struct sim_filter f;

	restricted_as(cpu, CODE_IEAR, &f);
	miss = pmc >> 13 & 1 ? last_miss(prog, node, false, pmc, threshold, &f) : NULL;
	if (!miss)
		return;
	cpu->pmds[0] = (miss->ip & ~0x1fULL) | 1;	/* stat: valid */
	cpu->pmds[1] = miss->latency & 0xfff;
}

static void put_branch(struct sim_cpu *cpu, const struct sim_node *site)
{
	unsigned int at = cpu->btb_next * 2;

	cpu->pmds[8 + at] = (site->ip & ~0xfULL) | (site->ip & 3) << 2 | 1;	/* b: a source */
	cpu->pmds[9 + at] = site->target & ~0xfULL;
	cpu->btb_next = (cpu->btb_next + 1) % SIM_BTB;
	if (!cpu->btb_next)
		cpu->btb_full = true;
	cpu->pmds[16] = cpu->btb_next * 2 | (cpu->btb_full ? 8 : 0);
}

struct branches {
	uint64_t		pmc;
	struct sim_filter	filter;
	const struct sim_node	*found[SIM_BTB];	/* the last one first */
	unsigned int		n;
};

static void last_branches(struct branches *b, const struct sim_program *prog, const struct sim_node *node,
			  uint64_t times)
{
	unsigned int before;

	if (!node->branches)
		return;
	if (node->op == PFM_SIM_SITE) {
		if (plm_allows(b->pmc, node->level) && sim_filter_passes(&b->filter, node))
			b->found[b->n++] = node;
		return;
	}
	do {
		before = b->n;
		for (uint32_t i = node->num_kids; i-- > 0 && b->n < SIM_BTB;) {
			const struct sim_node *kid = &prog->nodes[prog->kids[node->first + i]];

			last_branches(b, prog, kid, kid->op == PFM_SIM_LOOP ? kid->count : 1);
		}
	} while (--times && b->n < SIM_BTB && b->n > before);
}

static void trace_branches(struct sim_cpu *cpu, const struct sim_program *prog,
			   const struct sim_node *node, uint64_t n)
{
	struct branches b = { .pmc = cpu->pmcs[PMC_BTB] };

	restricted_as(cpu, CODE_BTB, &b.filter);
	last_branches(&b, prog, node, n);
	while (b.n)
		put_branch(cpu, b.found[--b.n]);
}

void sim_trace(struct sim_cpu *cpu, const struct sim_program *prog, const struct sim_node *node,
	       uint64_t n)
{
	trace_data(cpu, prog, node);
	trace_fetch(cpu, prog, node);
	trace_branches(cpu, prog, node, n);
}
