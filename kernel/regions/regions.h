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

/* How a running counter is read, and what is added to it. */
struct place {
#if defined(__aarch64__)
	const char	*read;			/* code */
#else
	unsigned int	index;
#endif
	uint64_t	base;
};

struct thread {
	uint32_t	known;			/* entries of records */
	int		n;			/* counters; 0 once they cannot be read */
	struct record	*top;			/* the innermost region */
	struct record	**records;		/* by region id - 1; NULL: never entered here */
	unsigned long	seq;			/* set_seq for which places hold; odd: none */
	struct place	places[REGIONS_COUNTERS];
	pfm_view_t	view;
	dev_t		dev;			/* of the view's descriptor */
	ino_t		ino;
	uint16_t	nums[REGIONS_COUNTERS];
	struct block	*block;			/* the thread's last block; its records are in blocks */
	struct block	**blocks;
	unsigned int	num_blocks;
	bool		full;			/* there was no room for a region */
	bool		stale;			/* it measures into a file that is no longer in use */
	struct thread	*next;
};

/*
 * The calling thread: regions_nobody before its first mark, regions_deaf if it cannot be measured; both have no
 * regions. Initial-exec: it takes eight bytes of every thread's static TLS.
 */
extern __thread struct thread *regions_self __attribute__((tls_model("initial-exec")));
extern struct thread regions_nobody, regions_deaf;

static inline uint64_t regions_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* A clock that costs an instruction or two. regions_hz: its frequency; 0: unknown, but constant. */
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

/* The plan, once a file is in use. */
extern struct plan regions_plan;
/* Takes a block for a thread with owner as its first block; 0: this is its first. NULL with errno. */
struct block *regions_take_block(uint64_t owner);
void regions_drop_block(struct block *block);
/* Counts a thread that cannot be measured in the file, which also has the reason for the first of them. */
void regions_lose(const char *why);

/* --- thread.c: all under the lock ---------------------------------------------------------------- */

void regions_enter(void);
void regions_leave(void);
/* Without the lock: ends the calling thread's measurement, with all in any case, else if its file is out of use. */
void regions_finish(bool all);
/* Marks the threads' measurements as of a file that is no longer in use. */
void regions_retire(void);
/* Returns the calling thread's structure; NULL: it is not measured. */
struct thread *regions_thread(void);
/* Returns the thread's record of the region; NULL: there is no room. */
struct record *regions_record(struct thread *t, struct pfm_region *r);
/* Was the calling thread in the region when its process was forked? If so, this leaves it. */
bool regions_was_parents(const char *name);
/* Called when the thread's counters cannot be read any more. */
void regions_break(struct thread *t);
/* Ends the region's outermost call. values: the counters' values, or NULL if they cannot be read. */
void regions_add(struct thread *t, struct record *rec, const uint64_t *values);

/* --- mark.c -------------------------------------------------------------------------------------- */

int regions_read(struct thread *t, uint64_t *values);

#endif
