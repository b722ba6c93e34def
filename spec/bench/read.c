// SPDX-License-Identifier: MIT
/* read.c - pfm_read_pmds() of four counters of oneself, in a loop: prints ns per call. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "perfmon/perfmon.h"

#define N 4

static void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, pfm_explain());
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int session(pfarg_pmd_t *pd)
{
	pfarg_load_t load = { .load_pid = (uint32_t)syscall(SYS_gettid) };
	pfarg_pmc_t pc[N] = { { 0 } };
	pfarg_ctx_t ctx = { 0 };
	int fd = pfm_create_context(&ctx, NULL, NULL, 0);

	if (fd < 0)
		die("pfm_create_context");
	for (int i = 0; i < N; i++) {
		pc[i].reg_num = pd[i].reg_num = (uint16_t)(66 + i);
		pc[i].reg_value = 9;
	}
	if (pfm_write_pmcs(fd, pc, N) || pfm_load_context(fd, &load) || pfm_start(fd, NULL))
		die("session");
	return fd;
}

int main(int argc, char **argv)
{
	long calls = argc > 1 ? atol(argv[1]) : 200000;
	pfarg_pmd_t pd[N] = { { 0 } };
	int fd = session(pd);
	double best = 1e18;

	for (int round = 0; round < 7; round++) {
		double t = now();

		for (long i = 0; i < calls; i++)
			if (pfm_read_pmds(fd, pd, N))
				die("pfm_read_pmds");
		t = (now() - t) / (double)calls;
		if (t < best)
			best = t;
	}
	printf("%.1f\n", best);
	return 0;
}
