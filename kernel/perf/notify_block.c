// SPDX-License-Identifier: MIT
/*
 * notify_block.c - PFM_FL_NOTIFY_BLOCK: holds the target until pfm_restart(), by ptrace(2).
 * ptrace(2) works only in the thread that traces, which must wait for the target, so each target
 * has a tracer thread of its own. To wake the tracer, other threads set "hold" or "end" in struct
 * perf_block and send the target a SIGSTOP: the target stops, and the tracer recognizes the signal
 * by its value and suppresses it. All other signals pass. While the target is held, the tracer
 * waits for a change of "hold" and "end".
 */
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
	/* 1: the tracer is attached; negative: an errno; 0: it is not attached yet */
	int		attached;
	/* call_tracer() has sent a SIGSTOP that has not stopped the target yet */
	bool		called;
	bool		hold, end;	/* requests of other threads to the tracer */
	bool		held, gone;	/* the state of the target, as the tracer sets it */
};

static void set_flag(struct perf_block *b, bool *flag, bool value)
{
	pthread_mutex_lock(&b->lock);
	*flag = value;
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
}

/* --- the tracer thread ---------------------------------------------------------------------- */

/*
 * Reads the target's state without consuming it (WNOWAIT), as the target's parent waits for it,
 * too.
 */
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

/*
 * Returns true if the target has changed its state. A stopped target proceeds only after SIGKILL,
 * or after exit() or exec() in another thread, which ptrace does not report: so its state is
 * polled.
 */
static bool has_news(struct perf_block *b)
{
	siginfo_t info = { 0 };

	return peek(b, &info, WNOHANG) || info.si_pid;
}

/*
 * Keeps the target stopped while b->hold is set and the target is not killed. Returns true if the
 * target is to be detached. A detach must wait until the tracer's SIGSTOP has come, because a
 * SIGSTOP after it would stop the target for good.
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

/* Returns true for a stop by SIGSTOP or another job control signal, which SIGCONT ends. */
static bool is_group_stop(int event, int sig)
{
	return event == PTRACE_EVENT_STOP && sig != SIGTRAP;
}

static bool has_ended(const siginfo_t *info)
{
	return info->si_code == CLD_EXITED || info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED;
}

/*
 * Waits until the target stops, and consumes the stop. *stop receives the signal and, in the bits
 * above it, the ptrace event, such as PTRACE_EVENT_STOP. Both are those of the stop that was
 * consumed, because a target that is killed may have gone on to its exit since peek(). Returns
 * false if the target has ended or cannot be waited for.
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

/*
 * Waits while the target is stopped by job control. Only SIGCONT ends such a stop, so b->hold and
 * b->end are polled.
 */
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

/*
 * Notes that the tracer's SIGSTOP is not pending any more: the target has stopped by it, or by
 * another SIGSTOP with which it merged, or SIGCONT has cancelled it.
 */
static void note_call(struct perf_block *b, int sig)
{
	pthread_mutex_lock(&b->lock);
	if (sig == SIGSTOP || sig == SIGCONT)
		b->called = false;
	pthread_mutex_unlock(&b->lock);
}

/* Returns false if the tracer is done. */
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

/* --- called by other threads ---------------------------------------------------------------- */

/*
 * Sets a flag of b, and wakes the tracer by a SIGSTOP to the target. No signal is sent if the
 * target is held, because the tracer then waits for the flags, or if a SIGSTOP is on its way: a
 * second one would stop the target for good.
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

/*
 * Starts the tracer, and waits until it is attached. The caller has blocked all signals (user.h),
 * so that they are blocked in the tracer as well, which must not run handlers.
 */
int perf_block_start(struct pfm_context *ctx)
{
	struct perf_block *b = new_block(ctx);
	int ret;

	if (!b)
		return pfm_refuse(-ENOMEM, "no memory to hold thread %u", ctx->tid);
	ret = pthread_create(&b->thread, NULL, tracer, b);
	if (ret) {
		free_block(b);
		return pfm_refuse(-ret, "NOTIFY_BLOCK: cannot create the thread that stops thread %u: %s", ctx->tid,
				  strerror(ret));
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
 * Waits until the tracer has set *what, but not for ever. The tracer gets no stop if the target
 * sleeps uninterruptibly, or if a waitpid(2) of this program has consumed the stop. In either case
 * the target is released when the tracer ends. Returns false if *what is not set.
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

/*
 * Makes the target stop before it returns to user level. It stops later if it returned before the
 * signal came.
 */
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
