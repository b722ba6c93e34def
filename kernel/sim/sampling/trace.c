// SPDX-License-Identifier: MIT
/*
 * trace.c - what Itanium processors keep of single events: the event address registers for data and instructions, and
 * the branch trace buffer (Montecito: execution trace buffer). Where they are, codes->traces says; in Itanium 2: PMD2,
 * 3, 17; PMD0, 1; PMD8-16, programmed by PMC11, 10 and 12.
 *
 * They hold the last ones, so that after any number of iterations only the end of one is looked at. The layouts are
 * those of Intel's reference manuals for software development (251110, 308065); a TLB has one level here and is filled
 * by the VHPT walker, and there is no ALAT and no prefetch buffer (RAB) that could miss.
 */
#include "sim/sim.h"

#define STAT_CACHE	1ULL
#define STAT_VHPT	2ULL

static unsigned int plm_allows(uint64_t pmc, unsigned int level)
{
	return pmc & (level == PFM_SIM_USER ? 8 : 1);
}

/* --- what they ask for ------------------------------------------------------------------------ */

#define NEVER	SIM_NO_LATENCY

/* Bits 7, 8 of PMC11, the mode, are 0: misses of the data cache; bits 16-19: from 4 << n cycles on. */
static uint32_t data_threshold(uint64_t pmc)
{
	return pmc >> 7 & 3 ? NEVER : 4U << (pmc >> 16 & 0xf);
}

/* Mode 1: misses of the TLB, those that the VHPT walker served if bit 18 is set. */
static bool wants_data_walks(uint64_t pmc)
{
	return (pmc >> 7 & 3) == 1 && pmc >> 18 & 1;
}

/* Bit 13 of PMC10: misses of the cache; bits 5-12, all those from the lowest 1 on being set, say how long. */
static uint32_t fetch_threshold(uint64_t pmc)
{
	static const uint32_t cycles[] = { 4, 8, 16, 32, 128, 256, 1024, 4096 };
	unsigned int umask = pmc >> 5 & 0xff;

	if (!(pmc >> 13 & 1) || !umask)
		return NEVER;
	return umask == 0x40 ? 1 : cycles[__builtin_ctz(umask)];
}

/* Else misses of the TLB; bit 6: those that the walker served. */
static bool wants_fetch_walks(uint64_t pmc)
{
	return !(pmc >> 13 & 1) && pmc >> 6 & 1;
}

/* Two bits of PMC12: the upper one lets pass what is so, the lower one what is not. */
static bool lets_pass(uint64_t pmc, unsigned int shift, bool so)
{
	return pmc >> (shift + so) & 1;
}

/*
 * Bits 8, 9 of PMC12: taken; 10, 11: target predicted rightly; 12, 13: so was whether it is taken; 14, 15: the type, 0
 * all, 1 relative, 2 returns (there are none), 3 indirect. Without any of bits 8-13 the processor would keep nothing;
 * this one keeps all, as if all were set.
 */
static bool wants_branch(uint64_t pmc, unsigned int branch)
{
	bool wrong = branch & SIM_WRONG, indirect = branch & SIM_INDIRECT;
	unsigned int type = pmc >> 14 & 3;

	if (type && type != (indirect ? 3 : 1))
		return false;
	if (!(pmc >> 8 & 0x3f))
		return true;
	return lets_pass(pmc, 8, branch & SIM_TAKEN) && lets_pass(pmc, 10, !wrong || !indirect) &&
	       lets_pass(pmc, 12, !wrong || indirect);
}

void sim_trace_wanted(const struct sim_codes *codes, const uint64_t *pmcs, unsigned int level,
		      struct sim_wanted *wanted)
{
	const struct sim_traces *at = codes->traces;
	uint64_t data = pmcs[at->data.pmc], fetch = pmcs[at->fetch.pmc], branch = pmcs[at->branch.pmc];

	if (plm_allows(data, level)) {
		wanted->data = data_threshold(data);
		wanted->walks |= wants_data_walks(data) ? SIM_WALK_DATA : 0;
	}
	if (at->fetch.pmc && plm_allows(fetch, level)) {
		wanted->fetch = fetch_threshold(fetch);
		wanted->walks |= wants_fetch_walks(fetch) ? SIM_WALK_FETCH : 0;
	}
	for (unsigned int b = 0; plm_allows(branch, level) && b < 8; b++)
		wanted->branches |= wants_branch(branch, b) << b;
}

/* --- address registers ------------------------------------------------------------------------ */

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

