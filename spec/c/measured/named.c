/* SPDX-License-Identifier: MIT */
/*
 * named.c - two threads that give themselves names: "busy" computes, "idle" computes for an eighth
 * of the time and touches pages.
 *
 *   named SECONDS
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { PAGES = 2000, PAGE = 4096 };

static double seconds;

static void work(double for_seconds)
{
	struct timespec ts;

	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	while ((double)ts.tv_sec + (double)ts.tv_nsec * 1e-9 < for_seconds);
}

static void *busy(void *unused)
{
	pthread_setname_np(pthread_self(), "busy");
	work(seconds);
	return unused;
}

static void *idle(void *unused)
{
	char *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	pthread_setname_np(pthread_self(), "idle");
	for (size_t i = 0; p != MAP_FAILED && i < PAGES; i++)
		p[i * PAGE] = 1;
	work(seconds / 8);
	nanosleep(&(struct timespec){ .tv_nsec = 200000000 }, NULL);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t a, b;

	seconds = argc > 1 ? atof(argv[1]) : 0.5;
	if (pthread_create(&a, NULL, busy, NULL) || pthread_create(&b, NULL, idle, NULL))
		return 1;
	pthread_join(a, NULL);
	return pthread_join(b, NULL);
}
