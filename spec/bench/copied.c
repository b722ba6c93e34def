/* SPDX-License-Identifier: MIT */
/*
 * copied.c - a program without frame pointers; its stacks are 8 to 39 calls deep, with frames of
 * two sizes.
 *   copied ROUNDS
 */
#include <stdlib.h>

static volatile unsigned long sum;

static __attribute__((noipa)) void work(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sum += i;
}

static void next(unsigned long way, unsigned int depth);

/* A function with a frame of `words` words, which calls another one that `way` chooses. */
#define FUNCTION(name, words) \
	static __attribute__((noipa)) void name(unsigned long way, unsigned int depth) \
	{ \
		volatile unsigned long own[words]; \
		own[0] = way; \
		next(way >> 1, depth); \
		sum += own[0]; \
	}
FUNCTION(small, 4)
FUNCTION(large, 24)

static __attribute__((noipa)) void next(unsigned long way, unsigned int depth)
{
	if (!depth)
		work(20000);
	else if (way & 1)
		large(way, depth - 1);
	else
		small(way, depth - 1);
	sum++;
}

int main(int argc, char **argv)
{
	unsigned long way = 1;

	for (int rounds = argc > 1 ? atoi(argv[1]) : 1; rounds > 0; rounds--) {
		way = way * 6364136223846793005UL + 1442695040888963407UL;
		next(way >> 8, 4 + (unsigned int)(way >> 60));
	}
	return 0;
}
