/* SPDX-License-Identifier: MIT */
/*
 * cfi.h - the call frame information of an ELF file (.eh_frame, .debug_frame), in rows: how the
 * registers of a function's caller are found at one of the function's instructions. libdw reads the
 * rows, and each is kept until the file is closed.
 */
#ifndef LPFM_SYMBOLS_CFI_H
#define LPFM_SYMBOLS_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYMCFI_REGS	33	/* most registers, by DWARF's numbers */

struct symcfi;			/* an ELF file */
struct symexpr;			/* a DWARF expression, see expression.h */

enum symcfi_kind {
	/* there is no information about the address, or it is not understood */
	SYMCFI_NONE,
	SYMCFI_COMMON,
	SYMCFI_OUTERMOST,	/* the information says that the function has no caller */
};

/*
 * Where the caller's value of a register is. For an expression, the offset is its index in the row.
 */
enum symcfi_how {
	SYMCFI_SAVED,		/* in memory, at an offset from the canonical frame address */
	SYMCFI_VALUE,		/* the value is the canonical frame address plus an offset */
	SYMCFI_MOVED,		/* in a register: the offset is its number */
	SYMCFI_SAVED_BY,	/* in memory, at the address that an expression computes */
	SYMCFI_VALUE_BY,	/* the value is the result of an expression */
};

struct symcfi_change {
	uint8_t	reg;
	uint8_t	how;		/* an enum symcfi_how */
	int32_t	offset;
};

/* The file's own addresses from "from" up to, but without, "to"; none if both are equal. */
struct symcfi_range {
	uint64_t	from, to;
};

#define SYMCFI_BY_EXPRESSION	UINT8_MAX	/* cfa_reg: cfa_offset is the index of an expression */

/*
 * A register without a rule has the caller's value, unless its bit is set in lost: then its value
 * is unknown.
 */
struct symcfi_row {
	struct symcfi_range	range;		/* where it applies */
	uint64_t		lost;
	struct symexpr		*expressions;
	int32_t			cfa_offset;
	uint8_t			kind;
	uint8_t			cfa_reg;
	uint8_t			return_reg;
	uint8_t			num;
	uint8_t			num_expressions;
	/* the caller was interrupted by a signal, and made no call */
	bool			is_signal;
	struct symcfi_change	changes[SYMCFI_REGS];
};

/*
 * Opens the file and takes over fd. Returns NULL if it is no ELF file with code, or if there is no
 * memory.
 */
struct symcfi *symcfi_open(int fd);
void symcfi_close(struct symcfi *c);

/* Returns true if the file has that build id, in hexadecimal. */
bool symcfi_has_id(const struct symcfi *c, const char *id);

/* Returns true if addresses in the file have 32 bits. */
bool symcfi_is_32bit(const struct symcfi *c);

/*
 * Computes the bias of a mapping, which maps the file's byte offset at address start: *bias is what
 * must be subtracted from an address in memory for the file's own address. Returns false if the
 * file has no code at the offset.
 */
bool symcfi_bias(const struct symcfi *c, uint64_t start, uint64_t offset, uint64_t *bias);

/*
 * Returns true if the address is in the code of a C library that calls main(), or in the code with
 * which threads begin.
 */
bool symcfi_is_start(struct symcfi *c, uint64_t addr);

/* Returns true if a call instruction ends right before the file's own address. */
bool symcfi_is_after_call(const struct symcfi *c, uint64_t addr);
/*
 * Finds which function the call instruction right before the address calls. Returns false if there
 * is no such instruction, or if it does not contain the function's address.
 */
bool symcfi_called(const struct symcfi *c, uint64_t addr, uint64_t *function);
/*
 * Finds the beginning of the function at that address by the file's own symbols. Returns false if
 * the symbols do not say where it is.
 */
bool symcfi_function(struct symcfi *c, uint64_t addr, uint64_t *function);
/* Returns true if the code between two addresses copies the stack pointer to the frame pointer. */
bool symcfi_makes_frame(const struct symcfi *c, uint64_t from, uint64_t to);

/*
 * Returns the row for one of the file's own addresses, never NULL. num is the number of registers:
 * they are numbered from 0 to num - 1. The row is valid until the file is closed.
 */
const struct symcfi_row *symcfi_row(struct symcfi *c, uint64_t addr, unsigned int num);

/* Returns where the caller's value of a register is; NULL if the row has no rule for it. */
const struct symcfi_change *symcfi_change(const struct symcfi_row *row, unsigned int reg);

#endif
