/* SPDX-License-Identifier: MIT */
/* expression.h - DWARF expressions of call frame information: of PLTs, and of what returns from signal handlers. */
#ifndef LPFM_SYMBOLS_EXPRESSION_H
#define LPFM_SYMBOLS_EXPRESSION_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symexpr {
	Dwarf_Op	*ops;
	size_t		n;
};

/* What an expression may ask for. Both are false where it is not to be had. */
struct symexpr_place {
	bool		(*reg)(const void *from, unsigned int num, uint64_t *value);
	bool		(*read)(const void *from, uint64_t addr, uint64_t *word);
	const void	*from;
	uint64_t	cfa;		/* the canonical frame address */
};

/* Evaluates a DWARF expression; false: it has no value, or needs a register or memory that is not known. */
bool symexpr_evaluate(const struct symexpr *e, const struct symexpr_place *place, uint64_t *value);

/* Is it always what the register holds? */
bool symexpr_is_register(const struct symexpr *e, unsigned int reg);

#endif
