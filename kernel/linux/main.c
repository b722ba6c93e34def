// SPDX-License-Identifier: GPL-2.0
/* main.c - init and exit of perfmon.ko. */
#include <linux/module.h>
#include <linux/utsname.h>

#include "compat.h"
#include "linux.h"

static int __init perfmon_init(void)
{
	const struct pfm_pmu *pmu = lx_pmu_init();
	int ret;

	if (!pmu)
		return -ENOMEM;
	lx_task_work_init();
	lx_machine_init(pmu);
	ret = lx_permit_init();
	if (ret)
		goto free_pmu;
	ret = lx_views_init();
	if (ret)
		goto end_permit;
	ret = lx_lifetime_init();
	if (ret)
		goto end_views;
	ret = lx_sysfs_init();
	if (ret)
		goto end_lifetime;
	ret = lx_device_init();
	if (ret)
		goto end_sysfs;
	pr_info("perfmon: interface %u.%u, %s\n", PFM_VERSION_MAJ, PFM_VERSION_MIN, pmu->name);
	if (PFM_UNTRIED)
		pr_warn("perfmon: not tried on Linux %s, only up to %s: compare its counts with perf's\n",
			utsname()->release, PFM_LAST_TRIED);
	return 0;
end_sysfs:
	lx_sysfs_exit();
end_lifetime:
	lx_lifetime_exit();
end_views:
	lx_views_exit();
end_permit:
	lx_permit_exit();
free_pmu:
	lx_task_work_exit();
	lx_pmu_exit();
	return ret;
}

static void __exit perfmon_exit(void)
{
	lx_device_exit();
	lx_sysfs_exit();
	lx_lifetime_exit();
	lx_view_exit();
	lx_views_exit();
	lx_permit_exit();
	lx_task_work_exit();
	lx_pmu_exit();
}

/*
 * These functions and those of perfmon_module.h are called by the modules of formats and of PMU
 * descriptions.
 */
EXPORT_SYMBOL_GPL(pfm_all_zero);
EXPORT_SYMBOL_GPL(pfm_refuse);
EXPORT_SYMBOL_GPL(pfm_os_alloc);
EXPORT_SYMBOL_GPL(pfm_os_free);
EXPORT_SYMBOL_GPL(lx_charge);
EXPORT_SYMBOL_GPL(lx_uncharge);

module_init(perfmon_init);
module_exit(perfmon_exit);
MODULE_LICENSE("GPL");
MODULE_AUTHOR("The lpfm project");
MODULE_DESCRIPTION("perfmon2: performance monitoring contexts");
MODULE_VERSION("3.0");
/*
 * Programs look into /sys/kernel/perfmon/formats before they ask for a format, so modprobe also
 * loads the modules with the alias perfmon-fmt.
 */
MODULE_SOFTDEP("post: perfmon-fmt");
