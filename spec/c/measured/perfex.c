// SPDX-License-Identifier: MIT
/*
 * perfex.c - runs a program with virtual counters, and prints their final values:
 *   perfex PROGRAM [ARGUMENTS]
 *
 * The descriptor of the counters outlives the program, so they can be read after its exit.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perfctr/libperfctr.h"

static const struct {
	uint32_t	pmd;
	uint64_t	pmc;
	const char	*name;
} counted[] = { { 66, 9, "page-faults" }, { 69, 1, "context-switches" } };

#define COUNTED (sizeof(counted) / sizeof(counted[0]))

static int complain(const char *what)
{
	fprintf(stderr, "perfex: %s: %s\n", what, perfctr_explain());
	return -1;
}

/* Forks a child that executes argv when the pipe is closed, which means that its counters exist. */
static pid_t launch(char **argv, int ready[2])
{
	pid_t pid;
	char c;

	if (pipe(ready))
		return -1;
	pid = fork();
	if (pid)
		return pid;
	close(ready[1]);
	if (!read(ready[0], &c, 1)) {
		close(ready[0]);
		execvp(argv[0], argv);
		perror(argv[0]);
	}
	_exit(127);
}

static int count(pid_t pid)
{
	struct vperfctr_control control;
	int fd = sys_vperfctr_open(pid, 1);

	if (fd < 0)
		return complain("open");
	memset(&control, 0, sizeof(control));
	control.cpu_control.tsc_on = 1;
	control.cpu_control.nractrs = COUNTED;
	for (unsigned int i = 0; i < COUNTED; i++) {
		control.cpu_control.pmc_map[i] = counted[i].pmd;
		control.cpu_control.evntsel[i] = counted[i].pmc;
	}
	return sys_vperfctr_control(fd, &control) ? complain("control") : fd;
}

static int print(int fd)
{
	struct perfctr_sum_ctrs sum, children;

	if (sys_vperfctr_read(fd, &sum, NULL, &children))
		return complain("read");
	fprintf(stderr, "%-18s %14llu %14llu\n", "tsc", (unsigned long long)sum.tsc, (unsigned long long)children.tsc);
	for (unsigned int i = 0; i < COUNTED; i++)
		fprintf(stderr, "%-18s %14llu %14llu\n", counted[i].name, (unsigned long long)sum.pmc[i],
			(unsigned long long)children.pmc[i]);
	return 0;
}

int main(int argc, char **argv)
{
	int ready[2], fd, status;
	pid_t pid;

	if (argc < 2) {
		fprintf(stderr, "usage: perfex PROGRAM [ARGUMENTS]\n");
		return 2;
	}
	pid = launch(argv + 1, ready);
	if (pid < 0) {
		perror("perfex");
		return 1;
	}
	fd = count(pid);
	close(ready[1]);
	if (waitpid(pid, &status, 0) != pid || fd < 0 || print(fd))
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
