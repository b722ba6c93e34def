/* SPDX-License-Identifier: MIT */
/* header.c - the header of a sampling buffer. */
#include "perfmon/perfmon_nway_smpl.h"
#include "samples/header.h"

static void read_2x(const pfm_dfl_smpl_hdr_t *h, struct lpfm_smpl_hdr *hdr)
{
	*hdr = (struct lpfm_smpl_hdr){
		.count = __atomic_load_n(&h->hdr_count, __ATOMIC_ACQUIRE),
		.cur_offs = h->hdr_cur_offs, .overflows = h->hdr_overflows, .size = h->hdr_buf_size,
		.version = h->hdr_version, .flags = h->hdr_buf_flags, .first = sizeof(*h),
	};
}

static void read_06(const pfm_default_smpl_hdr_t *h, struct lpfm_smpl_hdr *hdr)
{
	*hdr = (struct lpfm_smpl_hdr){
		.count = __atomic_load_n(&h->hdr_count, __ATOMIC_ACQUIRE),
		.cur_offs = h->hdr_cur_offs, .overflows = h->hdr_overflows, .size = h->hdr_buf_size,
		.version = h->hdr_version, .flags = h->hdr_flags, .first = sizeof(*h),
	};
}

/* The region at hdr_tail: the oldest full one or, if none is full, the one being written. */
static void read_nway(const pfm_nway_smpl_hdr_t *h, struct lpfm_smpl_hdr *hdr)
{
	const pfm_nway_region_t *r = &h->hdr_regions[h->hdr_tail % PFM_NWAY_MAX_REGIONS];

	*hdr = (struct lpfm_smpl_hdr){
		.count = __atomic_load_n(&r->count, __ATOMIC_ACQUIRE),
		.cur_offs = r->cur_offs, .overflows = h->hdr_overflows, .size = h->hdr_buf_size,
		.version = h->hdr_version, .flags = h->hdr_buf_flags, .first = r->offs,
		.lost = h->hdr_lost, .regions = h->hdr_num_regions,
	};
}

void lpfm_smpl_hdr_read(struct lpfm_smpl_hdr *hdr, enum lpfm_format format, const void *buf)
{
	if (format == LPFM_NWAY)
		read_nway(buf, hdr);
	else if (format == LPFM_DFL_06)
		read_06(buf, hdr);
	else
		read_2x(buf, hdr);
}

size_t lpfm_smpl_hdr_size(enum lpfm_format format)
{
	if (format == LPFM_NWAY)
		return sizeof(pfm_nway_smpl_hdr_t);
	return format == LPFM_DFL_06 ? sizeof(pfm_default_smpl_hdr_t) : sizeof(pfm_dfl_smpl_hdr_t);
}
