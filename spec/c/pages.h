/* SPDX-License-Identifier: MIT */
/* pages.h - page faults of a known number. */
#ifndef LPFM_SPEC_PAGES_H
#define LPFM_SPEC_PAGES_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Causes a page fault on each of so many new pages, which it unmaps again. */
static inline void touch(long pages)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE), all = (size_t)pages * size;
	volatile char *at = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || (madvise((void *)at, all, MADV_NOHUGEPAGE) && errno != EINVAL)) {
		perror("touch");
		exit(3);
	}
	for (size_t i = 0; i < all; i += size)
		at[i] = 1;
	munmap((void *)at, all);
}

#endif
