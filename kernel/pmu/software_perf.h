/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * software_perf.h - which event of perf_event counts for a software counter, on the machines that
 * stand on perf_event. The includer has brought linux/perf_event.h.
 */
#ifndef PFM_PMU_SOFTWARE_PERF_H
#define PFM_PMU_SOFTWARE_PERF_H

#include "software.h"

static inline uint64_t pfm_software_perf_config(uint16_t num)
{
	static const uint64_t config[PFM_NUM_SW] = {
		[PFM_SW_TASK_CLOCK - PFM_SW_FIRST] = PERF_COUNT_SW_TASK_CLOCK,
		[PFM_SW_CPU_CLOCK - PFM_SW_FIRST] = PERF_COUNT_SW_CPU_CLOCK,
		[PFM_SW_PAGE_FAULTS - PFM_SW_FIRST] = PERF_COUNT_SW_PAGE_FAULTS,
		[PFM_SW_MINOR_FAULTS - PFM_SW_FIRST] = PERF_COUNT_SW_PAGE_FAULTS_MIN,
		[PFM_SW_MAJOR_FAULTS - PFM_SW_FIRST] = PERF_COUNT_SW_PAGE_FAULTS_MAJ,
		[PFM_SW_CONTEXT_SWITCHES - PFM_SW_FIRST] = PERF_COUNT_SW_CONTEXT_SWITCHES,
		[PFM_SW_CPU_MIGRATIONS - PFM_SW_FIRST] = PERF_COUNT_SW_CPU_MIGRATIONS,
		[PFM_SW_ALIGNMENT_FAULTS - PFM_SW_FIRST] = PERF_COUNT_SW_ALIGNMENT_FAULTS,
		[PFM_SW_EMULATION_FAULTS - PFM_SW_FIRST] = PERF_COUNT_SW_EMULATION_FAULTS,
	};

	return config[num - PFM_SW_FIRST];
}

#endif
