// SPDX-License-Identifier: MIT
/*
 * sim.c - the cost of the simulated computer and the core. Prints ns of real time for one of:
 *
 *   sim overflows N PERIOD	overflows, sampled into a buffer, PERIOD cycles apart
 *   sim counting NS		a stretch of NS simulated ns with 4 counters that do not overflow
 *   sim timeouts N		set switches by time
 *   sim triggers N		set switches by overflow
 *   sim ctxsw N		context switches between two monitored threads
 *   sim sets N			making, programming, loading and closing N sets, per set
 *   sim switching SETS		a switch by time among so many sets
 *   sim contexts N		making, programming, loading, starting and closing N contexts, per context
 *   sim reading N		reading 4 counters while N contexts are loaded
 *
 * contexts and reading first print how many contexts there were: N, or as many as descriptors
 * permit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "perfmon/perfmon.h"
#include "perfmon/perfmon_dfl_smpl.h"
#include "perfmon/sim.h"

static struct pfm_sim *sim;

static void must(int ret, const char *what)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "sim: %s: %s\n", what, pfm_explain());
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void computer(const char *options)
{
	must(pfm_set_machine("sim:itanium2", options), "set_machine");
	sim = pfm_sim_get();
}

/* Creates a thread that loops for ever; a round takes 10 ns and 10 cycles. */
static uint32_t thread(void)
{
	static const struct pfm_sim_step steps[] = {
		{ .op = PFM_SIM_LOOP, .count = PFM_SIM_FOREVER },
		{ .op = PFM_SIM_SITE, .ns = 10, .ip = 0x4000 },
		{ .op = PFM_SIM_END },
	};
	struct pfm_sim_spawn spawn = { .program = { steps, 3 } };
	int tid = pfm_sim_spawn(sim, &spawn);

	must(tid, "spawn");
	return (uint32_t)tid;
}

static int context(size_t buffer)
{
	pfm_dfl_smpl_arg_t arg = { .buf_size = buffer };
	pfarg_ctx_t ctx = { 0 };
	int fd = buffer ? pfm_create_context(&ctx, PFM_DFL_SMPL_NAME, &arg, sizeof(arg))
			: pfm_create_context(&ctx, NULL, NULL, 0);

	must(fd, "create_context");
	return fd;
}

/*
 * Programs n counters of a set to count cycles; the first overflows after period, and may switch.
 */
static void program(int fd, uint16_t set, int n, uint64_t period, uint64_t threshold)
{
	pfarg_pmc_t pc[4] = { { 0 } };
	pfarg_pmd_t pd[4] = { { 0 } };

	for (int i = 0; i < n; i++) {
		pc[i].reg_num = pd[i].reg_num = (uint16_t)(4 + i);
		pc[i].reg_set = pd[i].reg_set = set;
		must(pfm_sim_encode(sim, "cycles", 7, 4 + i, &pc[i].reg_value), "encode");
	}
	pd[0].reg_value = pd[0].reg_long_reset = pd[0].reg_short_reset = -period;
	pd[0].reg_ovfl_switch_cnt = threshold;
	must(pfm_write_pmcs(fd, pc, n), "write_pmcs");
	must(pfm_write_pmds(fd, pd, n), "write_pmds");
}

static void go(int fd, uint32_t tid)
{
	pfarg_load_t load = { .load_pid = tid };

	must(pfm_load_context(fd, &load), "load_context");
	must(pfm_start(fd, NULL), "start");
}

static double time_to_run(uint64_t ns)
{
	double t = now();

	must(pfm_sim_run_ns(sim, ns), "run");
	return now() - t;
}

static double overflows(uint64_t n, uint64_t period)
{
	int fd;

	computer("");
	fd = context(n * sizeof(pfm_dfl_smpl_entry_t) + (1 << 20));
	program(fd, 0, 1, period, 0);
	go(fd, thread());
	return time_to_run(n * period) / (double)n;
}

#define STRETCHES 1000

static double counting(uint64_t ns)
{
	double t = 0;
	int fd;

	computer("");
	fd = context(0);
	program(fd, 0, 4, 1ULL << 62, 0);
	go(fd, thread());
	for (int i = 0; i < STRETCHES; i++)
		t += time_to_run(ns);
	return t / STRETCHES;
}

