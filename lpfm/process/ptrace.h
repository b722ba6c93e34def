/* SPDX-License-Identifier: MIT */
/*
 * ptrace.h - following a program's threads and children with ptrace(2).
 *
 * A thread of its own is the tracer: it passes signals on and keeps job control working while the
 * script does something else, and it waits for nobody but its tracees. Nothing here knows of Lua.
 */
#ifndef LPFM_PTRACE_H
#define LPFM_PTRACE_H

#include <stdbool.h>
#include <sys/types.h>

enum follow_kind { FOLLOW_THREAD, FOLLOW_FORK, FOLLOW_EXEC, FOLLOW_EXIT };

struct follow_event {
	enum follow_kind	kind;
	pid_t			tid, pid;
	pid_t			parent;		/* THREAD, FORK: the thread that made it */
	pid_t			former;		/* EXEC: the id the thread had before */
	int			status;		/* EXIT: as of wait4() */
	bool			held;		/* stopped until follow_release() */
};

struct follow;

struct follow_options {
	bool	hold_exec;	/* a thread is held after exec, too */
	bool	births_only;	/* nothing is told of but THREAD, FORK, and what is held */
};

/* NULL with errno. */
struct follow *follow_new(const struct follow_options *options);
/* Lets all go on untraced. */
void follow_free(struct follow *f);
/* Follows all threads of a process; 0, or -1 with errno. */
int follow_attach(struct follow *f, pid_t pid);
/* Lets a held thread run; 0, or -1 with errno (ESRCH: it is not held). */
int follow_release(struct follow *f, pid_t tid);
/* The next event: 1; 0: none yet; -1 with errno (ECHILD: nobody is left; ENOMEM: some were lost). */
int follow_next(struct follow *f, struct follow_event *event);
/* Readable while follow_next() would not return 0. */
int follow_fd(const struct follow *f);
/* Fills up to room ids of the threads whose coming was told; how many there are. */
int follow_threads(struct follow *f, pid_t *tids, int room);

#endif
