// SPDX-License-Identifier: MIT
/*
 * clients.c - threads of a program use libperfmon at the same time, on the machine of LPFM_MACHINE:
 * each creates, commands and closes contexts of its own, and forks; all command one shared context.
 *
 *   clients SECONDS	prints how often each call was made
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "perfmon/perfmon.h"

#define THREADS	   4
#define FAULTS	   66	/* PMD and PMC of page faults */
#define ALL_LEVELS 9

static atomic_bool over;
static atomic_long lives, reads, forks, messages, failures;
static int shared;

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s: %s\n", what, pfm_explain());
	atomic_fetch_add(&failures, 1);
}

static int context(uint32_t flags)
{
	pfarg_ctx_t ctx = { .ctx_flags = flags };
	pfarg_pmc_t pmc = { .reg_num = FAULTS, .reg_value = ALL_LEVELS };
	pfarg_pmd_t pmd = { .reg_num = FAULTS };
	int fd = pfm_create_context(&ctx, NULL, NULL, 0);

	must(fd >= 0, "create");
	must(!pfm_write_pmcs(fd, &pmc, 1) && !pfm_write_pmds(fd, &pmd, 1), "write");
	return fd;
}

static void load(int fd)
{
	pfarg_load_t req = { .load_pid = (uint32_t)syscall(SYS_gettid) };

	must(!pfm_load_context(fd, &req) && !pfm_start(fd, NULL), "load and start");
}

static uint64_t faults_of(int fd)
{
	pfarg_pmd_t pmd = { .reg_num = FAULTS };

	must(!pfm_read_pmds(fd, &pmd, 1), "read");
	atomic_fetch_add(&reads, 1);
	return pmd.reg_value;
}

static void fault(void)
{
	void *page = malloc(1 << 20);

	*(volatile char *)page = 1;
	free(page);
}

/* Forks a child, which has the descriptor, too; its close() must not concern this process. */
static void leave_it_to_a_child(int fd)
{
	pid_t pid = fork();

	if (!pid) {
		close(fd);
		_exit(0);
	}
	must(pid > 0 && waitpid(pid, NULL, 0) == pid, "fork");
	atomic_fetch_add(&forks, 1);
}

/* Loads the shared context for a while; if another thread has it loaded, the load is refused. */
static void use_shared(void)
{
	pfarg_load_t req = { .load_pid = (uint32_t)syscall(SYS_gettid) };
	struct pollfd p = { .fd = shared, .events = POLLIN };
	pfarg_pmd_t pmd = { .reg_num = FAULTS };

	if (!pfm_load_context(shared, &req)) {
		pfm_start(shared, NULL);
		pfm_read_pmds(shared, &pmd, 1);
		pfm_unload_context(shared);
	} else {
		pfm_read_pmds(shared, &pmd, 1);
		pfm_stop(shared);
	}
	atomic_fetch_add(&messages, poll(&p, 1, 0) >= 0);
}

static void live_once(unsigned int *seed)
{
	int fd = context(0), other;
	uint64_t first;

	load(fd);
	first = faults_of(fd);
	fault();
	must(faults_of(fd) >= first, "it counts on");
	if (rand_r(seed) % 8 == 0)
		leave_it_to_a_child(fd);
	other = dup(fd);
	close(fd);
	faults_of(other);
	if (rand_r(seed) % 2)
		must(!pfm_unload_context(other), "unload");
	close(other);
	atomic_fetch_add(&lives, 1);
}

static void *client(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg;

	while (!atomic_load(&over)) {
		live_once(&seed);
		use_shared();
	}
	return NULL;
}

/* Threads start and end, too. */
static void *live_and_go(void *seed)
{
	live_once(seed);
	return NULL;
}

static void *generation(void *arg)
{
	while (!atomic_load(&over)) {
		pthread_t thread;
		int fd = context(0);

		load(fd);
		if (pthread_create(&thread, NULL, live_and_go, arg))
			abort();
		pthread_join(thread, NULL);
		close(fd);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS], last;
	unsigned int seed = 99;

	if (argc < 2)
		return 2;
	shared = context(0);
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, client, (void *)(i + 1)))
			return 2;
	if (pthread_create(&last, NULL, generation, &seed))
		return 2;
	nanosleep(&(struct timespec){ .tv_sec = atol(argv[1]) }, NULL);
	atomic_store(&over, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_join(last, NULL);
	close(shared);
	printf("%ld lives, %ld reads, %ld forks, %ld looks at messages, %ld failures\n", lives, reads, forks, messages,
	       failures);
	return failures != 0;
}
