// SPDX-License-Identifier: MIT
/*
 * brood.c - creates many processes, each of which lives for less than a millisecond.
 *
 *   brood N FIRST SECOND	creates N processes, two at a time: in turn one that executes the program FIRST,
 *				one that executes SECOND, and one that executes nothing
 *
 * FIRST and SECOND are this program by other names, which spins in the function first or second. A
 * process that executes nothing spins in third.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS	200000L	/* some tenths of a millisecond */
#define CODE	__attribute__((noinline, noclone, optimize("no-omit-frame-pointer")))

static volatile long sink;

static inline __attribute__((always_inline)) void spin(long step)
{
	for (long i = 0; i < ROUNDS; i++)
		sink += step;
}

static CODE void first(void) { spin(1); }
static CODE void second(void) { spin(2); }
static CODE void third(void) { spin(3); }

static int child(int kind, char **programs)
{
	if (kind == 2) {
		third();
		_exit(0);
	}
	execl(programs[kind], programs[kind], (char *)NULL);
	_exit(1);
}

static int create(int n, char **programs)
{
	int running = 0, status;

	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (!pid)
			child(i % 3, programs);
		if (++running == 2 && wait(&status) > 0)
			running--;
	}
	while (wait(&status) > 0)
		;
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4)
		return create(atoi(argv[1]), argv + 2);
	if (strstr(argv[0], "first"))
		first();
	else
		second();
	return 0;
}
