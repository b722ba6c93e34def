// SPDX-License-Identifier: MIT
/*
 * live_program.c - the program of all threads of sim:MODEL,live. It does the same in every us, a
 * tenth of it in the kernel. perfmon/sim.h has the rates of its events.
 */
#include "live.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TEXT	0x400000ULL
#define DATA	0x600000ULL
#define KERNEL	0xa000000100000000ULL

static const struct pfm_sim_event common[] = {
	{ "instructions", 12 }, { "uops", 15 }, { "branches", 2 }, { "branches_taken", 1 }, { "loads", 3 },
	{ "stores", 2 }, { "l1d_accesses", 5 }, { "l1i_accesses", 4 }, { "fp_ops", 1 }, { "nops", 1 }, { "stalls", 2 },
};
static const struct pfm_sim_event missing[] = {
	{ "instructions", 4 }, { "uops", 5 }, { "branches", 1 }, { "branch_misses", 1 }, { "loads", 2 },
	{ "l1d_accesses", 2 }, { "l1d_misses", 2 }, { "l1i_accesses", 2 }, { "l1i_misses", 1 }, { "l2_accesses", 3 },
	{ "stalls", 7 }, { "dear_events", 1 }, { "iear_events", 1 }, { "branch_events", 1 },
};
static const struct pfm_sim_event kernel[] = {
	{ "instructions", 8 }, { "uops", 10 }, { "branches", 2 }, { "branches_taken", 1 }, { "loads", 2 },
	{ "stores", 1 }, { "l1d_accesses", 3 }, { "l1i_accesses", 3 }, { "stalls", 4 },
};
static const struct pfm_sim_event far[] = {
	{ "instructions", 2 }, { "uops", 2 }, { "loads", 1 }, { "l1d_accesses", 1 }, { "l1d_misses", 1 },
	{ "l2_accesses", 1 }, { "l2_misses", 1 }, { "l3_accesses", 1 }, { "l3_misses", 1 }, { "bus_accesses", 1 },
	{ "dtlb_misses", 1 }, { "itlb_misses", 1 }, { "stalls", 9 },
};

#define SITE(what, addr) .op = PFM_SIM_SITE, .ns = 10, .ip = (addr), .events = what, .num_events = COUNT(what)
#define LOOP(n) { .op = PFM_SIM_LOOP, .count = (n) }
#define END { .op = PFM_SIM_END }

struct sim_program *sim_live_program(struct pfm_sim *sim)
{
	static const struct pfm_sim_step steps[] = {
		LOOP(PFM_SIM_FOREVER),
		LOOP(9),
		LOOP(9), { SITE(common, TEXT) }, END,
		{ SITE(missing, TEXT + 0x40), .flags = PFM_SIM_DATA | PFM_SIM_FETCH | PFM_SIM_BRANCH,
		  .data_addr = DATA, .latency = 20, .target = TEXT },
		END,
		LOOP(9), { SITE(kernel, KERNEL), .level = PFM_SIM_KERNEL }, END,
		{ SITE(far, TEXT + 0x80), .flags = PFM_SIM_DATA, .data_addr = DATA + 0x10000, .latency = 200 },
		END,
	};
	static const struct pfm_sim_program source = { steps, COUNT(steps) };
	int err;

	return sim_program_new(sim, &source, false, &err);
}
