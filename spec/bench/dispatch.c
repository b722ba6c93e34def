/* SPDX-License-Identifier: MIT */
/*
 * dispatch.c - the cost of pfm_dispatch_events(). Prints lines "NAME VALUE":
 *   events/s MODEL   events dispatched in a second, in sets as large as the model's counters allow
 *   us netburst      microseconds for 18 events on Pentium 4, the least of many
 *   us netburst-no   microseconds to find that 18 events do not fit there, and which do not
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "perfmon/pfmlib.h"

static pfmlib_input_param_t in;
static pfmlib_output_param_t out;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void put(const char *name)
{
	if (pfm_find_full_event(name, &in.pfp_events[in.pfp_event_count]) != PFMLIB_SUCCESS) {
		fprintf(stderr, "%s: %s\n", name, pfm_dispatch_explain());
		exit(1);
	}
	in.pfp_event_count++;
}

/* 18 events: four for each small group of counters, six for the large one. */
static const char *const hardest[] = {
	"netburst::global_power_events:RUNNING", "netburst::BSQ_cache_reference:RD_2ndL_MISS",
	"netburst::page_walk_type:DTMISS", "netburst::ITLB_reference:MISS",
	"netburst::TC_deliver_mode:DD", "netburst::tc_ms_xfer:CISC", "netburst::retired_branch_type:CALL",
	"netburst::uop_queue_writes:FROM_ROM",
	"netburst::memory_cancel:ST_RB_FULL", "netburst::packed_SP_uop:ALL", "netburst::memory_complete:LSC",
	"netburst::WC_Buffer:WCB_EVICTS",
	"netburst::instr_retired:NBOGUSNTAG", "netburst::uops_retired:NBOGUS", "netburst::branch_retired:MMTM",
	"netburst::x87_assist:FPSU", "netburst::uops_type:TAGLOADS", "netburst::resource_stall:SBFULL",
};

static void must(int ret, int expected)
{
	if (ret == expected)
		return;
	fprintf(stderr, "dispatch: %s: %s\n", pfm_strerror(ret), pfm_dispatch_explain());
	exit(1);
}

/* Returns the least time of one dispatch, in seconds. */
static double least(int expected)
{
	double best = 1;

	for (int i = 0; i < 200; i++) {
		double start = now(), t;

		must(pfm_dispatch_events(&in, NULL, &out, NULL), expected);
		t = now() - start;
		best = t < best ? t : best;
	}
	return best;
}

static void rate(const char *model, const char *const *names, unsigned int n)
{
	unsigned long events = 0;
	double start;

	memset(&in, 0, sizeof(in));
	in.pfp_dfl_plm = PFM_PLM3;
	for (unsigned int i = 0; i < n; i++) {
		char name[128];

		snprintf(name, sizeof(name), "%s::%s", model, names[i]);
		put(name);
	}
	start = now();
	while (now() - start < 0.2) {
		must(pfm_dispatch_events(&in, NULL, &out, NULL), PFMLIB_SUCCESS);
		events += n;
	}
	printf("events/s %s %.0f\n", model, events / (now() - start));
}

int main(void)
{
	static const char *const itanium2[] = {
		"CPU_CYCLES", "IA64_INST_RETIRED", "L2_MISSES", "L1D_READ_MISSES_ALL"
	};
	static const char *const skl[] = {
		"UNHALTED_CORE_CYCLES", "INSTRUCTION_RETIRED", "BR_INST_RETIRED:ALL_BRANCHES", "L1D:REPLACEMENT",
		"LONGEST_LAT_CACHE:MISS", "MEM_LOAD_RETIRED:L3_MISS", "MEM_INST_RETIRED:ALL_LOADS",
		"UNHALTED_REFERENCE_CYCLES"
	};

	must(pfm_initialize(), PFMLIB_SUCCESS);
	rate("itanium2", itanium2, 4);
	rate("skl", skl, 8);
	memset(&in, 0, sizeof(in));
	in.pfp_dfl_plm = PFM_PLM3;
	for (size_t i = 0; i < sizeof(hardest) / sizeof(hardest[0]); i++)
		put(hardest[i]);
	printf("us netburst %.0f\n", least(PFMLIB_SUCCESS) * 1e6);
	in.pfp_event_count--;
	put("netburst::machine_clear:CLEAR");
	printf("us netburst-no %.0f\n", least(PFMLIB_ERR_NOASSIGN) * 1e6);
	return 0;
}
