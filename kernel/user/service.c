// SPDX-License-Identifier: MIT
/*
 * service.c - the thread that waits for everything asynchronous: counter overflows, timeouts, the
 * end of targets, descriptors that the program closed.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "desc.h"

#define BATCH 64

struct pfm_watch {
	struct pfm_desc		*desc;		/* with a reference */
	int			fd;
	pfm_watch_fn		fn;
	void			*arg;
	bool			dead;		/* protected by the descriptor's lock */
	struct pfm_watch	*next_dead;
};

static pthread_mutex_t service_lock = PTHREAD_MUTEX_INITIALIZER;
static int epoll_fd = -1;
static bool running;
/* deleted watches, which the service thread may still be using */
static struct pfm_watch *graveyard;

static void bury(struct pfm_watch *w)
{
	pthread_mutex_lock(&service_lock);
	w->next_dead = graveyard;
	graveyard = w;
	pthread_mutex_unlock(&service_lock);
}

/* Frees deleted watches. Between two waits the thread uses none of them. */
static void clear_graveyard(void)
{
	struct pfm_watch *w, *next;

	pthread_mutex_lock(&service_lock);
	w = graveyard;
	graveyard = NULL;
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

static void *service(void *unused)
{
	struct epoll_event ev[BATCH];

	(void)unused;
	for (;;) {
		int n = epoll_wait(epoll_fd, ev, BATCH, -1);

		for (int i = 0; i < n; i++)
			deliver(ev[i].data.ptr, ev[i].events);
		clear_graveyard();
	}
	return NULL;
}

#define STACK (1UL << 20)

int pfm_thread_start(pthread_t *thread, void *(*fn)(void *arg), int state)
{
	pthread_attr_t attr;
	sigset_t saved;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_attr_setdetachstate(&attr, state);
	pfm_signals_block(&saved);
	err = pthread_create(thread, &attr, fn, NULL);
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
	while (n < 2 && !pfm_thread_start(&threads[n], nothing, PTHREAD_CREATE_JOINABLE))
		n++;
	pthread_mutex_unlock(&service_lock);
	while (n > 0)
		pthread_join(threads[--n], NULL);
}

static int start(void)
{
	pthread_t thread;
	int err;

	if (epoll_fd < 0)
		epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (epoll_fd < 0)
		return -1;
	err = pfm_thread_start(&thread, service, PTHREAD_CREATE_DETACHED);
	if (err) {
		errno = err;
		return -1;
	}
	pthread_setname_np(thread, "perfmon");
	running = true;
	return 0;
}

int pfm_service_start(void)
{
	sigset_t saved;
	int ret;

	pfm_signals_block(&saved);
	pthread_mutex_lock(&service_lock);
	ret = running ? 0 : start();
	pthread_mutex_unlock(&service_lock);
	pfm_signals_restore(&saved);
	if (ret)
		pfm_refuse(0, "cannot start the service thread: %s", strerror(errno));
	return ret;
}

void pfm_service_forget(void)
{
	pthread_mutex_init(&service_lock, NULL);
	if (epoll_fd >= 0)
		close(epoll_fd);
	epoll_fd = -1;
	running = false;
	graveyard = NULL;
}

struct pfm_watch *pfm_watch_add(struct pfm_context *ctx, int fd, uint32_t events, pfm_watch_fn fn,
				void *arg)
{
	struct pfm_watch *w = pfm_os_alloc(sizeof(*w));
	struct epoll_event ev = { .events = events, .data.ptr = w };

	if (!w)
		return NULL;
	w->desc = pfm_desc_of(ctx);
	w->fd = fd;
	w->fn = fn;
	w->arg = arg;
	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev)) {
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
	epoll_ctl(epoll_fd, EPOLL_CTL_DEL, w->fd, NULL);
	bury(w);
}
