/* SPDX-License-Identifier: MIT */
/* header.c - the header of a sampling buffer. */
#include "perfmon/perfmon_nway_smpl.h"
#include "perfmon/perfmon_stack_smpl.h"
#include "samples/header.h"

/*
 * Reads a header of the default format of 2.x, of 0.6, or of stack, which have the flags in
 * buf_flags.
 */
#define READ_HDR(h, buf_flags) (struct lpfm_smpl_hdr){ \
	.count = __atomic_load_n(&(h)->hdr_count, __ATOMIC_ACQUIRE), \
	.cur_offs = (h)->hdr_cur_offs, .overflows = (h)->hdr_overflows, .size = (h)->hdr_buf_size, \
	.version = (h)->hdr_version, .flags = (h)->buf_flags, .first = sizeof(*(h)), \
}

/*
 * Reads the region at hdr_tail: the oldest full one or, if none is full, the one that is being
 * written.
 */
static void read_nway(const pfm_nway_smpl_hdr_t *h, struct lpfm_smpl_hdr *hdr)
{
	const pfm_nway_region_t *r = &h->hdr_regions[h->hdr_tail % PFM_NWAY_MAX_REGIONS];

	*hdr = (struct lpfm_smpl_hdr){
		.count = __atomic_load_n(&r->count, __ATOMIC_ACQUIRE),
		.cur_offs = r->cur_offs, .overflows = h->hdr_overflows, .size = h->hdr_buf_size,
		.version = h->hdr_version, .flags = h->hdr_buf_flags, .first = r->offs,
		.lost = h->hdr_lost, .regions = h->hdr_num_regions, .full = r->full,
	};
}

static bool holds_no_more(const struct lpfm_smpl_hdr *hdr, uint64_t size, uint64_t largest)
{
	uint64_t used = hdr->cur_offs - hdr->first;

	return used > size || size - used < largest;
}

static bool read_stack(const pfm_stack_smpl_hdr_t *h, struct lpfm_smpl_hdr *hdr, unsigned int ahead)
{
	/* the number of full regions, which are the ones to be read next */
	unsigned int num_full = __atomic_load_n(&h->hdr_num_full, __ATOMIC_ACQUIRE);
	const pfm_stack_smpl_fill_t *fill = (const void *)(h + 1);
	uint64_t size = h->hdr_buf_size - sizeof(*h);

	if (ahead > num_full || ahead >= PFM_STACK_SMPL_MAX_REGIONS)
		return false;
	*hdr = READ_HDR(h, hdr_buf_flags);
	hdr->lost = h->hdr_lost;
	hdr->regions = h->hdr_num_regions;
	if (hdr->regions) {
		unsigned int at = (h->hdr_tail + ahead) % hdr->regions % PFM_STACK_SMPL_MAX_REGIONS;

		size = h->hdr_region_size;
		hdr->first = h->hdr_cur_offs + at * size;
		hdr->count = __atomic_load_n(&fill[at].count, __ATOMIC_ACQUIRE);
		hdr->cur_offs = fill[at].cur_offs;
	}
	hdr->full = ahead < num_full || holds_no_more(hdr, size, h->hdr_min_buf_space);
	return true;
}

void lpfm_smpl_hdr_read(struct lpfm_smpl_hdr *hdr, enum lpfm_format format, const void *buf)
{
	if (format == LPFM_NWAY)
		read_nway(buf, hdr);
	else if (format == LPFM_DFL_06)
		*hdr = READ_HDR((const pfm_default_smpl_hdr_t *)buf, hdr_flags);
	else if (format == LPFM_STACK)
		read_stack(buf, hdr, 0);
	else
		*hdr = READ_HDR((const pfm_dfl_smpl_hdr_t *)buf, hdr_buf_flags);
}

bool lpfm_smpl_hdr_ahead(struct lpfm_smpl_hdr *hdr, enum lpfm_format format, const void *buf, unsigned int ahead)
{
	if (format == LPFM_STACK)
		return read_stack(buf, hdr, ahead);
	lpfm_smpl_hdr_read(hdr, format, buf);
	return !ahead;
}

size_t lpfm_smpl_hdr_size(enum lpfm_format format)
{
	if (format == LPFM_NWAY)
		return sizeof(pfm_nway_smpl_hdr_t);
	return format == LPFM_DFL_06 ? sizeof(pfm_default_smpl_hdr_t) : sizeof(pfm_dfl_smpl_hdr_t);
}
