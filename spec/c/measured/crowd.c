// SPDX-License-Identifier: MIT
/*
 * crowd.c - creates many threads, each of which computes for about a millisecond.
 *
 *   crowd N together	all of them live at the same time: each waits for the last one
 *   crowd N inturn	one after the other
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS	1000000L
#define STACK	65536

static pthread_barrier_t all;
static int together;

static void *compute(void *unused)
{
	volatile long sum = 0;

	for (long i = 0; i < ROUNDS; i++)
		sum += i;
	if (together)
		pthread_barrier_wait(&all);
	return unused;
}

int main(int argc, char **argv)
{
	int n = argc == 3 ? atoi(argv[1]) : 0;
	pthread_t *threads = n > 0 ? calloc((size_t)n, sizeof(*threads)) : NULL;
	pthread_attr_t attr;

	if (!threads || pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, STACK))
		return 2;
	together = !strcmp(argv[2], "together");
	pthread_barrier_init(&all, NULL, (unsigned int)n);
	for (int i = 0; i < n; i++) {
		if (pthread_create(&threads[i], &attr, compute, NULL)) {
			perror("crowd");
			return 1;
		}
		if (!together)
			pthread_join(threads[i], NULL);
	}
	for (int i = 0; i < n && together; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
