// SPDX-License-Identifier: GPL-2.0
/* pmu_x86.c - perfmon_x86.ko: the programmable counters of processors of Intel and AMD. */
#include <asm/processor.h>

#include "perfmon_module.h"
#include "x86.h"

static const struct pfm_pmu *choose(void)
{
	switch (boot_cpu_data.x86_vendor) {
	case X86_VENDOR_AMD:
	case X86_VENDOR_HYGON:
		return &pfm_pmu_x86_amd;
	default:
		return &pfm_pmu_x86_intel;
	}
}

PFM_PMU_MODULE("the PMUs of Intel and AMD", choose());
