// SPDX-License-Identifier: MIT
/*
 * watcher.c - a thread that waits for a context's overflows, and sends signals for them. It has its
 * own descriptor of the context, and ends when another thread asks it to through a pipe. That
 * thread does not wait for the end, so the watcher must find out under the lock whether the object
 * still exists.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "object.h"

struct watcher {
	struct vperfctr	*v;		/* NULL: the watcher must end */
	int		ctx, wake[2];
};

/* --- the watcher's thread -------------------------------------------------------------------- */

static void send(const struct vperfctr *v)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = v->state->control.si_signo;
	info.si_code = SI_PMC_OVF;
	info.si_pmc_ovf_mask = (pid_t)v->overflown;
	syscall(SYS_rt_tgsigqueueinfo, v->tgid, v->tid, info.si_signo, &info);
}

/*
 * Handles a message. An overflow message without PMDs says that counters were not available for
 * some time.
 */
static void on_message(struct watcher *w, const pfarg_msg_t *msg)
{
	perfctr_enter();
	if (w->v && msg->msg_type == PFM_MSG_OVFL) {
		perfctr_suspend(w->v, msg->pfm_ovfl_msg.msg_ovfl_pmds);
		if (w->v->overflown)
			send(w->v);
		else
			perfctr_resume(w->v);
	}
	perfctr_leave(0);
}

/* Returns false if no more messages will come. */
static bool next_message(struct watcher *w)
{
	struct pollfd fds[2] = { { .fd = w->ctx, .events = POLLIN }, { .fd = w->wake[0], .events = POLLIN } };
	pfarg_msg_t msg;

	if (poll(fds, 2, -1) < 0)
		return errno == EINTR;
	if (fds[1].revents)
		return false;
	if (read(w->ctx, &msg, sizeof(msg)) != sizeof(msg))
		return errno == EINTR || errno == EAGAIN;
	if (msg.msg_type == PFM_MSG_END)
		return false;
	on_message(w, &msg);
	return true;
}

static void close_all(struct watcher *w)
{
	close(w->ctx);
	close(w->wake[0]);
}

static void *watch(void *arg)
{
	struct watcher *w = arg;
	struct pollfd woken = { .fd = w->wake[0], .events = POLLIN };

	while (next_message(w))
		;
	while (poll(&woken, 1, -1) < 0)
		;
	/* the object refers to w until the thread that woke this one has released the lock */
	perfctr_enter();
	perfctr_leave(0);
	close_all(w);
	free(w);
	return NULL;
}

/* --- starting and ending a watcher ----------------------------------------------------------- */

static int run(struct watcher *w)
{
	pthread_attr_t attr;
	pthread_t thread;
	int ret;

	ret = pthread_attr_init(&attr);
	if (ret)
		return ret;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	/* signals are blocked here, and so they are in the new thread */
	ret = pthread_create(&thread, &attr, watch, w);
	pthread_attr_destroy(&attr);
	return ret;
}

int perfctr_watch(struct vperfctr *v, int ctx, struct watcher **out)
{
	struct watcher *w = malloc(sizeof(*w));
	int ret;

	if (!w)
		return perfctr_refuse(-ENOMEM, "no memory for a watcher of overflows");
	w->v = v;
	w->ctx = fcntl(ctx, F_DUPFD_CLOEXEC, 0);
	ret = w->ctx < 0 ? errno : 0;
	if (!ret && pipe2(w->wake, O_CLOEXEC)) {
		ret = errno;
		close(w->ctx);
	}
	if (!ret) {
		ret = run(w);
		if (!ret) {
			*out = w;
			return 0;
		}
		close_all(w);
		close(w->wake[1]);
	}
	free(w);
	return perfctr_refuse(-ret, "no watcher of overflows: %s", strerror(ret));
}

/* Called under the lock. The watcher's thread frees w afterwards. */
void perfctr_unwatch(struct watcher *w)
{
	if (!w)
		return;
	w->v = NULL;
	close(w->wake[1]);
}

/* Called in a child of fork(), which has no watcher thread. */
void perfctr_forget_watcher(struct watcher *w)
{
	if (!w)
		return;
	close_all(w);
	close(w->wake[1]);
	free(w);
}
