// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * slow.c - a sampling format that stores no samples. Its module's init function sleeps for 50 ms,
 * so that a second request for the module comes while the first one is loading it.
 */
#include <linux/delay.h>

#include "perfmon_module.h"

#define SLOW_UUID_OF(F) F(5c, 1e, 90, 07, 6b, 3a, 4d, 7f, 8e, 21, 0c, 44, b9, d2, 6a, 93)

static int slow_getsize(u32 ctx_flags, void *arg, size_t *size)
{
	*size = PAGE_SIZE;
	return 0;
}

static int slow_handler(void *buf, pfm_ovfl_arg_t *arg, u64 tstamp, void *data)
{
	arg->ovfl_ctrl.reset_ovfl_pmds = 1;
	return 0;
}

static pfm_buffer_fmt_t slow = {
	.fmt_name = "slow",
	.fmt_uuid = SLOW_UUID_OF(PFM_UUID_BYTES),
	.fmt_version = 0x10000,
	.fmt_getsize = slow_getsize,
	.fmt_handler = slow_handler,
};

static int __init slow_init(void)
{
	msleep(50);
	return -pfm_register_buffer_fmt(&slow);
}

static void __exit slow_exit(void)
{
	pfm_unregister_buffer_fmt(slow.fmt_uuid);
}

module_init(slow_init);
module_exit(slow_exit);
MODULE_ALIAS("perfmon-fmt-slow");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("takes long to begin");
