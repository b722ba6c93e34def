/* SPDX-License-Identifier: MIT */
/*
 * regions.h - inside libpfmregions: marks (mark.c), threads (thread.c), the file (file.c, read.c).
 *
 * A mark of a region that the thread has entered before uses only the thread's own memory. All else is done under
 * regions_lock.
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

/* How a running counter is read, and which base is added to the result. */
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
	/* records by region id - 1; NULL: this thread has not entered the region */
	struct record	**records;
	/* the set_seq for which the places are valid; odd: they are not valid */
	unsigned long	seq;
	struct place	places[REGIONS_COUNTERS];
	pfm_view_t	view;
	dev_t		dev;			/* identify the file of the view's descriptor */
	ino_t		ino;
	uint16_t	nums[REGIONS_COUNTERS];
	/* the thread's last block; its records are in all of its blocks */
	struct block	*block;
	struct block	**blocks;
	unsigned int	num_blocks;
	bool		full;			/* the file had no room for a region */
	/* the thread measures into a file that is no longer in use */
	bool		stale;
	struct thread	*next;
};

/*
 * The calling thread's structure: regions_nobody before its first mark, regions_deaf if it cannot
 * be measured; neither has regions. It uses the initial-exec model, with eight bytes of every
 * thread's static TLS.
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
 * Reads a clock in one or two instructions. regions_hz is its frequency; 0: unknown, but constant.
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

/* --- file.c: of this process -------------------------------------------------------------------- */

/* The plan, valid once a file is in use. */
extern struct plan regions_plan;
/*
 * Takes a block for a thread; owner is the thread's first block, 0: this is its first. Returns NULL
 * with errno.
 */
struct block *regions_take_block(uint64_t owner);
void regions_drop_block(struct block *block);
/*
 * Counts, in the file, a thread that cannot be measured. The file keeps the reason of the first
 * such thread.
 */
void regions_lose(const char *why);

/* --- thread.c: all under the lock ---------------------------------------------------------------- */

void regions_enter(void);
void regions_leave(void);
/*
 * Ends the calling thread's measurement if its file is no longer in use, or always if "all" is set.
 * Called without the lock.
 */
void regions_finish(bool all);
/* Marks the threads' measurements as belonging to a file that is no longer in use. */
void regions_retire(void);
/* Returns the calling thread's structure; NULL: the thread is not measured. */
struct thread *regions_thread(void);
/* Returns the thread's record of the region; NULL: there is no room for it. */
struct record *regions_record(struct thread *t, struct pfm_region *r);
/*
 * Returns true if the calling thread was in the region when its process was forked, and then leaves
 * the region.
 */
bool regions_was_parents(const char *name);
/* Called when the thread's counters cannot be read any more. */
void regions_break(struct thread *t);
/* Ends the region's outermost call. values has the counters' values; NULL: they cannot be read. */
void regions_add(struct thread *t, struct record *rec, const uint64_t *values);

/* --- mark.c -------------------------------------------------------------------------------------- */

int regions_read(struct thread *t, uint64_t *values);

#endif
