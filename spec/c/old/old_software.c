// SPDX-License-Identifier: MIT
/* old_software.c - asks libpfm 3's questions where there is no hardware PMU. */

#include <perfmon/pfmlib.h>

#define EXPLAIN pfm_dispatch_explain
#include "../parts.h"

int main(void)
{
	pfmlib_regmask_t impl, counters, both;
	unsigned int num = 0, idx = 0, found = 0, weight = 0;
	int failures = 0, code = 0, type = 0;

	CHECK(pfm_initialize() == PFMLIB_SUCCESS);
	CHECK(pfm_get_pmu_type(&type) == PFMLIB_SUCCESS && type == PFMLIB_SOFTWARE_PMU);
	CHECK(pfm_get_num_counters(&num) == PFMLIB_SUCCESS);
	CHECK(pfm_get_impl_counters(&impl) == PFMLIB_SUCCESS);
	CHECK(pfm_regmask_weight(&impl, &weight) == PFMLIB_SUCCESS && weight == num);
	CHECK(pfm_find_event("page_faults", &idx) == PFMLIB_SUCCESS);
	CHECK(pfm_get_event_code(idx, &code) == PFMLIB_SUCCESS);
	CHECK(pfm_find_event_bycode(code, &found) == PFMLIB_SUCCESS && found == idx);
	CHECK(pfm_find_event_bycode_next(code, idx, &found) == PFMLIB_ERR_NOTFOUND);
	CHECK(pfm_get_event_counters(idx, &counters) == PFMLIB_SUCCESS);
	CHECK(pfm_regmask_and(&both, &impl, &counters) == PFMLIB_SUCCESS);
	CHECK(pfm_regmask_weight(&both, &weight) == PFMLIB_SUCCESS && weight == 1);
	CHECK(pfm_get_event_code_counter(idx, 66, &code) == PFMLIB_SUCCESS);
	CHECK(pfm_find_event("CONTEXT_SWITCHES", &idx) == PFMLIB_SUCCESS);
	CHECK(pfm_get_event_counters(idx, &counters) == PFMLIB_SUCCESS);
	CHECK(pfm_regmask_isset(&counters, 69) && pfm_regmask_isset(&impl, 69));
	printf("%u counters, PAGE_FAULTS is %d\n", num, code);
	return failures != 0;
}
