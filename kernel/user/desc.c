// SPDX-License-Identifier: MIT
/*
 * desc.c - finds the context that belongs to a file descriptor of the program. The descriptor is
 * one end of a socket pair, which the program may duplicate, pass on or close. It is recognized by
 * its inode number, which all duplicates share. When the last duplicate is closed, the library's
 * end hangs up, and the context is closed (3.1.15).
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "desc.h"
#include "inherited.h"
#include "fast_read.h"

#define BUCKETS 1024

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct pfm_desc *table[BUCKETS];
/*
 * id of the process that has made contexts, or 0. In a child of fork(), vfork() or clone(), which
 * gets a copy, it is still the id of the parent, until the child makes a context itself.
 */
static _Atomic pid_t user;
static atomic_ulong num_ended;		/* contexts that were closed and freed */
static atomic_bool self_monitoring;	/* some thread has loaded a context onto itself */
/* number of forks that led to this process; a child has none of its parent's contexts */
static uint32_t forks;

static struct pfm_desc **bucket(ino_t ino)
{
	return &table[ino % BUCKETS];
}

int pfm_result(int ret)
{
	if (ret >= 0)
		return ret;
	errno = -ret;
	return -1;
}

/* --- fork ----------------------------------------------------------------------------------- */

/* signal mask of the forking thread; protected by all locks */
static sigset_t before_fork_mask;

/* Takes all locks, so that the child's copies of the data are consistent. */
static void before_fork(void)
{
	sigset_t saved;

	pfm_signals_block(&saved);
	pfm_machines_before_fork();
	pfm_os_lock();
	pthread_mutex_lock(&table_lock);
	pfm_memory_lock();
	before_fork_mask = saved;
}

static void after_fork_parent(void)
{
	sigset_t saved = before_fork_mask;

	pfm_memory_unlock();
	pthread_mutex_unlock(&table_lock);
	pfm_os_unlock();
	pfm_machines_after_fork();
	pfm_signals_restore(&saved);
}

/*
 * Closes a descriptor of the library, and sets it to -1. Does not close it if the program has
 * closed it before and may have reused its number.
 */
static void close_own(int *fd, dev_t dev, ino_t ino)
{
	struct stat st;

	if (*fd >= 0 && !fstat(*fd, &st) && st.st_dev == dev && st.st_ino == ino)
		close(*fd);
	*fd = -1;
}

static void close_end(struct pfm_desc *d)
{
	close_own(&d->own, d->own_dev, d->own_ino);
}

/*
 * Closes the child's copies of the library's ends, which would keep the contexts' descriptors
 * alive, and of the descriptors of buffers, which would keep their memory.
 */
static void forget_contexts(void)
{
	for (int i = 0; i < BUCKETS; i++) {
		for (struct pfm_desc *d = table[i]; d; d = d->next) {
			close_end(d);
			close_own(&d->memfd, d->memfd_dev, d->memfd_ino);
			d->inherited = (struct pfm_inherited){ .ino = d->ino, .serial = d->serial,
							       .message = pfm_message_size(d) };
			pfm_inherited_inherit(&d->inherited);
		}
		table[i] = NULL;
	}
	pfm_inherited_register();
	pfm_fast_forget();
}

/*
 * Runs in the child, which has no service thread and must not use its parent's contexts. In a
 * process without contexts this costs almost nothing.
 */
static void after_fork_child(void)
{
	/*
	 * cleared first, so that the closes below do not look for contexts of self-monitoring
	 * threads
	 */
	atomic_store(&self_monitoring, false);
	if (atomic_load(&user))
		forget_contexts();
	forks++;
	pfm_shared_forget();
	pfm_service_forget();
	pfm_machines_forget();
	after_fork_parent();
}

uint32_t pfm_process(void)
{
	return forks;
}

/*
 * The handlers are registered when the library is loaded and not by the first call, because another
 * thread may fork during that call, which holds locks.
 */
static __attribute__((constructor)) void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* --- creating and closing ------------------------------------------------------------------- */

/*
 * Opens both ends. When a process is killed, the kernel usually releases the descriptor with the
 * higher number first, so the program's end gets the higher number. If the library's end were
 * released first, the program's end would hang up, and its owner would get a signal.
 */
static int open_ends(struct pfm_desc *d)
{
	struct stat st, own;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return -1;
	fcntl(ends[0], F_SETFD, FD_CLOEXEC);
	if (fstat(ends[1], &st) || fstat(ends[0], &own)) {
		close(ends[0]);
		close(ends[1]);
		return -1;
	}
	d->fd = ends[1];
	d->own = ends[0];
	d->own_dev = own.st_dev;
	d->own_ino = own.st_ino;
	d->ino = st.st_ino;
	return 0;
}

