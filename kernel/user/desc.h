/* SPDX-License-Identifier: MIT */
/* desc.h - descriptors: from a file descriptor of the program to a context. */
#ifndef PFM_USER_DESC_H
#define PFM_USER_DESC_H

#include <pthread.h>
#include <sys/types.h>

#include "inherited.h"
#include "user.h"

/* A descriptor: the link from a file descriptor of the program to a context. */
struct pfm_desc {
	pthread_mutex_t		lock;
	unsigned int		refs;		/* protected by the table's lock */
	struct pfm_desc		*next;		/* the next one in the table's bucket */
	/* inode number of the program's end of the socket pair; duplicates of the end share it */
	ino_t			ino;
	/* the number by which children of fork() note that they have it: inherited.h */
	uint32_t		serial;
	/* used in a child of fork(), where the other members are not valid */
	struct pfm_inherited	inherited;
	/* the process that made the descriptor; a child of vfork() may close it */
	pid_t			pid;
	int			fd;		/* the number that the program last used for it */
	int			own;		/* the library's end of the socket pair, or -1 */
	dev_t			own_dev;
	ino_t			own_ino;
	/* the slot of fast_read.c in which its counters are published, or -1 */
	int			fast_read;
	/*
	 * silent: pfm_desc_before_exec() has cleared O_ASYNC; due: a signal was to be sent since
	 * then. They are protected by the table's lock.
	 */
	bool			silent, due;
	/* size in bytes of a queued message, once it is known */
	int			msg_unit;
	/* perfmonctl() made the context: its buffer is mapped by the rules of 3.5.4 */
	bool			by_06;
	/* perfmon 2.0's call made the context: its messages have the layout of 2.0 */
	bool			by_20;
	int			cgroup;		/* a descriptor of the cgroup's folder, or -1 */
	int			memfd;		/* descriptor of the sampling buffer, or -1 */
	dev_t			memfd_dev;
	ino_t			memfd_ino;
	struct pfm_context	*ctx;		/* NULL after the context was closed */
	struct pfm_watch	*hangup;
};

static inline struct pfm_desc *pfm_desc_of(struct pfm_context *ctx)
{
	return ctx->transport;
}

/*
 * Makes a descriptor with both ends of its socket pair, and one reference, which belongs to the
 * caller. On failure, returns NULL with errno.
 */
struct pfm_desc *pfm_desc_new(void);
/*
 * Enters d into the table, where pfm_desc_enter() finds it. From then on its context is closed when
 * the program closes its end. Returns 0, or -1 with errno.
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
 * pfm_desc_closing() and pfm_desc_closed() enclose a close of fd. If a thread monitors itself and
 * its process has no descriptor of the context left, the context is unloaded, even if another
 * process still has a descriptor (3.1.15, figure 3.10). closing() returns NULL if fd needs no such
 * treatment; otherwise it returns a descriptor with a reference, which closed() drops. closed()
 * also ends the context if its last descriptor was closed.
 * pfm_desc_loaded() is called with the descriptor's lock held when a context has been loaded.
 * pfm_desc_may_end() returns true if a thread of this process has ever loaded a context onto
 * itself.
 */
void pfm_desc_loaded(const struct pfm_desc *d);
bool pfm_desc_may_end(void);
struct pfm_desc *pfm_desc_closing(int fd);
void pfm_desc_closed(struct pfm_desc *d);

/*
 * These enclose an exec, which ends the contexts of the process. Between the two, no signal is sent
 * for a message, so that none reaches the new program. pfm_desc_after_exec() is called if the exec
 * has failed.
 */
void pfm_desc_before_exec(void);
void pfm_desc_after_exec(void);

/* Returns the number of contexts that have ended. */
unsigned long pfm_desc_ended(void);

/*
 * Ends at once the contexts of which the program has closed all descriptors, if the service thread
 * has not ended them yet. "since" is what an earlier call of pfm_desc_ended() returned. Returns
 * true if contexts have ended since that call, here or in the service thread: then resources have
 * become free.
 */
bool pfm_desc_reap(unsigned long since);

/* Returns how many forks led to this process, a number that no ancestor of the process has. */
uint32_t pfm_process(void);

/*
 * Returns the size in bytes of a message of fd's context, which may be the parent's, or 0 if fd is
 * not the descriptor of a context of this library.
 */
unsigned int pfm_desc_message(int fd);
unsigned int pfm_message_size(const struct pfm_desc *d);	/* machine_ops.c */

/*
 * Starts a thread of the library, with all signals blocked. state is an argument of
 * pthread_attr_setdetachstate(3). Returns 0 or an errno.
 */
int pfm_thread_start(pthread_t *thread, void *(*fn)(void *arg), void *arg, int state);
/* Starts the service thread if it is not running. Returns 0, or -1 with errno. */
int pfm_service_start(void);
/* Called in the child after a fork: the child has no service thread and no contexts. */
void pfm_service_forget(void);

/* shared.c: called after a fork in the child, which does not inherit the record locks. */
void pfm_shared_forget(void);

/* Converts a status of the core (0 or a negative errno) into a program's result. */
int pfm_result(int ret);

#endif
