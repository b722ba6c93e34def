/* SPDX-License-Identifier: MIT */
/* punycode.h - identifiers that are not ASCII, as Rust writes them (RFC 3492, with "_" before the deltas). */
#ifndef LPFM_SYMBOLS_PUNYCODE_H
#define LPFM_SYMBOLS_PUNYCODE_H

#include <stddef.h>
#include <stdint.h>

#define PUNYCODE_MAX	1024	/* bytes of UTF-8 */

/* Into out, which has PUNYCODE_MAX bytes; how many, 0: it is no such text, or a longer one. */
size_t punycode_decode(const char *text, size_t len, char *out);
/* Into out, which has 4 bytes; how many, 0: c is no character. */
size_t utf8_encode(uint32_t c, char *out);

#endif
