// SPDX-License-Identifier: GPL-2.0
/*
 * pmu_x86.c - perfmon_x86.ko: the programmable counters of processors of Intel and AMD.
 */
#include <asm/processor.h>

#include "perfmon_module.h"
#include "x86.h"

static const struct pfm_pmu *mine;

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

static int __init pmu_init(void)
{
	mine = choose();
	return pfm_register_pmu(mine);
}

static void __exit pmu_exit(void)
{
	pfm_unregister_pmu(mine);
}

module_init(pmu_init);
module_exit(pmu_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_AUTHOR("The lpfm project");
MODULE_DESCRIPTION("perfmon2: the PMUs of Intel and AMD");
MODULE_VERSION("3.0");