struct pfm_desc *pfm_desc_new(void)
{
	struct pfm_desc *d = pfm_os_alloc(sizeof(*d));

	atomic_store(&user, getpid());
	if (!d) {
		pfm_refuse(0, "no memory for a context's descriptor");
		return NULL;
	}
	d->memfd = d->fast_read = d->cgroup = -1;
	d->pid = getpid();
	d->refs = 1;
	d->serial = pfm_inherited_serial();
	pthread_mutex_init(&d->lock, NULL);
	if (open_ends(d)) {
		pfm_refuse(0, "no descriptor for a context: socketpair(2): %s%s", strerror(errno),
			   errno == EMFILE ? " (see ulimit -n)" : "");
		pfm_os_free(d);
		return NULL;
	}
	return d;
}

void pfm_desc_get(struct pfm_desc *d)
{
	pthread_mutex_lock(&table_lock);
	d->refs++;
	pthread_mutex_unlock(&table_lock);
}

void pfm_desc_put(struct pfm_desc *d)
{
	unsigned int refs;

	pthread_mutex_lock(&table_lock);
	refs = --d->refs;
	pthread_mutex_unlock(&table_lock);
	if (refs)
		return;
	close_end(d);
	if (d->cgroup >= 0)
		close(d->cgroup);
	pthread_mutex_destroy(&d->lock);
	pfm_os_free(d);
}

void pfm_desc_lock(struct pfm_desc *d)
{
	pthread_mutex_lock(&d->lock);
	pfm_fast_withdraw(d);
}

static void unlist(struct pfm_desc *d)
{
	struct pfm_desc **p = bucket(d->ino);

	pthread_mutex_lock(&table_lock);
	while (*p && *p != d)
		p = &(*p)->next;
	if (*p)
		*p = d->next;
	pthread_mutex_unlock(&table_lock);
}

/*
 * Closes the context. Called with the descriptor's lock held, when the program has closed the last
 * duplicate of the descriptor.
 */
static void end_context(struct pfm_desc *d)
{
	struct pfm_context *ctx = d->ctx;

	if (!ctx)
		return;
	pfm_watch_del(d->hangup);
	pfm_do_close(ctx);
	d->ctx = NULL;
	/*
	 * d leaves the table last: a thread that finds it there before waits for d's lock, and so
	 * until the context is closed
	 */
	unlist(d);
	atomic_fetch_add(&num_ended, 1);
	/*
	 * the library's end is closed here and not with the last reference to d, which a watch may
	 * hold until the service thread wakes up
	 */
	close_end(d);
}

static void on_hangup(struct pfm_context *ctx, void *arg, uint32_t events)
{
	struct pfm_desc *d = arg;

	(void)ctx;
	if (!(events & EPOLLHUP))
		return;
	end_context(d);
	pfm_desc_put(d);
}

int pfm_desc_publish(struct pfm_desc *d)
{
	struct pfm_desc **p = bucket(d->ino);

	pfm_fast_claim(d, d->fd);
	pthread_mutex_lock(&d->lock);
	d->hangup = pfm_watch_add(d->ctx, d->own, 0, on_hangup, d);
	if (d->hangup) {
		pthread_mutex_lock(&table_lock);
		d->next = *p;
		*p = d;
		pthread_mutex_unlock(&table_lock);
	}
	pthread_mutex_unlock(&d->lock);
	return d->hangup ? 0 : -1;
}

/* --- finding a context's descriptor --------------------------------------------------------- */

static struct pfm_desc *find(int fd)
{
	struct pfm_desc *d = NULL;
	struct stat st;

	if (fstat(fd, &st) || !S_ISSOCK(st.st_mode))
		return NULL;
	pthread_mutex_lock(&table_lock);
	for (d = *bucket(st.st_ino); d && d->ino != st.st_ino; d = d->next)
		;
	if (d)
		d->refs++;
	pthread_mutex_unlock(&table_lock);
	return d;
}

struct pfm_desc *pfm_desc_enter(int fd, sigset_t *saved)
{
	struct pfm_desc *d;

	pfm_signals_block(saved);
	pfm_machines_begin_call();
	d = find(fd);
	if (d) {
		pfm_desc_lock(d);
		d->fd = fd;
		pfm_fast_claim(d, fd);
		if (d->ctx)
			return d;
		pthread_mutex_unlock(&d->lock);
		pfm_desc_put(d);
	}
	pfm_fast_claim(NULL, fd);
	pfm_refuse(0, forks ? "descriptor %d: only the process that created a context can use it, not its child"
			     : "descriptor %d is not a perfmon context", fd);
	errno = EBADF;
	return NULL;
}

