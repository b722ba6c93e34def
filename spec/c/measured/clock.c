// SPDX-License-Identifier: MIT
/* clock.c - reads the clock argv[1] times: in the vDSO, if the vDSO can read the clock source. */
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
	struct timespec t;
	long sum = 0;

	for (long n = argc > 1 ? atol(argv[1]) : 1; n > 0; n--) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		sum += t.tv_nsec;
	}
	return sum < 0;
}
