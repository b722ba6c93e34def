// SPDX-License-Identifier: MIT
/*
 * target.c - binds a context to a thread or a CPU, and notices that the thread has ended. A dummy
 * event on the thread measures its run time, and hangs up when the thread has ended.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>
#define PFM_NO_MMAP_REDIRECT
#include "perf.h"
#include <sys/mman.h>

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif

/* --- noticing the end of the target --------------------------------------------------------- */

#define PATIENCE_S	1

static int watch_life(struct pfm_context *ctx);

static void end(struct pfm_context *ctx)
{
	struct perf_context *p = perf_of(ctx);

	if (p->set)
		perf_collect(ctx, p->set);
	pfm_target_exit(ctx);
}

static void stop_waiting(struct perf_context *p)
{
	pfm_watch_del(p->patience_watch);
	p->patience_watch = NULL;
	if (p->patience >= 0)
		close(p->patience);
	p->patience = -1;
}

static void on_patience(struct pfm_context *ctx, void *arg, uint32_t events)
{
	(void)arg, (void)events;
	end(ctx);
}

static bool wait_for_restart(struct pfm_context *ctx)
{
	static const struct itimerspec patience = { .it_value.tv_sec = PATIENCE_S };
	struct perf_context *p = perf_of(ctx);

	p->patience = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (p->patience >= 0 && !timerfd_settime(p->patience, 0, &patience, NULL))
		p->patience_watch = pfm_watch_add(ctx, p->patience, EPOLLIN, on_patience, NULL);
	if (!p->patience_watch)
		stop_waiting(p);
	return p->patience_watch;
}

/*
 * If the sampling buffer is full and overflows wait for that reason, the context is unloaded only
 * after pfm_restart() has made room and all of them have been replayed. If no restart comes for
 * PATIENCE_S, the overflows are lost and END is sent, because the program may wait for END without
 * a restart (3.3.6, 3.6.5).
 */
static void on_hangup(struct pfm_context *ctx, void *arg, uint32_t events)
{
	struct perf_context *p = perf_of(ctx);

	(void)arg, (void)events;
	if (p->life_pidfd < 0 && !perf_hung_up(p->life))
		return;
	perf_quiet(ctx);
	if (p->held && ctx->fmt && !perf_rings_empty(&p->rings) && wait_for_restart(ctx)) {
		pfm_watch_del(p->life_watch);
		p->life_watch = NULL;
		p->ended = true;
		return;
	}
	end(ctx);
}

static int watch_life(struct pfm_context *ctx)
{
	struct perf_context *p = perf_of(ctx);
	int err;

	if (p->life_pidfd >= 0)
		p->life_watch = pfm_watch_add(ctx, p->life_pidfd, EPOLLIN, on_hangup, NULL);
	else
		p->life_watch = pfm_watch_add(ctx, p->life, 0, on_hangup, NULL);
	if (p->life_watch)
		return 0;
	err = errno;
	return pfm_refuse(-err, "the end of thread %u cannot be watched: %s", ctx->tid, strerror(err));
}

void perf_resume_life(struct pfm_context *ctx)
{
	struct perf_context *p = perf_of(ctx);

	p->ended = false;
	stop_waiting(p);
	if (watch_life(ctx))
		p->error = -errno;
}

/*
 * Returns true if the target ends with its process: with INHERIT a first thread stands for all
 * threads of the process, because the others may be its children; with PROCESS any thread does.
 */
static bool is_whole(const struct pfm_context *ctx)
{
	return pfm_inherits(ctx) && (ctx->tid == ctx->pid || ctx->flags & PFM_FL_PROCESS);
}

/* Opens a pidfd of the target. That of a thread other than the first needs Linux 6.9. */
static int open_life_pidfd(struct pfm_context *ctx)
{
	bool whole = is_whole(ctx);

	perf_of(ctx)->life_pidfd = (int)syscall(SYS_pidfd_open, whole ? ctx->pid : ctx->tid, whole ? 0 : PIDFD_THREAD);
	return perf_of(ctx)->life_pidfd < 0 ? -errno : 0;
}

