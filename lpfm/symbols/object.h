/* SPDX-License-Identifier: MIT */
/* object.h - one object (program, shared library, vdso, kernel) and what is known of its code. */
#ifndef LPFM_SYMBOLS_OBJECT_H
#define LPFM_SYMBOLS_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols/dwarf.h"
#include "symbols/table.h"

struct symobj;

/* Why a call failed, for people; "" after success. */
#define SYMOBJ_ERROR_LEN 256
#define SYMOBJ_BUILD_ID 64	/* bytes, at most */

/*
 * Opens an ELF file, with its separate debug file where there is one; "[vdso]" for this machine's
 * own; "[kernel]" for the running kernel's. file: where it is to be had, path or elsewhere; its debug file is looked
 * for by path. NULL with *why filled in.
 */
struct symobj *symobj_open(const char *path, const char *file, char why[SYMOBJ_ERROR_LEN]);
void symobj_close(struct symobj *o);

/* A file with this machine's vdso; -1 with *why filled in. */
int symobj_vdso(char why[SYMOBJ_ERROR_LEN]);

/* A part of the file that is loaded. */
struct symobj_segment {
	uint64_t offset, size, addr;
};

/* The loaded segment with the program header *i or a later one; *i moves past it. False: none. */
bool symobj_segment(const struct symobj *o, size_t *i, struct symobj_segment *seg);

/* From an offset in the file to the object's own address (p_vaddr); the kernel's is the same. */
bool symobj_offset_to_addr(const struct symobj *o, uint64_t offset, uint64_t *addr);

/* The function at the object's address, or NULL. */
const struct symtab_entry *symobj_function(const struct symobj *o, uint64_t addr);
/* A function without a symbol: its start and its size in bytes. False: it is not known. */
bool symobj_range(const struct symobj *o, uint64_t addr, uint64_t *start, uint64_t *size);
/* Functions known at all: 0 for a stripped object. */
size_t symobj_functions(const struct symobj *o);

/* Source file and line of an address; NULL where debug information does not say. */
const char *symobj_line(struct symobj *o, uint64_t addr, int *line);

/* The functions at an address, see symdwarf_frames(). */
int symobj_frames(struct symobj *o, uint64_t addr, struct symdwarf_frame frames[], int max);

/* Why debug information that is there cannot be read, in words; NULL: it can, or there is none. */
const char *symobj_trouble(struct symobj *o);

/* The build id of a file that is not opened: its length in bytes, and id, or 0: none. */
int symobj_read_build_id(const char *file, unsigned char id[SYMOBJ_BUILD_ID]);

/* The build id; NULL where there is none. */
const unsigned char *symobj_build_id(const struct symobj *o, int *len);

#endif
