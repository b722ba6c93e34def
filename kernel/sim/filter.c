// SPDX-License-Identifier: MIT
/*
 * filter.c - filters of counters: they exclude sites outside of address ranges (5.6) or with other
 * opcodes, and count cycles instead of events: with thresholds, inversion, edges. The length of a
 * site is the number of its cycles. Its events happen in the last cycle, or evenly in the last few
 * (step->spread). So the cycles that reach a threshold are the last ones of a site, and those that
 * do not reach it are the first ones. In either case the cycles that count follow each other.
 */
#include "sim.h"

static bool in_range(const struct sim_range *r, uint64_t addr, unsigned int level)
{
	bool in = !((addr ^ r->addr) & r->mask);

	if (r->fine)
		in = in && addr >= r->addr && (addr & ~0xfULL) <= r->last;
	return r->levels >> level & 1 && in != r->inverted;
}

static bool in_ranges(const struct sim_ranges *ranges, uint64_t addr, unsigned int level)
{
	bool in = !ranges->used;

	for (unsigned int i = 0; i < ranges->n && !in; i++)
		in = in_range(&ranges->at[i], addr, level);
	return in;
}

bool sim_filter_passes(const struct sim_filter *f, const struct sim_node *site)
{
	if ((f->marked && !site->marked) || (f->data.used && !(site->flags & PFM_SIM_DATA)))
		return false;
	if (f->opcodes && (((site->opcode ^ f->op_match) & f->op_mask) || !(f->op_units >> site->unit_type & 1)))
		return false;
	return in_ranges(&f->code, site->ip, site->level) && in_ranges(&f->data, site->data_addr, site->level);
}

/* --- cycles that reach a threshold ---------------------------------------------------------- */

/*
 * Returns how many of `spread` cycles have at_least or more of k events that are spread evenly over
 * them.
 */
static uint64_t reaching(uint64_t k, uint64_t spread, uint64_t at_least)
{
	if (k / spread >= at_least)
		return spread;
	return k / spread + 1 >= at_least ? k % spread : 0;
}

/*
 * Determines which cycles of a site count. They are "run" cycles that follow each other: the first
 * ones of the site if inverted, else the last ones.
 */
static void weigh_cycles(const struct sim_filter *f, struct sim_weight *weight, uint64_t cycles, uint64_t run)
{
	weight->takes = f->edge && cycles;
	weight->count = f->edge ? run > 0 : run;
	weight->first = f->edge && run && (f->inverted || run == cycles);
	weight->last = f->edge && run && (!f->inverted || run == cycles);
}

static void weigh_site(const struct sim_watch *w, const struct sim_node *site, struct sim_weight *weight)
{
	const struct sim_filter *f = &w->filter;
	uint64_t k = 0, cycles, run = 0, spread = site->spread ? site->spread : 1;

	for (uint64_t slots = sim_filter_passes(f, site) ? w->slots : 0; slots; slots &= slots - 1)
		k += site->unit[__builtin_ctzll(slots)];
	weight->count = k;
	if (!f->at_least)
		return;
	cycles = k && site->cycles < spread ? spread : site->cycles;
	if (w->levels >> site->level & 1)
		run = reaching(k, spread, f->at_least);
	if ((w->levels >> site->level & 1) && f->inverted)
		run = cycles - run;
	weigh_cycles(f, weight, cycles, run);
}

/* --- repeated executions -------------------------------------------------------------------- */

/*
 * Returns what n executions add. "counted" says whether the cycle before them counted: if it did,
 * and their first cycle counts, too, the run of such cycles continues and that cycle is no edge.
 */
uint64_t sim_weight_of(const struct sim_weight *weight, uint64_t n, bool counted)
{
	uint64_t sum = n * weight->count;

	if (!n || !weight->takes)
		return sum;
	if (weight->first && weight->last)
		sum -= n - 1;
	return sum - (weight->first && counted);
}

static void append(struct sim_weight *to, const struct sim_weight *kid, uint64_t n)
{
	to->count += sim_weight_of(kid, n, to->takes && to->last);
	if (!kid->takes)
		return;
	if (!to->takes)
		to->first = kid->first;
	to->takes = true;
	to->last = kid->last;
}

/*
 * Computes what a site, or one iteration of a loop, adds to a count if the cycle before it did not
 * count.
 */
void sim_weigh(const struct sim_watch *w, const struct sim_program *prog, const struct sim_node *node,
	       struct sim_weight *weight)
{
	memset(weight, 0, sizeof(*weight));
	if (node->op == PFM_SIM_SITE)
		weigh_site(w, node, weight);
	for (uint32_t i = 0; i < node->num_kids; i++) {
		const struct sim_node *kid = &prog->nodes[prog->kids[node->first + i]];
		struct sim_weight one;

		sim_weigh(w, prog, kid, &one);
		append(weight, &one, kid->op == PFM_SIM_LOOP && kid->count != PFM_SIM_FOREVER ? kid->count : 1);
	}
}

/* Returns true if an event outside of programs counts, which has no address and takes no cycle. */
bool sim_filter_passes_single(const struct sim_filter *f)
{
	return !f->code.used && !f->data.used && !f->opcodes && !f->marked && f->at_least <= 1 && !f->inverted;
}
