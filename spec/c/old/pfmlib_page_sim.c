/* SPDX-License-Identifier: MIT */
/*
 * pfmlib_page_sim.c - linked with --wrap, runs pfmlib_page.c on the simulated computer of
 * LPFM_MACHINE: the process is a simulated thread at user level; the code to monitor takes a
 * simulated millisecond.
 */
#include <perfmon/perfmon.h>
#include <perfmon/sim.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define WORK_NS 1000000

static const struct pfm_sim_step loop[] = {
	{ .op = PFM_SIM_LOOP, .count = PFM_SIM_FOREVER },
	{ .op = PFM_SIM_SITE, .level = PFM_SIM_USER, .ns = 10, .ip = 0x1000 },
	{ .op = PFM_SIM_END },
};

static struct pfm_sim *sim;

pid_t __wrap_getpid(void);
int __wrap_pfm_stop(int fd);
int __real_pfm_stop(int fd);

pid_t __wrap_getpid(void)
{
	struct pfm_sim_spawn spawn = { .name = "page", .program = { loop, 3 } };
	int tid;

	sim = pfm_sim_get();
	tid = sim ? pfm_sim_spawn(sim, &spawn) : -1;
	if (tid < 0) {
		fprintf(stderr, "no simulated computer: %s\n", pfm_explain());
		exit(1);
	}
	return tid;
}

int __wrap_pfm_stop(int fd)
{
	if (pfm_sim_run_ns(sim, WORK_NS) < 0)
		fprintf(stderr, "pfm_sim_run_ns: %s\n", pfm_explain());
	return __real_pfm_stop(fd);
}
