/* SPDX-License-Identifier: MIT */
/*
 * object.h - a thread's virtual counters. An object is a file in memory, which the program has open
 * and mapped. As long as it is attached, it also has a struct vperfctr. The file outlives the
 * structure: a read of a detached object returns the state in the file, and the system frees the
 * file with the last descriptor. One lock protects everything; signals are blocked while it is
 * held.
 */
#ifndef PERFCTR_OBJECT_H
#define PERFCTR_OBJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PFM_NO_MMAP_REDIRECT
#include "perfmon/perfmon.h"
#include "perfctr/libperfctr.h"

struct watcher;

struct vperfctr {
	pid_t			tid, tgid;	/* tgid is 0 for a simulated thread */
	/* start time of the thread, by which a later thread with the same id is recognized */
	uint64_t		born;
	int			file;
	ino_t			ino;
	dev_t			dev;
	struct vperfctr_state	*state;		/* the page of the file */
	/* descriptor of the present control's context; -1: it has no counters */
	int			ctx;
	/* the machine counts ended children separately from living ones */
	bool			counts_ended;
	/* a bit for each counter that has overflowed and so suspended all counters */
	uint32_t		overflown;
	/* the thread's CPU time at which the TSC's sum was clock_sum */
	uint64_t		clock_start;
	uint64_t		clock_sum;
	struct watcher		*watcher;
	struct vperfctr		*next;
};

/* --- table.c: the objects that are attached -------------------------------------------------- */

void perfctr_enter(void);		/* takes the lock */
/* releases the lock; returns ret, or -1 with errno -ret if ret is negative */
int perfctr_leave(int ret);
/*
 * called after libperfmon has registered its handlers of forks, so that a fork takes libperfmon's
 * locks after the lock of table.c
 */
void perfctr_watch_forks(void);
struct vperfctr *perfctr_of_thread(pid_t tid);
struct vperfctr *perfctr_of_file(int fd);
int perfctr_attach(pid_t tid, struct vperfctr **v);
/* called when the counters are stopped; frees the object */
void perfctr_detach(struct vperfctr *v);

/* --- state.c: the file ----------------------------------------------------------------------- */

int perfctr_state_new(struct vperfctr *v);
void perfctr_state_put(struct vperfctr *v);
/* reads the state of a detached object */
int perfctr_state_read(int fd, struct vperfctr_state *state);
/* announces a change of the sums; a reader that sees the change in progress tries again */
void perfctr_state_begin(struct vperfctr *v);
void perfctr_state_end(struct vperfctr *v, uint64_t tsc_start);

/* --- control.c: a control as a context ------------------------------------------------------- */

unsigned int perfctr_counters(const struct perfctr_cpu_control *c);

#define PERFCTR_TSC 64			/* task-clock: the number of its PMC and PMD */

bool perfctr_counts(const struct vperfctr_control *control);
/* Makes a context with the control's registers, and returns its descriptor. */
int perfctr_program(const struct vperfctr_control *control);
int perfctr_check(const struct vperfctr *v, const struct vperfctr_control *control);
/* ctx is the result of perfctr_program() */
int perfctr_start(struct vperfctr *v, int ctx, const struct vperfctr_control *control);
void perfctr_stop(struct vperfctr *v);
/* installs a control without counters */
void perfctr_disable(struct vperfctr *v, const struct vperfctr_control *control);

/* --- sample.c: sums -------------------------------------------------------------------------- */

int perfctr_sample(struct vperfctr *v);
/* suspends all counters because the PMDs with a bit in "pmds" have overflowed */
void perfctr_suspend(struct vperfctr *v, const uint64_t *pmds);
int perfctr_resume(struct vperfctr *v);
uint64_t perfctr_now(struct vperfctr *v, uint64_t pmd);
uint64_t perfctr_tsc_now(struct vperfctr *v);

/* --- thread.c: facts about threads ----------------------------------------------------------- */

int perfctr_thread_find(struct vperfctr *v);
bool perfctr_thread_ended(const struct vperfctr *v);
uint64_t perfctr_thread_clock(const struct vperfctr *v);	/* in ns; 0: it is not known */

/* --- watcher.c: overflows -------------------------------------------------------------------- */

int perfctr_watch(struct vperfctr *v, int ctx, struct watcher **w);
void perfctr_unwatch(struct watcher *w);
void perfctr_forget_watcher(struct watcher *w);

/* --- explain.c ------------------------------------------------------------------------------- */

int perfctr_refuse(int err, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* returns the -errno of a failed call of libperfmon, and keeps libperfmon's reason */
int perfctr_failed(void);

#endif
