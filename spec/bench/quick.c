/* SPDX-License-Identifier: MIT */
/*
 * quick.c - a pfm_read_pmds() that takes next to no time, so that the time of a call from Lua is
 * what the binding adds. It is linked with libperfmon's objects, in which the function is renamed.
 */
#include "perfmon/perfmon.h"

int pfm_read_pmds(int fd, pfarg_pmd_t *pmds, int n)
{
	(void)fd;
	for (int i = 0; i < n; i++)
		pmds[i].reg_value++;
	return 0;
}
