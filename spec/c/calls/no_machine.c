// SPDX-License-Identifier: MIT
/*
 * no_machine.c - calls fail where nothing can be measured. Prints the calls that answer otherwise.
 *
 *   no_machine ERRNO TEXT
 *
 * ERRNO is expected of the calls, TEXT in pfm_explain(). Exits with 1 if a call answers otherwise.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perfctr/libperfctr.h"
#include "perfmon/perfmon.h"
#define PFM06_INTERNAL
#include "perfmon/perfmonctl.h"
#include "perfmon/pfmlib.h"
#include "perfmon/sim.h"

static const char *text;
static int failed;

static void check(const char *call, bool refused, int want, const char *why)
{
	int err = errno;

	if (refused && err == want && strstr(why, text))
		return;
	printf("%s: %s, errno %d (%d was expected): %s\n", call, refused ? "refused" : "not refused", err, want, why);
	failed = 1;
}

#define REFUSES(call, want) ({						\
	bool refused_ = (errno = 0, (call) < 0);			\
									\
	check(#call, refused_, want, pfm_explain());			\
})

int main(int argc, char **argv)
{
	int err = argc == 3 ? atoi(argv[1]) : 0;
	pfarg_fmtinfo_t fmt = { .fmt_flags = 0 };
	struct perfctr_info info;
	pfm_perf_event_t event = { 0 };
	pfm_machine_info_t machine;
	pfarg_pmcinfo_t pmc = { 0 };
	pfarg_pmdinfo_t pmd = { 0 };
	pfarg_config_t cfg = { 0 };
	pfarg_ctx_t ctx = { 0 };
	unsigned int version;
	uint64_t value;

	text = argv[argc - 1];
	REFUSES(pfm_create_context(&ctx, NULL, NULL, 0), err);
	REFUSES(pfm_create_context_name(&ctx, "no such format", NULL, 0), err);
	REFUSES(pfm_create_context_uuid(&ctx, NULL, 0), err);
	REFUSES(pfm_get_config(&cfg), err);
	REFUSES(pfm_set_config(&cfg), err);
	REFUSES(pfm_getinfo_pmcs(&pmc, 1), err);
	REFUSES(pfm_getinfo_pmds(&pmd, 1), err);
	REFUSES(pfm_getinfo_fmts(NULL, 0), err);
	REFUSES(pfm_getinfo_fmts(&fmt, 1), err);
	REFUSES(pfm_get_machine(&machine), err);
	REFUSES(pfm_perf_event(&event, &value), err);
	REFUSES(pfm_sim_get() ? 0 : -1, err);
	REFUSES(pfm_set_machine("perf", NULL), err);
	REFUSES(perfmonctl(0, PFM_GET_CONFIG, &cfg, 1), ENOSYS);
	REFUSES(perfmonctl(0, PFM_GETINFO_PMDS, &pmd, 1), ENOSYS);
	REFUSES(perfmonctl(0, PFM_CREATE_CONTEXT, &ctx, 1), err);

	check("perfctr_info", (errno = 0, perfctr_info(&info) < 0), err, perfctr_explain());
	check("sys_vperfctr_open", (errno = 0, sys_vperfctr_open(0, 1) < 0), err, perfctr_explain());

	/* Tables of events need no machine, and a simulated computer can be chosen by its name. */
	if (pfm_get_version(&version) || pfm_initialize()) {
		printf("libpfm needs a machine\n");
		failed = 1;
	}
	if (pfm_set_machine("sim:k8", NULL) || pfm_get_machine(&machine) || strcmp(machine.name, "sim:k8") ||
	    pfm_get_config(&cfg)) {
		printf("no simulated computer by name: %s\n", pfm_explain());
		failed = 1;
	}
	return failed;
}
