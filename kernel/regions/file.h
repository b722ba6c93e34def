/* SPDX-License-Identifier: MIT */
/*
 * file.h - the file in which the threads of a command store their measurements; how it is made and
 * read.
 *
 * lpfm makes the file, with the plan, and names it in LPFM_REGIONS. Each thread that enters a
 * region takes a block of the file, maps it, and counts there, so the results remain however the
 * thread or the process ends. A thread of any process takes a block by an atomic addition to
 * head.next.
 *
 *	head, FILE_HEAD bytes | block | block | ...		a block: struct block, struct record[RECORDS]
 */
#ifndef PFM_REGIONS_FILE_H
#define PFM_REGIONS_FILE_H

#include <stdint.h>

#define REGIONS_ENV		"LPFM_REGIONS"
#define REGIONS_MAGIC		"pfmreg1\n"
#define REGIONS_COUNTERS	16		/* most counters in a region */
#define FILE_HEAD		16384U
#define BLOCK_SIZE		8192U
/* 32766 blocks, of which a thread needs one for each 15 regions */
#define FILE_MAX		(256ULL << 20)

struct record {
	char		name[128];
	/* number of complete calls; the end of the thread completes calls, too */
	uint64_t	calls;
	uint64_t	ticks;			/* clock ticks spent in the region */
	uint64_t	inside;			/* starts that have had no stop yet */
	uint64_t	strays;			/* stops without a start */
	uint64_t	crossed;		/* stops while an inner region had not been left */
	uint64_t	unfinished;		/* calls that were ended by the end of the thread */
	uint64_t	forked;			/* stops in a child; the start was before fork() */
	uint64_t	began;			/* ticks at the outermost start */
	/* the region in which this one began; only the thread itself uses it */
	struct record	*outer;
	uint64_t	start[REGIONS_COUNTERS];
	uint64_t	sum[REGIONS_COUNTERS];
	uint64_t	reserved[7];
};

struct block {
	/* offset of the thread's first block; 0: the block is not in use */
	uint64_t	owner;
	uint32_t	pid, tid;
	uint32_t	used;			/* number of records in use */
	uint32_t	ended;			/* the thread has ended */
	/* frequency of ticks; 0: unknown, and the reader computes it from its own clock */
	uint64_t	hz;
	uint64_t	ticks, ns;		/* both were read at the same moment */
	char		comm[16];
	/* the reason why counting stopped before the end; "" if everything was counted */
	char		why[160];
	uint64_t	reserved[4];
};

#define RECORDS	((BLOCK_SIZE - sizeof(struct block)) / sizeof(struct record))

/*
 * The plan has lines "pmc NUM VALUE" and "pmd NUM"; the counters are in the order of the pmd lines.
 */
struct head {
	char		magic[8];
	uint64_t	next;			/* offset of the first free block */
	uint32_t	lost;			/* number of threads that could not be measured */
	uint32_t	said;			/* 1 when "why" has been written */
	char		why[232];
	char		plan[FILE_HEAD - 256];
};

_Static_assert(sizeof(struct record) == 512 && sizeof(struct block) == 256 && sizeof(struct head) == FILE_HEAD,
	       "the file's layout");

/*
 * Makes a file with a plan, and stores its path in path, which has room for size bytes. Returns 0,
 * or -1 with the errno of creating or writing the file, or with EINVAL if the plan is not valid or
 * does not fit.
 */
int pfm_regions_create(const char *plan, char *path, unsigned int size);
/*
 * Makes this process measure regions into a file from now on. Another file can be used only after
 * pfm_regions_end(). Returns 0, or -1 with errno, which is EBUSY if another file is in use.
 */
int pfm_regions_use(const char *path);
/*
 * Ends pfm_regions_use(), and the regions that this thread is in. The measurements of other threads
 * end with their next mark after another pfm_regions_use(), or with the thread. Returns 0, or -1
 * with EINVAL if no file is in use.
 */
int pfm_regions_end(void);

struct pfm_regions_result {
	const struct head	*head;
	uint64_t		blocks;
	/* the present time, by the clocks that are also in blocks */
	uint64_t		ns, ticks;
};

/*
 * Maps a file for reading, after the last process that writes to it has ended. Returns 0, or -1
 * with errno, which is EINVAL if it is not a file of regions.
 */
int pfm_regions_open(const char *path, struct pfm_regions_result *result);
/* Returns block i, counted from 0, or NULL if it is not in use. */
const struct block *pfm_regions_block(const struct pfm_regions_result *result, uint64_t i);
/* Converts ticks of the block to ns. */
double pfm_regions_ns(const struct pfm_regions_result *result, const struct block *block, uint64_t ticks);
void pfm_regions_close(struct pfm_regions_result *result);

#endif
