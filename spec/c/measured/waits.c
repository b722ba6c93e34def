// SPDX-License-Identifier: MIT
/*
 * waits.c - sleeps in two functions, and in a third waits until the end for a thread; prints how
 * often each was called, and how many ns it took.
 *
 *   waits ROUNDS SHORT_US LONG_US
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* If the C library has no frame pointers, the call stack lacks this function, not its caller. */
static __attribute__((noinline)) void nap(long us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&t, NULL);
	__asm__ volatile("");
}

static __attribute__((noinline)) void short_wait(long us)
{
	nap(us);
	__asm__ volatile("nop"); /* differs from long_wait(): the compiler could merge them */
}

static __attribute__((noinline)) void long_wait(long us)
{
	nap(us);
	__asm__ volatile("");
}

static __attribute__((noinline)) void take(void)
{
	pthread_mutex_lock(&lock);
	__asm__ volatile("");
}

static __attribute__((noinline)) void wait_for_lock(long us)
{
	(void)us;
	take();
	pthread_mutex_unlock(&lock);
}

/* Returns how long a call of the function takes, by the clock. */
static unsigned long long timed(void (*function)(long us), long us)
{
	unsigned long long from = now();

	function(us);
	return now() - from;
}

static void *wait_in_thread(void *arg)
{
	*(unsigned long long *)arg = timed(wait_for_lock, 0);
	return NULL;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 5;
	long s = argc > 2 ? atol(argv[2]) : 1000, l = argc > 3 ? atol(argv[3]) : 5000;
	unsigned long long in_short = 0, in_long = 0, in_lock = 0;
	pthread_t thread;

	pthread_mutex_lock(&lock);
	if (pthread_create(&thread, NULL, wait_in_thread, &in_lock))
		return 1;
	for (int i = 0; i < rounds; i++) {
		in_short += timed(short_wait, s);
		in_long += timed(long_wait, l);
	}
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	printf("short_wait %d %llu\nlong_wait %d %llu\nwait_for_lock 1 %llu\n", rounds, in_short, rounds, in_long,
	       in_lock);
	return 0;
}
