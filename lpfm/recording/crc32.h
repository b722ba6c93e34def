/* SPDX-License-Identifier: MIT */
/* crc32.h - the CRC-32 of zlib and PNG. */
#ifndef LPFM_CRC32_H
#define LPFM_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* The CRC of bytes that follow those with the CRC crc; 0 to begin with. */
uint32_t crc32_add(uint32_t crc, const void *bytes, size_t n);

#endif
