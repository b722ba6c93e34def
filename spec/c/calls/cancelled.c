// SPDX-License-Identifier: MIT
/*
 * cancelled.c - on the machine of LPFM_MACHINE: threads that command a context are cancelled, in a
 * call or between two. No call is left half done: another thread can still use the context.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "perfmon/perfmon.h"

#define FAULTS	   66	/* PMD and PMC of page faults */
#define ALL_LEVELS 9
#define ROUNDS	   60

static void *command(void *arg)
{
	int fd = *(int *)arg;

	for (;;) {
		pfarg_pmd_t pmd = { .reg_num = FAULTS };

		pfm_read_pmds(fd, &pmd, 1);
		pfm_stop(fd);
		pfm_start(fd, NULL);
		pthread_testcancel();
	}
	return NULL;
}

static int life(int round)
{
	struct timespec while_it_commands = { .tv_nsec = 50000 * (round % 20) };
	pfarg_load_t load = { .load_pid = (uint32_t)syscall(SYS_gettid) };
	pfarg_pmc_t pmc = { .reg_num = FAULTS, .reg_value = ALL_LEVELS };
	pfarg_pmd_t pmd = { .reg_num = FAULTS, .reg_flags = PFM_REGFL_OVFL_NOTIFY };
	pfarg_ctx_t ctx = { 0 };
	int fd = pfm_create_context(&ctx, NULL, NULL, 0);
	pthread_t thread;

	if (pfm_write_pmcs(fd, &pmc, 1) || pfm_write_pmds(fd, &pmd, 1) || pfm_load_context(fd, &load) ||
	    pthread_create(&thread, NULL, command, &fd))
		return 1;
	nanosleep(&while_it_commands, NULL);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	if (pfm_read_pmds(fd, &pmd, 1) || pfm_unload_context(fd))
		return 1;
	return close(fd);
}

int main(void)
{
	for (int round = 0; round < ROUNDS; round++) {
		if (life(round)) {
			printf("round %d: %s\n", round, pfm_explain());
			return 1;
		}
	}
	return 0;
}
