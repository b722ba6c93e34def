/* SPDX-License-Identifier: MIT */
/* pid_reuse.h - tells apart the programs that ran one after the other under the same pid. */
#ifndef LPFM_PID_REUSE_H
#define LPFM_PID_REUSE_H

#include <stdint.h>

#include "base/module.h"

/* The beginning of a life of a process: at this time it is new, or executes a program. */
struct life {
	uint64_t	pid, tstamp;
};

/* The lives, sorted by process and time. */
struct lives {
	struct life	*list;
	size_t		n;
};

/*
 * Returns pid + 2^32 * n, where n is the number, from 1, of the life that the process has at that
 * time; n is 0 before the first known life.
 */
uint64_t lives_at(const struct lives *lives, uint64_t pid, uint64_t tstamp);
/*
 * Returns a copy of the lives in the object at idx. The caller frees the list of the copy. Raises
 * an error if there is no such object at idx.
 */
struct lives lives_copy(lua_State *L, int idx);

int lpfm_lives_new(lua_State *L);	/* lpfm.samples.lives() */
void lpfm_open_lives(lua_State *L);

#endif
