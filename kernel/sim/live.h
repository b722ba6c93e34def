/* SPDX-License-Identifier: MIT */
/* live.h - what the parts of sim:MODEL,live share: live.c, live_usage.c, live_program.c. */
#ifndef PFM_SIM_LIVE_H
#define PFM_SIM_LIVE_H

#include "sim.h"

/* What a thread of the host has used since it began. */
struct sim_usage {
	uint64_t	ns;
	uint64_t	events[SIM_FOLLOWED];
	uint64_t	started;	/* tells it from an earlier thread of the same number */
	uint32_t	pid, uid, cpu;
	bool		ended;
};

/* pid: its process, or 0 if that is not known. False: there is no such thread. */
bool sim_usage_of(uint32_t pid, uint32_t tid, struct sim_usage *u);

/* The program of those that follow; NULL without memory. */
struct sim_program *sim_live_program(struct pfm_sim *sim);

#endif
