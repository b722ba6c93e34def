/* SPDX-License-Identifier: MIT */
/*
 * ptrace.c - the tracer: a thread that seizes, waits, forwards and reports.
 *
 * PTRACE_SEIZE, not ATTACH: nothing stops that need not, and group stops are seen as such
 * (PTRACE_LISTEN keeps a stopped job stopped). Commands come to the thread by a signal that ends
 * its wait; a signal sent just before the wait begins is lost, so it is sent again until answered.
 * Releases, of which there may be thousands a second, are not waited for: the signal's handler, which
 * runs in the tracing thread whatever that does, carries them out.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "process/process.h"
#include "process/ptrace.h"

#define WAKE	SIGURG
#define OPTIONS	(PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC)

enum { BUCKETS = 1024 };

struct task {
	pid_t		tid, pid, parent;
	enum follow_kind kind;
	bool		known;		/* its maker's event, or attach, told of it */
	bool		stopped;	/* its first stop has come */
	bool		announced;	/* an event about it was queued */
	bool		told;		/* ... and taken */
	bool		held;
	bool		listen;		/* held in a group stop */
	struct task	*next;
	struct task	*next_release;
};

struct node {
	struct follow_event	event;
	struct node		*next;
};

struct command {
	int	(*fn)(struct follow *f, pid_t pid);
	pid_t	pid;
	int	ret, err;
	bool	done;
};

struct follow {
	pthread_t	thread;
	pthread_mutex_t	lock;		/* of all below */
	pthread_cond_t	cond;		/* a command was given, or done */
	struct command	*command;
	bool		quit, nomem;
	struct follow_options options;
	int		fd;		/* an eventfd ... */
	bool		told;		/* ... and whether it is readable */
	size_t		tasks;
	struct task	*buckets[BUCKETS];
	struct node	*first, **last;
	_Atomic(struct task *) releases; /* pushed under the lock; taken by the thread, as it drops tasks */
};

/* --- tasks ---------------------------------------------------------------------------------- */

static struct task **task_link(struct follow *f, pid_t tid)
{
	struct task **link = &f->buckets[(unsigned int)tid % BUCKETS];

	while (*link && (*link)->tid != tid)
		link = &(*link)->next;
	return link;
}

/* The task, new if need be; NULL without memory. */
static struct task *task_get(struct follow *f, pid_t tid)
{
	struct task **link = task_link(f, tid);

	if (!*link) {
		*link = calloc(1, sizeof(**link));
		if (!*link) {
			f->nomem = true;
			return NULL;
		}
		(*link)->tid = (*link)->pid = tid;
		f->tasks++;
	}
	return *link;
}

static void task_drop(struct follow *f, pid_t tid)
{
	struct task **link = task_link(f, tid), *t = *link;

	if (!t)
		return;
	*link = t->next;
	f->tasks--;
	free(t);
}

/* --- events --------------------------------------------------------------------------------- */

static bool readable(const struct follow *f)
{
	return f->first || !f->tasks || f->nomem;
}

/* Makes the eventfd say whether follow_next() has something to say. */
static void update_fd(struct follow *f)
{
	uint64_t value = 1;

	if (f->told == readable(f))
		return;
	f->told = !f->told;
	if (f->told)
		(void)!write(f->fd, &value, sizeof(value));
	else
		(void)!read(f->fd, &value, sizeof(value));
}

static void queue(struct follow *f, const struct follow_event *event)
{
	struct node *n = malloc(sizeof(*n));

	if (!n) {
		f->nomem = true;
		return;
	}
	n->event = *event;
	n->next = NULL;
	*f->last = n;
	f->last = &n->next;
}

/* --- stops ---------------------------------------------------------------------------------- */

static void let_run(pid_t tid, int sig)
{
	ptrace(PTRACE_CONT, tid, NULL, (void *)(intptr_t)sig);
}

/* Tells of a new task once both halves are there: who made it, and that it has stopped. */
static void announce(struct follow *f, struct task *t)
{
	struct follow_event event = {
		.kind = t->kind, .tid = t->tid, .pid = t->pid, .parent = t->parent, .held = true,
	};

	if (!t->known || !t->stopped || t->announced)
		return;
	t->announced = t->held = true;
	queue(f, &event);
}