/*
 * Chooses how to notice the target's end: by the dummy event or by a pidfd. The event hangs up when
 * its thread ends, but only if it has a ring: without one it looks hung up at all times. The event
 * stays with a thread that calls exec(2). A pidfd stays with the number of the thread, and if a
 * thread other than the first calls exec(2), it takes the number of the first. On newer kernels the
 * pidfd of a first thread reports the end of the whole process. So a pidfd is used to notice the
 * end of a process, for a thread that monitors itself (its context does not outlive an exec), and
 * if there is no locked memory left for the event's ring.
 */
static int find_end(struct pfm_context *ctx)
{
	struct perf_context *p = perf_of(ctx);
	size_t size = 2 * (size_t)sysconf(_SC_PAGESIZE);
	void *at;
	int err, ret;

	if ((is_whole(ctx) || ctx->self) && !open_life_pidfd(ctx))
		return watch_life(ctx);
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, p->life, 0);
	err = errno;
	if (at != MAP_FAILED) {
		p->life_map = at;
		return watch_life(ctx);
	}
	ret = open_life_pidfd(ctx);
	if (ret == -EMFILE || ret == -ENFILE)
		return perf_refuse_files("the context", -ret);
	if (ret == -ESRCH)
		return perf_refuse_trace(ctx->tid, ESRCH);
	/* the kernel maps no ring of an event of a thread that is inherited */
	if (ret && pfm_inherits(ctx))
		return pfm_refuse(ret, "the end of thread %u cannot be watched: pidfd_open(2): %s", ctx->tid,
				  strerror(-ret));
	return ret ? perf_refuse_map(err, size) : watch_life(ctx);
}

static int open_life(struct pfm_context *ctx)
{
	struct perf_context *p = perf_of(ctx);
	struct perf_event_attr attr;

	perf_attr_dummy(&attr);
	/*
	 * All events of the context are inherited: if one were not, the kernel could not exchange
	 * the equal perf contexts of children at a switch between them.
	 */
	attr.inherit = pfm_inherits(ctx);
	attr.disabled = attr.enable_on_exec = p->on_exec = !!(ctx->flags & PFM_FL_ON_EXEC);
	p->life = perf_open(&attr, p->pid, p->cpu, -1);
	if (p->life < 0)
		return perf_refuse_open(p, "the context", &attr, errno);
	/*
	 * Two ends are not watched. If a first thread monitors itself, its process ends with it,
	 * and so does the context. If another thread monitors itself with INHERIT, its children are
	 * counted until the context is unloaded.
	 */
	return ctx->self && (ctx->tid == ctx->pid || pfm_inherits(ctx)) ? 0 : find_end(ctx);
}

/*
 * If the target's process has inherited the descriptor, opens an event that reports an exec by the
 * target, because an exec closes the descriptor. If the event cannot be opened, the core sends END
 * when the target ends, even if its process still has the descriptor.
 */
static void watch_inherited(struct pfm_context *ctx)
{
	struct perf_context *p = perf_of(ctx);
	struct perf_event_attr attr;

	if ((ctx->flags & PFM_FL_ON_EXEC) || !pfm_user_inherited(ctx))
		return;
	perf_attr_dummy(&attr);
	attr.disabled = attr.enable_on_exec = 1;
	p->exec = perf_open(&attr, p->pid, p->cpu, -1);
}

/*
 * Returns true if the target's process has the descriptor (3.3.6): it is this process, or a child
 * that has inherited the descriptor and has not called exec. Returns false for other processes, as
 * their descriptors are not known.
 */
bool perf_has_fd(struct pfm_context *ctx)
{
	const struct perf_context *p = perf_of(ctx);
	uint64_t words[6] = { 0 };	/* receives nr, time enabled, ... */

	if (pfm_user_has_fd(ctx))
		return true;
	return p->exec >= 0 && read(p->exec, words, sizeof(words)) > 0 && !words[1] && pfm_user_inherited_holds(ctx);
}

uint64_t perf_ran(struct pfm_context *ctx)
{
	uint64_t words[6] = { 0 };	/* receives nr, time enabled, ... */

	if (ctx->flags & PFM_FL_SYSTEM_WIDE)
		return pfm_user_now(ctx->machine);
	if (read(perf_of(ctx)->life, words, sizeof(words)) < 0)
		return 0;
	return words[1];
}

