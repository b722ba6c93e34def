/* SPDX-License-Identifier: MIT */
/* ranges.h - where functions begin and end that no symbol names, as .eh_frame says. */
#ifndef LPFM_SYMBOLS_RANGES_H
#define LPFM_SYMBOLS_RANGES_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

/* The function of elf that has addr: its start and its size in bytes. False: it is not known. */
bool symranges_find(Elf *elf, uint64_t addr, uint64_t *start, uint64_t *size);

#endif
