/* SPDX-License-Identifier: MIT */
/*
 * clock.h - CLOCK_MONOTONIC as perf_event's time stamps have it, which know no time namespaces.
 */
#ifndef PERFMON_USER_CLOCK_H
#define PERFMON_USER_CLOCK_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PFM_TIMENS_LINE "monotonic"

/* Returns the ns that clock_gettime(2) adds in this time namespace. It is async-signal-safe. */
static inline int64_t pfm_clock_offset(void)
{
	static int64_t offset = INT64_MIN;	/* not known yet */
	int64_t found = __atomic_load_n(&offset, __ATOMIC_RELAXED);
	char text[256] = "", *end;
	int err = errno, fd;

	if (found != INT64_MIN)
		return found;
	found = 0;
	fd = open("/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		/* "monotonic", seconds, nanoseconds; the other clocks follow */
		if (read(fd, text, sizeof(text) - 1) > (ssize_t)sizeof(PFM_TIMENS_LINE)) {
			found = strtoll(text + sizeof(PFM_TIMENS_LINE) - 1, &end, 10) * 1000000000;
			found += strtoll(end, NULL, 10);
		}
		close(fd);
	}
	errno = err;
	__atomic_store_n(&offset, found, __ATOMIC_RELAXED);
	return found;
}

static inline int64_t pfm_clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec - pfm_clock_offset();
}

#endif
