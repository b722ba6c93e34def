/* SPDX-License-Identifier: MIT */
/*
 * cost.c - runs a command; prints its CPU time in ms and its most memory in KiB to stderr.
 *   cost COMMAND ARGUMENTS...
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double ms(struct timeval t)
{
	return (double)t.tv_sec * 1e3 + (double)t.tv_usec / 1e3;
}

int main(int argc, char **argv)
{
	struct rusage used;
	int status;
	pid_t pid;

	if (argc < 2)
		return 2;
	pid = fork();
	if (pid < 0)
		return 1;
	if (!pid) {
		execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}
	if (wait4(pid, &status, 0, &used) != pid)
		return 1;
	fprintf(stderr, "cost %.1f %ld\n", ms(used.ru_utime) + ms(used.ru_stime), used.ru_maxrss);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
