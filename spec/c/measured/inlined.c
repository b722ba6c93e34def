/* SPDX-License-Identifier: MIT */
/*
 * inlined.c - a function with two others inlined into it, for tests of debug information:
 *
 *   inlined ROUNDS
 *
 * spends its time in leaf, which is in middle, which is in outer.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static volatile uint64_t result;

static inline __attribute__((always_inline)) uint64_t leaf(uint64_t x)
{
	for (int i = 0; i < 1000000; i++)
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;	/* line 18 */
	return x;
}

static inline __attribute__((always_inline)) uint64_t middle(uint64_t x)
{
	return leaf(x) ^ 1;	/* line 24 */
}

uint64_t __attribute__((noinline)) outer(uint64_t x)
{
	return middle(x) + 1;	/* line 29 */
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;

	for (int i = 0; i < rounds; i++)
		result = outer(result);
	return result == 0;
}
