// SPDX-License-Identifier: MIT
/* abi.c - checks that the public structures have the sizes and offsets of the last perfmon2 2.x. */
#include <stddef.h>
#include <stdio.h>

#include "perfmon/perfmon.h"
#include "perfmon/perfmon_dfl_smpl.h"
#include "perfmon/perfmon_stack_smpl.h"

#define SIZE(type, size) _Static_assert(sizeof(type) == (size), #type " has " #size " bytes")
#define AT(type, field, offset) \
	_Static_assert(offsetof(type, field) == (offset), #type "." #field " lies at " #offset)

SIZE(pfarg_ctx_t, 64);
AT(pfarg_ctx_t, ctx_flags, 0);

SIZE(pfarg_pmc_t, 48);
AT(pfarg_pmc_t, reg_num, 0);
AT(pfarg_pmc_t, reg_set, 2);
AT(pfarg_pmc_t, reg_flags, 4);
AT(pfarg_pmc_t, reg_value, 8);

SIZE(pfarg_pmd_t, 176);
AT(pfarg_pmd_t, reg_num, 0);
AT(pfarg_pmd_t, reg_set, 2);
AT(pfarg_pmd_t, reg_flags, 4);
AT(pfarg_pmd_t, reg_value, 8);
AT(pfarg_pmd_t, reg_long_reset, 16);
AT(pfarg_pmd_t, reg_short_reset, 24);
AT(pfarg_pmd_t, reg_last_reset_val, 32);
AT(pfarg_pmd_t, reg_ovfl_switch_cnt, 40);
AT(pfarg_pmd_t, reg_reset_pmds, 48);
AT(pfarg_pmd_t, reg_smpl_pmds, 88);
AT(pfarg_pmd_t, reg_smpl_eventid, 128);
AT(pfarg_pmd_t, reg_random_mask, 136);
AT(pfarg_pmd_t, reg_random_seed, 144);

SIZE(pfarg_start_t, 32);
AT(pfarg_start_t, start_set, 0);

SIZE(pfarg_load_t, 32);
AT(pfarg_load_t, load_pid, 0);
AT(pfarg_load_t, load_set, 4);

SIZE(pfarg_setdesc_t, 64);
AT(pfarg_setdesc_t, set_id, 0);
AT(pfarg_setdesc_t, set_flags, 4);
AT(pfarg_setdesc_t, set_timeout, 8);

SIZE(pfarg_setinfo_t, 200);
AT(pfarg_setinfo_t, set_id, 0);
AT(pfarg_setinfo_t, set_flags, 4);
AT(pfarg_setinfo_t, set_ovfl_pmds, 8);
AT(pfarg_setinfo_t, set_runs, 48);
AT(pfarg_setinfo_t, set_timeout, 56);
AT(pfarg_setinfo_t, set_act_duration, 64);
AT(pfarg_setinfo_t, set_avail_pmcs, 72);
AT(pfarg_setinfo_t, set_avail_pmds, 112);

SIZE(pfarg_msg_t, 64);
AT(pfarg_ovfl_msg_t, msg_type, 0);
AT(pfarg_ovfl_msg_t, msg_ovfl_pid, 4);
AT(pfarg_ovfl_msg_t, msg_active_set, 8);
AT(pfarg_ovfl_msg_t, msg_ovfl_cpu, 10);
AT(pfarg_ovfl_msg_t, msg_ovfl_tid, 12);
AT(pfarg_ovfl_msg_t, msg_ovfl_ip, 16);
AT(pfarg_ovfl_msg_t, msg_ovfl_pmds, 24);

SIZE(pfm_dfl_smpl_arg_t, 64);
SIZE(pfm_dfl_smpl_hdr_t, 128);
AT(pfm_dfl_smpl_hdr_t, hdr_cur_offs, 8);
AT(pfm_dfl_smpl_hdr_t, hdr_overflows, 16);
AT(pfm_dfl_smpl_hdr_t, hdr_buf_size, 24);
AT(pfm_dfl_smpl_hdr_t, hdr_min_buf_space, 32);
AT(pfm_dfl_smpl_hdr_t, hdr_version, 40);
AT(pfm_dfl_smpl_hdr_t, hdr_buf_flags, 44);
SIZE(pfm_dfl_smpl_entry_t, 40);
AT(pfm_dfl_smpl_entry_t, ovfl_pmd, 4);
AT(pfm_dfl_smpl_entry_t, last_reset_val, 8);
AT(pfm_dfl_smpl_entry_t, ip, 16);
AT(pfm_dfl_smpl_entry_t, tstamp, 24);
AT(pfm_dfl_smpl_entry_t, cpu, 32);
AT(pfm_dfl_smpl_entry_t, set, 34);
AT(pfm_dfl_smpl_entry_t, tgid, 36);

/* Format "stack": its header begins like the default's; a sample contains the default's entry. */
SIZE(pfm_stack_smpl_arg_t, 64);
SIZE(pfm_stack_smpl_hdr_t, 128);
AT(pfm_stack_smpl_hdr_t, hdr_min_buf_space, 32);
AT(pfm_stack_smpl_hdr_t, hdr_buf_flags, 44);
AT(pfm_stack_smpl_hdr_t, hdr_lost, 48);
SIZE(pfm_stack_smpl_rec_t, 8);
SIZE(pfm_stack_smpl_sample_t, 64);
AT(pfm_stack_smpl_sample_t, entry, 8);
AT(pfm_stack_smpl_sample_t, num_pmds, 48);
AT(pfm_stack_smpl_sample_t, stack_size, 56);

/* 3.6.3, 3.6.4: headers of the specification's own layout align on 8 bytes. */
_Static_assert(sizeof(pfm_default_smpl_hdr_t) % 8 == 0, "3.6.3");
_Static_assert(sizeof(pfm_default_smpl_entry_t) % 8 == 0, "3.6.4");

int main(void)
{
	puts("the structures have the sizes and offsets of perfmon2 2.x");
	return 0;
}
