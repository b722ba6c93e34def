/* SPDX-License-Identifier: MIT */
/* object.h - one object (program, shared library, vdso, kernel) and what is known of its code. */
#ifndef LPFM_SYMBOLS_OBJECT_H
#define LPFM_SYMBOLS_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols/dwarf.h"
#include "symbols/table.h"

struct symobj;

#define SYMOBJ_ERROR_LEN 256	/* size of the text that says why a call failed */
#define SYMOBJ_BUILD_ID 64	/* most bytes of a build id */

/*
 * Opens an ELF file, with its separate debug file if there is one. The path "[vdso]" means this
 * machine's vdso, and "[kernel]" the running kernel's symbols. The contents are read from file,
 * which is path or a copy elsewhere; the debug file is searched by path. Returns NULL on failure,
 * with the reason in why.
 */
struct symobj *symobj_open(const char *path, const char *file, char why[SYMOBJ_ERROR_LEN]);
void symobj_close(struct symobj *o);

/*
 * Makes a file in memory with a copy of this machine's vdso. Returns its descriptor, or -1 with the
 * reason in why.
 */
int symobj_vdso(char why[SYMOBJ_ERROR_LEN]);

/* A segment of the file that is loaded. */
struct symobj_segment {
	uint64_t offset, size, addr;
};

/*
 * Gets the loaded segment with the program header *i or a later one, and moves *i past it. Returns
 * false if there is none.
 */
bool symobj_segment(const struct symobj *o, size_t *i, struct symobj_segment *seg);

/*
 * Converts an offset in the file into the object's own address (p_vaddr). For the kernel they are
 * the same. Returns false if the offset is in no loaded segment.
 */
bool symobj_offset_to_addr(const struct symobj *o, uint64_t offset, uint64_t *addr);

/* Returns the function at the object's address, or NULL. */
const struct symtab_entry *symobj_function(const struct symobj *o, uint64_t addr);
/* Finds the start and size of a function without a symbol. Returns false if they are not known. */
bool symobj_range(const struct symobj *o, uint64_t addr, uint64_t *start, uint64_t *size);
/* Returns how many functions are known: 0 for a stripped object. */
size_t symobj_functions(const struct symobj *o);

/* Returns the source file of an address, and *line; NULL if the debug information has none. */
const char *symobj_line(struct symobj *o, uint64_t addr, int *line);

/* Finds the functions at an address, as symdwarf_frames() does. */
int symobj_frames(struct symobj *o, uint64_t addr, struct symdwarf_frame frames[], int max);

/*
 * Returns why existing debug information cannot be read, as text. Returns NULL if it can be read,
 * or if there is none.
 */
const char *symobj_trouble(struct symobj *o);

/*
 * Reads the build id of a file that is not opened as an object. Returns its length in bytes, or 0
 * if there is none.
 */
int symobj_read_build_id(const char *file, unsigned char id[SYMOBJ_BUILD_ID]);

/* Returns the build id; NULL if there is none. */
const unsigned char *symobj_build_id(const struct symobj *o, int *len);

#endif
