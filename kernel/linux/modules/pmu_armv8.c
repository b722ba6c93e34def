// SPDX-License-Identifier: GPL-2.0
/* pmu_armv8.c - perfmon_armv8.ko: the counters of ARMv8. */
#include "models.h"
#include "perfmon_module.h"

PFM_PMU_MODULE("the PMU of ARMv8", &pfm_pmu_armv8);
