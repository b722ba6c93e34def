// SPDX-License-Identifier: MIT
/*
 * faults.c - runs four threads, which take turns on one processor. Thread N, named pageN, touches N
 * thousand new pages. Then a child of fork() touches 5,000.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../pages.h"

enum { THREADS = 4, PAGE = 4096, ROUNDS = 100 };

static void *work(void *arg)
{
	long n = (long)arg;
	char name[16];

	snprintf(name, sizeof(name), "page%ld", n);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < ROUNDS; i++) {
		touch(n * 1000 / ROUNDS);
		sched_yield();
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	cpu_set_t one;
	pid_t child;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(i + 1)))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	child = fork();
	if (!child) {
		touch(5000);
		_exit(0);
	}
	return waitpid(child, NULL, 0) != child;
}
