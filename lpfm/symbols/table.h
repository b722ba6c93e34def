/* SPDX-License-Identifier: MIT */
/* table.h - a sorted table of functions: from address to name. */
#ifndef LPFM_SYMBOLS_TABLE_H
#define LPFM_SYMBOLS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symtab_entry {
	uint64_t addr;
	uint64_t size;
	uint64_t reach;		/* the largest end of all entries up to this one */
	const char *name;	/* NULL: the entry only ends the one before it */
	/* if several entries at one address are equal, the one with the highest rank is kept */
	int rank;
	bool sized;		/* the symbol has a size */
	/* if not 0: the entry ends at the next one, however far, if that is of the same group */
	unsigned int group;
};

struct symtab {
	struct symtab_entry *v;
	size_t n, room;
	size_t names;		/* number of entries with a name */
	bool unsorted;		/* an address was added after a higher one */
};

/*
 * Adds a function, of group 0. If size is 0, the size is not known, and the function ends at the
 * next entry, at the latest at addr + most. If name is NULL, the entry only ends the function
 * before it. The name must outlive the table. Returns 0, or -1 if there is no memory.
 */
int symtab_add(struct symtab *t, uint64_t addr, uint64_t size, uint64_t most, const char *name, int rank);
/* Must be called once, after the last symtab_add(). */
void symtab_sort(struct symtab *t);
/* Returns the innermost function that contains addr, or NULL. */
const struct symtab_entry *symtab_find(const struct symtab *t, uint64_t addr);
void symtab_free(struct symtab *t);

#endif
