// SPDX-License-Identifier: MIT
/* thief.c - runs a command while all counters of CPU 0 are taken: thief COMMAND [ARGUMENT]... */
#include "check.h"

int main(int argc, char **argv)
{
	int fds[MOST_COUNTERS], status = -1;
	pid_t pid;

	if (argc < 2)
		return 64;
	take_all(0, fds);
	pid = fork();
	if (!pid) {
		for (int i = 0; i < MOST_COUNTERS; i++)
			close(fds[i]);
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
