/* SPDX-License-Identifier: MIT */
/* punycode.h - identifiers that are not ASCII, as Rust writes them (RFC 3492, with "_" before the deltas). */
#ifndef LPFM_SYMBOLS_PUNYCODE_H
#define LPFM_SYMBOLS_PUNYCODE_H

#include <stddef.h>
#include <stdint.h>

#define PUNYCODE_MAX	1024	/* size of a result in bytes of UTF-8 */

/*
 * Decodes into out, which has room for PUNYCODE_MAX bytes. Returns how many were written; 0: the
 * text is invalid or too long.
 */
size_t punycode_decode(const char *text, size_t len, char *out);
/*
 * Encodes c into out, which has room for 4 bytes. Returns how many were written; 0: c is not a
 * character.
 */
size_t utf8_encode(uint32_t c, char *out);

#endif
