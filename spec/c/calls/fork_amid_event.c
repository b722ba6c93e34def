// SPDX-License-Identifier: MIT
/*
 * fork_amid_event.c - forks while another thread is in pfm_perf_event(): the child's call returns,
 * too. The event's filter is so long that the library maps memory for its copy: here mmap() returns
 * only after the fork, or when fork() waits for a lock.
 */
#define PFM_NO_MMAP_REDIRECT
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perfmon/perfmon.h"

static atomic_bool asking, forked;
static __thread bool asks;

/* Returns true if the process' first thread sleeps, as it does if fork() waits for a lock. */
static bool first_thread_sleeps(void)
{
	char path[64], line[512] = "";
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());
	stat = fopen(path, "r");
	if (!stat)
		return false;
	if (!fgets(line, sizeof(line), stat))
		line[0] = 0;
	fclose(stat);
	return strstr(line, ") S ");
}

void *mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
{
	if (asks) {
		asks = false;
		atomic_store(&asking, true);
		while (!atomic_load(&forked) && !first_thread_sleeps())
			;
	}
	return (void *)syscall(SYS_mmap, addr, size, prot, flags, fd, offset);
}

static void *ask(void *unused)
{
	static char filter[1 << 17];
	pfm_perf_event_t event = { .type = PERF_TYPE_TRACEPOINT, .filter = filter };
	uint64_t value;
	int ret;

	(void)unused;
	memset(filter, '1', sizeof(filter) - 1);
	asks = true;
	ret = pfm_perf_event(&event, &value);
	atomic_store(&asking, true);	/* a library built with AddressSanitizer maps nothing */
	return ret ? "the parent's call failed" : NULL;
}

static int child(void)
{
	pfm_perf_event_t event = { .type = PERF_TYPE_SOFTWARE };
	uint64_t value;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pfm_perf_event(&event, &value) ? 1 : 0;
}

int main(void)
{
	pfm_machine_info_t info;
	void *problem = NULL;
	pthread_t thread;
	int status = -1;
	pid_t pid;

	if (pfm_get_machine(&info) || pthread_create(&thread, NULL, ask, NULL))
		return 1;
	while (!atomic_load(&asking))
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
		printf("the child's call: status %#x\n", status);
	return problem || status;
}
