// SPDX-License-Identifier: MIT
/* harness.c - random choices, and the end of a program that has found a fault. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"

const char *(*fail_where)(void);

void fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fflush(stdout);
	fprintf(stderr, "FAILED%s%s: ", fail_where ? " " : "", fail_where ? fail_where() : "");
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
	abort();
}

static uint64_t take(struct rng *r, unsigned int bytes)
{
	uint64_t v = 0;

	while (bytes-- && r->left) {
		v = v << 8 | *r->data++;
		r->left--;
	}
	return v;
}

/* splitmix64 */
uint64_t rng_next(struct rng *r)
{
	uint64_t z;

	if (r->data)
		return take(r, 8);
	z = r->state += 0x9e3779b97f4a7c15ULL;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

uint32_t rng_below(struct rng *r, uint32_t n)
{
	if (n < 2)
		return 0;
	if (r->data)
		return take(r, n <= 256 ? 1 : 4) % n;
	return (rng_next(r) >> 32) * n >> 32;
}

bool rng_chance(struct rng *r, uint32_t percent)
{
	return rng_below(r, 100) < percent;
}

uint64_t rng_log(struct rng *r, uint64_t min, uint64_t max)
{
	uint64_t range = max - min + 1, v;
	unsigned int bits;

	if (!range)
		return rng_next(r);
	bits = rng_below(r, 65 - __builtin_clzll(range));
	v = r->data ? take(r, (bits + 7) / 8) : rng_next(r);
	if (bits < 64)
		v &= (1ULL << bits) - 1;
	return min + v % range;
}
