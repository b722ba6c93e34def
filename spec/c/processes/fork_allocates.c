// SPDX-License-Identifier: MIT
/*
 * fork_allocates.c - libperfmon's fork handler allocates nothing in the child, whatever contexts
 * its parent has (3.1.1: "The file descriptor is cloned in the child"): in a program's own
 * allocator, a thread that the child does not have may hold a lock. On the machine of LPFM_MACHINE.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perfmon/perfmon.h"

#define CONTEXTS 5

static unsigned long allocations;

static void *next(const char *name)
{
	allocations++;
	return dlsym(RTLD_NEXT, name);
}

void *malloc(size_t size)
{
	void *(*libcs)(size_t) = (void *(*)(size_t))next("malloc");

	return libcs(size);
}

void *calloc(size_t n, size_t size)
{
	void *(*libcs)(size_t, size_t) = (void *(*)(size_t, size_t))next("calloc");

	return libcs(n, size);
}

void *realloc(void *old, size_t size)
{
	void *(*libcs)(void *, size_t) = (void *(*)(void *, size_t))next("realloc");

	return libcs(old, size);
}

int main(void)
{
	unsigned long before = allocations;
	int status;
	pid_t pid;

	for (int i = 0; i < CONTEXTS; i++) {
		pfarg_ctx_t ctx = { 0 };

		if (pfm_create_context(&ctx, NULL, NULL, 0) < 0)
			return printf("create: %s\n", pfm_explain());
	}
	free(strdup("a block"));
	if (allocations <= before)
		return puts("allocations are not counted");
	before = allocations;
	pid = fork();
	if (!pid)
		_exit(allocations > before ? 1 : 0);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return puts("no child");
	if (status)
		puts("the child has allocated memory");
	return status != 0;
}
