// SPDX-License-Identifier: MIT
/* loop.c - does a fixed amount of work, and prints the ns it took. argv[1]: millions of steps. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
	long steps = (argc > 1 ? atol(argv[1]) : 300) * 1000000;
	volatile unsigned long sum = 0;
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	for (long i = 0; i < steps; i++)
		sum += (unsigned long)i;
	clock_gettime(CLOCK_MONOTONIC, &b);
	printf("%.0f\n", (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec));
	return 0;
}