void pfm_desc_leave(struct pfm_desc *d, const sigset_t *saved)
{
	if (d) {
		pthread_mutex_unlock(&d->lock);
		pfm_desc_put(d);
	}
	pfm_machines_end_call();
	pfm_signals_restore(saved);
}

unsigned int pfm_desc_message(int fd)
{
	unsigned int size;
	sigset_t saved;
	struct pfm_desc *d;

	if (!atomic_load(&user))
		return 0;	/* neither this process nor its parents have made contexts */
	pfm_signals_block(&saved);
	d = find(fd);
	size = d ? pfm_message_size(d) : pfm_inherited_message(fd);
	if (d)
		pfm_desc_put(d);
	pfm_signals_restore(&saved);
	return size;
}

bool pfm_user_inherited(struct pfm_context *ctx)
{
	const struct pfm_desc *d = pfm_desc_of(ctx);

	return pfm_inherited_forked(ctx->pid) && pfm_inherited_number(ctx->pid, d->ino) >= 0;
}

bool pfm_user_inherited_holds(struct pfm_context *ctx)
{
	return pfm_inherited_holds(ctx->pid, pfm_desc_of(ctx)->serial);
}

/* --- signals -------------------------------------------------------------------------------- */

/*
 * Returns true if the program still has a descriptor of the context; then d->fd is the number of
 * one. The program may have moved the descriptor since it last used it, by dup2(2) and close(2).
 */
static bool find_number(struct pfm_desc *d)
{
	struct stat st;
	int fd = d->fd;

	if (fstat(fd, &st) || st.st_ino != d->ino)
		fd = pfm_inherited_number((uint32_t)getpid(), d->ino);
	if (fd >= 0)
		d->fd = fd;
	return fd >= 0;
}

static int queue_signal(const struct f_owner_ex *owner, int sig, int fd, int code)
{
	siginfo_t info = { .si_signo = sig, .si_code = code };

	info.si_fd = fd;
	info.si_band = POLLIN;
	if (owner->type == F_OWNER_TID)
		return (int)syscall(SYS_rt_tgsigqueueinfo, getpid(), owner->pid, sig, &info);
	if (owner->type == F_OWNER_PID)
		return (int)syscall(SYS_rt_sigqueueinfo, owner->pid, sig, &info);
	errno = EINVAL;
	return -1;
}

static void send_signal(const struct f_owner_ex *owner, int sig, int fd)
{
	/*
	 * The kernel accepts the si_code POLL_IN from a thread only for signals to that thread, or
	 * to its process if it is the first one. It always accepts SI_SIGIO, which has si_fd, too.
	 */
	if (!queue_signal(owner, sig, fd, POLL_IN) || !queue_signal(owner, sig, fd, SI_SIGIO))
		return;
	/* the queue of signals is full (RLIMIT_SIGPENDING): the kernel sends SIGIO then */
	if (errno == EAGAIN)
		sig = SIGIO;
	/*
	 * Groups get the signal without the siginfo. kill(-1) is not group 1 but every process, so
	 * group 1 gets the signal only if this process belongs to it.
	 */
	if (owner->type == F_OWNER_TID)
		syscall(SYS_tkill, owner->pid, sig);
	else if (owner->type == F_OWNER_PID)
		kill(owner->pid, sig);
	else if (owner->pid == getpgrp())
		kill(0, sig);
	else if (owner->pid > 1)
		kill(-owner->pid, sig);
}

/*
 * Sends a signal to the owner of the descriptor if O_ASYNC is set. While d->silent is set because
 * of an exec, O_ASYNC is clear, and the signal waits for the failure of the exec. Called with the
 * table's lock held.
 */
static void signal_owner(struct pfm_desc *d)
{
	struct f_owner_ex owner;
	int sig;

	d->due = d->silent;
	if (!find_number(d) || !(fcntl(d->fd, F_GETFL) & O_ASYNC) ||
	    fcntl(d->fd, F_GETOWN_EX, &owner) || !owner.pid)
		return;
	sig = fcntl(d->fd, F_GETSIG);
	send_signal(&owner, sig > 0 ? sig : SIGIO, d->fd);
}

void pfm_user_signal(struct pfm_context *ctx)
{
	pthread_mutex_lock(&table_lock);
	signal_owner(pfm_desc_of(ctx));
	pthread_mutex_unlock(&table_lock);
}