static bool is_group_stop(int sig)
{
	return sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}

static void on_event_stop(struct follow *f, struct task *t, int sig)
{
	if (!t->announced) {
		t->stopped = true;
		t->listen = is_group_stop(sig);
		announce(f, t);
	} else if (is_group_stop(sig)) {
		ptrace(PTRACE_LISTEN, t->tid, NULL, NULL);
	} else if (!t->held) {
		let_run(t->tid, 0);
	}
}

/* clone(2) may make a thread or a process: a thread answers to its process's number. */
static void on_birth(struct follow *f, const struct task *maker, int event)
{
	unsigned long tid = 0;
	struct task *t;

	if (ptrace(PTRACE_GETEVENTMSG, maker->tid, NULL, &tid))
		return;
	t = task_get(f, (pid_t)tid);
	if (!t)
		return;
	t->known = true;
	t->parent = maker->tid;
	t->kind = FOLLOW_FORK;
	if (event == PTRACE_EVENT_CLONE && !syscall(SYS_tgkill, maker->pid, (pid_t)tid, 0)) {
		t->kind = FOLLOW_THREAD;
		t->pid = maker->pid;
	}
	announce(f, t);
}

/* The thread that called exec has its process's number from now on; the other threads end. */
static void on_exec(struct follow *f, struct task *t)
{
	struct follow_event event = {
		.kind = FOLLOW_EXEC, .tid = t->tid, .pid = t->tid, .held = f->options.hold_exec,
	};
	unsigned long former = 0;

	ptrace(PTRACE_GETEVENTMSG, t->tid, NULL, &former);
	event.former = (pid_t)former;
	if (event.former != t->tid)
		task_drop(f, event.former);
	t->known = t->stopped = t->announced = true;
	t->held = event.held;
	t->listen = false;
	if (t->held || !f->options.births_only)
		queue(f, &event);
	if (!t->held)
		let_run(t->tid, 0);
}

static void on_stop(struct follow *f, pid_t tid, int status)
{
	int event = status >> 16, sig = WSTOPSIG(status);
	struct task *t = task_get(f, tid);

	if (!t) {
		let_run(tid, event ? 0 : sig);
		return;
	}
	switch (event) {
	case PTRACE_EVENT_STOP:
		on_event_stop(f, t, sig);
		break;
	case PTRACE_EVENT_CLONE:
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
		on_birth(f, t, event);
		let_run(tid, 0);
		break;
	case PTRACE_EVENT_EXEC:
		on_exec(f, t);
		break;
	default:
		let_run(tid, event ? 0 : sig);
	}
}

static void on_end(struct follow *f, pid_t tid, int status)
{
	struct task *t = *task_link(f, tid);
	struct follow_event event = { .kind = FOLLOW_EXIT, .tid = tid, .status = status };

	if (!t)
		return;
	event.pid = t->pid;
	if (t->announced && !f->options.births_only)
		queue(f, &event);
	task_drop(f, tid);
}

/* --- releases ------------------------------------------------------------------------------- */

static __thread struct follow *followed_here;

/* In the tracing thread only, in its signal handler as well: no task goes away meanwhile. */
static void let_released_run(struct follow *f)
{
	struct task *t = atomic_exchange(&f->releases, NULL);

	while (t) {
		struct task *next = t->next_release;
		bool listen = t->listen;

		t->listen = false;
		if (listen)
			ptrace(PTRACE_LISTEN, t->tid, NULL, NULL);
		else
			let_run(t->tid, 0);
		t = next;
	}
}

static void on_wake(int sig)
{
	int saved = errno;

	(void)sig;
	if (followed_here)
		let_released_run(followed_here);
	errno = saved;
}

int follow_release(struct follow *f, pid_t tid)
{
	struct task *t;
	bool held;

	pthread_mutex_lock(&f->lock);
	t = *task_link(f, tid);
	held = t && t->held;
	if (held) {
		t->held = false;
		t->next_release = atomic_load(&f->releases);
		while (!atomic_compare_exchange_weak(&f->releases, &t->next_release, t))
			;
	}
	pthread_mutex_unlock(&f->lock);
	if (held)
		pthread_kill(f->thread, WAKE);
	else
		errno = ESRCH;
	return held ? 0 : -1;
}

