/* SPDX-License-Identifier: MIT */
/*
 * cfi.h - one step of unwinding, from a function to its caller, by rows of call frame information that are kept by
 * address. Rows of the common kinds only: the canonical frame address is a register and an offset, what was saved lies
 * at an offset from there. For the rest there is libdwfl.
 */
#ifndef LPFM_SYMBOLS_CFI_H
#define LPFM_SYMBOLS_CFI_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdint.h>

#define SYMCFI_REGS	33	/* at most, by DWARF's numbers */

struct symcfi;		/* rows */

/* A function that has been entered; regs whose bit is not set in known are not to be had. */
struct symcfi_state {
	uint64_t pc;
	uint64_t regs[SYMCFI_REGS];
	uint64_t known;
	bool called;		/* pc is where a call returns to */
};

/* Reads a word of the stack; false: it is not there. */
typedef bool symcfi_read_fn(const void *from, uint64_t addr, uint64_t *word);

enum symcfi_step { SYMCFI_DONE, SYMCFI_END, SYMCFI_CANNOT };

/* Rows for code whose registers are numbered from 0 to num - 1. NULL without memory. */
struct symcfi *symcfi_new(unsigned int num);
void symcfi_free(struct symcfi *c);

/*
 * From s, in a module of dwfl, to its caller. DONE: that is in s now; END: there is none, or it is not to be told;
 * CANNOT: this is no common row.
 */
enum symcfi_step symcfi_step(struct symcfi *c, Dwfl *dwfl, struct symcfi_state *s, symcfi_read_fn *read,
			     const void *from);

#endif
