/* SPDX-License-Identifier: MIT */
/*
 * user.h - what libperfmon provides for the machines that run in user space (perf, sim). A
 * context's descriptor is one end of a pair of stream sockets; the library has the other. One
 * service thread per process waits for everything asynchronous. The context's lock is held during
 * every command and every call-back of the service thread. Signals are blocked while it is held, so
 * that a signal handler can make a call (5.7). A handler may have interrupted malloc() or stdio, so
 * no function here calls a function of libc that takes their locks.
 */
#ifndef PFM_USER_H
#define PFM_USER_H

#include <sys/resource.h>

#include "core.h"

/*
 * These do what calloc(3), realloc(3) and strdup(3) do, for memory that pfm_os_free() frees. They
 * may be called from a handler that has interrupted malloc(). realloc() leaves the new bytes
 * undefined.
 */
void *pfm_os_calloc(size_t n, size_t size);
void *pfm_os_realloc(void *p, size_t size);
char *pfm_os_strdup(const char *text);
/*
 * pfm_os_read() reads the beginning of a file as text, and returns false if the file is empty or
 * cannot be read. pfm_os_read_number() reads a number; if there is none, it returns false and does
 * not change *value.
 */
bool pfm_os_read(const char *path, char *text, size_t size);
bool pfm_os_read_number(const char *path, long *value);

/*
 * Returns true if a file may have that size; otherwise returns false with EFBIG. Beyond
 * RLIMIT_FSIZE, which holds for files in memory too, the kernel sends SIGXFSZ, which ends the
 * program.
 */
static inline bool pfm_file_may_have(uint64_t size)
{
	struct rlimit most;

	if (getrlimit(RLIMIT_FSIZE, &most) || size <= most.rlim_cur)
		return true;
	errno = EFBIG;
	return false;
}

/* --- waiting: the service thread ------------------------------------------------------------ */

struct pfm_watch;
typedef void (*pfm_watch_fn)(struct pfm_context *ctx, void *arg, uint32_t events);

/*
 * Makes the service thread call fn(ctx, arg, epoll events) with ctx's lock held whenever fd is
 * ready; level-triggered. The caller holds the context's lock. Returns NULL with errno on failure.
 */
struct pfm_watch *pfm_watch_add(struct pfm_context *ctx, int fd, uint32_t events, pfm_watch_fn fn,
				void *arg);
/*
 * After this call, made with the lock held, fn is not called again, and fd may be closed. w may be
 * NULL.
 */
void pfm_watch_del(struct pfm_watch *w);

/* --- operations that user-space machines share; put them into struct pfm_machine_ops -------- */

int pfm_user_post(struct pfm_context *ctx, const pfarg_msg_t *msg);
void pfm_user_flush(struct pfm_context *ctx);
/*
 * Sends SIGIO, or the signal that F_SETSIG has chosen (3.3.7), for an overflow without a message
 * (PFM_FL_OVFL_NO_MSG).
 */
void pfm_user_signal(struct pfm_context *ctx);
void pfm_user_caller(struct pfm_machine *m, struct pfm_caller *who);
bool pfm_user_in_group(struct pfm_machine *m, uint32_t gid);
/* Returns true if the target is a thread of this process. */
bool pfm_user_has_fd(struct pfm_context *ctx);
/*
 * Called by a machine before its first context is made: from then on children of fork() note their
 * descriptors.
 */
void pfm_user_want_inherited(void);
/*
 * For 3.3.6: pfm_user_inherited() returns true if the target's process, which must still exist, has
 * inherited the context's descriptor by fork(), still has it, and has not called exec.
 * pfm_user_inherited_holds() answers the same question when the process may have ended: it returns
 * true if the process is a child of fork() that has noted that it inherited the descriptor, and has
 * not noted a close of it, nor an exec. Calls that bypass the library are not noted.
 */
bool pfm_user_inherited(struct pfm_context *ctx);
bool pfm_user_inherited_holds(struct pfm_context *ctx);
/* Returns the descriptor of the cgroup that pfm_set_cgroup() has chosen, or -1. */
int pfm_user_cgroup(const struct pfm_context *ctx);
uint64_t pfm_user_now(struct pfm_machine *m);	/* as pfm_clock_ns() */
size_t pfm_user_page_size(struct pfm_machine *m);
int pfm_user_alloc_buffer(struct pfm_context *ctx, size_t size, void **buf);
void pfm_user_free_buffer(struct pfm_context *ctx, void *buf, size_t size);

/* --- shared by the processes of a user: shared.c --------------------------------------------- */

