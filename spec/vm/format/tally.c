// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * tally.c - a sampling format that keeps no samples, only how many there were of each PMD: an array of 64-bit
 * counts. It never fills, and so never notifies.
 */
#include "perfmon_module.h"

#define SIZE	(PFM_MAX_PMDS * sizeof(u64))

static int tally_getsize(u32 ctx_flags, void *arg, size_t *size)
{
	*size = SIZE;
	return 0;
}

static int tally_handler(void *buf, pfm_ovfl_arg_t *arg, u64 tstamp, void *data)
{
	((u64 *)buf)[arg->ovfl_pmd]++;
	arg->ovfl_ctrl.reset_ovfl_pmds = 1;
	return 0;
}

static pfm_buffer_fmt_t tally = {
	.fmt_name = "tally",
	.fmt_uuid = { 0x3b, 0x0e, 0x55, 0x8d, 0x4c, 0x21, 0x4f, 0x9e, 0x8a, 0x6d, 0x90, 0xc7, 0x12, 0x5b, 0xee, 0x04 },
	.fmt_version = 0x10002,
	.fmt_getsize = tally_getsize,
	.fmt_handler = tally_handler,
};

static int __init tally_init(void)
{
	return -pfm_register_buffer_fmt(&tally);
}

static void __exit tally_exit(void)
{
	pfm_unregister_buffer_fmt(tally.fmt_uuid);
}

module_init(tally_init);
module_exit(tally_exit);
PFM_FMT_ALIAS("tally", "3b0e558d-4c21-4f9e-8a6d-90c7125bee04");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("counts the samples of each PMD");
