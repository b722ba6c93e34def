/* SPDX-License-Identifier: MIT */
/*
 * hostile.h - what the hostile clients share: programs that misuse perfmon.ko, each scenario for
 * some seconds. They are meant for kernels with debug checks; the programs themselves only test
 * that no thread stays held, that no message is lost, and that nothing is left.
 *
 *   hostile_... [SECONDS [SEED [SCENARIO...]]]
 */
#ifndef SPEC_VM_HOSTILE_H
#define SPEC_VM_HOSTILE_H

#include <pthread.h>
#include <sys/resource.h>
#include <time.h>

#include "any_program.h"
#include "check.h"

#define SW_KERNEL	0x1
#define CLOCK		64		/* PMC and PMD of the thread's clock, ns */
#define SWITCHES	69		/* PMC and PMD of context switches */
#define SOON		120000		/* ms in which an event comes, even on a busy host */

static double seconds = 2;
static uint64_t seed = 1;
static struct timespec begun;
static _Thread_local uint64_t state;
static uint64_t calls, good;
static volatile bool quit;		/* the threads of a scenario shall end */

static uint32_t any(uint32_t below)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(state >> 33) % below;
}

/* Seeds the random numbers of this thread. */
static void draw_anew(void)
{
	state = seed * 1000003 + (uint64_t)my_tid() * 7919;
}

static double passed_since(const struct timespec *from)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - from->tv_sec) + (double)(now.tv_nsec - from->tv_nsec) / 1e9;
}

static inline bool over(void)
{
	return passed_since(&begun) > seconds;
}

/* Counts a call that may fail; returns its result. */
static inline long try(long result)
{
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&good, result >= 0, __ATOMIC_RELAXED);
	return result;
}

static inline void busy(uint32_t below)
{
	spin(1 + any(below));
}

static void ignore(int sig)
{
	(void)sig;
}

/* --- contexts --------------------------------------------------------------------------------- */

static inline int sampler(uint32_t flags, size_t size)
{
	pfm_dfl_smpl_arg_t arg = { .buf_size = size };
	pfarg_ctx_t ctx = { .ctx_flags = flags };

	return pfm_create_context(&ctx, "default", &arg, sizeof(arg));
}

static inline int double_buffer(uint32_t flags)
{
	pfm_nway_smpl_arg_t arg = { .buf_size = 16384, .num_regions = 2 };
	pfarg_ctx_t ctx = { .ctx_flags = flags };

	return pfm_create_context(&ctx, PFM_NWAY_SMPL_NAME, &arg, sizeof(arg));
}

/*
 * Creates a context with the format "program"; a program that is refused is replaced, up to 20
 * times.
 */
static inline int judged(uint32_t flags)
{
	pfarg_ctx_t ctx = { .ctx_flags = flags };
	int fd = -1;

	for (int i = 0; i < 20 && fd < 0; i++)
		fd = any_program((uint64_t)any(1u << 31) << 1 | 1, &ctx);
	return fd;
}

/* Creates a context with any format or none; read() does not wait. */
static inline int any_context(uint32_t flags)
{
	int fd;

	switch (any(5)) {
	case 0:
		fd = new_context(flags);
		break;
	case 1:
		fd = double_buffer(flags);
		break;
	case 2:
		fd = judged(flags);
		break;
	default:
		fd = sampler(flags, 4096u << any(3));
	}
	if (fd >= 0)
		fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

static inline uint32_t maybe_block(void)
{
	return any(2) ? PFM_FL_NOTIFY_BLOCK : 0;
}

/* Programs counters to overflow: one of the PMU, if there is one, and software counters. */
static inline void let_overflow(int fd, uint64_t period, uint32_t flags)
{
	bool counts = !try(set_pmc(fd, 0, 0, (any(2) ? USER : BOTH) | CYCLES)) &&
		      !try(set_period(fd, 0, 0, period, flags));

	if (!counts || any(2)) {
		try(set_pmc(fd, 0, FAULTS, SW_USER | SW_KERNEL));
		try(set_period(fd, 0, FAULTS, 1 + any(20), flags));
	}
	if (!any(3)) {
		try(set_pmc(fd, 0, CLOCK, SW_USER | SW_KERNEL));
		try(set_period(fd, 0, CLOCK, 10000 + any(100000), flags));
	}
}

static inline bool load_and_start(int fd, pid_t tid)
{
	return !try(load(fd, tid)) && !try(pfm_start(fd, NULL));
}

/* Reads a message, if there is one, and restarts the context. */
static inline void serve(int fd)
{
	pfarg_msg_t msg;

	try(read(fd, &msg, sizeof(msg)));
	try(pfm_restart(fd));
}

/* Waits for a message of that type; returns false if none comes. */
static inline bool await_message(int fd, int type)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct timespec from;
	pfarg_msg_t msg;

	clock_gettime(CLOCK_MONOTONIC, &from);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	while (passed_since(&from) * 1000 < SOON && poll(&p, 1, SOON) == 1)
		while (read(fd, &msg, sizeof(msg)) == sizeof(msg))
			if ((int)msg.type == type)
				return true;
	return false;
}

