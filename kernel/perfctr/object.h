/* SPDX-License-Identifier: MIT */
/*
 * object.h - a thread's virtual counters. Inside kernel/perfctr.
 *
 * An object is a file in memory, of which the program has descriptors and maps, and, as long as it is attached, a
 * struct vperfctr. The file outlives the structure: its state is what reads of a detached object return, and the
 * system frees it with the last descriptor. Everything is under one lock, with signals blocked.
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
	pid_t			tid, tgid;	/* tgid 0: a simulated thread */
	uint64_t		born;		/* start time: a later thread with the same id has another */
	int			file;
	ino_t			ino;
	dev_t			dev;
	struct vperfctr_state	*state;		/* the file's page */
	int			ctx;		/* of the control in force; -1: it has no counters */
	bool			tells_ended;	/* the machine counts ended children apart from the living */
	uint32_t		overflown;	/* the counters that overflowed, by which all are suspended */
	uint64_t		clock_start;	/* CPU time of the thread at which the TSC's sum was clock_sum */
	uint64_t		clock_sum;
	struct watcher		*watcher;
	struct vperfctr		*next;
};

/* --- table.c: the objects that are attached -------------------------------------------------------- */

void perfctr_enter(void);		/* the lock */
int perfctr_leave(int ret);		/* unlocks; returns ret, or -1 with errno -ret if it is negative */
void perfctr_watch_forks(void);		/* called after libperfmon's: so its locks are taken after this one */
struct vperfctr *perfctr_of_thread(pid_t tid);
struct vperfctr *perfctr_of_file(int fd);
int perfctr_attach(pid_t tid, struct vperfctr **v);
void perfctr_detach(struct vperfctr *v);	/* counters are stopped, and the object freed */

/* --- state.c: the file -------------------------------------------------------------------------- */

int perfctr_state_new(struct vperfctr *v);
void perfctr_state_put(struct vperfctr *v);
int perfctr_state_read(int fd, struct vperfctr_state *state);	/* of a detached one */
void perfctr_state_begin(struct vperfctr *v);	/* its sums are being changed: readers try again */
void perfctr_state_end(struct vperfctr *v, uint64_t tsc_start);

/* --- control.c: a control as a context ------------------------------------------------------------- */

unsigned int perfctr_counters(const struct perfctr_cpu_control *c);

#define PERFCTR_TSC 64			/* task-clock: PMC and PMD */

bool perfctr_counts(const struct vperfctr_control *control);
/* Makes a context with the control's registers; its descriptor. */
int perfctr_program(const struct vperfctr_control *control);
int perfctr_check(const struct vperfctr *v, const struct vperfctr_control *control);
int perfctr_start(struct vperfctr *v, int ctx, const struct vperfctr_control *control);	/* perfctr_program()'s */
void perfctr_stop(struct vperfctr *v);
void perfctr_disable(struct vperfctr *v, const struct vperfctr_control *control);	/* one without counters */

/* --- sample.c: sums ----------------------------------------------------------------------------- */

int perfctr_sample(struct vperfctr *v);
void perfctr_suspend(struct vperfctr *v, const uint64_t *pmds);	/* counters were stopped by these overflows */
int perfctr_resume(struct vperfctr *v);
uint64_t perfctr_now(struct vperfctr *v, uint64_t pmd);
uint64_t perfctr_tsc_now(struct vperfctr *v);

/* --- thread.c: what the system tells of threads --------------------------------------------------------- */

bool perfctr_thread_is_simulated(void);
int perfctr_thread_find(struct vperfctr *v);
bool perfctr_thread_ended(const struct vperfctr *v);
uint64_t perfctr_thread_clock(const struct vperfctr *v);	/* ns; 0: not known */

/* --- watcher.c: overflows ------------------------------------------------------------------------- */

int perfctr_watch(struct vperfctr *v, int ctx, struct watcher **w);
void perfctr_unwatch(struct watcher *w);
void perfctr_forget_watcher(struct watcher *w);

/* --- explain.c ---------------------------------------------------------------------------------- */

int perfctr_refuse(int err, const char *format, ...) __attribute__((format(printf, 2, 3)));
int perfctr_failed(void);		/* a call of libperfmon failed: -errno, with libperfmon's reason */

#endif