/* --- the thread ----------------------------------------------------------------------------- */

/* Does what was commanded; waits for a command while there is nobody to wait for. False: quit. */
static bool obey(struct follow *f)
{
	bool go_on;

	pthread_mutex_lock(&f->lock);
	let_released_run(f);	/* what was released before the handler knew whose */
	while (!f->tasks && !f->command && !f->quit)
		pthread_cond_wait(&f->cond, &f->lock);
	if (f->command) {
		f->command->ret = f->command->fn(f, f->command->pid);
		f->command->err = errno;
		f->command->done = true;
		f->command = NULL;
		update_fd(f);
		pthread_cond_broadcast(&f->cond);
	}
	go_on = !f->quit;
	pthread_mutex_unlock(&f->lock);
	return go_on;
}

static void forget_all(struct follow *f)
{
	for (int i = 0; i < BUCKETS; i++)
		while (f->buckets[i])
			task_drop(f, f->buckets[i]->tid);
}

static void wait_once(struct follow *f)
{
	struct rusage usage;
	int status, err;
	pid_t tid = wait4(-1, &status, __WALL | __WNOTHREAD, &usage);

	err = errno;
	pthread_mutex_lock(&f->lock);
	let_released_run(f);
	if (tid > 0 && WIFSTOPPED(status)) {
		on_stop(f, tid, status);
	} else if (tid > 0) {
		lpfm_process_reaped(tid, status, &usage);
		on_end(f, tid, status);
	} else if (err == ECHILD) {
		forget_all(f);
	}
	update_fd(f);
	pthread_mutex_unlock(&f->lock);
}

static void *follow_main(void *arg)
{
	struct follow *f = arg;

	followed_here = f;
	while (obey(f))
		wait_once(f);
	return NULL;
}

/* --- commands ------------------------------------------------------------------------------- */

/* Wakes the thread until cond holds; the lock is held. */
static void kick(struct follow *f)
{
	struct timespec soon;

	pthread_cond_broadcast(&f->cond);
	pthread_kill(f->thread, WAKE);
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_nsec += 1000000;
	if (soon.tv_nsec >= 1000000000) {
		soon.tv_nsec -= 1000000000;
		soon.tv_sec++;
	}
	pthread_cond_timedwait(&f->cond, &f->lock, &soon);
}

static int command(struct follow *f, int (*fn)(struct follow *, pid_t), pid_t pid)
{
	struct command c = { .fn = fn, .pid = pid };

	pthread_mutex_lock(&f->lock);
	f->command = &c;
	while (!c.done)
		kick(f);
	pthread_mutex_unlock(&f->lock);
	errno = c.err;
	return c.ret;
}

static int seize(struct follow *f, pid_t pid, pid_t tid)
{
	struct task *t = *task_link(f, tid);

	if (t)
		return 0;
	if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)(intptr_t)OPTIONS))
		return -1;
	t = task_get(f, tid);
	if (t) {
		t->pid = pid;
		t->known = t->stopped = t->announced = t->told = true;
	}
	return 1;
}

/* One pass over the threads: how many were new, or -1 if none could be had. */
static int seize_threads(struct follow *f, pid_t pid, int *err)
{
	int n = lpfm_process_threads(pid, NULL, 0), room = n + 64, got = 0;
	pid_t *tids = n < 0 ? NULL : malloc((size_t)room * sizeof(*tids));

	n = tids ? lpfm_process_threads(pid, tids, room) : -1;
	*err = errno;
	for (int i = 0; i < n && i < room; i++) {
		int ret = seize(f, pid, tids[i]);

		if (ret < 0)
			*err = errno;
		else
			got += ret;
	}
	free(tids);
	return n < 0 ? -1 : got;
}

/* Threads made meanwhile by one not yet seized show in the next pass. */
static int attach(struct follow *f, pid_t pid)
{
	int err = 0, total = 0, got;

	while ((got = seize_threads(f, pid, &err)) > 0)
		total += got;
	if (total)
		lpfm_process_traced(pid, true);
	errno = err;
	return total ? 0 : -1;
}

int follow_attach(struct follow *f, pid_t pid)
{
	return command(f, attach, pid);
}

