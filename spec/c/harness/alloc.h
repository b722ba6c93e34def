/* SPDX-License-Identifier: MIT */
/* alloc.h - the objects on which calls are made to fail, and the calls. */
#ifndef LPFM_ALLOC_H
#define LPFM_ALLOC_H

#include "harness.h"

/* A simulated computer, a thread of it, and up to two contexts. */
struct scene {
	struct pfm_sim	*sim;
	uint32_t	tid;
	int		fd[2];		/* -1: none */
	size_t		map_size;
	void		*map;
	int		machines;	/* new computers, made by the call */
};
extern struct scene scene;

struct scenario {
	const char	*name;
	void		(*prepare)(void);
	/* Makes the call, with n elements if it takes a vector; returns < 0 on error. */
	int		(*call)(int n);
	int		n;
	bool		tolerant;	/* the call may succeed without the allocation */
};
extern const struct scenario scenarios[];	/* a NULL name ends them */

void scene_new(void (*prepare)(void));

#endif
