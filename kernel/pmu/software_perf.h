/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * software_perf.h - the event of perf_event for each software counter, on the machines that use
 * perf_event. The includer must include linux/perf_event.h before.
 */
#ifndef PFM_PMU_SOFTWARE_PERF_H
#define PFM_PMU_SOFTWARE_PERF_H

#include "software.h"

#define PFM_SW_CONFIG(NAME, name, alias, perf, ...)	PERF_COUNT_SW_##perf,

static inline uint64_t pfm_software_perf_config(uint16_t num)
{
	static const uint64_t config[PFM_NUM_SW] = { PFM_SOFTWARE_EVENTS(PFM_SW_CONFIG) };

	return config[num - PFM_SW_FIRST];
}

#endif
