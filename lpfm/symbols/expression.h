/* SPDX-License-Identifier: MIT */
/*
 * expression.h - evaluates DWARF expressions, which the call frame information of PLTs and of code
 * that returns from signal handlers contains.
 */
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

/* What an expression may read. Both functions return false if the value is not available. */
struct symexpr_place {
	bool		(*reg)(const void *from, unsigned int num, uint64_t *value);
	bool		(*read)(const void *from, uint64_t addr, uint64_t *word);
	const void	*from;
	uint64_t	cfa;		/* the canonical frame address */
};

/*
 * Evaluates a DWARF expression. Returns false if it has no value, or needs an unknown register or
 * memory that is not available.
 */
bool symexpr_evaluate(const struct symexpr *e, const struct symexpr_place *place, uint64_t *value);

/* Returns true if the result is always the value of the register. */
bool symexpr_is_register(const struct symexpr *e, unsigned int reg);

#endif
