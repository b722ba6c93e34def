/* SPDX-License-Identifier: MIT */
/* pid_reuse.h - the programs that ran, one after the other, under the numbers of processes. */
#ifndef LPFM_PID_REUSE_H
#define LPFM_PID_REUSE_H

#include <stdint.h>

#include "base/module.h"

/* A process has another life from that time on: it is new, or executes a program. */
struct life {
	uint64_t	pid, tstamp;
};

/* Sorted. */
struct lives {
	struct life	*list;
	size_t		n;
};

/* The process in the life that it had then: pid + 2^32 * number of the life; 0 is before the first that is known. */
uint64_t lives_at(const struct lives *lives, uint64_t pid, uint64_t tstamp);
/* A copy of those of the object at idx, or a raise; its list is to be freed. */
struct lives lives_copy(lua_State *L, int idx);

int lpfm_lives_new(lua_State *L);	/* lpfm.samples.lives() */
void lpfm_open_lives(lua_State *L);

#endif
