// SPDX-License-Identifier: MIT
/*
 * deep.c - threads that use the CPU some 20 calls deep, on changing paths; prints the CPU time and
 * the time taken, ms.
 *   deep SECONDS [THREADS]	SECONDS of CPU time for each thread
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MOST 64

static volatile unsigned long sum;
static double seconds;

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static __attribute__((noinline)) void work(void)
{
	for (int i = 0; i < 2000; i++)
		sum += (unsigned long)i;
}

static __attribute__((noinline)) void left(int depth, unsigned int path);

static __attribute__((noinline)) void right(int depth, unsigned int path)
{
	if (depth > 0)
		left(depth - 1, path >> 1);
	else
		work();
	sum++;	/* so that the call is no tail call */
}

static __attribute__((noinline)) void left(int depth, unsigned int path)
{
	if (depth <= 0)
		work();
	else if (path & 1)
		right(depth - 1, path >> 1);
	else
		left(depth - 1, path >> 1);
	sum++;
}

static void *run(void *arg)
{
	unsigned int path = (unsigned int)(size_t)arg;

	while (now(CLOCK_THREAD_CPUTIME_ID) < seconds) {
		path = path * 1103515245U + 12345;
		left(20, path >> 16);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 1;
	double began = now(CLOCK_MONOTONIC);
	pthread_t threads[MOST];

	seconds = argc > 1 ? atof(argv[1]) : 1;
	if (n < 1 || n > MOST)
		return 2;
	for (int i = 1; i < n; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)(size_t)(i + 1)))
			return 1;
	run((void *)1);
	for (int i = 1; i < n; i++)
		pthread_join(threads[i], NULL);
	printf("%.1f %.1f\n", now(CLOCK_PROCESS_CPUTIME_ID) * 1e3, (now(CLOCK_MONOTONIC) - began) * 1e3);
	return 0;
}
