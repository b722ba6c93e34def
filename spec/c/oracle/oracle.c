// SPDX-License-Identifier: MIT
/*
 * oracle.c - the command line:
 *   oracle SEED COMPARISONS     lives, until so many values have been compared
 *   oracle --life SEED MODEL [STEPS]    one life again, at most so many commands, all printed
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

#define LIFE 150	/* steps */

uint64_t compared, commands, overflows, told, switched, restarts, births, handled;
bool tracing;

static uint64_t state, life_seed;
static const char *life_model;

/* Steele, Lea and Flood's splitmix64. */
uint64_t hash(uint64_t seed, uint64_t n)
{
	uint64_t x = seed + n * 0x9e3779b97f4a7c15ULL + 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

uint32_t rnd(uint32_t n)
{
	return (hash(life_seed, state++) >> 16) % n;
}

bool chance(uint32_t percent)
{
	return rnd(100) < percent;
}

void trace(const char *format, ...)
{
	va_list args;

	if (!tracing)
		return;
	printf("%8llu ", (unsigned long long)world.now);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
}

void differs(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\nagain: oracle --life %llu %s\n", (unsigned long long)life_seed, life_model);
	exit(1);
}

static void live(uint64_t seed, const char *model, unsigned int steps)
{
	life_seed = seed;
	life_model = model;
	state = 0;
	life(model, steps);
}

int main(int argc, char **argv)
{
	const char *models[64];
	int n = 0;
	unsigned long long seed, lives = 0, wanted;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 3 && !strcmp(argv[1], "--life")) {
		tracing = true;
		live(strtoull(argv[2], NULL, 0), argv[3], argc > 4 ? strtoul(argv[4], NULL, 0) : LIFE);
		return 0;
	}
	if (argc != 3) {
		fprintf(stderr, "usage: oracle SEED COMPARISONS | --life SEED MODEL [STEPS]\n");
		return 2;
	}
	seed = strtoull(argv[1], NULL, 0);
	wanted = strtoull(argv[2], NULL, 0);
	for (int i = 0; n < 64 && pfm_machine_name(i); i++) {
		if (!strncmp(pfm_machine_name(i), "sim:", 4))
			models[n++] = pfm_machine_name(i);
	}
	for (; compared < wanted || lives < (unsigned long long)n; lives++)
		live(hash(seed, lives), models[lives % n], LIFE);
	printf("seed %llu: %llu comparisons in %llu lives on %d models, %llu commands, %llu overflows, %llu messages, "
	       "%llu set switches, %llu restarts, %llu births, %llu calls of the handler\n", seed,
	       (unsigned long long)compared, lives, n, (unsigned long long)commands, (unsigned long long)overflows,
	       (unsigned long long)told, (unsigned long long)switched, (unsigned long long)restarts,
	       (unsigned long long)births, (unsigned long long)handled);
	return 0;
}