/* A site that missed the TLB; only those executed one by one say that. */
static const struct sim_node *walk(const struct sim_node *node, unsigned int kind, uint64_t pmc,
				   const struct sim_filter *f)
{
	return node->walks & kind && plm_allows(pmc, node->level) && sim_filter_passes(f, node) ? node : NULL;
}

/* A latency is in so many bits; the next one says that there were more. */
static uint64_t latency_field(uint32_t max, unsigned int bits)
{
	uint64_t latency = max ? max - 1 : 0, most = (1ULL << bits) - 1;

	return latency > most ? most | 1ULL << bits : latency;
}

static const struct sim_traces *traces_of(const struct sim_cpu *cpu)
{
	return cpu->sim->model->codes->traces;
}

static void trace_data(struct sim_cpu *cpu, const struct sim_program *prog, const struct sim_node *node)
{
	const struct sim_traces *at = traces_of(cpu);
	uint64_t pmc = cpu->pmcs[at->data.pmc];
	uint32_t threshold = data_threshold(pmc);
	const struct sim_node *miss = NULL;
	struct sim_filter f;

	restricted_as(cpu, at->data.code, &f);
	if (threshold != NEVER)
		miss = last_miss(prog, node, true, pmc, threshold, &f);
	else if (wants_data_walks(pmc))
		miss = walk(node, SIM_WALK_DATA, pmc, &f);
	if (!miss)
		return;
	cpu->pmds[at->data.addr] = miss->data_addr;
	cpu->pmds[at->data.latency] = latency_field(miss->max_data[miss->level], 13) |
		       (threshold == NEVER ? STAT_VHPT : STAT_CACHE) << 14;
	cpu->pmds[at->data.ip] = (miss->ip & ~0xfULL) | 1ULL << 3 | (miss->ip & 3);	/* vl, slot */
}

static void trace_fetch(struct sim_cpu *cpu, const struct sim_program *prog, const struct sim_node *node)
{
	const struct sim_traces *at = traces_of(cpu);
	uint64_t pmc = cpu->pmcs[at->fetch.pmc];
	uint32_t threshold = fetch_threshold(pmc);
	const struct sim_node *miss = NULL;
	struct sim_filter f;

	restricted_as(cpu, at->fetch.code, &f);
	if (threshold != NEVER)
		miss = last_miss(prog, node, false, pmc, threshold, &f);
	else if (wants_fetch_walks(pmc))
		miss = walk(node, SIM_WALK_FETCH, pmc, &f);
	if (!miss)
		return;
	cpu->pmds[at->fetch.addr] = (miss->ip & ~0x1fULL) | (threshold == NEVER ? STAT_VHPT : STAT_CACHE);
	cpu->pmds[at->fetch.latency] = latency_field(miss->max_fetch[miss->level], 12);
}

/* --- branch buffer ------------------------------------------------------------------------------ */

/* The index: which register is next, and whether the last one has been written. */
static void put_register(struct sim_cpu *cpu, uint64_t value)
{
	const struct sim_traces *at = traces_of(cpu);
	uint64_t *index = &cpu->pmds[at->branch.index], full = 1ULL << at->branch.full;
	unsigned int next = *index % at->branch.size;

	cpu->pmds[at->branch.first + next] = value;
	*index = (next + 1) % at->branch.size | (next + 1 == at->branch.size ? full : *index & full);
}

/* The branch: bit 0, its slot or 3 if not taken, bit 1 if predicted wrongly. Then its target, if any, with bit 1. */
static void put_branch(struct sim_cpu *cpu, const struct sim_node *site)
{
	uint64_t slot = site->branch & SIM_TAKEN ? site->ip & 3 : 3;

	put_register(cpu, (site->ip & ~0xfULL) | slot << 2 | (site->branch & SIM_WRONG ? 2 : 0) | 1);
	if (site->branch & SIM_TAKEN)
		put_register(cpu, (site->target & ~0xfULL) | 2);
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
		if (plm_allows(b->pmc, node->level) && wants_branch(b->pmc, node->branch) &&
		    sim_filter_passes(&b->filter, node))
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
	const struct sim_traces *at = traces_of(cpu);
	struct branches b = { .pmc = cpu->pmcs[at->branch.pmc] };

	restricted_as(cpu, at->branch.code, &b.filter);
	last_branches(&b, prog, node, n);
	while (b.n)
		put_branch(cpu, b.found[--b.n]);
}

void sim_trace(struct sim_cpu *cpu, const struct sim_program *prog, const struct sim_node *node,
	       uint64_t n)
{
	trace_data(cpu, prog, node);
	if (traces_of(cpu)->fetch.pmc)
		trace_fetch(cpu, prog, node);
	trace_branches(cpu, prog, node, n);
}