/* --- the target's ids ----------------------------------------------------------------------- */

/*
 * Returns false in a PID namespace with the /proc of another one, where /proc/TID is another thread
 * than TID.
 */
static bool owns_proc(void)
{
	char self[16];
	ssize_t n = readlink("/proc/self", self, sizeof(self) - 1);

	if (n < 0)
		return true;
	self[n] = '\0';
	return strtol(self, NULL, 10) == getpid();
}

/*
 * Reads state and process of a thread from /proc/TID/status. Returns -ESRCH if there is no such
 * thread there.
 */
static int status(uint32_t tid, char *state, uint32_t *pid)
{
	char path[40], text[512], *at;

	if (!owns_proc())
		return -ESRCH;
	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	if (!pfm_os_read(path, text, sizeof(text)))
		return errno == EMFILE || errno == ENFILE ? perf_refuse_files("the context", errno) : -ESRCH;
	/*
	 * The lines "State" and "Tgid" come after the thread's name. It may contain anything, but a
	 * newline in it is written as \n.
	 */
	at = strstr(text, "\nState:\t");
	*state = at ? at[strlen("\nState:\t")] : 'X';
	at = strstr(text, "\nTgid:\t");
	*pid = at ? (uint32_t)strtoul(at + strlen("\nTgid:\t"), NULL, 10) : 0;
	return *pid ? 0 : -ESRCH;
}

bool perf_exists(uint32_t tid)
{
	return tid && tid <= INT_MAX && (!kill((pid_t)tid, 0) || errno == EPERM);
}

/*
 * If /proc does not show a process, the errors of system calls show whether it exists. They do
 * not show to which process a thread belongs, so only the first thread of a hidden process is
 * accepted.
 */
static int find_hidden(uint32_t tid, char *state, uint32_t *pid)
{
	if (syscall(SYS_tgkill, tid, tid, 0) && errno != EPERM)
		return perf_refuse_foreign((pid_t)tid);
	*state = '?';
	*pid = tid;
	return 0;
}

static int find_thread(struct pfm_context *ctx, uint32_t tid)
{
	char state;
	uint32_t pid;
	int err = tid && tid <= INT_MAX ? status(tid, &state, &pid) : -ESRCH;

	if (err == -ESRCH && perf_exists(tid))
		err = find_hidden(tid, &state, &pid);
	if (err == -ESRCH)
		return pfm_refuse(-ESRCH, "there is no thread %u", tid);
	if (err)
		return err;
	if ((state == 'Z' || state == 'X') && !(ctx->flags & PFM_FL_PROCESS))
		return pfm_refuse(-ESRCH, "thread %u has ended", tid);
	ctx->tid = tid;
	ctx->pid = pid;
	return 0;
}

/*
 * Finds the CPU of a system-wide context. load_pid is the caller's thread, which means the CPU
 * where it runs (3.1.7), or as in perfmon 2.x the number of that CPU. With PFM_FL_ANY_CPU it may be
 * the number of any CPU.
 */
static int find_cpu(struct pfm_context *ctx, uint32_t load_pid, const struct pfm_caller *who)
{
	if (load_pid == who->tid)
		ctx->cpu = who->cpu;
	else if (load_pid == who->cpu || ((ctx->flags & PFM_FL_ANY_CPU) && load_pid <= INT_MAX))
		ctx->cpu = load_pid;
	else
		return pfm_refuse(-EINVAL, "load_pid %u is neither the caller's thread, %u, nor the CPU it "
				  "runs on, %u" PFM_ANY_CPU_HINT, load_pid, who->tid, who->cpu);
	ctx->tid = ctx->pid = 0;
	return 0;
}

int perf_right_cpu(struct pfm_context *ctx)
{
	struct pfm_caller who;

	if (!(ctx->flags & PFM_FL_SYSTEM_WIDE) || pfm_any_cpu(ctx))
		return 0;
	pfm_user_caller(ctx->machine, &who);
	if (who.cpu == ctx->cpu)
		return 0;
	return pfm_refuse(-EBUSY, "the context monitors CPU %u and takes commands there only; the caller is "
			  "on CPU %u" PFM_ANY_CPU_HINT, ctx->cpu, who.cpu);
}

