// SPDX-License-Identifier: MIT
/*
 * old_pebs.c - uses the headers of 2.x's sampling formats for PEBS: structures have the old sizes
 * and offsets; creating a context with such a format fails with a reason. Prints only failures.
 */

#include <perfmon/perfmon_pebs_core_smpl.h>
#include <perfmon/perfmon_pebs_p4_smpl.h>
#include "../parts.h"

static void layouts(void)
{
	CHECK(sizeof(pfm_pebs_core_smpl_arg_t) == 72 && offsetof(pfm_pebs_core_smpl_arg_t, intr_thres) == 16);
	CHECK(sizeof(pfm_ds_area_core_t) == 72 && offsetof(pfm_ds_area_core_t, pebs_index) == 40);
	CHECK(offsetof(pfm_pebs_core_smpl_hdr_t, version) == 8 + 2 * sizeof(size_t));
	CHECK(sizeof(pfm_pebs_core_smpl_hdr_t) == 56 + 2 * sizeof(size_t) + 72);
	CHECK(sizeof(pfm_pebs_core_smpl_entry_t) == 144 && offsetof(pfm_pebs_core_smpl_entry_t, ip) == 8);
	CHECK(PFM_PEBS_CORE_SMPL_VERSION == 0x10000 && PFM_PEBS_P4_SMPL_VERSION == 0x10000);
	CHECK(sizeof(pfm_pebs_p4_smpl_arg_t) == 56 + 2 * sizeof(size_t));
	CHECK(offsetof(pfm_ds_area_p4_t, pebs_cnt_reset) == 8 * sizeof(long));
	CHECK(sizeof(pfm_pebs_p4_smpl_hdr_t) == 56 + 2 * sizeof(size_t) + sizeof(pfm_ds_area_p4_t));
	CHECK(offsetof(pfm_pebs_p4_smpl_entry_t, esp) == 9 * sizeof(long));
}

static void refused(const char *name, void *arg, size_t size)
{
	pfarg_ctx_t ctx;

	memset(&ctx, 0, sizeof(ctx));
	errno = 0;
	CHECK(pfm_create_context(&ctx, (char *)name, arg, size) == -1 && errno == EINVAL);
	CHECK(strstr(pfm_explain(), name));
}

int main(void)
{
	pfm_pebs_core_smpl_arg_t core = { .cnt_reset = -100000ULL, .buf_size = 16384, .intr_thres = 100 };
	pfm_pebs_p4_smpl_arg_t p4 = { .cnt_reset = -100000ULL, .buf_size = 16384, .intr_thres = 100 };

	layouts();
	refused(PFM_PEBS_CORE_SMPL_NAME, &core, sizeof(core));
	refused(PFM_PEBS_P4_SMPL_NAME, &p4, sizeof(p4));
	return failures != 0;
}
