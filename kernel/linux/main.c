// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - perfmon.ko begins and ends.
 */
#include <linux/module.h>

#include "formats.h"
#include "linux.h"

static pfm_buffer_fmt_t *const formats[] = { &pfm_fmt_default, &pfm_fmt_default_06, &pfm_fmt_nway };

/* Contexts that use them keep the whole module. */
static int formats_init(void)
{
	int ret = 0;

	for (int i = 0; i < ARRAY_SIZE(formats) && !ret; i++) {
		ret = -pfm_register_buffer_fmt(formats[i]);
		if (!ret)
			ret = lx_sysfs_add_format(formats[i]);
	}
	return ret;
}

static int __init perfmon_init(void)
{
	const struct pfm_pmu *pmu = lx_pmu_init();
	int ret;

	if (!pmu)
		return -ENOMEM;
	pfm_machine_init(&lx_machine, &lx_ops, pmu, NULL);
	ret = lx_lifetime_init();
	if (ret)
		goto free_pmu;
	ret = lx_sysfs_init();
	if (ret)
		goto end_lifetime;
	ret = formats_init();
	if (ret)
		goto end_sysfs;
	ret = lx_device_init();
	if (ret)
		goto end_sysfs;
	pr_info("perfmon: version %u.%u, %s\n", PFM_VERSION_MAJ, PFM_VERSION_MIN, pmu->name);
	return 0;
end_sysfs:
	lx_sysfs_exit();
end_lifetime:
	lx_lifetime_exit();
free_pmu:
	lx_pmu_exit();
	return ret;
}

static void __exit perfmon_exit(void)
{
	lx_device_exit();
	lx_sysfs_exit();
	lx_lifetime_exit();
	lx_pmu_exit();
}

EXPORT_SYMBOL_GPL(pfm_register_buffer_fmt);
EXPORT_SYMBOL_GPL(pfm_unregister_buffer_fmt);
EXPORT_SYMBOL_GPL(pfm_all_zero);

module_init(perfmon_init);
module_exit(perfmon_exit);
MODULE_LICENSE("GPL");
MODULE_AUTHOR("The lpfm project");
MODULE_DESCRIPTION("perfmon2: performance monitoring contexts");
MODULE_VERSION("3.0");
