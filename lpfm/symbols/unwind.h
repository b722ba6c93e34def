/* SPDX-License-Identifier: MIT */
/* unwind.h - unwinding copies of user stacks by the call frame information of a process's objects. */
#ifndef LPFM_SYMBOLS_UNWIND_H
#define LPFM_SYMBOLS_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symunwind;

/* An unwinder that knows no objects. NULL without memory. */
struct symunwind *symunwind_open(void);
void symunwind_close(struct symunwind *u);

/* The executable part of path, or of "[vdso]", from its byte offset on is mapped at start; false: it is of no use. */
bool symunwind_map(struct symunwind *u, const char *path, uint64_t start, uint64_t offset);

/*
 * The frames of a thread, the innermost first, at most max; how many. regs: num registers as asm/perf_regs.h
 * numbers them; copy: size bytes from its stack pointer on. 0 where it cannot be told.
 */
size_t symunwind_frames(struct symunwind *u, const uint64_t *regs, size_t num, const void *copy, size_t size,
			uint64_t *frames, size_t max);

/*
 * Has the code of an ELF file frame pointers? 1: most of its functions keep one; 0: they do not; -1: that is not to
 * be told.
 */
int symunwind_frame_pointers(const char *path);

#endif
