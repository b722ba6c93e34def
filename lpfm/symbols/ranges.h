/* SPDX-License-Identifier: MIT */
/* ranges.h - where functions without symbols begin and end, as .eh_frame says. */
#ifndef LPFM_SYMBOLS_RANGES_H
#define LPFM_SYMBOLS_RANGES_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Finds the start and size in bytes of the function in elf that contains addr. Returns false if it
 * is not known.
 */
bool symranges_find(Elf *elf, uint64_t addr, uint64_t *start, uint64_t *size);

#endif