extern const struct pfm_sharing_ops pfm_user_sharing;	/* called under pfm_os_lock() */
/* Takes pfm_os_lock(). Returns how many bytes the user may still lock, or ~0: there is no limit. */
uint64_t pfm_user_lockable(struct pfm_machine *m);
/*
 * Called in a child after fork, where no context of the parent is loaded, and no buffer is charged
 * (3.1.7).
 */
static inline void pfm_user_forget(struct pfm_machine *m)
{
	m->loaded = NULL;
	m->thread_sessions = m->sys_sessions = m->smpl_buf_size_cur = 0;
}

/* --- counters that are read by one system call: fast_read.h ---------------------------------- */

#define PFM_FAST_MAX	64		/* a fast read has at most this many counters */

struct pfm_fast_pmd {
	uint64_t	add;		/* the PMD's value is the count plus this */
	uint64_t	last_reset;
	uint64_t	switch_left;
};

/*
 * Filled in by pfm_machine_ops.fast_read: how the PMDs of the active set can be read without the
 * core. PMDs of other sets cannot be.
 */
struct pfm_fast_read {
	/*
	 * Stores the counts in the order of pmd. Returns false if they cannot be read now, or if
	 * only a read through the core can tell whether they are valid.
	 */
	bool		(*read)(const struct pfm_fast_read *q, uint64_t *counts);
	/* descriptor of the counters, which only pfm_fast_close() may close */
	int		fd;
	int		cpu;		/* the CPU on which it must be read, or -1: any */
	/* the counts are valid only if the counters have always been on the PMU */
	bool		pinned;
	uint16_t	set;
	unsigned int	n;
	/* by number of the PMD: 1 + its index in pmd; 0 if the PMD is not in pmd */
	uint8_t		at[PFM_MAX_PMDS];
	struct pfm_fast_pmd	pmd[PFM_FAST_MAX];
};

/*
 * Closes a counter's descriptor that pfm_machine_ops.fast_read may have published. The context's
 * lock is held.
 */
void pfm_fast_close(struct pfm_context *ctx, int fd);
/* --- views ---------------------------------------------------------------------------------- */

/*
 * The page of a view on the machines in user space. A PMD with the index PFM_VIEW_ELSEWHERE has a
 * page of perf_event, at perf + its number * the page size. Only one thread can read these pages:
 * that with the thread pointer "self", in the process for which pfm_process() is "process".
 */
struct pfm_user_view {
	pfm_set_view_t	view;
	const char	*perf;
	uint64_t	self;
	uint32_t	process;
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
 * A kind of machine. rank is its position in the order in which machines are tried; if it is 0, the
 * kind is used only by name.
 *
 * open() prepares a machine, or returns the existing one. model is what follows the colon of
 * "sim:itanium2", or ""; options are as for pfm_set_machine(). open() returns NULL with errno after
 * it has reported the reason through pfm_refuse(). describe() does the machine's part of
 * pfm_get_machine(): see pfm_machine_info_t. model_name(), optional, returns the i-th of the names
 * like "sim:itanium2", from 0, or NULL after the last. begin_call() and end_call(), optional,
 * enclose every command on a context, and a fork; begin_call() is called while signals are blocked,
 * and before the lock of a context is taken. forget(), optional, is called after a fork in the
 * child, which has none of the contexts. event(), optional, implements pfm_perf_event(), and
 * returns 0 or a negative errno.
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
	/* called when what open() returned is the current machine: frees those that it replaced */
	void (*release_replaced)(void);
};

/* Registers a kind of machine; each kind's own file does so in a constructor. */
void pfm_machine_register(const struct pfm_user_machine *kind);
#define PFM_REGISTER_MACHINE(kind) \
	__attribute__((constructor)) static void register_machine(void) { pfm_machine_register(&(kind)); }

/* These call begin_call(), end_call() and forget() of all kinds. */
void pfm_machines_begin_call(void);
void pfm_machines_end_call(void);
void pfm_machines_forget(void);

/* These enclose a fork: in between, no thread chooses a machine, and no call is in progress. */
void pfm_machines_before_fork(void);
void pfm_machines_after_fork(void);

/*
 * Returns the machine on which contexts are created now, and chooses one if there is none yet.
 * Returns NULL with errno if no machine works.
 */
struct pfm_machine *pfm_current_machine(void);
/*
 * Declares "m" as the current machine, or NULL. Until m's scope ends, the machine is not freed,
 * even if another thread chooses another one. pfm_machines_held() returns true if there is such a
 * scope.
 */
#define PFM_HOLD_MACHINE(m) \
	struct pfm_machine *m __attribute__((cleanup(pfm_machine_release))) = pfm_machine_hold()
struct pfm_machine *pfm_machine_hold(void);
void pfm_machine_release(struct pfm_machine **m);
bool pfm_machines_held(void);

#endif
