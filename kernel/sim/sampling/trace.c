// SPDX-License-Identifier: MIT
/*
 * trace.c - registers of Itanium processors that record single executions: the event address
 * registers for data and instructions, and the branch trace buffer (Montecito: execution trace
 * buffer). codes->traces has the numbers of their registers; on Itanium 2 they are PMD2, 3, 17;
 * PMD0, 1; and PMD8-16, programmed by PMC11, 10 and 12.
 *
 * They hold the last executions that they record. So of any number of iterations only the end of
 * the last one is examined. layout.c knows the bits of the registers. A TLB has one level here and
 * is filled by the VHPT walker, and there is no ALAT and no prefetch buffer (RAB) that could miss.
 */
#include "sim/sim.h"

static unsigned int plm_allows(uint64_t pmc, unsigned int level)
{
	return pmc & (level == PFM_SIM_USER ? 8 : 1);
}

/* --- the executions that the registers select ------------------------------------------------- */

static const struct sim_traces *traces_of(const struct sim_cpu *cpu)
{
	return cpu->sim->model->codes->traces;
}

void sim_trace_wanted(const struct sim_cpu *cpu, unsigned int level, struct sim_wanted *wanted)
{
	const struct sim_traces *at = traces_of(cpu);
	const uint64_t *pmcs = cpu->pmcs;
	struct sim_ear data = at->layout->data(pmcs[at->data.pmc]), fetch = at->layout->fetch(pmcs[at->fetch.pmc]);
	uint64_t branch = pmcs[at->branch.pmc];

	if (plm_allows(pmcs[at->data.pmc], level)) {
		wanted->data = data.threshold;
		wanted->walks |= data.walks ? SIM_WALK_DATA : 0;
	}
	if (plm_allows(pmcs[at->fetch.pmc], level)) {
		wanted->fetch = fetch.threshold;
		wanted->walks |= fetch.walks ? SIM_WALK_FETCH : 0;
	}
	for (unsigned int b = 0; plm_allows(branch, level) && b < SIM_KINDS; b++)
		wanted->branches |= at->layout->branch(branch, b) << b;
}

/* --- address registers ------------------------------------------------------------------------ */

static void restricted_as(const struct sim_cpu *cpu, uint64_t code, struct sim_filter *f)
{
	memset(f, 0, sizeof(*f));
	cpu->sim->model->codes->filter(cpu->pmcs, 0, code, f);
}

/*
 * Returns the last site of node with at least that latency at an allowed level; NULL: there is
 * none.
 */
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

/*
 * Returns the site if it missed the TLB. Only sites that are executed one by one have this
 * information.
 */
static const struct sim_node *walk(const struct sim_node *node, unsigned int kind, uint64_t pmc,
				   const struct sim_filter *f)
{
	return node->walks & kind && plm_allows(pmc, node->level) && sim_filter_passes(f, node) ? node : NULL;
}

/* Returns the miss that a register with this PMC records at the node; NULL if there is none. */
static const struct sim_node *recorded(const struct sim_cpu *cpu, const struct sim_program *prog,
				       const struct sim_node *node, bool data, uint64_t pmc, uint64_t code,
				       struct sim_ear ear)
{
	struct sim_filter f;

	restricted_as(cpu, code, &f);
	if (ear.threshold != SIM_NO_LATENCY)
		return last_miss(prog, node, data, pmc, ear.threshold, &f);
	return ear.walks ? walk(node, data ? SIM_WALK_DATA : SIM_WALK_FETCH, pmc, &f) : NULL;
}

static void trace_data(struct sim_cpu *cpu, const struct sim_program *prog, const struct sim_node *node)
{
	const struct sim_traces *at = traces_of(cpu);
	uint64_t pmc = cpu->pmcs[at->data.pmc];
	struct sim_ear ear = at->layout->data(pmc);
	const struct sim_node *miss = recorded(cpu, prog, node, true, pmc, at->data.code, ear);

	if (!miss)
		return;
	cpu->pmds[at->data.addr] = miss->data_addr;
	at->layout->put_data(miss, ear.walks, &cpu->pmds[at->data.latency], &cpu->pmds[at->data.ip]);
}

static void trace_fetch(struct sim_cpu *cpu, const struct sim_program *prog, const struct sim_node *node)
{
	const struct sim_traces *at = traces_of(cpu);
	uint64_t pmc = cpu->pmcs[at->fetch.pmc];
	struct sim_ear ear = at->layout->fetch(pmc);
	const struct sim_node *miss = recorded(cpu, prog, node, false, pmc, at->fetch.code, ear);

	if (miss)
		at->layout->put_fetch(miss, ear.walks, &cpu->pmds[at->fetch.addr], &cpu->pmds[at->fetch.latency]);
}

/* --- branch buffer --------------------------------------------------------------------------- */

/*
 * Stores a value in the next register of the buffer, and updates the index register: it says which
 * register is next, and whether all have been written.
 */
static void put_register(struct sim_cpu *cpu, uint64_t value)
{
	const struct sim_traces *at = traces_of(cpu);
	uint64_t *index = &cpu->pmds[at->branch.index], full = 1ULL << at->branch.full;
	unsigned int next = *index % at->branch.size;

	cpu->pmds[at->branch.first + next] = value;
	*index = (next + 1) % at->branch.size | (next + 1 == at->branch.size ? full : *index & full);
}

/*
 * Stores a branch in one or two registers. The first has its address, bit 0 set, in bits 2-3 its
 * slot or 3 if it was not taken, and bit 1 set if it was mispredicted. The second has the target,
 * with bit 1 set, if the branch was taken.
 */
static void put_branch(struct sim_cpu *cpu, const struct sim_node *site)
{
	uint64_t slot = site->branch & SIM_TAKEN ? site->ip & 3 : 3;

	put_register(cpu, (site->ip & ~0xfULL) | slot << 2 | (site->branch & SIM_WRONG ? 2 : 0) | 1);
	if (site->branch & SIM_TAKEN)
		put_register(cpu, (site->target & ~0xfULL) | 2);
}

static void trace_branches(struct sim_cpu *cpu, const struct sim_program *prog,
			   const struct sim_node *node, uint64_t n)
{
	struct sim_branches b = { .n = 0 };

	restricted_as(cpu, traces_of(cpu)->branch.code, &b.filter);
	sim_last_branches(cpu, prog, node, n, &b);
	while (b.n)
		put_branch(cpu, b.found[--b.n]);
}

void sim_trace(struct sim_cpu *cpu, const struct sim_program *prog, const struct sim_node *node, uint64_t n)
{
	trace_data(cpu, prog, node);
	trace_fetch(cpu, prog, node);
	trace_branches(cpu, prog, node, n);
}