static void silence(struct pfm_desc *d)
{
	int flags = find_number(d) ? fcntl(d->fd, F_GETFL) : 0;

	d->silent = (flags & O_ASYNC) && !fcntl(d->fd, F_SETFL, flags & ~O_ASYNC);
	d->due = false;
}

/*
 * Sets O_ASYNC again if silence() has cleared it. If a message was queued while it was clear, or a
 * signal without a message was due (PFM_FL_OVFL_NO_MSG), the signal is sent now.
 */
static void unsilence(struct pfm_desc *d)
{
	struct pollfd p = { .events = POLLIN };

	if (!d->silent || !find_number(d))
		return;
	p.fd = d->fd;
	d->silent = false;
	fcntl(d->fd, F_SETFL, fcntl(d->fd, F_GETFL) | O_ASYNC);
	if (d->due || (poll(&p, 1, 0) == 1 && (p.revents & POLLIN)))
		signal_owner(d);
}

static void with_all(void (*fn)(struct pfm_desc *d))
{
	sigset_t saved;

	/* a child of vfork() or of a plain clone() shares the table, but must not use its locks */
	if (atomic_load(&user) != getpid())
		return;
	pfm_signals_block(&saved);
	pthread_mutex_lock(&table_lock);
	for (int i = 0; i < BUCKETS; i++)
		for (struct pfm_desc *d = table[i]; d; d = d->next)
			fn(d);
	pthread_mutex_unlock(&table_lock);
	pfm_signals_restore(&saved);
}

void pfm_desc_before_exec(void)
{
	with_all(silence);
	pfm_inherited_before_exec();
}

/*
 * Clears O_ASYNC when the process ends. The kernel then releases the library's ends, and would send
 * the owner of a descriptor that another process still has a signal without a message (3.3.7).
 */
static __attribute__((destructor)) void before_exit(void)
{
	with_all(silence);
}

void pfm_desc_after_exec(void)
{
	int err = errno;

	with_all(unsilence);
	pfm_inherited_after_exec();
	errno = err;
}

/* --- closing before the service thread does ------------------------------------------------- */

static bool hung_up(const struct pfm_desc *d)
{
	struct pollfd p = { .fd = d->own };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP);
}

struct pfm_desc *pfm_desc_closing(int fd)
{
	struct pfm_desc *d;
	sigset_t saved;

	if (!pfm_desc_may_end())
		return NULL;
	pfm_signals_block(&saved);
	d = find(fd);
	pfm_signals_restore(&saved);
	return d;
}

static bool monitors_itself(const struct pfm_context *ctx)
{
	return ctx && ctx->self && !(ctx->flags & PFM_FL_SYSTEM_WIDE) && pfm_loaded(ctx);
}

void pfm_desc_loaded(const struct pfm_desc *d)
{
	if (monitors_itself(d->ctx))
		atomic_store_explicit(&self_monitoring, true, memory_order_relaxed);
}

bool pfm_desc_may_end(void)
{
	return atomic_load_explicit(&self_monitoring, memory_order_relaxed);
}

void pfm_desc_closed(struct pfm_desc *d)
{
	int err = errno;
	sigset_t saved;

	if (!d)
		return;
	pfm_signals_block(&saved);
	pfm_machines_begin_call();
	pfm_desc_lock(d);
	if (d->ctx && hung_up(d)) {
		/* at once, because a child that is made next would inherit the events */
		end_context(d);
		pfm_desc_put(d);
	} else if (monitors_itself(d->ctx) && pfm_inherited_number((uint32_t)d->pid, d->ino) < 0) {
		pfm_do_unload(d->ctx);
	}
	pfm_desc_leave(d, &saved);
	errno = err;
}

/* Returns a descriptor that has hung up, with a reference, or NULL. */
static struct pfm_desc *next_hung_up(void)
{
	struct pfm_desc *found = NULL;

	pthread_mutex_lock(&table_lock);
	for (int i = 0; i < BUCKETS && !found; i++)
		for (struct pfm_desc *d = table[i]; d && !found; d = d->next)
			if (hung_up(d))
				found = d;
	if (found)
		found->refs++;
	pthread_mutex_unlock(&table_lock);
	return found;
}

unsigned long pfm_desc_ended(void)
{
	return atomic_load(&num_ended);
}

bool pfm_desc_reap(unsigned long since)
{
	struct pfm_desc *d;

	while ((d = next_hung_up())) {
		bool mine;

		pfm_desc_lock(d);
		mine = d->ctx;
		end_context(d);
		pthread_mutex_unlock(&d->lock);
		if (mine)
			pfm_desc_put(d);
		pfm_desc_put(d);
	}
	return pfm_desc_ended() != since;
}
