// SPDX-License-Identifier: MIT
/*
 * counters.c - the cost of a read of four counters of the calling thread, by pfm_read_pmds() on the
 * machine perf and by read(2) of a group of perf events: ns per call, the least of many rounds.
 *   counters		prints "raw NS" and "pfm NS"
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "perfmon/perfmon.h"

#define NUM	4
#define ROUNDS	21
#define CALLS	20000

static const struct {
	uint16_t	pmd;
	uint64_t	config;
} counters[NUM] = {
	{ 64, PERF_COUNT_SW_TASK_CLOCK }, { 66, PERF_COUNT_SW_PAGE_FAULTS }, { 67, PERF_COUNT_SW_PAGE_FAULTS_MIN },
	{ 68, PERF_COUNT_SW_PAGE_FAULTS_MAJ },
};

static int raw, fd;
static pfarg_pmd_t pmds[NUM];

static void die(const char *what)
{
	fprintf(stderr, "counters: %s: %s\n", what, pfm_explain());
	exit(1);
}

static int open_raw(void)
{
	int leader = -1;

	for (int i = 0; i < NUM; i++) {
		struct perf_event_attr attr = {
			.size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .config = counters[i].config,
			.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED |
				       PERF_FORMAT_TOTAL_TIME_RUNNING,
		};
		int event = (int)syscall(SYS_perf_event_open, &attr, 0, -1, leader, 0);

		if (event < 0)
			die("perf_event_open");
		leader = leader < 0 ? event : leader;
	}
	return leader;
}

static int open_pfm(void)
{
	pfarg_ctx_t ctx = { 0 };
	pfarg_load_t load = { .load_pid = (uint32_t)gettid() };
	int new = pfm_create_context(&ctx, NULL, NULL, 0);

	for (int i = 0; i < NUM; i++) {
		pfarg_pmc_t pmc = { .reg_num = counters[i].pmd, .reg_value = 9 };

		pmds[i].reg_num = counters[i].pmd;
		if (new < 0 || pfm_write_pmcs(new, &pmc, 1))
			die("pfm_write_pmcs");
	}
	if (pfm_write_pmds(new, pmds, NUM) || pfm_load_context(new, &load) || pfm_start(new, NULL))
		die("pfm_start");
	return new;
}

static void read_raw(void)
{
	uint64_t words[3 + 2 * NUM];

	if (read(raw, words, sizeof(words)) < 0)
		die("read");
}

static void read_pfm(void)
{
	if (pfm_read_pmds(fd, pmds, NUM))
		die("pfm_read_pmds");
}

static double ns_a_call(void (*call)(void))
{
	struct timespec from, to;

	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < CALLS; i++)
		call();
	clock_gettime(CLOCK_MONOTONIC, &to);
	return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / CALLS;
}

/* Both ways alternate, so that other load affects them alike. */
int main(void)
{
	double least[2] = { 1e12, 1e12 };

	if (pfm_set_machine("perf", NULL))
		die("perf");
	raw = open_raw();
	fd = open_pfm();
	for (int i = 0; i < 2 * ROUNDS; i++) {
		double ns = ns_a_call(i % 2 ? read_pfm : read_raw);

		if (ns < least[i % 2])
			least[i % 2] = ns;
	}
	printf("raw %.0f\npfm %.0f\n", least[0], least[1]);
	return 0;
}
