/* SPDX-License-Identifier: MIT */
/* punycode.c - the decoder of RFC 3492, section 6.2. */
#include <stdbool.h>
#include <string.h>

#include "demangle/punycode.h"

enum { BASE = 36, T_MIN = 1, T_MAX = 26, SKEW = 38, DAMP = 700, FIRST_BIAS = 72, FIRST_CHAR = 0x80 };

/* The ASCII characters come first, followed by those that are inserted among them. */
struct text {
	uint32_t	chars[PUNYCODE_MAX / 4];
	size_t		n;
};

size_t utf8_encode(uint32_t c, char *out)
{
	static const unsigned char first[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	for (size_t i = n - 1; i > 0; i--) {
		out[i] = (char)(0x80 | (c & 0x3f));
		c >>= 6;
	}
	out[0] = (char)(n > 1 ? first[n] | c : c);
	return n;
}

static bool insert(struct text *t, size_t at, uint32_t c)
{
	if (t->n == sizeof(t->chars) / sizeof(t->chars[0]))
		return false;
	memmove(&t->chars[at + 1], &t->chars[at], (t->n - at) * sizeof(t->chars[0]));
	t->chars[at] = c;
	t->n++;
	return true;
}

static int digit_of(char c)
{
	return c >= 'a' && c <= 'z' ? c - 'a' : c >= '0' && c <= '9' ? c - '0' + 26 : -1;
}

/* Reads a number of variable length, and advances *text. */
static bool read_delta(const char **text, const char *end, uint32_t bias, uint32_t *delta)
{
	uint32_t weight = 1;

	*delta = 0;
	for (uint32_t k = BASE;; k += BASE) {
		uint32_t least = k <= bias + T_MIN ? T_MIN : k >= bias + T_MAX ? T_MAX : k - bias, add;
		int digit = *text < end ? digit_of(*(*text)++) : -1;

		if (digit < 0 || __builtin_mul_overflow((uint32_t)digit, weight, &add) ||
		    __builtin_add_overflow(*delta, add, delta))
			return false;
		if ((uint32_t)digit < least)
			return true;
		if (__builtin_mul_overflow(weight, BASE - least, &weight))
			return false;
	}
}

static uint32_t adapt(uint32_t delta, size_t n, bool is_first)
{
	uint32_t k = 0;

	delta = is_first ? delta / DAMP : delta / 2;
	delta += delta / (uint32_t)n;
	for (; delta > (BASE - T_MIN) * T_MAX / 2; k += BASE)
		delta /= BASE - T_MIN;
	return k + (BASE - T_MIN + 1) * delta / (delta + SKEW);
}

static bool insert_all(struct text *t, const char *text, const char *end)
{
	uint32_t c = FIRST_CHAR, at = 0, bias = FIRST_BIAS, delta;

	for (bool is_first = true; text < end; is_first = false) {
		if (!read_delta(&text, end, bias, &delta) || __builtin_add_overflow(at, delta, &at))
			return false;
		bias = adapt(delta, t->n + 1, is_first);
		if (__builtin_add_overflow(c, at / (uint32_t)(t->n + 1), &c))
			return false;
		at %= (uint32_t)(t->n + 1);
		if (!insert(t, at++, c))
			return false;
	}
	return true;
}

size_t punycode_decode(const char *text, size_t len, char *out)
{
	const char *mark = memrchr(text, '_', len), *deltas = mark ? mark + 1 : text;
	struct text t = { .n = 0 };
	size_t n = 0;

	for (const char *c = text; mark && c < mark; c++)
		if (!insert(&t, t.n, (unsigned char)*c))
			return 0;
	if (!insert_all(&t, deltas, text + len))
		return 0;
	for (size_t i = 0; i < t.n; i++) {
		size_t bytes = utf8_encode(t.chars[i], out + n);

		if (!bytes)
			return 0;
		n += bytes;
	}
	return n;
}