static void make_sets(int fd, uint32_t n, uint32_t flags)
{
	for (uint32_t i = 0; i < n; i++) {
		pfarg_setdesc_t d = { .set_id = (uint16_t)i, .set_flags = flags, .set_timeout = 1000 };

		must(pfm_create_evtsets(fd, &d, 1), "create_evtsets");
		program(fd, (uint16_t)i, 1, flags & PFM_SETFL_OVFL_SWITCH ? 1000 : 1ULL << 62, 1);
	}
}

static double switching(uint32_t sets, uint32_t flags, uint64_t n)
{
	int fd;

	computer("hz=1000000,timer_ns=1000");
	fd = context(0);
	make_sets(fd, sets, flags);
	go(fd, thread());
	return time_to_run(n * 1000) / (double)n;
}

static double ctxsw(uint64_t n)
{
	computer("hz=100000,slice_ns=10000");
	for (int i = 0; i < 2; i++) {
		int fd = context(0);

		program(fd, 0, 4, 1ULL << 62, 0);
		go(fd, thread());
	}
	return time_to_run(n * 10000) / (double)n;
}

static double sets(uint32_t n)
{
	uint32_t tid;
	double t;
	int fd;

	computer("");
	tid = thread();
	t = now();
	fd = context(0);
	make_sets(fd, n, 0);
	go(fd, tid);
	close(fd);
	pfm_sim_run_ns(sim, 0);		/* waits until the thread has ended */
	return (now() - t) / n;
}

/* Returns n, or fewer if descriptors (ulimit -n) do not suffice: a context takes two. */
static uint32_t as_many_as_fit(uint32_t n)
{
	struct rlimit lim;

	getrlimit(RLIMIT_NOFILE, &lim);
	lim.rlim_cur = lim.rlim_max;
	setrlimit(RLIMIT_NOFILE, &lim);
	return 2 * (rlim_t)n + 64 < lim.rlim_max ? n : (uint32_t)(lim.rlim_max - 64) / 2;
}

static int *many(uint32_t n, const uint32_t *tids)
{
	int *fds = calloc(n, sizeof(*fds));

	for (uint32_t i = 0; i < n; i++) {
		fds[i] = context(0);
		program(fds[i], 0, 4, 1ULL << 62, 0);
		go(fds[i], tids[i]);
	}
	return fds;
}

static uint32_t *threads(uint32_t n)
{
	uint32_t *tids = calloc(n, sizeof(*tids));

	computer("");
	for (uint32_t i = 0; i < n; i++)
		tids[i] = thread();
	return tids;
}

static double contexts(uint32_t n)
{
	uint32_t *tids = threads(n);
	double t = now();
	int *fds = many(n, tids);

	for (uint32_t i = 0; i < n; i++)
		close(fds[i]);
	pfm_sim_run_ns(sim, 0);
	return (now() - t) / n;
}

static double reading(uint32_t n)
{
	pfarg_pmd_t pd[4] = { { .reg_num = 4 }, { .reg_num = 5 }, { .reg_num = 6 }, { .reg_num = 7 } };
	int *fds = many(n, threads(n));
	double t = now();

	for (int i = 0; i < 100000; i++)
		must(pfm_read_pmds(fds[0], pd, 4), "read_pmds");
	return (now() - t) / 100000;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	uint64_t period = argc > 3 ? strtoull(argv[3], NULL, 0) : 1000;
	uint32_t count = 0;
	double ns;

	if (!strcmp(what, "overflows"))
		ns = overflows(n, period);
	else if (!strcmp(what, "counting"))
		ns = counting(n);
	else if (!strcmp(what, "timeouts"))
		ns = switching(2, PFM_SETFL_TIME_SWITCH, n);
	else if (!strcmp(what, "triggers"))
		ns = switching(2, PFM_SETFL_OVFL_SWITCH, n);
	else if (!strcmp(what, "ctxsw"))
		ns = ctxsw(n);
	else if (!strcmp(what, "sets"))
		ns = sets((uint32_t)n);
	else if (!strcmp(what, "switching"))
		ns = switching((uint32_t)n, PFM_SETFL_TIME_SWITCH, 200000);
	else if (!strcmp(what, "contexts"))
		ns = contexts(count = as_many_as_fit((uint32_t)n));
	else if (!strcmp(what, "reading"))
		ns = reading(count = as_many_as_fit((uint32_t)n));
	else
		return fprintf(stderr, "usage: see sim.c\n"), 2;
	if (count)
		printf("%u ", count);
	printf("%.*f\n", ns < 1000, ns);
	return 0;
}
