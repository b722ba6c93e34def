// SPDX-License-Identifier: MIT
/*
 * fork_at_first.c - forks while another thread makes the first call, which chooses the machine: the
 * child's first call works, too (3.1.1: any thread may create a context). The choice begins with
 * getenv(), which here returns only after the fork, or when fork() waits for a lock.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "first_thread.h"
#include "perfmon/perfmon.h"

static atomic_bool choosing, forked;
static __thread bool is_first;

char *getenv(const char *name)
{
	char *(*next)(const char *) = (char *(*)(const char *))dlsym(RTLD_NEXT, "getenv");

	if (is_first && !strcmp(name, "LPFM_MACHINE")) {
		atomic_store(&choosing, true);
		while (!atomic_load(&forked) && !first_thread_sleeps())
			;
	}
	return next(name);
}

static void *first_call(void *unused)
{
	pfm_machine_info_t info;

	(void)unused;
	is_first = true;
	return pfm_get_machine(&info) ? "the first call failed" : NULL;
}

static int child(void)
{
	pfm_machine_info_t info;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pfm_get_machine(&info) ? 1 : 0;
}

int main(void)
{
	void *problem = NULL;
	pthread_t thread;
	int status = -1;
	pid_t pid;

	if (pthread_create(&thread, NULL, first_call, NULL))
		return 1;
	while (!atomic_load(&choosing))
		;
	pid = fork();
	if (!pid)
		_exit(child());
	atomic_store(&forked, true);
	pthread_join(thread, &problem);
	alarm(20);	/* nothing in the child would release a lock that the other thread held */
	if (problem)
		puts(problem);
	if (waitpid(pid, &status, 0) != pid || status)
		printf("the child's first call: status %#x\n", status);
	return problem || status;
}
