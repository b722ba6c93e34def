// SPDX-License-Identifier: MIT
/*
 * fork_keeps_buffer.c - on the machine of LPFM_MACHINE: a child of fork() that has closed a
 * context's descriptor keeps neither the sampling buffer's memory nor a descriptor of it (4.4.3:
 * memory counts until the context is closed).
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perfmon/perfmon.h"
#include "perfmon/perfmon_dfl_smpl.h"

#define BUFFER "perfmon-buffer"

static int mappings(pid_t pid)
{
	char path[64], line[1024];
	FILE *maps;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "r");
	while (maps && fgets(line, sizeof(line), maps))
		n += strstr(line, BUFFER) != NULL;
	if (maps)
		fclose(maps);
	return n;
}

static int descriptors(pid_t pid)
{
	char path[320], to[256];
	struct dirent *e;
	DIR *fds;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	fds = opendir(path);
	while (fds && (e = readdir(fds))) {
		ssize_t size;

		snprintf(path, sizeof(path), "/proc/%d/fd/%s", (int)pid, e->d_name);
		size = readlink(path, to, sizeof(to) - 1);
		to[size > 0 ? size : 0] = 0;
		n += strstr(to, BUFFER) != NULL;
	}
	if (fds)
		closedir(fds);
	return n;
}

int main(void)
{
	pfm_dfl_smpl_arg_t arg = { .buf_size = 1 << 20 };
	pfarg_ctx_t ctx = { 0 };
	int fd = pfm_create_context(&ctx, PFM_DFL_SMPL_NAME, &arg, sizeof(arg)), closed[2];
	char byte;
	pid_t pid;

	if (fd < 0 || pipe(closed)) {
		puts(pfm_explain());
		return 1;
	}
	printf("before: %d, %d\n", mappings(getpid()), descriptors(getpid()));
	fflush(stdout);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fd);
		if (write(closed[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	if (read(closed[0], &byte, 1) == 1)
		printf("in the child: %d, %d\n", mappings(pid), descriptors(pid));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(fd);
	return 0;
}
