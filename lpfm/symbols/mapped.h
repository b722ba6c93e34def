/* SPDX-License-Identifier: MIT */
/* mapped.h - what code processes had mapped, and when, with its call frame information. */
#ifndef LPFM_SYMBOLS_MAPPED_H
#define LPFM_SYMBOLS_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/cfi.h"

struct symmapped;

/*
 * A part of a process's memory that contains code from its time on, until a later mapping covers
 * it.
 */
struct symmapping {
	uint64_t	time;		/* in ns; 0: from the beginning */
	uint64_t	start, stop;
	uint64_t	bias;		/* address in memory minus the file's own address */
	struct symcfi	*file;		/* NULL: the code has no file, or its file cannot be read */
};

/* Returns NULL if there is no memory. */
struct symmapped *symmapped_new(void);
void symmapped_free(struct symmapped *m);

/*
 * Adds a mapping: from that time on the process has mapped the file path from its byte offset on,
 * or "[vdso]", as code. The file is opened now. id is its build id in hexadecimal, NULL if that is
 * not known: a file with another one is not used. Returns false if there is no memory.
 */
bool symmapped_add(struct symmapped *m, uint64_t pid, uint64_t time, uint64_t start, uint64_t stop, uint64_t offset,
		   const char *path, const char *id);
/*
 * Notes that from that time on the process has only mappings that are added for later times.
 * Returns false if there is no memory.
 */
bool symmapped_clear(struct symmapped *m, uint64_t pid, uint64_t time);
/*
 * Notes that from that time on the id belongs to a new process, which begins with the mappings that
 * its parent had then. Returns false if there is no memory.
 */
bool symmapped_fork(struct symmapped *m, uint64_t pid, uint64_t parent, uint64_t time);

/* Returns true if anything is known of the process. */
bool symmapped_knows(const struct symmapped *m, uint64_t pid);

/* While all members are equal, symmapped_find() returns the same for the same address. */
struct symversion {
	uint64_t	pid;
	size_t		num_events;	/* events of all processes */
	size_t		num_past;	/* events of the process until the time */
};

struct symversion symmapped_version(const struct symmapped *m, uint64_t pid, uint64_t time);

/* Addresses from low up to high, and the mapping that covered all of them; NULL if none did. */
struct symspan {
	uint64_t		low, high;
	const struct symmapping	*map;
};

/* Returns the span that contains the address at that time. */
struct symspan symmapped_find(const struct symmapped *m, uint64_t pid, uint64_t time, uint64_t addr);

#endif
