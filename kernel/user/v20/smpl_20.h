/* SPDX-License-Identifier: MIT */
/* smpl_20.h - perfmon 2.0's default sampling format. */
#ifndef PFM_USER_SMPL_20_H
#define PFM_USER_SMPL_20_H

#include <stdint.h>

struct pfm_smpl_20_arg {
	uint64_t	buf_size;
	uint32_t	flags, res1;
	uint64_t	reserved[2];
};

/*
 * Stores in uuid the UUID of libperfmon's format that replaces the format of perfmon 2.0 with the
 * UUID "asked". Returns 0, or -1 with EINVAL if there is none.
 */
int pfm_smpl_20_choose(const unsigned char *asked, unsigned char *uuid);

#endif
