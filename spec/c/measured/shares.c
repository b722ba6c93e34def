/* SPDX-License-Identifier: MIT */
/*
 * shares.c - spends its time in two functions, and prints how much in each:
 *
 *   shares SECONDS THREADS [FIFO]
 *
 * prints "heavy NS light NS" of all threads together, by their CPU clocks. SIGUSR1 ends it early.
 * All threads but the first are created when a process opens the FIFO for writing.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t round_length = 300000;	/* volatile: no copies for known arguments */
static volatile double limit;
static volatile uint64_t result;

struct spent {
	uint64_t heavy, light;
};

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static uint64_t __attribute__((noinline)) heavy(uint64_t n, uint64_t x)
{
	for (uint64_t i = 0; i < n; i++)
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
	return x;
}

static uint64_t __attribute__((noinline)) light(uint64_t n, uint64_t x)
{
	for (uint64_t i = 0; i < n; i++)
		x = x * 2862933555777941757ULL + 3037000493ULL;
	return x;
}

static void on_end(int sig)
{
	(void)sig;
	limit = 0;
}

static void *work(void *arg)
{
	struct spent *spent = arg;
	uint64_t x = 1, from = cpu_ns();

	while ((double)(cpu_ns() - from) < limit * 1e9) {
		uint64_t a = cpu_ns();

		x = heavy(7 * round_length, x);
		uint64_t b = cpu_ns();

		x = light(3 * round_length, x);
		spent->heavy += b - a;
		spent->light += cpu_ns() - b;
	}
	result = x;
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 1;
	struct spent spent[16] = { { 0, 0 } }, all = { 0, 0 };
	pthread_t threads[16];

	limit = argc > 1 ? atof(argv[1]) : 1;
	if (argc > 3)
		close(open(argv[3], O_RDONLY));	/* open() waits for the writer */
	signal(SIGUSR1, on_end);
	if (n < 1 || n > 16)
		return 2;
	for (int i = 1; i < n; i++)
		if (pthread_create(&threads[i], NULL, work, &spent[i]))
			return 1;
	work(&spent[0]);
	for (int i = 0; i < n; i++) {
		if (i)
			pthread_join(threads[i], NULL);
		all.heavy += spent[i].heavy;
		all.light += spent[i].light;
	}
	printf("heavy %llu light %llu\n", (unsigned long long)all.heavy,
	       (unsigned long long)all.light);
	return 0;
}
