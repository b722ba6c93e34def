// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * tally.c - a sampling format that keeps no samples, but counts the overflows of each PMD in an
 * array of 64-bit numbers. This never fills, so that it never notifies.
 */
#include "perfmon_module.h"

#define TALLY_NAME	"tally"
#define TALLY_UUID_OF(F) F(3b, 0e, 55, 8d, 4c, 21, 4f, 9e, 8a, 6d, 90, c7, 12, 5b, ee, 04)
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
	.fmt_name = TALLY_NAME,
	.fmt_uuid = TALLY_UUID_OF(PFM_UUID_BYTES),
	.fmt_version = 0x10002,
	.fmt_getsize = tally_getsize,
	.fmt_handler = tally_handler,
};

PFM_FORMAT_INIT(&tally);
PFM_FMT_ALIAS(TALLY);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("counts the samples of each PMD");
