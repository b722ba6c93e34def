/* SPDX-License-Identifier: MIT */
/*
 * plt.h - the stubs through which functions of other objects are called. The stub of function f is
 * named "f@plt".
 */
#ifndef LPFM_SYMBOLS_PLT_H
#define LPFM_SYMBOLS_PLT_H

#include <libelf.h>

#include "symbols/table.h"

/* The names of stubs, each allocated by malloc(). */
struct symplt_names {
	char **v;
	size_t n;
};

/*
 * Adds the stubs of elf to funcs, which has the functions of elf. Returns 0, or -1 if there is no
 * memory.
 */
int symplt_add(Elf *elf, struct symtab *funcs, struct symplt_names *names);
void symplt_free(struct symplt_names *names);

#endif
