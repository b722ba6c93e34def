/* SPDX-License-Identifier: MIT */
/* dwarf.h - source lines and inlined functions out of an object's DWARF. */
#ifndef LPFM_SYMBOLS_DWARF_H
#define LPFM_SYMBOLS_DWARF_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symdwarf_unit;

struct symdwarf {
	Dwarf *dw;
	Dwarf_Addr bias;		/* ours - that of the debug information */
	struct symdwarf_unit *units;	/* by address */
	size_t n, room;
	bool ready;
};

/* A function at an address and where in it: of an inlined one's caller, the call. */
struct symdwarf_frame {
	const char *name;
	const char *file;		/* NULL: not known */
	int line;
};

/* File (NULL: not known) and line of an address. */
const char *symdwarf_line(struct symdwarf *d, Dwfl_Module *mod, uint64_t addr, int *line);

/* The functions at an address: the innermost inlined one first, the one that has the code last. Returns how many. */
int symdwarf_frames(struct symdwarf *d, Dwfl_Module *mod, uint64_t addr, struct symdwarf_frame frames[], int max);

void symdwarf_free(struct symdwarf *d);

#endif
