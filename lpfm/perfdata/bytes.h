/* SPDX-License-Identifier: MIT */
/*
 * bytes.h - a cursor over bytes of a file, which may be damaged: the cursor never leaves the bytes.
 */
#ifndef LPFM_PERFDATA_BYTES_H
#define LPFM_PERFDATA_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct bytes {
	const unsigned char *at, *end;
	bool short_of;		/* more bytes were requested than there are */
};

/* Returns the next n bytes, or NULL if there are fewer. */
static inline const unsigned char *bytes_take(struct bytes *b, uint64_t n)
{
	const unsigned char *at = b->at;

	if (b->short_of || n > (uint64_t)(b->end - b->at)) {
		b->short_of = true;
		return NULL;
	}
	b->at += n;
	return at;
}

/*
 * Returns the next number of `width` bytes, at most 8, in this machine's byte order; 0 if there are
 * too few bytes.
 */
static inline uint64_t bytes_number(struct bytes *b, unsigned int width)
{
	const unsigned char *at = bytes_take(b, width);
	uint64_t value = 0;

	if (at)
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		memcpy(&value, at, width);
#else
		memcpy((unsigned char *)&value + sizeof(value) - width, at, width);
#endif
	return value;
}

static inline uint64_t bytes_u64(struct bytes *b)
{
	return bytes_number(b, 8);
}

static inline uint32_t bytes_u32(struct bytes *b)
{
	return (uint32_t)bytes_number(b, 4);
}

#endif
