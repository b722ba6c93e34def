/* SPDX-License-Identifier: MIT */
/* mapped.h - what processes had mapped as code, and when, with the call frame information of it. */
#ifndef LPFM_SYMBOLS_MAPPED_H
#define LPFM_SYMBOLS_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/cfi.h"

struct symmapped;

/* A part of a process's memory that holds code from that time on, up to a later one that covers it. */
struct symmapping {
	uint64_t	time;		/* ns; 0: from the beginning on */
	uint64_t	start, stop;
	uint64_t	bias;		/* by which the file's own addresses are moved */
	struct symcfi	*file;		/* NULL: code without a file, or one that cannot be read */
};

/* NULL without memory. */
struct symmapped *symmapped_new(void);
void symmapped_free(struct symmapped *m);

/*
 * From that time on the process has the file path from its byte offset on, or "[vdso]", mapped as code. The file is
 * opened now. False: there is no memory.
 */
bool symmapped_add(struct symmapped *m, uint64_t pid, uint64_t time, uint64_t start, uint64_t stop, uint64_t offset,
		   const char *path);
/* From that time on the process has nothing mapped but what is added for later. */
bool symmapped_clear(struct symmapped *m, uint64_t pid, uint64_t time);
/* From that time on the process is another, which begins with what its parent had then. */
bool symmapped_fork(struct symmapped *m, uint64_t pid, uint64_t parent, uint64_t time);

/* Is anything known of the process? */
bool symmapped_knows(const struct symmapped *m, uint64_t pid);
/* The mapping that covered the address then, or NULL. */
const struct symmapping *symmapped_find(const struct symmapped *m, uint64_t pid, uint64_t time, uint64_t addr);

#endif
