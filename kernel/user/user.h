/* SPDX-License-Identifier: MIT */
/*
 * user.h - what libperfmon offers the machines that live in user space (perf, sim).
 *
 * A context's descriptor is one end of a pair of stream sockets; the library keeps the other. One
 * service thread per process waits for everything asynchronous. The context's lock is held around
 * every command and every call-back of the service thread; signals are blocked while it is held, so
 * that calls from signal handlers are safe (5.7). A handler may have interrupted malloc() or stdio: nothing here calls
 * what takes their locks.
 */
#ifndef PFM_USER_H
#define PFM_USER_H

#include "core.h"

/*
 * Memory as malloc(3)'s, which a handler that has interrupted malloc() may use; beside pfm_os_alloc(), pfm_os_free().
 * realloc leaves what is new undefined.
 */
void *pfm_os_calloc(size_t n, size_t size);
void *pfm_os_realloc(void *p, size_t size);
char *pfm_os_strdup(const char *text);
/* The beginning of a file, as text; false: it is empty or cannot be read. A number: *value stays if there is none. */
bool pfm_os_read(const char *path, char *text, size_t size);
bool pfm_os_read_number(const char *path, long *value);

/* --- waiting: the service thread ------------------------------------------------------------ */

struct pfm_watch;
typedef void (*pfm_watch_fn)(struct pfm_context *ctx, void *arg, uint32_t events);

/*
 * Calls fn(ctx, arg, epoll events) from the service thread, with ctx's lock held, whenever fd is
 * ready; level-triggered. The context's lock is held by the caller. NULL with errno on error.
 */
struct pfm_watch *pfm_watch_add(struct pfm_context *ctx, int fd, uint32_t events, pfm_watch_fn fn,
				void *arg);
/* After this, with the lock held, fn is not called again; fd may then be closed. NULL is fine. */
void pfm_watch_del(struct pfm_watch *w);

/* --- operations that user-space machines share; put them into struct pfm_machine_ops -------- */

int pfm_user_post(struct pfm_context *ctx, const pfarg_msg_t *msg);
void pfm_user_flush(struct pfm_context *ctx);
/* What the socket would do, had it got a message: SIGIO, or the signal of F_SETSIG (3.3.7). */
void pfm_user_signal(struct pfm_context *ctx);
void pfm_user_caller(struct pfm_machine *m, struct pfm_caller *who);
bool pfm_user_in_group(struct pfm_machine *m, uint32_t gid);
bool pfm_user_has_fd(struct pfm_context *ctx);	/* the target is a thread of this process */
/*
 * 3.3.6: has the target's process the descriptor open? And when it can be asked no more: is it a child that, unless it
 * called exec, had it to its end?
 */
void pfm_user_want_inherited(void);	/* once, before the first context: children are to note it */
bool pfm_user_has_open(struct pfm_context *ctx);
bool pfm_user_inherited_holds(struct pfm_context *ctx);
int pfm_user_cgroup(const struct pfm_context *ctx);	/* a descriptor, or -1: pfm_set_cgroup() */
uint64_t pfm_user_now(struct pfm_machine *m);	/* CLOCK_MONOTONIC */
size_t pfm_user_page_size(struct pfm_machine *m);
int pfm_user_alloc_buffer(struct pfm_context *ctx, size_t size, void **buf);
void pfm_user_free_buffer(struct pfm_context *ctx, void *buf, size_t size);

/* --- shared by the processes of a user: shared.c; all but lockable under pfm_os_lock() ------- */

extern const struct pfm_sharing_ops pfm_user_sharing;
uint64_t pfm_user_lockable(struct pfm_machine *m);	/* bytes that the user may still lock; ~0: no limit */

/* --- counters that are read by one system call: fast_read.h ------------------------------------- */

#define PFM_FAST_MAX	64		/* counters */

struct pfm_fast_pmd {
	uint64_t	add;		/* the PMD's value is the count and this */
	uint64_t	last_reset;
	uint64_t	switch_left;
};

/* How the PMDs of the active set are read, by pfm_machine_ops.fast_read: no others are. */
struct pfm_fast_read {
	/* The counts in the order of pmd; false: not now, or the complete read has to decide. */
	bool		(*read)(const struct pfm_fast_read *q, uint64_t *counts);
	int		fd;		/* of the counters, closed by pfm_fast_close() alone */
	int		cpu;		/* where it may be read, or -1: anywhere */
	bool		pinned;		/* counts of less than all of the time are none */
	uint16_t	set;
	unsigned int	n;
	uint8_t		at[PFM_MAX_PMDS];	/* of a PMD: its place in pmd, from 1; 0: not there */
	struct pfm_fast_pmd	pmd[PFM_FAST_MAX];
};

/* Closes a counter's descriptor that pfm_machine_ops.fast_read may have published. The context's lock is held. */
void pfm_fast_close(struct pfm_context *ctx, int fd);
/* --- views ---------------------------------------------------------------------------------- */

/*
 * What a view's page is on the machines in user space. PMDs of PFM_VIEW_ELSEWHERE have a page of perf's each, at
 * perf + number * the page size, that the thread self of this process can read.
 */
struct pfm_user_view {
	pfm_set_view_t	view;
	const char	*perf;
	uint64_t	self;		/* thread pointer */
	uint32_t	process;	/* counts up with each fork */
	uint32_t	reserved;
};

static inline struct pfm_user_view *pfm_user_view_of(struct pfm_set *set)
{
	return (struct pfm_user_view *)set->view;
}

pfm_set_view_t *pfm_user_open_view(struct pfm_context *ctx, struct pfm_set *set);
void pfm_user_close_view(struct pfm_context *ctx, struct pfm_set *set);

/* --- machines ------------------------------------------------------------------------------- */

/*
 * A kind of machine. rank: its place among those of which the first that works is chosen; 0: it is used by name
 * only. open: make one ready, or use the one there is; model is what follows the colon
 * of "sim:itanium2" or "", options as in pfm_set_machine(). Returns NULL with errno, having said
 * why through pfm_refuse(). describe: see pfm_machine_info_t. model_name, optional: "sim:itanium2" and
 * so on, by i from 0; NULL after the last. begin_call and end_call, optional: around every command on a
 * context and around fork, with signals off and none of our locks held. forget, optional: in a child after
 * fork, which has none of the contexts. event, optional: pfm_perf_event(), with a negative errno.
 */
struct pfm_user_machine {
	const char *name;
	unsigned int rank;
	struct pfm_machine *(*open)(const char *model, const char *options);
	void (*describe)(struct pfm_machine *m, pfm_machine_info_t *info);
	const char *(*model_name)(int i);
	void (*begin_call)(void);
	void (*end_call)(void);
	void (*forget)(void);
	int (*event)(const pfm_perf_event_t *event, uint64_t *value);
};

/* Called by a constructor of each kind's own file. */
void pfm_machine_register(const struct pfm_user_machine *kind);
#define PFM_REGISTER_MACHINE(kind) \
	__attribute__((constructor)) static void register_machine(void) { pfm_machine_register(&(kind)); }

/* Those of all machines. */
void pfm_machines_begin_call(void);
void pfm_machines_end_call(void);
void pfm_machines_forget(void);

/* Around fork: no thread is choosing a machine, and all calls have ended. */
void pfm_machines_before_fork(void);
void pfm_machines_after_fork(void);

/* The machine contexts are created on now, choosing one if need be; NULL with errno. */
struct pfm_machine *pfm_current_machine(void);

#endif
