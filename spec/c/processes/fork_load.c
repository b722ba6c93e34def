// SPDX-License-Identifier: MIT
/*
 * fork_load.c - 3.1.7, on the machine of LPFM_MACHINE: a child of fork() loads a context onto its
 * parent, which had one at the fork, and has unloaded it since.
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perfmon/perfmon.h"

static int load(int fd, pid_t tid)
{
	pfarg_load_t load = { .load_pid = (uint32_t)tid };

	if (!pfm_load_context(fd, &load))
		return 0;
	printf("load of %s: %s\n", tid == getpid() ? "the caller" : "the parent", pfm_explain());
	return 1;
}

static int create(void)
{
	pfarg_ctx_t ctx = { 0 };

	return pfm_create_context(&ctx, NULL, NULL, 0);
}

int main(void)
{
	int fd = create(), unloaded[2], status = 1;
	char byte;

	if (pipe(unloaded) || load(fd, getpid()))
		return 1;
	if (!fork()) {
		if (read(unloaded[0], &byte, 1) == 1)
			status = load(create(), getppid());
		fflush(stdout);
		_exit(status);
	}
	if (pfm_unload_context(fd) || write(unloaded[1], "", 1) != 1)
		return 1;
	wait(&status);
	return status != 0;
}
