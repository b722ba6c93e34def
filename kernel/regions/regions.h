/* SPDX-License-Identifier: MIT */
/*
 * regions.h - inside libpfmregions: marks (mark.c), threads (thread.c), the file (file.c, read.c).
 *
 * A mark of a region that the thread has entered before uses only the thread's own memory.
 * Everything else is done under a lock, which regions_enter() takes and regions_leave() releases.
 */
#ifndef PFM_REGIONS_REGIONS_H
#define PFM_REGIONS_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#define PFM_NO_MMAP_REDIRECT
#include "file.h"
#include "perfmon/perfmon_fast.h"
#include "perfmon/regions.h"

struct plan {
	pfarg_pmc_t	pmcs[4 * REGIONS_COUNTERS];
	uint16_t	pmds[REGIONS_COUNTERS];
	int		num_pmcs, num_pmds;
};

/* The place from which a running counter is read, and the value to add to the result. */
struct place {
#if defined(__aarch64__)
	const char	*read;			/* address of the code that reads it */
#else
	unsigned int	index;
#endif
	uint64_t	base;
};

struct thread {
	uint32_t	known;			/* number of entries in records */
	/* number of counters; 0 when they cannot be read any more */
	int		n;
	/* record of the innermost region that the thread is in */
	struct record	*top;
	/* records by region id - 1; an entry is NULL if the thread has not entered the region */
	struct record	**records;
	/* the set_seq of the view for which the places are valid; odd: they are not valid */
	unsigned long	seq;
	struct place	places[REGIONS_COUNTERS];
	pfm_view_t	view;
	/* dev and ino identify the file to which the view's descriptor refers */
	dev_t		dev;
	ino_t		ino;
	uint16_t	nums[REGIONS_COUNTERS];
	/* the last block that the thread has taken; new records are made in it */
	struct block	*block;
	struct block	**blocks;
	unsigned int	num_blocks;
	bool		full;			/* the file had no room for a region */
	/* the thread measures into a file that is no longer in use */
	bool		stale;
	struct thread	*next;
};

/*
 * The calling thread's structure. It is regions_nobody before the thread's first mark, and
 * regions_deaf if the thread cannot be measured; neither has records. The variable uses the
 * initial-exec model, which takes eight bytes of every thread's static TLS.
 */
extern __thread struct thread *regions_self __attribute__((tls_model("initial-exec")));
extern struct thread regions_nobody, regions_deaf;

static inline uint64_t regions_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/*
 * regions_ticks() reads a clock in one or two instructions. regions_hz() returns its frequency, or
 * 0 if the frequency is constant but not known.
 */
#if defined(__aarch64__)
static inline uint64_t regions_ticks(void)
{
	uint64_t t;

	__asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(t));
	return t;
}

static inline uint64_t regions_hz(void)
{
	uint64_t hz;

	__asm__("mrs %0, cntfrq_el0" : "=r"(hz));
	return hz;
}
#elif defined(__x86_64__)
#define regions_ticks()	__builtin_ia32_rdtsc()
#define regions_hz()	0
#else
#define regions_ticks()	regions_clock()
#define regions_hz()	1000000000
#endif

/* --- file.c: the file that this process uses -------------------------------------------------- */

/* The plan, valid once a file is in use. */
extern struct plan regions_plan;
/*
 * Takes a block of the file for a thread. owner is the offset of the thread's first block, or 0 if
 * this will be the first. Returns NULL with errno if there is no block.
 */
struct block *regions_take_block(uint64_t owner);
void regions_drop_block(struct block *block);
/*
 * Counts, in the file, a thread that cannot be measured. The file keeps the reason of the first
 * such thread.
 */
void regions_lose(const char *why);

/*
 * --- thread.c ----------------------------------------------------------------------------------
 */

void regions_enter(void);
void regions_leave(void);
/*
 * Ends the calling thread's measurement if its file is no longer in use, or always if "all" is set.
 * Called without the lock.
 */
void regions_finish(bool all);
/*
 * Called under the lock when the file is no longer in use. The measurement of each thread ends at
 * the next mark that it makes while a file is in use again.
 */
void regions_retire(void);
/*
 * Returns the calling thread's structure, which it makes if necessary. Returns NULL if the thread
 * is not measured. Called under the lock.
 */
struct thread *regions_thread(void);
/*
 * Returns the thread's record of the region, which it makes if necessary. Returns NULL if there is
 * no room for it. Called under the lock.
 */
struct record *regions_record(struct thread *t, struct pfm_region *r);
/*
 * Returns true if the thread that forked this process was in the region at that time, and removes
 * the region from the list of such regions.
 */
bool regions_was_parents(const char *name);
/* Ends the counting of a thread, the counters of which cannot be read any more, and notes why. */
void regions_break(struct thread *t);
/*
 * Ends the thread's outermost entry of the region. values has the counters' present values, or is
 * NULL if they cannot be read.
 */
void regions_add(struct thread *t, struct record *rec, const uint64_t *values);

/* --- mark.c ----------------------------------------------------------------------------------- */

/* Reads the thread's counters. Returns a negative number if they cannot be read. */
int regions_read(struct thread *t, uint64_t *values);

#endif
