// SPDX-License-Identifier: GPL-2.0 OR MIT
/* pebs.c - the formats for samples that the processor writes (PEBS): one for each record layout. */
#include "formats.h"
#include "perfmon/perfmon_pebs_smpl.h"

static int check_arg(const pfm_pebs_smpl_arg_t *a, size_t record)
{
	uint64_t room;

	if (a->buf_size != (size_t)a->buf_size || a->buf_size < sizeof(pfm_pebs_smpl_hdr_t) + record ||
	    !pfm_all_zero(a->reserved, sizeof(a->reserved)))
		return EINVAL;
	room = (a->buf_size - sizeof(pfm_pebs_smpl_hdr_t)) / record;
	return a->intr_thres > room ? EINVAL : 0;
}

static int pebs_getsize(uint32_t ctx_flags, void *arg, size_t *size)
{
	(void)ctx_flags;
	*size = ((pfm_pebs_smpl_arg_t *)arg)->buf_size;
	return 0;
}

static int start(const pfm_pebs_smpl_arg_t *a, pfm_pebs_smpl_hdr_t *h, size_t record)
{
	uint64_t room = (a->buf_size - sizeof(*h)) / record;

	h->hdr_version = PFM_PEBS_SMPL_VERSION;
	h->hdr_record_size = record;
	h->hdr_buf_size = a->buf_size;
	h->hdr_ds.pebs_buffer_base = h->hdr_ds.pebs_index = sizeof(*h);
	h->hdr_ds.pebs_absolute_maximum = sizeof(*h) + room * record;
	h->hdr_ds.pebs_interrupt_threshold = sizeof(*h) + (a->intr_thres ? a->intr_thres : room) * record;
	for (int i = 0; i < PFM_PEBS_COUNTERS; i++)
		h->hdr_ds.pebs_counter_reset[i] = a->cnt_reset[i];
	return 0;
}

static int pebs_handler(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data)
{
	pfm_pebs_smpl_hdr_t *h = buf;

	(void)tstamp, (void)data;
	if (h->hdr_ds.pebs_index >= h->hdr_ds.pebs_interrupt_threshold) {
		h->hdr_overflows++;
		pfm_dfl_hold(arg);
	} else {
		h->hdr_others++;
		arg->ovfl_ctrl.reset_ovfl_pmds = 1;
	}
	return 0;
}

static int pebs_restart(void *buf, int is_active, pfm_ovfl_ctrl_t *ctrl)
{
	pfm_pebs_smpl_hdr_t *h = buf;

	(void)is_active;
	h->hdr_ds.pebs_index = h->hdr_ds.pebs_buffer_base;
	ctrl->reset_ovfl_pmds = 1;
	ctrl->mask_monitoring = 0;
	return 0;
}

/* Defines a sampling format with records of the type record_t. */
#define PEBS_FORMAT(suffix, NAME, record_t)								\
static int suffix##_validate(uint32_t ctx_flags, uint16_t num_pmds, void *arg)				\
{													\
	(void)ctx_flags, (void)num_pmds;								\
	return check_arg(arg, sizeof(record_t));							\
}													\
													\
static int suffix##_init(uint32_t ctx_flags, void *arg, void *buf)					\
{													\
	(void)ctx_flags;										\
	return start(arg, buf, sizeof(record_t));							\
}													\
													\
static void suffix##_want(const void *arg, struct pfm_stack_want *want)					\
{													\
	(void)arg;											\
	want->ds_record = sizeof(record_t);								\
}													\
													\
pfm_buffer_fmt_t pfm_fmt_##suffix = {									\
	.fmt_name = NAME##_NAME,									\
	.fmt_uuid = NAME##_UUID,									\
	.fmt_arg_size = sizeof(pfm_pebs_smpl_arg_t),							\
	.fmt_version = PFM_PEBS_SMPL_VERSION,								\
	.fmt_validate = suffix##_validate,								\
	.fmt_getsize = pebs_getsize,									\
	.fmt_init = suffix##_init,									\
	.fmt_handler = pebs_handler,									\
	.fmt_restart = pebs_restart,									\
	.fmt_want = suffix##_want,									\
}

PEBS_FORMAT(pebs, PFM_PEBS_SMPL, pfm_pebs_record_t);
PEBS_FORMAT(pebs32, PFM_PEBS32_SMPL, pfm_pebs32_record_t);
PEBS_FORMAT(pebs_nhm, PFM_PEBS_NHM_SMPL, pfm_pebs_nhm_record_t);
