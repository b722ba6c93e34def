// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * nway.c - the n-way format (6.3.1): its buffer has several regions, so that monitoring goes on
 * while the program reads a full one.
 */
#include "formats.h"
#include "perfmon/perfmon_nway_smpl.h"

#define KNOWN_FLAGS (PFM_DFL_SMPL_NO_HDR | PFM_DFL_SMPL_IIP_HDR | PFM_NWAY_MASK_WHEN_FULL)
#define HEADS (PFM_DFL_SMPL_NO_HDR | PFM_DFL_SMPL_IIP_HDR)

static uint64_t region_size(const pfm_nway_smpl_arg_t *a)
{
	return (a->buf_size - sizeof(pfm_nway_smpl_hdr_t)) / a->num_regions & ~7ULL;
}

static int nway_validate(uint32_t ctx_flags, uint16_t num_pmds, void *arg)
{
	const pfm_nway_smpl_arg_t *a = arg;

	(void)ctx_flags;
	if (a->buf_flags & ~KNOWN_FLAGS || (a->buf_flags & HEADS) == HEADS ||
	    !pfm_all_zero(a->reserved, sizeof(a->reserved)))
		return EINVAL;
	if (a->num_regions < 2 || a->num_regions > PFM_NWAY_MAX_REGIONS)
		return pfm_refuse(EINVAL, "format %s: the argument is not valid: 2 to %d regions are possible, not %u",
				  PFM_NWAY_SMPL_NAME, PFM_NWAY_MAX_REGIONS, a->num_regions);
	if (a->buf_size < sizeof(pfm_nway_smpl_hdr_t) || a->buf_size != (size_t)a->buf_size ||
	    region_size(a) < pfm_dfl_max_sample(num_pmds))
		return pfm_refuse_buf_size(PFM_NWAY_SMPL_NAME, a->buf_size, pfm_dfl_max_sample(num_pmds));
	return 0;
}

static int nway_getsize(uint32_t ctx_flags, void *arg, size_t *size)
{
	(void)ctx_flags;
	*size = ((pfm_nway_smpl_arg_t *)arg)->buf_size;
	return 0;
}

static void empty(pfm_nway_region_t *r)
{
	r->count = 0;
	r->cur_offs = r->offs;
	r->full = 0;
}

static int nway_init(uint32_t ctx_flags, void *arg, void *buf)
{
	const pfm_nway_smpl_arg_t *a = arg;
	pfm_nway_smpl_hdr_t *h = buf;

	(void)ctx_flags;
	h->hdr_version = PFM_NWAY_SMPL_VERSION;
	h->hdr_buf_flags = a->buf_flags;
	h->hdr_num_regions = a->num_regions;
	h->hdr_buf_size = a->buf_size;
	h->hdr_region_size = region_size(a);
	for (unsigned int i = 0; i < a->num_regions; i++) {
		h->hdr_regions[i].offs = sizeof(*h) + i * h->hdr_region_size;
		empty(&h->hdr_regions[i]);
	}
	return 0;
}

static uint32_t after(const pfm_nway_smpl_hdr_t *h, uint32_t region)
{
	return (region + 1) % h->hdr_num_regions;
}

/*
 * Called when the region that is being filled is full. If the program has given back the next
 * region, that is filled from now on. Otherwise monitoring is masked or, without
 * PFM_NWAY_MASK_WHEN_FULL, the current region is overwritten.
 */
static void next_region(pfm_nway_smpl_hdr_t *h, pfm_ovfl_arg_t *arg)
{
	pfm_ovfl_ctrl_t *ctrl = &arg->ovfl_ctrl;
	pfm_nway_region_t *r = &h->hdr_regions[h->hdr_cur];
	uint32_t next = after(h, h->hdr_cur);

	h->hdr_overflows++;
	if (!h->hdr_regions[next].full) {
		r->full = 1;
		h->hdr_cur = next;
		ctrl->notify_user = 1;
		ctrl->block_thread = arg->any_notify;
	} else if (h->hdr_buf_flags & PFM_NWAY_MASK_WHEN_FULL) {
		r->full = 1;
		ctrl->notify_user = ctrl->mask_monitoring = 1;
		ctrl->block_thread = arg->any_notify;
	} else {
		h->hdr_lost += r->count;
		empty(r);
	}
}

static int nway_handler(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data)
{
	pfm_nway_smpl_hdr_t *h = buf;
	pfm_nway_region_t *r = &h->hdr_regions[h->hdr_cur];
	uint64_t end = r->offs + h->hdr_region_size;

	/*
	 * all regions are full, because another PMD, which overflowed at the same time, has filled
	 * the last one
	 */
	if (r->full) {
		arg->ovfl_ctrl.mask_monitoring = 1;
		return 0;
	}
	r->cur_offs += pfm_dfl_put_sample((char *)buf + r->cur_offs, h->hdr_buf_flags, arg, tstamp, data);
	r->count++;
	if (end - r->cur_offs < pfm_dfl_max_sample(arg->num_pmds))
		next_region(h, arg);
	arg->ovfl_ctrl.reset_ovfl_pmds = !arg->ovfl_ctrl.mask_monitoring;
	return 0;
}

/* Gives back the oldest full region. */
static int nway_restart(void *buf, int is_active, pfm_ovfl_ctrl_t *ctrl)
{
	pfm_nway_smpl_hdr_t *h = buf;
	pfm_nway_region_t *r = &h->hdr_regions[h->hdr_tail];

	if (r->full) {
		empty(r);
		if (!is_active)
			h->hdr_cur = h->hdr_tail;
		h->hdr_tail = after(h, h->hdr_tail);
	}
	ctrl->reset_ovfl_pmds = !is_active;
	return 0;
}

pfm_buffer_fmt_t pfm_fmt_nway = {
	.fmt_name = PFM_NWAY_SMPL_NAME,
	.fmt_uuid = PFM_NWAY_SMPL_UUID,
	.fmt_arg_size = sizeof(pfm_nway_smpl_arg_t),
	.fmt_msgq_depth = PFM_NWAY_MAX_REGIONS,
	.fmt_version = PFM_NWAY_SMPL_VERSION,
	.fmt_validate = nway_validate,
	.fmt_getsize = nway_getsize,
	.fmt_init = nway_init,
	.fmt_handler = nway_handler,
	.fmt_restart = nway_restart,
};
