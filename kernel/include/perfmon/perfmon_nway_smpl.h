/* SPDX-License-Identifier: MIT */
/*
 * perfmon_nway_smpl.h - the n-way sampling format: double buffering (6.3.1), with two or more
 * regions.
 *
 * The buffer is a header and n regions of equal size. Samples, laid out as in the default format
 * of 2.x, go to one region. When it is full, a notification is sent; monitoring continues, and
 * samples go to the next region. The tool reads full regions in order, from hdr_tail, and gives
 * each back with one pfm_restart().
 */
#ifndef PERFMON_NWAY_SMPL_H
#define PERFMON_NWAY_SMPL_H

#include "perfmon/perfmon_dfl_smpl.h"

#define PFM_NWAY_SMPL_NAME	"n-way"
#define PFM_NWAY_SMPL_UUID_OF(F) F(7e, 0c, 35, a6, 1b, 92, 4d, 5f, 9a, 60, 4e, 2d, c8, 13, f0, 7b)
#define PFM_NWAY_SMPL_UUID	PFM_NWAY_SMPL_UUID_OF(PFM_UUID_BYTES)
#define PFM_NWAY_SMPL_VERSION	0x10000U

#define PFM_NWAY_MAX_REGIONS	8

/*
 * 6.3.1, DOUBLE_FMT_MASK_WHEN_FULL: monitoring is masked when all regions are full. Without this
 * flag, the last region is overwritten then.
 */
#define PFM_NWAY_MASK_WHEN_FULL	0x100U
/* buf_flags may also contain PFM_DFL_SMPL_NO_HDR and PFM_DFL_SMPL_IIP_HDR. */

typedef struct {
	uint64_t	buf_size;	/* bytes of the whole buffer */
	uint32_t	buf_flags;
	uint32_t	num_regions;	/* 2 .. PFM_NWAY_MAX_REGIONS */
	uint64_t	reserved[6];
} pfm_nway_smpl_arg_t;

typedef struct {
	uint64_t	count;		/* samples in the region */
	uint64_t	offs;		/* offset of its first sample in the buffer */
	uint64_t	cur_offs;	/* offset of the first byte after its last sample */
	uint32_t	full;		/* 1: full, and not given back by a restart */
	uint32_t	reserved;
} pfm_nway_region_t;

typedef struct {
	uint32_t		hdr_version;
	uint32_t		hdr_buf_flags;
	uint32_t		hdr_num_regions;
	uint32_t		hdr_cur;	/* the region being written */
	uint32_t		hdr_tail;	/* the oldest full region: the next one to read */
	uint32_t		hdr_reserved1;
	uint64_t		hdr_buf_size;
	uint64_t		hdr_region_size;	/* bytes */
	uint64_t		hdr_overflows;	/* regions filled so far */
	uint64_t		hdr_lost;	/* samples overwritten in the last region */
	uint64_t		hdr_reserved2[9];
	pfm_nway_region_t	hdr_regions[PFM_NWAY_MAX_REGIONS];
} pfm_nway_smpl_hdr_t;

#endif /* PERFMON_NWAY_SMPL_H */
