/* SPDX-License-Identifier: MIT */
/*
 * cfi.h - the call frame information of an ELF file (.eh_frame, .debug_frame), by rows: how the registers of a
 * function's caller are found at one of its instructions. libdw reads them; each is kept once it was made.
 */
#ifndef LPFM_SYMBOLS_CFI_H
#define LPFM_SYMBOLS_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYMCFI_REGS	33	/* at most, by DWARF's numbers */

struct symcfi;			/* an ELF file */
struct symcfi_rows;		/* the rows that are kept, of all files */
struct symexpr;			/* a DWARF expression, see expression.h */

enum symcfi_kind {
	SYMCFI_FREE = 0,	/* no row is here */
	SYMCFI_NONE,		/* there is no information about the place, or none that can be understood */
	SYMCFI_COMMON,
	SYMCFI_OUTERMOST,	/* the information says that the function has no caller */
};

/* Where a register of the caller is. With an expression, the offset is its index in the row's. */
enum symcfi_how {
	SYMCFI_SAVED,		/* in memory, at an offset from the canonical frame address */
	SYMCFI_VALUE,		/* it is that address and an offset */
	SYMCFI_MOVED,		/* in the register that has the offset as its number */
	SYMCFI_SAVED_BY,	/* in memory, at the address that an expression yields */
	SYMCFI_VALUE_BY,	/* it is what an expression yields */
};

struct symcfi_change {
	uint8_t	reg;
	uint8_t	how;		/* enum symcfi_how */
	int32_t	offset;
};

#define SYMCFI_BY_EXPRESSION	UINT8_MAX	/* cfa_reg: cfa_offset is the index of an expression */

/* A register without a rule has the caller's value, unless its bit is set in lost: then the value is unknown. */
struct symcfi_row {
	const struct symcfi	*of;
	uint64_t		addr;
	uint64_t		lost;
	struct symexpr		*expressions;
	int32_t			cfa_offset;
	uint8_t			kind;
	uint8_t			cfa_reg;
	uint8_t			return_reg;
	uint8_t			num;
	uint8_t			num_expressions;
	bool			is_signal;	/* its caller was interrupted, and did not call */
	struct symcfi_change	changes[SYMCFI_REGS];
};

/* Opens the file and takes fd over. NULL: it is no ELF file with code, or without memory. */
struct symcfi *symcfi_open(int fd);
void symcfi_close(struct symcfi *c);

/* Has it addresses of 32 bits? */
bool symcfi_is_32bit(const struct symcfi *c);

/*
 * The code at the file's byte offset is mapped at start: *bias is what the file's own addresses are moved by. False:
 * no code is there.
 */
bool symcfi_bias(const struct symcfi *c, uint64_t start, uint64_t offset, uint64_t *bias);

/* Is that where the C library calls main(), or what a thread begins with? */
bool symcfi_is_start(struct symcfi *c, uint64_t addr);

/* Is there a call before that address of the file's own? */
bool symcfi_is_after_call(const struct symcfi *c, uint64_t addr);
/* What it calls, where the instruction says that. */
bool symcfi_called(const struct symcfi *c, uint64_t addr, uint64_t *function);
/* Where the function begins that is at that address, by the file's own symbols. False: they do not tell. */
bool symcfi_function(struct symcfi *c, uint64_t addr, uint64_t *function);
/* Does the code between two addresses make the stack pointer the frame pointer? */
bool symcfi_makes_frame(const struct symcfi *c, uint64_t from, uint64_t to);

/* NULL without memory. They are freed before the files. */
struct symcfi_rows *symcfi_rows_new(void);
void symcfi_rows_free(struct symcfi_rows *rows);

/*
 * The row of an address of the file's own, where registers are numbered from 0 to num - 1. It is valid up to the next
 * call.
 */
const struct symcfi_row *symcfi_row(struct symcfi_rows *rows, struct symcfi *c, uint64_t addr, unsigned int num);

/* The change of a register; NULL: there is none. */
const struct symcfi_change *symcfi_change(const struct symcfi_row *row, unsigned int reg);

#endif
