/* SPDX-License-Identifier: MIT */
/* dwarf.h - source lines and inlined functions from an object's DWARF. */
#ifndef LPFM_SYMBOLS_DWARF_H
#define LPFM_SYMBOLS_DWARF_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symdwarf_unit;

struct symdwarf {
	Dwarf *dw;
	Dwarf_Addr bias;		/* our address minus that in the debug information */
	Dwarf_Die function;		/* function of the last address; cu NULL: none yet */
	struct symdwarf_unit *units;	/* sorted by address */
	size_t n, room;
	bool ready;
};

/*
 * A function at an address, with a file and a line: that of the address, or, in the caller of an
 * inlined function, that of the call.
 */
struct symdwarf_frame {
	const char *name;
	const char *file;		/* NULL: it is not known */
	int line;
};

/* Returns the source file of an address, and *line; NULL if they are not known. */
const char *symdwarf_line(struct symdwarf *d, Dwfl_Module *mod, uint64_t addr, int *line);

/*
 * Finds the functions at an address: the innermost inlined one first, and last the one that
 * contains the code. Returns how many there are.
 */
int symdwarf_frames(struct symdwarf *d, Dwfl_Module *mod, uint64_t addr, struct symdwarf_frame frames[], int max);

void symdwarf_free(struct symdwarf *d);

#endif
