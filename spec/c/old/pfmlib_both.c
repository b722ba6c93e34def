/* SPDX-License-Identifier: MIT */
/* pfmlib_both.c - calls libpfm4 and our library, which share names of functions, in one process. */
#include <stdio.h>
#include <string.h>

#include "perfmon/pfmlib.h"
#include "pfmlib_both.h"

static int failures;

static void expect(int ok, const char *what)
{
	if (!ok)
		printf("FAILED: %s\n", what);
	failures += !ok;
}

int main(void)
{
	unsigned long long codes[8];
	unsigned int version = 0, idx;
	pfmlib_event_t e;

	/* libpfm4 is initialized first, with the models of this host alone. */
	expect(four_initialize() == 0, "libpfm4 initializes");
	expect(pfm_initialize() == PFMLIB_SUCCESS, "ours initializes");
	expect(pfm_get_version(&version) == PFMLIB_SUCCESS && version == PFMLIB_VERSION, "our version");
	expect(four_version() >> 16 == 4, "libpfm4's version");
	expect(strcmp(pfm_strerror(PFMLIB_ERR_NOASSIGN), "cannot assign events to counters") == 0,
	       "our error text");
	expect(strstr(four_strerror(-5), "feature") != NULL, "libpfm4's error text");
	expect(pfm_find_event("itanium2::CPU_CYCLES", &idx) == PFMLIB_SUCCESS, "our event");
	expect(four_find_event("perf::PERF_COUNT_SW_PAGE_FAULTS") >= 0, "libpfm4's event");
	expect(four_find_event("itanium2::CPU_CYCLES") < 0, "libpfm4 has no Itanium 2");
	/* Our library uses models that libpfm4 was initialized without. */
	expect(pfm_find_full_event("snb::INST_RETIRED:ANY_P", &e) == PFMLIB_SUCCESS ||
	       pfm_find_event("snb::INST_RETIRED", &idx) == PFMLIB_ERR_NOTFOUND, "an absent model's event");
	expect(four_encode("perf::PERF_COUNT_SW_PAGE_FAULTS", PFM_PLM3, codes) == 1,
	       "libpfm4 still encodes");
	printf("%d failures\n", failures);
	return failures != 0;
}
