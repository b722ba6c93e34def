// SPDX-License-Identifier: GPL-2.0
/*
 * fmt_nway.c - perfmon_nway_smpl.ko: the n-way sampling format.
 */
#include "formats.h"
#include "perfmon_module.h"

static int __init fmt_init(void)
{
	return -pfm_register_buffer_fmt(&pfm_fmt_nway);
}

static void __exit fmt_exit(void)
{
	pfm_unregister_buffer_fmt(pfm_fmt_nway.fmt_uuid);
}

module_init(fmt_init);
module_exit(fmt_exit);
PFM_FMT_ALIAS("n-way", "7e0c35a6-1b92-4d5f-9a60-4e2dc813f07b");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_AUTHOR("The lpfm project");
MODULE_DESCRIPTION("perfmon2: a sampling buffer of several regions");
MODULE_VERSION("3.0");
