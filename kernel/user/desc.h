/* SPDX-License-Identifier: MIT */
/*
 * desc.h - descriptors: how a file descriptor of the program leads to a context. Inside kernel/user.
 */
#ifndef PFM_USER_DESC_H
#define PFM_USER_DESC_H

#include <pthread.h>
#include <sys/types.h>

#include "inherited.h"
#include "user.h"

/* What a context's descriptor stands for. */
struct pfm_desc {
	pthread_mutex_t		lock;
	unsigned int		refs;		/* under the table's lock */
	struct pfm_desc		*next;		/* in the table's bucket */
	ino_t			ino;		/* of the program's end: all its duplicates share it */
	uint32_t		serial;		/* by which children note it: inherited.h */
	struct pfm_inherited	inherited;	/* used in a child of fork(): the rest is not valid there */
	pid_t			pid;		/* the process that made it, as a child of vfork() may close it */
	int			fd;		/* the number the program last used for it */
	int			own;		/* the library's end */
	int			fast_read;		/* where its counters are published, or -1: fast_read.h */
	bool			silent;		/* its signals are off for an exec; under the table's lock */
	int			msg_unit;	/* bytes a queued message occupies, once known */
	bool			by_06;		/* made by perfmonctl(): mapped as 3.5.4 has it */
	bool			by_20;		/* made by perfmon 2.0's call: messages have its layout */
	int			cgroup;		/* a descriptor of its folder, or -1 */
	int			memfd;		/* the sampling buffer, or -1 */
	void			*mapping;	/* where the program last mapped it, or NULL */
	struct pfm_context	*ctx;		/* NULL: closed */
	struct pfm_watch	*hangup;
};

static inline struct pfm_desc *pfm_desc_of(struct pfm_context *ctx)
{
	return ctx->transport;
}

/* A new descriptor with both its ends; NULL with errno. Its one reference is the caller's. */
struct pfm_desc *pfm_desc_new(void);
/* Puts it where pfm_desc_enter() finds it; from then on the program's end decides when it closes. */
int pfm_desc_publish(struct pfm_desc *d);
void pfm_desc_get(struct pfm_desc *d);
void pfm_desc_put(struct pfm_desc *d);

/* Takes its lock, to change the context. */
void pfm_desc_lock(struct pfm_desc *d);

/*
 * The way into a call on a context: signals blocked, descriptor found, its lock taken. NULL with
 * EBADF if fd is no open context of this process; pfm_desc_leave() undoes it in either case.
 */
struct pfm_desc *pfm_desc_enter(int fd, sigset_t *saved);
void pfm_desc_leave(struct pfm_desc *d, const sigset_t *saved);

/* Signals off around anything that takes a lock (5.7). */
void pfm_signals_block(sigset_t *saved);
void pfm_signals_restore(const sigset_t *saved);
void pfm_memory_lock(void);	/* the innermost */
void pfm_memory_unlock(void);

/*
 * Around a close of fd: if a thread monitors itself and its process has no descriptor left, the context is unloaded,
 * even if another process still has a descriptor (3.1.15, figure 3.10). loaded: with its lock held. may_end: is there
 * any such context? closing: NULL, or a reference for closed.
 */
void pfm_desc_loaded(const struct pfm_desc *d);
bool pfm_desc_may_end(void);
struct pfm_desc *pfm_desc_closing(int fd);
void pfm_desc_closed(struct pfm_desc *d);

/*
 * Around an exec, with which the contexts of the process end: no signal of theirs reaches the new program. after: the
 * exec has failed.
 */
void pfm_desc_before_exec(void);
void pfm_desc_after_exec(void);

/* Closes now what the program has closed but the service thread has not noticed; true if any. */
bool pfm_desc_reap(void);

/* A number that differs from that of the processes from which this one was forked. */
uint32_t pfm_process(void);

/* Bytes of a message of fd's context; 0: fd is no context's descriptor. */
unsigned int pfm_desc_message(int fd);
unsigned int pfm_message_size(const struct pfm_desc *d);	/* machine_ops.c */
/* The program unmaps what it had at addr: a sampling buffer there may be mapped again (3.5.4). */
void pfm_desc_unmapped(const void *addr);

/* A thread of ours, with all signals blocked; state as of pthread_attr_setdetachstate(3). 0 or an errno. */
int pfm_thread_start(pthread_t *thread, void *(*fn)(void *arg), int state);
/* Starts the service thread if it does not run; 0 or -1 with errno. */
int pfm_service_start(void);
/* In a child after fork: contexts stay with the parent. */
void pfm_service_forget(void);

/* In a child after fork: the locks are the parent's. shared.c */
void pfm_shared_forget(void);

/* A status of the core (0 or a negative errno) as a program wants it. */
int pfm_result(int ret);

#endif
