// SPDX-License-Identifier: MIT
/*
 * tree.c - a tree of processes and threads with a known number of page faults:
 *   tree DEPTH WIDTH PAGES [MODE]
 * Each process touches PAGES pages, which are faults, starts WIDTH children, one level less deep,
 * and a thread that touches as many. MODE "late": waits for children when all have ended; "never":
 * does not wait. Prints how many pages are touched in all.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../pages.h"

static long pages;

static void fail(const char *what)
{
	perror(what);
	exit(2);
}

static void *touch_all(void *unused)
{
	touch(pages);
	return unused;
}

/* Creates the children, which hold a pipe's end: read() returns when all have ended. */
static void grow(int depth, int width, const char *mode)
{
	int ends[2];
	pthread_t thread;
	pid_t pids[64];
	char c;

	touch(pages);
	if (pthread_create(&thread, NULL, touch_all, NULL) || pthread_join(thread, NULL))
		fail("thread");
	if (!depth)
		return;
	if (pipe(ends))
		fail("pipe");
	for (int i = 0; i < width; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			fail("fork");
		if (!pids[i]) {
			close(ends[0]);
			grow(depth - 1, width, mode);
			_exit(0);
		}
		if (!*mode)
			waitpid(pids[i], NULL, 0);
	}
	close(ends[1]);
	while (read(ends[0], &c, 1) > 0)
		;
	if (!strcmp(mode, "late"))
		for (int i = 0; i < width; i++)
			waitpid(pids[i], NULL, 0);
}

int main(int argc, char **argv)
{
	long processes = 1, level = 1;
	int depth, width;

	if (argc < 4)
		return 2;
	depth = atoi(argv[1]);
	width = atoi(argv[2]);
	pages = atol(argv[3]);
	if (width > 64)
		return 2;
	for (int i = 0; i < depth; i++) {
		level *= width;
		processes += level;
	}
	grow(depth, width, argc > 4 ? argv[4] : "");
	printf("%ld\n", 2 * processes * pages);
	return 0;
}
