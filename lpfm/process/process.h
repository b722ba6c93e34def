/* SPDX-License-Identifier: MIT */
/*
 * process.h - child processes of spawn(), and lists of threads. Nothing in process.c knows of Lua.
 */
#ifndef LPFM_PROCESS_H
#define LPFM_PROCESS_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

struct lpfm_process {
	pid_t			pid;
	int			pidfd;		/* -1 if the kernel has no pidfds */
	bool			done;
	int			status;		/* status of wait4(), when done */
	struct rusage		usage;
	struct lpfm_process	*next;
};

/* Makes a record of a new child; NULL if there is no memory. */
struct lpfm_process *lpfm_process_new(pid_t pid);
void lpfm_process_free(struct lpfm_process *p);
/* Reaps the child if it has ended. Returns 1 if it is reaped, 0 if not yet, -1 with errno. */
int lpfm_process_poll(struct lpfm_process *p);
/* Signals the child. Returns 0, or -1 with errno, which is ESRCH if the child is reaped. */
int lpfm_process_kill(struct lpfm_process *p, int sig);

/*
 * Stores up to room thread ids of a process, ascending. Returns the number of its threads, which
 * may be larger than room, or -1 with errno.
 */
int lpfm_process_threads(pid_t pid, pid_t *tids, int room);

#endif