/* --- processes and threads -------------------------------------------------------------------- */

/* Creates a process that runs fn, and is killed when this process ends. */
static inline pid_t spawn(void (*fn)(void))
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	draw_anew();
	fn();
	_exit(0);
}

static inline void work_for_ever(void)
{
	for (;;) {
		busy(3000);
		fault(3);
		if (!any(3))
			sched_yield();
	}
}

static inline void wait_for_ever(void)
{
	for (;;)
		pause();
}

/* Returns the state of a process as in /proc/PID/stat; '?' if there is no such process. */
static inline char state_of(pid_t pid)
{
	char path[32], line[256] = "", *after;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f || !fgets(line, sizeof(line), f))
		line[0] = 0;
	if (f)
		fclose(f);
	after = strrchr(line, ')');
	return after ? after[2] : '?';
}

/* Kills a process, which must end, whatever holds it. */
static inline void kill_and_reap(pid_t pid)
{
	struct pollfd p = { .events = POLLIN };

	if (pid <= 0)
		return;
	p.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	kill(pid, SIGCONT);
	kill(pid, SIGKILL);
	if (check(p.fd < 0 || poll(&p, 1, SOON) == 1, "process %d, %c, cannot be killed", pid, state_of(pid)))
		waitpid(pid, NULL, __WALL);
	close(p.fd);
}

static pthread_t crew[8];
static int crew_size;

static inline void crew_starts(int n, void *(*fn)(void *))
{
	quit = false;
	for (crew_size = 0; crew_size < n; crew_size++)
		if (pthread_create(&crew[crew_size], NULL, fn, NULL))
			break;
}

static inline void crew_ends(void)
{
	quit = true;
	while (crew_size)
		pthread_join(crew[--crew_size], NULL);
}

/* The crew uses this descriptor, even after it was closed or became that of another context. */
static volatile int common_fd = -1;

/* A thread of the crew: stops, starts, unloads and restarts the common context. */
static inline void *restarter(void *none)
{
	draw_anew();
	while (!quit) {
		int fd = common_fd;

		if (fd < 0) {
			sched_yield();
			continue;
		}
		switch (any(8)) {
		case 0:
			try(pfm_unload_context(fd));
			break;
		case 1:
			try(pfm_stop(fd));
			try(pfm_start(fd, NULL));
			break;
		case 2:
			busy(20000);
			break;
		default:
			try(pfm_restart(fd));
		}
	}
	return none;
}

/* --- scenarios -------------------------------------------------------------------------------- */

struct scenario {
	const char	*name;
	void		(*run)(void);
};

/* Checks that no session and no buffer is left; waits, since a close may not be complete yet. */
static void nothing_is_left(void)
{
	struct timespec from;
	pfarg_config_t cfg;

	clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		sched_yield();
		MUST(pfm_get_config(&cfg));
	} while (cfg.cf_thread_sessions + cfg.cf_sys_sessions + cfg.cf_smpl_buf_size_cur && passed_since(&from) < 20);
	EQUAL(cfg.cf_thread_sessions, 0);
	EQUAL(cfg.cf_sys_sessions, 0);
	EQUAL(cfg.cf_smpl_buf_size_cur, 0);
}

static inline bool is_wanted(const char *name, int argc, char **argv)
{
	for (int i = 3; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return argc <= 3;
}

/* Runs the scenarios that the arguments name, or all; main() of each program calls this. */
static inline int run_scenarios(const struct scenario *all, int argc, char **argv)
{
	struct rlimit files = { 20000, 20000 };

	seconds = argc > 1 ? atof(argv[1]) : seconds;
	seed = argc > 2 ? (uint64_t)atoll(argv[2]) : seed;
	draw_anew();
	signal(SIGIO, ignore);
	signal(SIGALRM, ignore);
	signal(SIGRTMIN, ignore);
	setrlimit(RLIMIT_NOFILE, &files);
	for (; all->name; all++) {
		if (!is_wanted(all->name, argc, argv))
			continue;
		calls = good = 0;
		clock_gettime(CLOCK_MONOTONIC, &begun);
		run_test(all->name, all->run);
		printf("# %s: %llu calls of this process, %llu succeeded, %.1f s\n", all->name,
		       (unsigned long long)calls, (unsigned long long)good, passed_since(&begun));
	}
	run_test("nothing_is_left", nothing_is_left);
	return tests_failed > 0;
}

#endif
