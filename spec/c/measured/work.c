// SPDX-License-Identifier: MIT
/*
 * work.c - a target for the specs, which executes commands, one after the other:
 *   ready      write a line, then wait for one
 *   touch=N    touch N fresh pages
 *   spin=MS    use MS milliseconds of CPU time
 *   yield=N    N times switch to another thread and back, through a pipe
 *   threads=N  what follows is done by N threads at once
 *   fork       what follows is done by a child process, awaited
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../pages.h"

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void spin(double ms)
{
	volatile unsigned long n = 0;

	for (double end = cpu_ms() + ms; cpu_ms() < end;)
		for (int i = 0; i < 10000; i++)
			n++;
}

static void *echo(void *arg)
{
	int *fd = arg;
	char c;

	while (read(fd[0], &c, 1) == 1)
		if (write(fd[3], &c, 1) != 1)
			die("write");
	return NULL;
}

static void yield(long times)
{
	int fd[4];
	pthread_t other;
	char c = 0;

	if (pipe(fd) || pipe(fd + 2) || pthread_create(&other, NULL, echo, fd))
		die("yield");
	while (times--)
		if (write(fd[1], &c, 1) != 1 || read(fd[2], &c, 1) != 1)
			die("yield");
	close(fd[1]);
	pthread_join(other, NULL);
}

static void run(char **argv);

static void *run_thread(void *arg)
{
	run(arg);
	return NULL;
}

static void threads(int n, char **argv)
{
	pthread_t t[64];

	for (int i = 0; i < n && i < 64; i++)
		if (pthread_create(&t[i], NULL, run_thread, argv))
			die("pthread_create");
	for (int i = 0; i < n && i < 64; i++)
		pthread_join(t[i], NULL);
}

static void child(char **argv)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (!pid) {
		run(argv);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void ready(void)
{
	char line[16];

	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		exit(0);
}

static void run(char **argv)
{
	for (; *argv; argv++) {
		char *eq = strchr(*argv, '=');
		double n = eq ? atof(eq + 1) : 0;

		if (!strncmp(*argv, "ready", 5)) {
			ready();
		} else if (!strncmp(*argv, "touch", 5)) {
			touch((long)n);
		} else if (!strncmp(*argv, "spin", 4)) {
			spin(n);
		} else if (!strncmp(*argv, "yield", 5)) {
			yield((long)n);
		} else if (!strncmp(*argv, "threads", 7)) {
			threads((int)n, argv + 1);
			return;
		} else if (!strncmp(*argv, "fork", 4)) {
			child(argv + 1);
			return;
		} else {
			fprintf(stderr, "work: unknown command %s\n", *argv);
			exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	(void)argc;
	run(argv + 1);
	return 0;
}
