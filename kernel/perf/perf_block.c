// SPDX-License-Identifier: MIT
/*
 * perf_block.c - PFM_FL_NOTIFY_BLOCK: holding the target until pfm_restart(), by ptrace(2).
 *
 * Only the thread that traces may do anything to the one it traces, and it must wait for it, so each
 * target has a tracer thread of its own. To get its attention one sends the target a SIGSTOP: the
 * target stops for the tracer, which sees that the signal is ours and swallows it. All other signals
 * pass. What others want is in b->hold and b->end; a held target, which cannot report anything, leaves
 * the tracer waiting for a change of them.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "perf.h"

#define HOLD_WAIT_NS	100000000L	/* for a target that sleeps in the kernel undisturbed */

struct perf_block {
	pthread_t	thread;
	pthread_mutex_t	lock;
	pthread_cond_t	changed;
	uint32_t	pid, tid;
	int		attached;	/* 1: yes; a negative errno */
	bool		called;		/* our SIGSTOP is on its way */
	bool		hold, end;	/* wanted */
	bool		held, gone;	/* is so */
};

static void set_flag(struct perf_block *b, bool *flag, bool value)
{
	pthread_mutex_lock(&b->lock);
	*flag = value;
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
}

/* --- the tracer ----------------------------------------------------------------------------- */

/* With the target stopped: keeps it so as long as that is wanted. True: it is to be let go. */
static bool hold(struct perf_block *b)
{
	bool end;

	pthread_mutex_lock(&b->lock);
	b->held = b->hold;
	pthread_cond_broadcast(&b->changed);
	while (b->hold && !b->end)
		pthread_cond_wait(&b->changed, &b->lock);
	b->held = false;
	end = b->end;
	pthread_mutex_unlock(&b->lock);
	return end;
}

/* The sender's pid would be one of the target's name space, which need not be ours. */
static bool is_ours(struct perf_block *b, int sig)
{
	siginfo_t info;
	bool ours;

	if (sig != SIGSTOP || ptrace(PTRACE_GETSIGINFO, b->tid, NULL, &info))
		return false;
	pthread_mutex_lock(&b->lock);
	ours = b->called && info.si_code == SI_TKILL;
	if (ours)
		b->called = false;
	pthread_mutex_unlock(&b->lock);
	return ours;
}

/* A stop by SIGSTOP and the like: PTRACE_LISTEN leaves it to SIGCONT to end it. */
static bool is_group_stop(int event, int sig)
{
	return event == PTRACE_EVENT_STOP && sig != SIGTRAP;
}

/* status: as in si_status, a signal and, above it, an event. False: the tracer is done. */
static bool handle_stop(struct perf_block *b, int status)
{
	int event = status >> 8, sig = status & 0x7f;
	int forward = event || is_ours(b, sig) ? 0 : sig;

	if (event == PTRACE_EVENT_EXIT || hold(b)) {
		ptrace(PTRACE_DETACH, b->tid, NULL, (long)forward);
		return false;
	}
	if (is_group_stop(event, sig))
		ptrace(PTRACE_LISTEN, b->tid, NULL, NULL);
	else
		ptrace(PTRACE_CONT, b->tid, NULL, (long)forward);
	return true;
}

/* The end of a target is only looked at: its parent will want to wait for it. */
static bool wait_stop(struct perf_block *b, int *stop)
{
	siginfo_t info = { 0 };
	int ret;

	do {
		ret = waitid(P_PID, b->tid, &info, WEXITED | WSTOPPED | WNOWAIT | __WALL);
	} while (ret && errno == EINTR);
	if (ret || info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED)
		return false;
	*stop = info.si_status;
	return !waitid(P_PID, b->tid, &info, WSTOPPED | WNOHANG | __WALL);
}

static void *tracer(void *arg)
{
	struct perf_block *b = arg;
	int status, err = 0;

	if (ptrace(PTRACE_SEIZE, b->tid, NULL, (void *)PTRACE_O_TRACEEXIT))
		err = errno;
	pthread_mutex_lock(&b->lock);
	b->attached = err ? -err : 1;
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
	if (!err)
		while (wait_stop(b, &status) && handle_stop(b, status))
			;
	set_flag(b, &b->gone, true);
	return NULL;
}

/* --- the others ----------------------------------------------------------------------------- */

static void call_tracer(struct perf_block *b)
{
	set_flag(b, &b->called, true);
	syscall(SYS_tgkill, b->pid, b->tid, SIGSTOP);
}

static struct perf_block *new_block(const struct pfm_context *ctx)
{
	struct perf_block *b = pfm_os_alloc(sizeof(*b));
	pthread_condattr_t attr;

	if (!b)
		return NULL;
	b->pid = ctx->pid;
	b->tid = ctx->tid;
	pthread_mutex_init(&b->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&b->changed, &attr);
	pthread_condattr_destroy(&attr);
	return b;
}

static void free_block(struct perf_block *b)
{
	pthread_cond_destroy(&b->changed);
	pthread_mutex_destroy(&b->lock);
	pfm_os_free(b);
}

static int wait_attached(struct perf_block *b)
{
	int ret;

	pthread_mutex_lock(&b->lock);
	while (!b->attached)
		pthread_cond_wait(&b->changed, &b->lock);
	ret = b->attached;
	pthread_mutex_unlock(&b->lock);
	return ret;
}

/* Signals are blocked here (user.h), and so they are in the tracer, which must take none. */
int perf_block_start(struct pfm_context *ctx)
{
	struct perf_block *b = new_block(ctx);
	int ret;

	if (!b)
		return pfm_refuse(-ENOMEM, "no memory to hold thread %u", ctx->tid);
	ret = pthread_create(&b->thread, NULL, tracer, b);
	if (ret) {
		free_block(b);
		return pfm_refuse(-ret, "no thread to hold thread %u with: %s", ctx->tid, strerror(ret));
	}
	ret = wait_attached(b);
	if (ret == 1) {
		perf_of(ctx)->block = b;
		return 0;
	}
	pthread_join(b->thread, NULL);
	free_block(b);
	return perf_refuse_trace(ctx->tid, -ret);
}

void perf_block_end(struct perf_block *b)
{
	if (!b)
		return;
	set_flag(b, &b->end, true);
	call_tracer(b);
	pthread_join(b->thread, NULL);
	free_block(b);
}

/* Waits until it is held, unless it sleeps where no signal disturbs it: then it will not run either. */
void perf_block(struct pfm_context *ctx)
{
	struct perf_block *b = perf_of(ctx)->block;
	struct timespec until;

	if (!b)
		return;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += HOLD_WAIT_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	set_flag(b, &b->hold, true);
	call_tracer(b);
	pthread_mutex_lock(&b->lock);
	while (!b->held && !b->gone && !pthread_cond_timedwait(&b->changed, &b->lock, &until))
		;
	pthread_mutex_unlock(&b->lock);
}

void perf_unblock(struct pfm_context *ctx)
{
	struct perf_block *b = perf_of(ctx)->block;

	if (b)
		set_flag(b, &b->hold, false);
}
