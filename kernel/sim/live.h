/* SPDX-License-Identifier: MIT */
/* live.h - declarations for sim:MODEL,live: live.c, live_usage.c, live_program.c. */
#ifndef PFM_SIM_LIVE_H
#define PFM_SIM_LIVE_H

#include "sim.h"

/* The resources that a thread of the host has used since it began. */
struct sim_usage {
	uint64_t	ns;
	uint64_t	events[SIM_FOLLOWED];
	/* start time, which distinguishes it from an earlier thread with the same id */
	uint64_t	started;
	uint32_t	pid, uid, cpu;
	/* ending: the thread runs no more code of its own; ended: it is a zombie */
	bool		ending, ended;
};

/*
 * Reads what thread tid has used. pid is its process, or 0 if that is not known. Returns false if
 * there is no such thread, or with errno EMFILE or ENFILE if /proc cannot be read.
 */
bool sim_usage_of(uint32_t pid, uint32_t tid, struct sim_usage *u);
bool sim_own_ns(uint64_t *ns);	/* CPU time of the calling thread */

/*
 * sim_life_open() opens events (perf_event_open(2)) on the real thread that a simulated thread
 * follows. The events stay with the real thread when exec(2) gives it another id, and keep their
 * counts when it ends. The first event, f->life, hangs up then. f->life is -1 if the kernel refuses
 * the event: then the real thread is known by its id alone.
 */
void sim_life_open(struct sim_follow *f, uint32_t tid);
void sim_life_close(struct sim_follow *f);
/* notes how much more u, which is from /proc, has than the events on the real thread counted */
void sim_life_compare(struct sim_follow *f, const struct sim_usage *u);
/* returns the usage of a real thread that /proc has no more; 0 if there are no events on it */
void sim_life_last(const struct sim_follow *f, struct sim_usage *u);
/* returns true if the real thread that is followed has ended; f->life must not be -1 */
bool sim_life_ended(const struct sim_follow *f);
/* returns true if the real thread has called exec(2) */
bool sim_life_executed(const struct sim_follow *f);

/* Returns the program of all threads that follow others, or NULL if there is no memory. */
struct sim_program *sim_live_program(struct pfm_sim *sim);

#endif
