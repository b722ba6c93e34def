/* SPDX-License-Identifier: MIT */
/* smpl_20.h - perfmon 2.0's default sampling format. Inside kernel/user. */
#ifndef PFM_USER_SMPL_20_H
#define PFM_USER_SMPL_20_H

#include <stdint.h>

struct pfm_smpl_20_arg {
	uint64_t	buf_size;
	uint32_t	flags, res1;
	uint64_t	reserved[2];
};

/*
 * Stores in uuid the UUID of the format that is used here for the one that the program has asked
 * for. Returns 0, or -1 with EINVAL if there is no such format.
 */
int pfm_smpl_20_choose(const unsigned char *asked, unsigned char *uuid);

#endif
