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
	uint64_t reach;		/* the end of the longest up to here */
	const char *name;	/* NULL: it only ends what comes before */
	int rank;		/* of several at one address the highest counts */
	bool sized;		/* the symbol says how long it is */
};

struct symtab {
	struct symtab_entry *v;
	size_t n, room;
	size_t names;		/* entries with one */
};

/*
 * size: 0: not known, it ends with the next entry or after most bytes. name must outlive the table; NULL: an end. 0, or
 * -1 without memory.
 */
int symtab_add(struct symtab *t, uint64_t addr, uint64_t size, uint64_t most, const char *name, int rank);
/* To be called once, after the last symtab_add(). */
void symtab_sort(struct symtab *t);
/* The innermost function that holds addr, or NULL. */
const struct symtab_entry *symtab_find(const struct symtab *t, uint64_t addr);
void symtab_free(struct symtab *t);

/* The name in C++, D, OCaml or Rust of a mangled one, from malloc; NULL if it is none. C++'s needs libstdc++. */
char *symtab_demangle(const char *name);

#endif
