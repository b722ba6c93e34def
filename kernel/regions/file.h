/* SPDX-License-Identifier: MIT */
/*
 * file.h - the file in which a command's threads leave what they measured; how it is made and read.
 *
 * lpfm makes it, with the plan, and names it in LPFM_REGIONS; each thread that enters a region takes a block of it,
 * maps it, and counts there: the results are there however the thread or the process ends. Blocks are taken by adding
 * to head.next, in all processes at once.
 *
 *	head, FILE_HEAD bytes | block | block | ...		a block: struct block, struct record[RECORDS]
 */
#ifndef PFM_REGIONS_FILE_H
#define PFM_REGIONS_FILE_H

#include <stdint.h>

#define REGIONS_ENV		"LPFM_REGIONS"
#define REGIONS_MAGIC		"pfmreg1\n"
#define REGIONS_COUNTERS	16		/* in a region, at most */
#define FILE_HEAD		16384U
#define BLOCK_SIZE		8192U
#define FILE_MAX		(256ULL << 20)	/* 32766 blocks: a thread has one for each 15 regions */

struct record {
	char		name[128];
	uint64_t	calls;			/* complete calls, and those that ended with the thread */
	uint64_t	ticks;			/* in the region */
	uint64_t	inside;			/* starts without a stop so far */
	uint64_t	strays;			/* stops without a start */
	uint64_t	crossed;		/* stops while a region that began inside was not left */
	uint64_t	unfinished;		/* calls that the end of the thread ended */
	uint64_t	forked;			/* stops in a child for starts in its parent */
	uint64_t	began;			/* ticks, at the outermost start */
	struct record	*outer;			/* in which this one began; of use to the thread alone */
	uint64_t	start[REGIONS_COUNTERS];
	uint64_t	sum[REGIONS_COUNTERS];
	uint64_t	reserved[7];
};

struct block {
	uint64_t	owner;			/* offset of the thread's first block; 0: not in use */
	uint32_t	pid, tid;
	uint32_t	used;			/* records */
	uint32_t	ended;			/* the thread has */
	uint64_t	hz;			/* of ticks; 0: unknown, found by comparison with the reader's clock */
	uint64_t	ticks, ns;		/* at the same moment */
	char		comm[16];
	char		why[160];		/* why nothing was counted from some moment on, or "" */
	uint64_t	reserved[4];
};

#define RECORDS	((BLOCK_SIZE - sizeof(struct block)) / sizeof(struct record))

/* The plan: lines "pmc NUM VALUE" and "pmd NUM", the counters in this order. */
struct head {
	char		magic[8];
	uint64_t	next;			/* offset of the first free block */
	uint32_t	lost;			/* threads that could not be measured */
	uint32_t	said;			/* why says */
	char		why[232];
	char		plan[FILE_HEAD - 256];
};

_Static_assert(sizeof(struct record) == 512 && sizeof(struct block) == 256 && sizeof(struct head) == FILE_HEAD,
	       "the file's layout");

/*
 * Makes a file with a plan; its path is written to path, of size bytes. 0, or -1 with errno: what creating and writing
 * a file says; EINVAL: no plan, or one that does not fit.
 */
int pfm_regions_create(const char *plan, char *path, unsigned int size);
/* This process measures regions into a file from now on; the first decides. 0, or -1 with errno; EBUSY: another. */
int pfm_regions_use(const char *path);
/*
 * Ends pfm_regions_use(), and the regions that this thread is in. Other threads' measurements end with their next mark
 * after another pfm_regions_use(), or with the thread. 0, or -1 with errno; EINVAL: there is no file in use.
 */
int pfm_regions_end(void);

struct pfm_regions_result {
	const struct head	*head;
	uint64_t		blocks;
	uint64_t		ns, ticks;	/* now, of the clock that blocks know */
};

/* Maps a file for reading when no process has to write it any more. 0, or -1 with errno; EINVAL: not such a file. */
int pfm_regions_open(const char *path, struct pfm_regions_result *result);
/* Block i, from 0; NULL: it is not in use. */
const struct block *pfm_regions_block(const struct pfm_regions_result *result, uint64_t i);
/* Converts ticks of the block to ns. */
double pfm_regions_ns(const struct pfm_regions_result *result, const struct block *block, uint64_t ticks);
void pfm_regions_close(struct pfm_regions_result *result);

#endif
