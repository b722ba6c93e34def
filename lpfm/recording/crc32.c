/* SPDX-License-Identifier: MIT */
/*
 * crc32.c - CRC-32, sixteen bytes at a time: a recording of hundreds of megabytes is checked in a
 * fraction of a second.
 */
#include <pthread.h>
#include <string.h>

#include "recording/crc32.h"

enum { POLYNOMIAL = 0xedb88320U };
enum { STEP = 16 };

/* tables[k][b]: what byte b does to the CRC with k zero bytes after it. */
static uint32_t tables[STEP][256];

static void fill_tables(void)
{
	for (uint32_t b = 0; b < 256; b++) {
		uint32_t c = b;

		for (int bit = 0; bit < 8; bit++)
			c = c & 1 ? POLYNOMIAL ^ (c >> 1) : c >> 1;
		tables[0][b] = c;
	}
	for (int k = 1; k < STEP; k++)
		for (uint32_t b = 0; b < 256; b++)
			tables[k][b] = tables[0][tables[k - 1][b] & 0xff] ^ (tables[k - 1][b] >> 8);
}

static inline uint32_t word(const unsigned char *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Four bytes that k bytes follow in the step. */
static inline uint32_t look_up(uint32_t w, int k)
{
	return tables[k + 3][w & 0xff] ^ tables[k + 2][w >> 8 & 0xff] ^ tables[k + 1][w >> 16 & 0xff] ^
	       tables[k][w >> 24];
}

uint32_t crc32_add(uint32_t crc, const void *bytes, size_t n)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const unsigned char *p = bytes;
	uint32_t c = ~crc;

	pthread_once(&once, fill_tables);
	for (; n >= STEP; n -= STEP, p += STEP)
		c = look_up(word(p) ^ c, 12) ^ look_up(word(p + 4), 8) ^ look_up(word(p + 8), 4) ^
		    look_up(word(p + 12), 0);
	for (; n; n--, p++)
		c = tables[0][(c ^ *p) & 0xff] ^ (c >> 8);
	return ~c;
}
