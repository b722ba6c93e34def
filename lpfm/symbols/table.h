/* SPDX-License-Identifier: MIT */
/* table.h - a sorted table of functions: from address to name. */
#ifndef LPFM_SYMBOLS_TABLE_H
#define LPFM_SYMBOLS_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct symtab_entry {
	uint64_t addr;
	uint64_t size;		/* 0: up to the next one, or without end */
	const char *name;
	int rank;		/* of several at one address the highest counts */
};

struct symtab {
	struct symtab_entry *v;
	size_t n, room;
};

/* name must outlive the table. 0, or -1 without memory. */
int symtab_add(struct symtab *t, uint64_t addr, uint64_t size, const char *name, int rank);
/* To be called once, after the last symtab_add(). */
void symtab_sort(struct symtab *t);
/* The function that holds addr, or NULL. */
const struct symtab_entry *symtab_find(const struct symtab *t, uint64_t addr);
void symtab_free(struct symtab *t);

/* The name in C++ or Rust of a mangled one, from malloc; NULL if it is none. C++'s needs libstdc++. */
char *symtab_demangle(const char *name);

#endif
