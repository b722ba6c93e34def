// SPDX-License-Identifier: MIT
/*
 * precise_ip.c - is preloaded, and plays a PMU that samples any event with a precise_ip of at most
 * PRECISE_MOST, a variable of the environment. It reports each perf_event_open(2) with precise_ip
 * on stderr and, as on x86, refuses it for events that do not sample.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

static int refuses(const struct perf_event_attr *attr)
{
	const char *most = getenv("PRECISE_MOST");

	if (!attr->precise_ip)
		return 0;
	fprintf(stderr, "type %u config %llu precise_ip %u period %llu\n", attr->type, (unsigned long long)attr->config,
		attr->precise_ip, (unsigned long long)attr->sample_period);
	if (!attr->sample_period)
		return EINVAL;
	return most && attr->precise_ip > (unsigned int)atoi(most) ? EOPNOTSUPP : 0;
}

long syscall(long number, ...)
{
	long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	long a[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_perf_event_open) {
		errno = refuses((const struct perf_event_attr *)a[0]);
		if (errno)
			return -1;
	}
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