/*
 * Returns the CPU on which the thread last ran: field 39 of /proc/TID/stat. The name, field 2, may
 * have spaces but ends with the last ')'.
 */
static uint64_t last_cpu(uint32_t tid)
{
	char path[40], line[1024];
	unsigned int cpu = 0;
	const char *at;

	snprintf(path, sizeof(path), "/proc/%u/stat", tid);
	if (!pfm_os_read(path, line, sizeof(line)))
		return 0;
	at = strrchr(line, ')');
	for (int field = 2; at && field < 39; field++)
		at = strchr(at + 1, ' ');
	if (at)
		cpu = (unsigned int)strtoul(at, NULL, 10);
	return cpu;
}

uint64_t perf_target_cpu(struct pfm_context *ctx, const struct pfm_where *where)
{
	struct pfm_caller who;

	if (where)
		return where->cpu;
	if (ctx->state != PFM_CTX_UNLOADED && (ctx->flags & PFM_FL_SYSTEM_WIDE))
		return ctx->cpu;
	if (ctx->state != PFM_CTX_UNLOADED && !ctx->self)
		return last_cpu(ctx->tid);
	pfm_user_caller(ctx->machine, &who);
	return who.cpu;
}

/*
 * Finds out where the target is, as far as that is possible from outside: for example, it is not
 * known which thread runs on a monitored CPU.
 */
void perf_where(struct pfm_context *ctx, struct pfm_where *where)
{
	*where = (struct pfm_where){ .tstamp = pfm_user_now(ctx->machine), .pid = ctx->pid, .tid = ctx->tid,
				     .cpu = (uint16_t)perf_target_cpu(ctx, NULL) };
}

/* --- attach, detach ------------------------------------------------------------------------- */

static int add_thread(struct perf_context *p, uint32_t tid)
{
	uint32_t *tids = pfm_os_realloc(p->tids, (p->num_tids + 1) * sizeof(*tids));

	if (!tids)
		return pfm_refuse(-ENOMEM, "no memory for the threads of a process");
	p->tids = tids;
	p->tids[p->num_tids++] = tid;
	return 0;
}

bool perf_lives(uint32_t tid)
{
	uint32_t pid;
	char state;

	return !status(tid, &state, &pid) && state != 'Z' && state != 'X';
}

/* If the first thread of a process has ended, another thread becomes the target. */
static int find_living(struct pfm_context *ctx)
{
	const struct perf_context *p = perf_of(ctx);

	for (unsigned int i = 0; !perf_lives(ctx->tid); i++) {
		if (i == p->num_tids)
			return pfm_refuse(-ESRCH, "process %u has ended", ctx->pid);
		ctx->tid = p->tids[i];
	}
	return 0;
}

static int refuse_threads(uint32_t pid, int err)
{
	if (err == EMFILE || err == ENFILE)
		return perf_refuse_files("the context", err);
	if (!perf_exists(pid))
		return pfm_refuse(-ESRCH, "there is no process %u", pid);
	return pfm_refuse(-EPERM, "the threads of process %u are unknown: /proc hides them, or is not mounted", pid);
}

/* Finds the threads of the process. One that ends before its events are opened is skipped later. */
static int find_threads(struct pfm_context *ctx)
{
	_Alignas(struct dirent64) char entries[2048];
	int dir, ret = 0;
	char path[40];
	ssize_t n;

	if (!owns_proc())
		return refuse_threads(ctx->pid, EPERM);
	snprintf(path, sizeof(path), "/proc/%u/task", ctx->pid);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return refuse_threads(ctx->pid, errno);
	while (!ret && (n = getdents64(dir, entries, sizeof(entries))) > 0) {
		const struct dirent64 *e = (const void *)entries;

		for (; !ret && (const char *)e < entries + n; e = (const void *)((const char *)e + e->d_reclen))
			if (e->d_name[0] != '.')
				ret = add_thread(perf_of(ctx), (uint32_t)strtoul(e->d_name, NULL, 10));
	}
	close(dir);
	return ret ? ret : find_living(ctx);
}

