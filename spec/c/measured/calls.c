// SPDX-License-Identifier: MIT
/*
 * calls.c - a program that spends about these shares of its CPU time on these paths, and prints
 * the shares that it has measured, in percent:
 *   main > ping > pong > ping > pong > spin	30 %
 *   main > ping > pong > ping > spin		10 %
 *   main > down > spin, main > down > down > spin, ... four deep, 20 % together
 *   main > spin				40 %
 * argv[1]: the rounds. Their lengths differ, so that no sampling period is in step with them. It
 * has frame pointers, whatever the compiler's flags; with -DNO_POINTERS it has none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ENTER() gives a function a frame pointer; LEAVE() at its end prevents a tail call. */
#ifdef NO_POINTERS
#define ENTER()	((void)0)
#else
#define ENTER()	asm volatile("" : : "r"(__builtin_frame_address(0)) : "memory")
#endif
#define LEAVE()	asm volatile("" : : : "memory")

static volatile unsigned long sum;
static unsigned long unit;	/* additions in 1 % of this round */

/* Works for so many percent of the round. */
static __attribute__((noipa)) void spin(unsigned int percent)
{
	ENTER();
	for (unsigned long i = 0; i < percent * unit; i++)
		sum += i;
}

static void pong(unsigned int depth, unsigned int percent);

static __attribute__((noipa)) void ping(unsigned int depth, unsigned int percent)
{
	ENTER();
	if (depth)
		pong(depth - 1, percent);
	else
		spin(percent);
	LEAVE();
}

static __attribute__((noipa)) void pong(unsigned int depth, unsigned int percent)
{
	ENTER();
	if (depth)
		ping(depth - 1, percent);
	else
		spin(percent);
	LEAVE();
}

static __attribute__((noipa)) void down(unsigned int depth, unsigned int percent)
{
	ENTER();
	spin(percent);
	if (depth)
		down(depth - 1, percent);
	LEAVE();
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	double taken[4] = { 0 }, all = 0, from;
	unsigned int x = 1;

	ENTER();
	for (int rounds = argc > 1 ? atoi(argv[1]) : 1; rounds > 0; rounds--) {
		x = x * 1664525 + 1013904223;
		unit = 10000 + (x >> 16) % 20000;
		from = now();
		ping(3, 30);
		taken[0] += now() - from;
		from = now();
		ping(2, 10);
		taken[1] += now() - from;
		from = now();
		down(3, 5);
		taken[2] += now() - from;
		from = now();
		spin(40);
		taken[3] += now() - from;
		LEAVE();
	}
	for (int i = 0; i < 4; i++)
		all += taken[i];
	printf("shares %.2f %.2f %.2f %.2f\n", taken[0] / all * 100, taken[1] / all * 100, taken[2] / all * 100,
	       taken[3] / all * 100);
	return 0;
}
