/* SPDX-License-Identifier: MIT */
/* header.h - the header of a sampling buffer of the default format or n-way, whichever layout it has (3.6.3). */
#ifndef LPFM_HEADER_H
#define LPFM_HEADER_H

#include "ffi/objects.h"

/* Of n-way, and of stack with regions, count, cur_offs and first are those of the region to be read next. */
struct lpfm_smpl_hdr {
	uint64_t	count, cur_offs, overflows, size;
	uint32_t	version, flags;
	uint64_t	first;		/* offset of the first sample */
	uint64_t	lost;		/* n-way: samples overwritten; stack: that found it full */
	uint32_t	regions;	/* n-way, stack; 0: it has none */
	bool		full;		/* nothing more will come to what is to be read */
};

/* The header of the format's at buf. */
void lpfm_smpl_hdr_read(struct lpfm_smpl_hdr *hdr, enum lpfm_format format, const void *buf);
/* Of stack, the same of a region that is to be read later: after so many others. False: there is none. */
bool lpfm_smpl_hdr_ahead(struct lpfm_smpl_hdr *hdr, enum lpfm_format format, const void *buf, unsigned int ahead);
/* How large that header is. */
size_t lpfm_smpl_hdr_size(enum lpfm_format format);

#endif
