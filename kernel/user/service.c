// SPDX-License-Identifier: MIT
/*
 * service.c - the thread that waits for everything asynchronous: counter overflows, timeouts, the
 * end of targets, descriptors that the program closed.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "desc.h"

#define BATCH 64

struct service {
	int			epoll;
	/* deleted watches, which the thread may still be using */
	struct pfm_watch	*graveyard;
};

struct pfm_watch {
	struct pfm_desc		*desc;		/* with a reference */
	struct service		*service;
	int			fd;
	pfm_watch_fn		fn;
	void			*arg;
	bool			dead;		/* protected by the descriptor's lock */
	struct pfm_watch	*next_dead;
};

static pthread_mutex_t service_lock = PTHREAD_MUTEX_INITIALIZER;
static struct service *current;		/* NULL: there is no thread yet */

static void bury(struct pfm_watch *w)
{
	pthread_mutex_lock(&service_lock);
	w->next_dead = w->service->graveyard;
	w->service->graveyard = w;
	pthread_mutex_unlock(&service_lock);
}

/* Frees deleted watches. Between two waits the thread uses none of them. */
static void clear_graveyard(struct service *s)
{
	struct pfm_watch *w, *next;

	pthread_mutex_lock(&service_lock);
	w = s->graveyard;
	s->graveyard = NULL;
	pthread_mutex_unlock(&service_lock);
	for (; w; w = next) {
		next = w->next_dead;
		pfm_desc_put(w->desc);
		pfm_os_free(w);
	}
}

static void deliver(struct pfm_watch *w, uint32_t events)
{
	struct pfm_desc *d = w->desc;

	pfm_desc_lock(d);
	if (!w->dead && d->ctx)
		w->fn(d->ctx, w->arg, events);
	pthread_mutex_unlock(&d->lock);
}

/* Ends if the program has closed the epoll descriptor. Then add() starts another thread. */
static void *serve(void *arg)
{
	struct service *s = arg;
	struct epoll_event ev[BATCH];
	int n;

	while ((n = epoll_wait(s->epoll, ev, BATCH, -1)) >= 0 || errno == EINTR) {
		/* add() releases the lock when the watch is complete */
		pthread_mutex_lock(&service_lock);
		pthread_mutex_unlock(&service_lock);
		for (int i = 0; i < n; i++)
			deliver(ev[i].data.ptr, ev[i].events);
		clear_graveyard(s);
	}
	return NULL;
}

#define STACK (1UL << 20)

int pfm_thread_start(pthread_t *thread, void *(*fn)(void *arg), void *arg, int state)
{
	pthread_attr_t attr;
	sigset_t saved;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_attr_setdetachstate(&attr, state);
	pfm_signals_block(&saved);
	err = pthread_create(thread, &attr, fn, arg);
	pfm_signals_restore(&saved);
	pthread_attr_destroy(&attr);
	return err;
}

static void *nothing(void *unused)
{
	/*
	 * keep_stacks() releases the lock when all threads have begun, so that they need different
	 * stacks
	 */
	pthread_mutex_lock(&service_lock);
	pthread_mutex_unlock(&service_lock);
	return unused;
}

/*
 * pthread_create(3) calls malloc(3), unless libc has kept the stack and data of a thread that has
 * ended, with a stack of the same size. So two threads are started and ended here. Then a signal
 * handler that has interrupted malloc() may start the service thread and that of sim:MODEL,live.
 */
static __attribute__((constructor)) void keep_stacks(void)
{
	pthread_t threads[2];
	int n = 0;

	pthread_mutex_lock(&service_lock);
	while (n < 2 && !pfm_thread_start(&threads[n], nothing, NULL, PTHREAD_CREATE_JOINABLE))
		n++;
	pthread_mutex_unlock(&service_lock);
	while (n > 0)
		pthread_join(threads[--n], NULL);
}

#define HIGH_FD 1023

/*
 * Returns a new epoll descriptor. A program that closes descriptors which are not its own (as
 * closefrom() does) closes this one, too, and gets the lowest numbers for those that it opens then.
 * So the descriptor has a high number, which is not used again.
 */
static int open_epoll(void)
{
	int low = epoll_create1(EPOLL_CLOEXEC), high;
	struct rlimit limit;

	if (low < 0 || getrlimit(RLIMIT_NOFILE, &limit))
		return low;
	high = fcntl(low, F_DUPFD_CLOEXEC, limit.rlim_cur > HIGH_FD ? HIGH_FD : (int)limit.rlim_cur - 1);
	if (high < 0)
		return low;
	close(low);
	return high;
}

/*
 * Starts a thread, which handles the watches that are added from now on. Returns 0, or -1 with
 * errno, and in *what what failed.
 */
static int start(const char **what)
{
	struct service *s = pfm_os_alloc(sizeof(*s));
	pthread_t thread;
	int err = ENOMEM;

	*what = "memory";
	if (!s)
		goto fail;
	*what = "epoll_create1(2)";
	s->epoll = open_epoll();
	if (s->epoll < 0) {
		err = errno;
		goto fail;
	}
	*what = "pthread_create(3)";
	err = pfm_thread_start(&thread, serve, s, PTHREAD_CREATE_DETACHED);
	if (err) {
		close(s->epoll);
		goto fail;
	}
	pthread_setname_np(thread, "perfmon");
	current = s;
	return 0;
fail:
	pfm_os_free(s);
	errno = err;
	return -1;
}

int pfm_service_start(void)
{
	const char *what;
	sigset_t saved;
	int ret;

	pfm_signals_block(&saved);
	pthread_mutex_lock(&service_lock);
	ret = current ? 0 : start(&what);
	pthread_mutex_unlock(&service_lock);
	pfm_signals_restore(&saved);
	if (ret)
		pfm_refuse(0, "cannot start the service thread: %s: %s", what, strerror(errno));
	return ret;
}

void pfm_service_forget(void)
{
	pthread_mutex_init(&service_lock, NULL);
	if (current)
		close(current->epoll);
	current = NULL;
}

/*
 * Has the current service thread handle the watch. If the program has closed the thread's epoll
 * descriptor, another service thread is started.
 */
static int add(struct pfm_watch *w, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = w };
	const char *what;
	int ret;

	pthread_mutex_lock(&service_lock);
	ret = epoll_ctl(current->epoll, EPOLL_CTL_ADD, w->fd, &ev);
	if (ret && (errno == EBADF || errno == EINVAL) && fcntl(w->fd, F_GETFD) >= 0)
		ret = start(&what) ? -1 : epoll_ctl(current->epoll, EPOLL_CTL_ADD, w->fd, &ev);
	w->service = current;
	pthread_mutex_unlock(&service_lock);
	return ret;
}

struct pfm_watch *pfm_watch_add(struct pfm_context *ctx, int fd, uint32_t events, pfm_watch_fn fn,
				void *arg)
{
	struct pfm_watch *w = pfm_os_alloc(sizeof(*w));

	if (!w)
		return NULL;
	w->desc = pfm_desc_of(ctx);
	w->fd = fd;
	w->fn = fn;
	w->arg = arg;
	if (add(w, events)) {
		pfm_os_free(w);
		return NULL;
	}
	pfm_desc_get(w->desc);
	return w;
}

void pfm_watch_del(struct pfm_watch *w)
{
	if (!w || w->dead)
		return;
	w->dead = true;
	epoll_ctl(w->service->epoll, EPOLL_CTL_DEL, w->fd, NULL);
	bury(w);
}