int follow_next(struct follow *f, struct follow_event *event)
{
	struct node *n;
	int ret = 0;

	pthread_mutex_lock(&f->lock);
	n = f->first;
	if (n) {
		struct task *t = *task_link(f, n->event.tid);

		if (t)
			t->told = true;
		*event = n->event;
		f->first = n->next;
		if (!f->first)
			f->last = &f->first;
		free(n);
		ret = 1;
	} else if (f->nomem || !f->tasks) {
		errno = f->nomem ? ENOMEM : ECHILD;
		f->nomem = false;
		ret = -1;
	}
	update_fd(f);
	pthread_mutex_unlock(&f->lock);
	return ret;
}

int follow_fd(const struct follow *f)
{
	return f->fd;
}

int follow_threads(struct follow *f, pid_t *tids, int room)
{
	int n = 0;

	pthread_mutex_lock(&f->lock);
	for (int i = 0; i < BUCKETS; i++)
		for (const struct task *t = f->buckets[i]; t; t = t->next) {
			if (!t->told)
				continue;
			if (n < room)
				tids[n] = t->tid;
			n++;
		}
	pthread_mutex_unlock(&f->lock);
	return n;
}

/* --- life ----------------------------------------------------------------------------------- */

static pthread_mutex_t signals_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int signals_users;
static struct sigaction wake_saved, child_saved;

static bool is_plain(const struct sigaction *action)
{
	return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_DFL;
}

/*
 * WAKE needs a handler to end a wait; without SA_RESTART. SIGCHLD, which nobody handles, would wake a thread
 * for each stop all the same: the tracing thread blocks it, so it is not ignored before it is delivered.
 */
static void signals_get(void)
{
	struct sigaction action = { .sa_handler = on_wake };

	pthread_mutex_lock(&signals_lock);
	if (!signals_users++) {
		sigaction(WAKE, &action, &wake_saved);
		sigaction(SIGCHLD, NULL, &child_saved);
		action = child_saved;
		action.sa_flags |= SA_NOCLDSTOP;
		if (is_plain(&child_saved))
			sigaction(SIGCHLD, &action, NULL);
	}
	pthread_mutex_unlock(&signals_lock);
}

static void signals_put(void)
{
	struct sigaction now;

	pthread_mutex_lock(&signals_lock);
	if (!--signals_users) {
		sigaction(WAKE, &wake_saved, NULL);
		sigaction(SIGCHLD, NULL, &now);
		if (is_plain(&child_saved) && is_plain(&now))
			sigaction(SIGCHLD, &child_saved, NULL);
	}
	pthread_mutex_unlock(&signals_lock);
}

/* The thread takes no signal but the one that wakes it. */
static int start(struct follow *f)
{
	sigset_t all, saved;
	int err;

	sigfillset(&all);
	sigdelset(&all, WAKE);
	pthread_sigmask(SIG_SETMASK, &all, &saved);
	err = pthread_create(&f->thread, NULL, follow_main, f);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	return err;
}

struct follow *follow_new(const struct follow_options *options)
{
	struct follow *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return NULL;
	f->options = *options;
	f->last = &f->first;
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->cond, NULL);
	f->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (f->fd < 0)
		goto free_f;
	signals_get();
	err = start(f);
	if (!err)
		return f;
	errno = err;
	signals_put();
	close(f->fd);
free_f:
	free(f);
	return NULL;
}

/* Our own children are for their objects to reap again. */
static void give_back(struct follow *f)
{
	for (int i = 0; i < BUCKETS; i++)
		for (const struct task *t = f->buckets[i]; t; t = t->next)
			lpfm_process_traced(t->pid, false);
}

static int quit(struct follow *f, pid_t unused)
{
	(void)unused;
	f->quit = true;
	return 0;
}

/* The end of the tracing thread detaches its tracees: signals and stops that are due stay due. */
void follow_free(struct follow *f)
{
	command(f, quit, 0);
	pthread_join(f->thread, NULL);
	signals_put();
	give_back(f);
	forget_all(f);
	while (f->first) {
		struct node *n = f->first;

		f->first = n->next;
		free(n);
	}
	close(f->fd);
	pthread_cond_destroy(&f->cond);
	pthread_mutex_destroy(&f->lock);
	free(f);
}
