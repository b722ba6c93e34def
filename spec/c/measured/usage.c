/* SPDX-License-Identifier: MIT */
/*
 * usage.c - works, touches pages and sleeps, and prints the kernel's account of this:
 *
 *   usage MILLISECONDS PAGES SLEEPS
 *
 * prints "cpu NS faults N switches N, N before main". Of the time before main, a part is before
 * exec(2), which a counter that exec enables does not count.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "../pages.h"

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static long switches(const struct rusage *ru)
{
	return ru->ru_nvcsw + ru->ru_nivcsw;
}

int main(int argc, char **argv)
{
	struct timespec nap = { 0, 1000000 };
	struct rusage first, ru;

	if (argc < 4)
		return 2;
	getrusage(RUSAGE_SELF, &first);
	while (cpu_ns() < (uint64_t)atol(argv[1]) * 1000000)
		;
	if (atol(argv[2]))
		touch(atol(argv[2]));
	for (long i = atol(argv[3]); i > 0; i--)
		nanosleep(&nap, NULL);
	getrusage(RUSAGE_SELF, &ru);
	printf("cpu %llu faults %ld switches %ld, %ld before main\n", (unsigned long long)cpu_ns(),
	       ru.ru_minflt + ru.ru_majflt, switches(&ru), switches(&first));
	return 0;
}
