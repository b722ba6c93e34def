/* SPDX-License-Identifier: MIT */
/* header.h - the header of a sampling buffer of the default format (3.6.3), n-way, or stack. */
#ifndef LPFM_HEADER_H
#define LPFM_HEADER_H

#include "ffi/objects.h"

/*
 * For n-way, and for stack with regions, count, cur_offs and first are those of the region that is
 * read next.
 */
struct lpfm_smpl_hdr {
	uint64_t	count, cur_offs, overflows, size;
	uint32_t	version, flags;
	uint64_t	first;		/* offset of the first sample */
	/* n-way: samples overwritten; stack: samples that found the buffer full */
	uint64_t	lost;
	uint32_t	regions;	/* number of regions of n-way or stack; 0: no regions */
	bool		full;		/* no more samples will be added to what is read next */
};

/* Reads the format's header at buf. */
void lpfm_smpl_hdr_read(struct lpfm_smpl_hdr *hdr, enum lpfm_format format, const void *buf);
/*
 * Does what lpfm_smpl_hdr_read() does, for a region that is read after `ahead` other ones, which
 * only the format stack has. Returns false if there is no such region.
 */
bool lpfm_smpl_hdr_ahead(struct lpfm_smpl_hdr *hdr, enum lpfm_format format, const void *buf, unsigned int ahead);
/* Returns the size of the format's header in bytes. */
size_t lpfm_smpl_hdr_size(enum lpfm_format format);

#endif
