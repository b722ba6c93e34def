// SPDX-License-Identifier: GPL-2.0
/*
 * pmu_armv8.c - perfmon_armv8.ko: the counters of ARMv8.
 */
#include "models.h"
#include "perfmon_module.h"

static int __init pmu_init(void)
{
	return pfm_register_pmu(&pfm_pmu_armv8);
}

static void __exit pmu_exit(void)
{
	pfm_unregister_pmu(&pfm_pmu_armv8);
}

module_init(pmu_init);
module_exit(pmu_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_AUTHOR("The lpfm project");
MODULE_DESCRIPTION("perfmon2: the PMU of ARMv8");
MODULE_VERSION("3.0");