/*
 * Refuses combinations of PROCESS, ON_EXEC and INHERIT that are not possible. With INHERIT and a
 * sampling format, finds the threads for which sampler.c opens events.
 */
static int find_subjects(struct pfm_context *ctx)
{
	struct perf_context *p = perf_of(ctx);

	if (ctx->flags & PFM_FL_PROCESS && !perf_samples_family(ctx))
		return pfm_refuse(-EINVAL, "PROCESS needs INHERIT and a sampling format");
	if (ctx->flags & PFM_FL_ON_EXEC && !pfm_inherits(ctx))
		return pfm_refuse(-EINVAL, "ON_EXEC needs INHERIT");
	if (!perf_samples_family(ctx))
		return 0;
	if (ctx->flags & PFM_FL_PROCESS)
		return find_threads(ctx);
	return add_thread(p, ctx->tid);
}

static int bind_thread(struct pfm_context *ctx, uint32_t tid, const struct pfm_caller *who)
{
	struct perf_context *p = perf_of(ctx);
	int ret = find_thread(ctx, tid);

	if (!ret)
		ret = find_subjects(ctx);
	if (ret)
		return ret;
	ctx->self = tid == who->tid;
	p->pid = (int)ctx->tid;
	ret = open_life(ctx);
	if (!ret && !ctx->self)
		watch_inherited(ctx);
	if (!ret && (ctx->flags & PFM_FL_NOTIFY_BLOCK) && !ctx->self)
		ret = perf_block_start(ctx);
	return ret;
}

/*
 * Binds the context to a CPU. An event is opened only to find out at the load whether that is
 * permitted.
 */
static int bind_cpu(struct pfm_context *ctx, uint32_t load_pid, const struct pfm_caller *who)
{
	struct perf_context *p = perf_of(ctx);
	struct perf_event_attr attr;
	int fd, ret = find_cpu(ctx, load_pid, who);

	if (ret)
		return ret;
	ctx->self = false;
	p->cpu = (int)ctx->cpu;
	p->cgroup = pfm_user_cgroup(ctx);
	perf_attr_dummy(&attr);
	fd = perf_open(&attr, p->pid, p->cpu, -1);
	if (fd < 0)
		return perf_refuse_open(p, "the context", &attr, errno);
	perf_close(fd);
	return 0;
}

int perf_attach(struct pfm_context *ctx, uint32_t load_pid)
{
	struct perf_context *p = pfm_os_alloc(sizeof(*p));
	struct pfm_caller who;
	int ret;

	if (!p)
		return pfm_refuse(-ENOMEM, "no memory to load a context");
	p->pid = p->cpu = p->cgroup = p->life = p->life_pidfd = p->patience = p->exec = p->timer.fd = -1;
	ctx->os = p;
	pfm_user_caller(ctx->machine, &who);
	if (ctx->flags & PFM_FL_SYSTEM_WIDE)
		ret = bind_cpu(ctx, load_pid, &who);
	else
		ret = bind_thread(ctx, load_pid, &who);
	if (ret)
		perf_detach(ctx);
	return ret;
}

static void close_life(struct perf_context *p)
{
	pfm_watch_del(p->life_watch);
	stop_waiting(p);
	if (p->life_map)
		munmap(p->life_map, 2 * (size_t)sysconf(_SC_PAGESIZE));
	if (p->life_pidfd >= 0)
		close(p->life_pidfd);
	if (p->life >= 0)
		perf_close(p->life);
	if (p->exec >= 0)
		perf_close(p->exec);
}

void perf_detach(struct pfm_context *ctx)
{
	struct perf_context *p = perf_of(ctx);

	if (p->held)
		perf_drop(ctx);
	perf_block_end(p->block);
	for (struct pfm_set *set = &ctx->set0; set; set = set->next)
		perf_group_close(ctx, set);
	perf_timer_close(&p->timer);
	perf_rings_close(&p->rings);
	pfm_os_free(p->tids);
	close_life(p);
	ctx->os = NULL;
	pfm_os_free(p);
}
