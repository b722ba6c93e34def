// SPDX-License-Identifier: MIT
/*
 * notices.c - prints what a program could notice of a tool that measures it: a tracer, descriptors,
 * signals' actions and mask, resource limits. The output must be the same without a tool.
 *
 *   notices
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void tracer(void)
{
	char line[256];
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "TracerPid:", 10) || !strncmp(line, "NoNewPrivs:", 11))
			fputs(line, stdout);
	if (f)
		fclose(f);
}

static void descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (atoi(e->d_name) != dirfd(dir) && e->d_name[0] != '.')
			printf("descriptor %s\n", e->d_name);
	if (dir)
		closedir(dir);
}

static void signals(void)
{
	struct sigaction action;
	sigset_t blocked;

	sigprocmask(SIG_SETMASK, NULL, &blocked);
	for (int sig = 1; sig < 32; sig++) {
		if (!sigaction(sig, NULL, &action) && action.sa_handler != SIG_DFL)
			printf("signal %d is not as it should be\n", sig);
		if (sigismember(&blocked, sig))
			printf("signal %d is blocked\n", sig);
	}
}

static void limits(void)
{
	struct rlimit l;

	for (int i = 0; i < (int)RLIM_NLIMITS; i++)
		if (!getrlimit((__rlimit_resource_t)i, &l))
			printf("limit %d: %lu %lu\n", i, (unsigned long)l.rlim_cur, (unsigned long)l.rlim_max);
}

/* Traces a child, as strace and debuggers do. */
static void tracing(void)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(1);
		raise(SIGSTOP);
		_exit(7);
	}
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, pid, NULL, NULL);
	printf("a traced child ends with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOFBF, 65536);
	tracer();
	descriptors();
	signals();
	limits();
	fflush(stdout);
	tracing();
	fflush(stdout);
	return 42;
}
