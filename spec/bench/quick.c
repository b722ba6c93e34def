/* SPDX-License-Identifier: MIT */
/*
 * quick.c - libperfmon with a pfm_read_pmds() that takes next to no time: what a call from Lua takes
 * then is what the binding adds to it. Linked with the library's own objects, whose function of that
 * name is renamed.
 */
#include "perfmon/perfmon.h"

int pfm_read_pmds(int fd, pfarg_pmd_t *pmds, int n)
{
	(void)fd;
	for (int i = 0; i < n; i++)
		pmds[i].reg_value++;
	return 0;
}
