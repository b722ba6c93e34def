/* SPDX-License-Identifier: MIT */
/* start.h - the code of a C library that calls main(), and that with which threads begin. */
#ifndef LPFM_SYMBOLS_START_H
#define LPFM_SYMBOLS_START_H

#include <gelf.h>
#include <stdint.h>

#define SYMSTART_RANGES 4

struct symstart {
	uint64_t	from, to;	/* an address range; it is empty if both are equal */
};

/*
 * Finds the code that calls main() and that with which threads begin, in the file's own addresses.
 * Ranges that are not found are empty.
 */
void symstart_find(Elf *elf, struct symstart ranges[SYMSTART_RANGES]);

#endif
