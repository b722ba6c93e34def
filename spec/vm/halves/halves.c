// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * halves.c - a sampling format that counts every second overflow of each PMD: tally with a second
 * array, of the overflows that wait to be counted. It solves the task of lab 14.
 */
#include "perfmon_module.h"

#define HALVES_NAME	"halves"
#define HALVES_UUID_OF(F) F(7a, a0, 44, 25, 0a, da, 44, 02, a4, 95, 9c, 82, 0f, 8c, b2, 11)

struct halves {
	u64	counts[PFM_MAX_PMDS];
	u64	waiting[PFM_MAX_PMDS];		/* 0 or 1 */
};

static int halves_getsize(u32 ctx_flags, void *arg, size_t *size)
{
	*size = sizeof(struct halves);
	return 0;
}

static int halves_handler(void *buf, pfm_ovfl_arg_t *arg, u64 tstamp, void *data)
{
	struct halves *halves = buf;

	halves->counts[arg->ovfl_pmd] += halves->waiting[arg->ovfl_pmd];
	halves->waiting[arg->ovfl_pmd] ^= 1;
	arg->ovfl_ctrl.reset_ovfl_pmds = 1;
	return 0;
}

static pfm_buffer_fmt_t halves = {
	.fmt_name = HALVES_NAME,
	.fmt_uuid = HALVES_UUID_OF(PFM_UUID_BYTES),
	.fmt_version = 0x10000,
	.fmt_getsize = halves_getsize,
	.fmt_handler = halves_handler,
};

PFM_FORMAT_INIT(&halves);
PFM_FMT_ALIAS(HALVES);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("counts every second sample of each PMD");
