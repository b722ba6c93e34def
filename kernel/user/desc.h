/* SPDX-License-Identifier: MIT */
/* desc.h - descriptors: from a file descriptor of the program to a context. Inside kernel/user. */
#ifndef PFM_USER_DESC_H
#define PFM_USER_DESC_H

#include <pthread.h>
#include <sys/types.h>

#include "inherited.h"
#include "user.h"

/* What a context's descriptor refers to. */
struct pfm_desc {
	pthread_mutex_t		lock;
	unsigned int		refs;		/* protected by the table's lock */
	struct pfm_desc		*next;		/* the next one in the table's bucket */
	/* inode number of the program's end, which all its duplicates share */
	ino_t			ino;
	/* the number with which children note the descriptor: inherited.h */
	uint32_t		serial;
	/* used in a child of fork(), where the other members are not valid */
	struct pfm_inherited	inherited;
	/* the process that made the descriptor; a child of vfork() may close it */
	pid_t			pid;
	int			fd;		/* the number that the program last used for it */
	int			own;		/* the library's end of the socket pair */
	/* the number under which its counters are published, or -1: fast_read.h */
	int			fast_read;
	/* its signals are off because of an exec; protected by the table's lock */
	bool			silent;
	/* size in bytes of a queued message, once it is known */
	int			msg_unit;
	/* perfmonctl() made it: its buffer is mapped as 3.5.4 says */
	bool			by_06;
	/* perfmon 2.0's call made it: its messages have that layout */
	bool			by_20;
	int			cgroup;		/* a descriptor of the cgroup's folder, or -1 */
	int			memfd;		/* descriptor of the sampling buffer, or -1 */
	/* where the program last mapped the buffer, or NULL */
	void			*mapping;
	struct pfm_context	*ctx;		/* NULL after the context was closed */
	struct pfm_watch	*hangup;
};

static inline struct pfm_desc *pfm_desc_of(struct pfm_context *ctx)
{
	return ctx->transport;
}

/*
 * Makes a descriptor with both ends, and one reference, which belongs to the caller; NULL with
 * errno.
 */
struct pfm_desc *pfm_desc_new(void);
/*
 * Enters d into the table, where pfm_desc_enter() finds it. From then on it is closed when the
 * program closes its end.
 */
int pfm_desc_publish(struct pfm_desc *d);
void pfm_desc_get(struct pfm_desc *d);
void pfm_desc_put(struct pfm_desc *d);

/* Takes the descriptor's lock, to change the context. */
void pfm_desc_lock(struct pfm_desc *d);

/*
 * Begins a call on a context: blocks signals, finds the descriptor and takes its lock. Returns NULL
 * with EBADF if fd is no open context of this process. pfm_desc_leave() undoes it in either case.
 */
struct pfm_desc *pfm_desc_enter(int fd, sigset_t *saved);
void pfm_desc_leave(struct pfm_desc *d, const sigset_t *saved);

/* Block and unblock signals; they enclose everything that takes a lock (5.7). */
void pfm_signals_block(sigset_t *saved);
void pfm_signals_restore(const sigset_t *saved);
void pfm_memory_lock(void);	/* the innermost of all locks */
void pfm_memory_unlock(void);

/*
 * These enclose a close of fd. If a thread monitors itself and its process has no descriptor left,
 * the context is unloaded, even if another process still has a descriptor (3.1.15, figure 3.10).
 * loaded() is called with the descriptor's lock held when a context has been loaded. may_end()
 * returns true if there is any such context. closing() returns NULL, or a reference that closed()
 * takes.
 */
void pfm_desc_loaded(const struct pfm_desc *d);
bool pfm_desc_may_end(void);
struct pfm_desc *pfm_desc_closing(int fd);
void pfm_desc_closed(struct pfm_desc *d);

/*
 * These enclose an exec, which ends the contexts of the process: no signal of theirs reaches the
 * new program. The second one is called if the exec has failed.
 */
void pfm_desc_before_exec(void);
void pfm_desc_after_exec(void);

/*
 * Closes at once what the program has closed, if the service thread has not noticed it yet; returns
 * true if there was any.
 */
bool pfm_desc_reap(void);

/* Returns a number that differs from those of the processes from which this one was forked. */
uint32_t pfm_process(void);

/*
 * Returns the size in bytes of a message of fd's context; 0: fd is not the descriptor of a context.
 */
unsigned int pfm_desc_message(int fd);
unsigned int pfm_message_size(const struct pfm_desc *d);	/* machine_ops.c */
/*
 * The program has unmapped what it had at addr. If it was a sampling buffer, it may be mapped again
 * (3.5.4).
 */
void pfm_desc_unmapped(const void *addr);

/*
 * Starts a thread of the library, with all signals blocked. state is an argument of
 * pthread_attr_setdetachstate(3). Returns 0 or an errno.
 */
int pfm_thread_start(pthread_t *thread, void *(*fn)(void *arg), int state);
/* Starts the service thread if it is not running. Returns 0, or -1 with errno. */
int pfm_service_start(void);
/* Called in a child after fork: the contexts belong to the parent. */
void pfm_service_forget(void);

/* shared.c: called in a child after fork: the record locks belong to the parent. */
void pfm_shared_forget(void);

/* Converts a status of the core (0 or a negative errno) into a program's result. */
int pfm_result(int ret);

#endif
