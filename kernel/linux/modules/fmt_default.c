// SPDX-License-Identifier: GPL-2.0
/*
 * fmt_default.c - perfmon_dfl_smpl.ko: the default sampling format, in both layouts.
 */
#include "formats.h"
#include "perfmon_module.h"

static int __init fmt_init(void)
{
	int ret = pfm_register_buffer_fmt(&pfm_fmt_default);

	if (ret)
		return -ret;
	ret = pfm_register_buffer_fmt(&pfm_fmt_default_06);
	if (ret)
		pfm_unregister_buffer_fmt(pfm_fmt_default.fmt_uuid);
	return -ret;
}

static void __exit fmt_exit(void)
{
	pfm_unregister_buffer_fmt(pfm_fmt_default_06.fmt_uuid);
	pfm_unregister_buffer_fmt(pfm_fmt_default.fmt_uuid);
}

/* for formats that keep its samples */
EXPORT_SYMBOL_GPL(pfm_dfl_max_sample);
EXPORT_SYMBOL_GPL(pfm_dfl_put_sample);

module_init(fmt_init);
module_exit(fmt_exit);
PFM_FMT_ALIAS("default", "d139b29e-62e8-40e4-b402-73078792e937");
PFM_FMT_ALIAS("default-0.6", "4d72bec0-0664-4143-82b4-d3fd27243c97");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_AUTHOR("The lpfm project");
MODULE_DESCRIPTION("perfmon2: the default sampling format");
MODULE_VERSION("3.0");
