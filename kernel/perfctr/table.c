// SPDX-License-Identifier: MIT
/* table.c - the list of objects that are attached to threads, and the lock for all objects. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "object.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* signal mask and cancel state of the thread with the lock; they are restored at the release */
static sigset_t masked;
static int cancel;
static struct vperfctr *objects;
static unsigned int count, sweep_at = 16;

void perfctr_enter(void)
{
	sigset_t all, old;
	int state;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_mutex_lock(&lock);
	masked = old;
	cancel = state;
}

static void unlock(void)
{
	sigset_t old = masked;
	int state = cancel;

	pthread_mutex_unlock(&lock);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_setcancelstate(state, NULL);
}

int perfctr_leave(int ret)
{
	unlock();
	if (ret >= 0)
		return ret;
	errno = -ret;
	return -1;
}

/* --- finding an object ----------------------------------------------------------------------- */

struct vperfctr *perfctr_of_thread(pid_t tid)
{
	struct vperfctr *v = objects;

	while (v && v->tid != tid)
		v = v->next;
	return v;
}

struct vperfctr *perfctr_of_file(int fd)
{
	struct vperfctr *v = objects;
	struct stat st;

	if (fstat(fd, &st))
		return NULL;
	while (v && (v->ino != st.st_ino || v->dev != st.st_dev))
		v = v->next;
	return v;
}

/* --- attaching ------------------------------------------------------------------------------- */

static void unlist(struct vperfctr *v)
{
	struct vperfctr **p = &objects;

	while (*p && *p != v)
		p = &(*p)->next;
	if (!*p)
		return;
	*p = v->next;
	count--;
}

static void drop(struct vperfctr *v)
{
	perfctr_state_put(v);
	free(v);
}

void perfctr_detach(struct vperfctr *v)
{
	perfctr_stop(v);
	__atomic_and_fetch(&v->state->flags, ~VPERFCTR_ATTACHED, __ATOMIC_RELEASE);
	unlist(v);
	drop(v);
}

/*
 * Drops objects of threads that have ended. The end of a thread is not reported, so they are
 * searched for when there are twice as many objects as the last search left.
 */
static void sweep(void)
{
	struct vperfctr *v = objects, *next;

	if (count < sweep_at)
		return;
	for (; v; v = next) {
		next = v->next;
		if (perfctr_thread_ended(v))
			perfctr_detach(v);
	}
	sweep_at = 2 * count + 16;
}

/*
 * Loads an empty context onto the thread, to find out whether the caller may monitor it and it has
 * no other context.
 */
static int try_context(pid_t tid)
{
	pfarg_load_t load = { .load_pid = (uint32_t)tid };
	pfarg_ctx_t ctx = { .ctx_flags = PFM_FL_INHERIT };
	int fd = pfm_create_context(&ctx, NULL, NULL, 0), ret;

	if (fd < 0)
		return perfctr_failed();
	ret = pfm_load_context(fd, &load) ? perfctr_failed() : 0;
	if (!ret)
		pfm_unload_context(fd);
	close(fd);
	return ret;
}

int perfctr_attach(pid_t tid, struct vperfctr **out)
{
	struct vperfctr *v;
	int ret;

	sweep();
	ret = try_context(tid);
	if (ret)
		return ret;
	perfctr_watch_forks();
	v = calloc(1, sizeof(*v));
	if (!v)
		return perfctr_refuse(-ENOMEM, "no memory for an object");
	v->tid = tid;
	v->file = v->ctx = -1;
	ret = perfctr_thread_find(v);
	if (!ret)
		ret = perfctr_state_new(v);
	if (ret) {
		drop(v);
		return ret;
	}
	v->next = objects;
	objects = v;
	count++;
	*out = v;
	return 0;
}

/* --- fork ------------------------------------------------------------------------------------ */

static void before_fork(void)
{
	perfctr_enter();
}

static void after_fork_parent(void)
{
	unlock();
}

/*
 * Drops the parent's objects in the child: its copies of the descriptors must not keep the contexts
 * alive.
 */
static void after_fork_child(void)
{
	while (objects) {
		struct vperfctr *v = objects;

		objects = v->next;
		if (v->ctx >= 0)
			close(v->ctx);
		perfctr_forget_watcher(v->watcher);
		drop(v);
	}
	count = 0;
	unlock();
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

void perfctr_watch_forks(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch_forks);
}
