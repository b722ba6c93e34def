// SPDX-License-Identifier: MIT
/*
 * notify_block.c - PFM_FL_NOTIFY_BLOCK: holding the target until pfm_restart(), by ptrace(2).
 *
 * ptrace(2) works only in the thread that traces, which must wait for the target, so each target has a tracer thread of
 * its own. To wake the tracer up, other threads set b->hold or b->end and send the target a SIGSTOP: the target stops
 * for the tracer, which recognizes the signal by its value and suppresses it. All other signals pass. While the target
 * is held, the tracer waits for a change of b->hold and b->end.
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

#define LISTEN_NS	20000000L
#define PATIENCE_NS	200000000L

struct perf_block {
	pthread_t	thread;
	pthread_mutex_t	lock;
	pthread_cond_t	changed;
	uint32_t	pid, tid;
	int		attached;	/* 1: yes; a negative errno */
	bool		called;		/* our SIGSTOP is on its way to the target */
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

/* Looks at the target's state without consuming it (WNOWAIT): its parent will wait for its end. */
static int peek(struct perf_block *b, siginfo_t *info, int flags)
{
	int ret;

	info->si_pid = 0;
	do {
		ret = waitid(P_PID, b->tid, info, WEXITED | WSTOPPED | WNOWAIT | __WALL | flags);
	} while (ret && errno == EINTR);
	return ret;
}

static struct timespec after(long ns)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += ns;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

/* A stopped target moves only by SIGKILL, or an exit() or exec() of another thread, which is not reported: polled. */
static bool has_news(struct perf_block *b)
{
	siginfo_t info = { 0 };

	return peek(b, &info, WNOHANG) || info.si_pid;
}

/*
 * With the target stopped: keeps it so as long as that is wanted and it is not killed. True: it is to be let go, which
 * must wait until our SIGSTOP has come, or that would stop it for good.
 */
static bool hold(struct perf_block *b)
{
	bool let_go, killed = false;

	pthread_mutex_lock(&b->lock);
	b->held = b->hold;
	pthread_cond_broadcast(&b->changed);
	while (b->hold && !b->end && !killed) {
		struct timespec until = after(LISTEN_NS);

		if (!pthread_cond_timedwait(&b->changed, &b->lock, &until))
			continue;
		pthread_mutex_unlock(&b->lock);
		killed = has_news(b);
		pthread_mutex_lock(&b->lock);
	}
	b->held = false;
	let_go = b->end && !b->called;
	pthread_mutex_unlock(&b->lock);
	return let_go;
}

static bool is_ours(const struct perf_block *b, int sig)
{
	siginfo_t info;

	if (sig != SIGSTOP || ptrace(PTRACE_GETSIGINFO, b->tid, NULL, &info))
		return false;
	return info.si_code == SI_QUEUE && info.si_value.sival_ptr == b;
}

/* A stop by SIGSTOP and the like, which SIGCONT ends. */
static bool is_group_stop(int event, int sig)
{
	return event == PTRACE_EVENT_STOP && sig != SIGTRAP;
}

static bool has_ended(const siginfo_t *info)
{
	return info->si_code == CLD_EXITED || info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED;
}

/*
 * *stop: a signal and, above it, an event: of the stop that is taken, for a target that is killed may have gone on to
 * its last one since it was looked at. False: there is nothing left to wait for.
 */
static bool wait_stop(struct perf_block *b, int *stop)
{
	siginfo_t info = { 0 };
	int ret;

	do {
		if (peek(b, &info, 0) || has_ended(&info))
			return false;
		info.si_pid = 0;
		ret = waitid(P_PID, b->tid, &info, WSTOPPED | WNOHANG | __WALL);
	} while (!ret && !info.si_pid);
	*stop = info.si_status;
	return !ret;
}

/* A target stopped by job control takes no signal but SIGCONT, so that one has to look now and then. */
static void listen_to(struct perf_block *b)
{
	bool end = false;

	ptrace(PTRACE_LISTEN, b->tid, NULL, NULL);
	while (!end && !has_news(b)) {
		struct timespec until = after(LISTEN_NS);

		pthread_mutex_lock(&b->lock);
		if (!b->end)
			pthread_cond_timedwait(&b->changed, &b->lock, &until);
		end = b->end;
		pthread_mutex_unlock(&b->lock);
	}
	if (end)
		ptrace(PTRACE_INTERRUPT, b->tid, NULL, NULL);
}

/* SIGCONT takes a pending SIGSTOP back, and two SIGSTOPs become one: ours comes no more after them. */
static void note_call(struct perf_block *b, int sig)
{
	pthread_mutex_lock(&b->lock);
	if (sig == SIGSTOP || sig == SIGCONT)
		b->called = false;
	pthread_mutex_unlock(&b->lock);
}

/* False: the tracer is done. */
static bool handle_stop(struct perf_block *b, int status)
{
	int event = status >> 8, sig = status & 0x7f;
	int forward = event || is_ours(b, sig) ? 0 : sig;

	note_call(b, sig);
	if (event == PTRACE_EVENT_EXIT || hold(b)) {
		ptrace(PTRACE_DETACH, b->tid, NULL, (long)forward);
		return false;
	}
	if (is_group_stop(event, sig))
		listen_to(b);
	else
		ptrace(PTRACE_CONT, b->tid, NULL, (long)forward);
	return true;
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

/*
 * Sets what is wanted, and sees that the tracer notices. That of a held target is awake, and one
 * SIGSTOP on its way is enough; one more than is swallowed would stop the target for good.
 */
static void call_tracer(struct perf_block *b, bool *wanted)
{
	siginfo_t info = { .si_signo = SIGSTOP, .si_code = SI_QUEUE };
	bool send;

	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_ptr = b;
	pthread_mutex_lock(&b->lock);
	*wanted = true;
	pthread_cond_broadcast(&b->changed);
	send = !b->held && !b->called && !b->gone;
	b->called |= send;
	if (send && syscall(SYS_rt_tgsigqueueinfo, b->pid, b->tid, SIGSTOP, &info))
		b->called = false;
	pthread_mutex_unlock(&b->lock);
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

/*
 * A target that sleeps where no signal disturbs it does not stop, nor does it run. That its stop was
 * taken by a waitpid(2) of this program is the other reason for the tracer not to notice. In either
 * case the target is let go when the tracer ends.
 */
static bool wait_for(struct perf_block *b, const bool *what)
{
	struct timespec until = after(PATIENCE_NS);
	bool is;

	pthread_mutex_lock(&b->lock);
	while (!*what && !b->gone && !pthread_cond_timedwait(&b->changed, &b->lock, &until))
		;
	is = *what;
	pthread_mutex_unlock(&b->lock);
	return is;
}

void perf_block_end(struct perf_block *b)
{
	if (!b)
		return;
	call_tracer(b, &b->end);
	if (!wait_for(b, &b->gone))
		pthread_cancel(b->thread);
	pthread_join(b->thread, NULL);
	free_block(b);
}

/* The target then stops before it is back in its own code, unless that was too short a way. */
void perf_block(struct pfm_context *ctx)
{
	struct perf_block *b = perf_of(ctx)->block;

	if (!b)
		return;
	call_tracer(b, &b->hold);
	wait_for(b, &b->held);
}

void perf_unblock(struct pfm_context *ctx)
{
	struct perf_block *b = perf_of(ctx)->block;

	if (b)
		set_flag(b, &b->hold, false);
}
