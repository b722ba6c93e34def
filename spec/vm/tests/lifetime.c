// SPDX-License-Identifier: MIT
/*
 * lifetime.c - a context is loaded on another thread while the first one still has task work for
 * it; commands run at the same time, wait for slow memory, and lose counters to other users.
 */
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/select.h>

#include "../../../kernel/linux/abi/perfmon_ioctl.h"
#include "users.h"

#define SWITCHES	69		/* PMC and PMD of context switches, which happen at the kernel level */
#define SW_KERNEL	0x1
#define MANY_FDS	500000

static char state_in(const char *path)
{
	char line[256] = "", *state;
	FILE *f = fopen(path, "r");

	if (!f || !fgets(line, sizeof(line), f))
		line[0] = 0;
	if (f)
		fclose(f);
	state = strrchr(line, ')');
	return state ? state[2] : 'X';
}

static char state_of(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	return state_in(path);
}

/* Waits until the process is held by an overflow ('D'), or has ended. */
static char held_or_ended(pid_t pid)
{
	char state;

	while ((state = state_of(pid)) != 'D' && state != 'Z' && state != 'X')
		sched_yield();
	return state;
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Opens so many descriptors that the exit takes a while. */
static void open_many(uint64_t up)
{
	int fd = open("/dev/null", O_RDONLY);

	for (int i = 0; i < MANY_FDS && dup(fd) >= 0; i++)
		;
	if (write((int)up, "", 1) != 1)
		_exit(3);
	for (;;)
		pause();
}

static void pause_for_ever(uint64_t unused)
{
	(void)unused;
	for (;;)
		pause();
}

/*
 * Waits until an exiting process has freed its memory. After that it closes its descriptors and
 * runs its task work.
 */
static void await_no_memory(pid_t pid)
{
	char path[32], line[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	do {
		f = fopen(path, "r");
		if (!f || !fgets(line, sizeof(line), f))
			line[0] = '0';
		if (f)
			fclose(f);
	} while (line[0] != '0');
}

/*
 * Moves the context from one thread to another while both end. Returns true if it moved before they
 * ended.
 */
static bool two_ends(int fd, struct child *next)
{
	struct child slow;
	bool moved, in_time;
	int up[2];
	char byte;

	if (pipe(up))
		exit(3);
	slow = child_new(open_many, (uint64_t)up[1]);
	child_go(&slow);
	TRUE(read(up[0], &byte, 1) == 1 && !load(fd, slow.pid));
	kill(slow.pid, SIGKILL);
	await_no_memory(slow.pid);
	moved = !pfm_unload_context(fd) && !load(fd, next->pid);
	kill(next->pid, SIGKILL);
	child_end(next);
	in_time = moved && state_of(slow.pid) != 'Z';
	child_end(&slow);
	close(up[0]);
	close(up[1]);
	return in_time;
}

/* The second thread's end is reported even if work for the first one's end is still pending. */
static void each_end_is_told(void)
{
	struct rlimit files = { MANY_FDS + 100, MANY_FDS + 100 };
	struct child next;
	pfarg_msg_t msg;
	bool in_time = false;
	int fd;

	NEEDS_TASK_WORK();	/* without task work, a worker notices the end later */
	setrlimit(RLIMIT_NOFILE, &files);
	for (int tries = 0; tries < 20 && !in_time; tries++) {
		next = child_new(pause_for_ever, 0);	/* forked before the descriptor exists */
		MUST(fd = new_context(0));
		MUST(set_pmc(fd, 0, FAULTS, SW_USER));
		in_time = two_ends(fd, &next);
		MUST(fcntl(fd, F_SETFL, O_NONBLOCK));
		if (in_time)
			EQUAL(read(fd, &msg, sizeof(msg)), sizeof(msg));
		close(fd);
	}
	TRUE(in_time);
	EQUAL(msg.type, PFM_MSG_END);
}

/* --- blocking --------------------------------------------------------------------------------- */

static int pipe_of_first[2];

static void read_once(uint64_t unused)
{
	char byte;

	(void)unused;
	if (read(pipe_of_first[0], &byte, 1) != 1)
		_exit(3);
}

static void fault_once(uint64_t unused)
{
	(void)unused;
	fault(1);
}

/* The first thread overflows as it goes to sleep; before it is held, the context is unloaded. */
static void who_is_not_monitored_is_not_held(void)
{
	struct child first, second;
	pfarg_msg_t msg;
	int fd;

	MUST(pipe(pipe_of_first));
	first = child_new(read_once, 0);
	second = child_new(fault_once, 0);
	MUST(fd = new_context(PFM_FL_NOTIFY_BLOCK));
	MUST(set_pmc(fd, 0, SWITCHES, SW_KERNEL));
	MUST(set_period(fd, 0, SWITCHES, 1, PFM_REGFL_OVFL_NOTIFY));
	MUST(load(fd, first.pid));
	MUST(pfm_start(fd, NULL));
	child_go(&first);
	EQUAL(read(fd, &msg, sizeof(msg)), sizeof(msg));
	EQUAL(msg.type, PFM_MSG_OVFL);
	await_sleep(first.pid);
	MUST(pfm_unload_context(fd));
	MUST(set_pmc(fd, 0, SWITCHES, 0));
	MUST(set_pmc(fd, 0, FAULTS, SW_USER));
	MUST(set_period(fd, 0, FAULTS, 1, PFM_REGFL_OVFL_NOTIFY));
	MUST(load(fd, second.pid));
	MUST(pfm_start(fd, NULL));
	child_go(&second);
	EQUAL(held_or_ended(second.pid), 'D');
	TRUE(write(pipe_of_first[1], "", 1) == 1);
	EQUAL(held_or_ended(first.pid), 'Z');
	close(fd);
	kill(first.pid, SIGKILL);
	child_end(&first);
	EQUAL(child_end(&second), 0);
	close(pipe_of_first[0]);
	close(pipe_of_first[1]);
}

/* --- slow memory ------------------------------------------------------------------------------ */

struct call {
	int		fd;
	void		*arg;
	void		(*fn)(struct call *c);
	_Atomic pid_t	tid;
	_Atomic bool	done;
	ssize_t		ret;
	pthread_t	thread;
};

static void *call_thread(void *arg)
{
	struct call *c = arg;

	c->tid = my_tid();
	c->fn(c);
	c->done = true;
	return NULL;
}

static void begin(struct call *c)
{
	if (pthread_create(&c->thread, NULL, call_thread, c))
		exit(3);
}

/* Waits until the call is done (true), or sleeps uninterruptibly (false). */
static bool gets_through(struct call *c)
{
	char path[64];

	while (!c->tid)
		sched_yield();
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", c->tid);
	while (!c->done && state_in(path) != 'D')
		sched_yield();
	return c->done;
}

static void call_write(struct call *c)
{
	c->ret = pfm_write_pmcs(c->fd, c->arg, 1);
}

static void call_read(struct call *c)
{
	c->ret = read(c->fd, c->arg, sizeof(pfarg_msg_t));
}

static void call_stop(struct call *c)
{
	c->ret = pfm_stop(c->fd);
}

static void call_read_other(struct call *c)
{
	pfarg_msg_t msg;

	c->ret = read(c->fd, &msg, sizeof(msg));
}

/* Makes a page on which accesses block until let_it_be(); returns the userfaultfd, or -1. */
static int slow_page(void **page)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	*page = (mmap)(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	reg.range.start = (uintptr_t)*page;
	reg.range.len = 4096;
	return uffd < 0 || ioctl(uffd, UFFDIO_API, &api) || ioctl(uffd, UFFDIO_REGISTER, &reg) ? -1 : uffd;
}

static void let_it_be(int uffd, void *page)
{
	struct uffdio_zeropage zero = { .range = { (uintptr_t)page, 4096 } };

	TRUE(!ioctl(uffd, UFFDIO_ZEROPAGE, &zero));
}

/* While the slow call waits for its memory, the other call on the same context completes. */
static void meet(int fd, void (*slow_fn)(struct call *), void (*fn)(struct call *), ssize_t want)
{
	struct call slow = { .fd = fd, .fn = slow_fn }, other = { .fd = fd, .fn = fn };
	int uffd = slow_page(&slow.arg);
	struct uffd_msg msg;

	if (!check(uffd >= 0, "no userfaultfd: %s", strerror(errno)))
		return;
	begin(&slow);
	TRUE(read(uffd, &msg, sizeof(msg)) == sizeof(msg));
	begin(&other);
	TRUE(gets_through(&other));
	let_it_be(uffd, slow.arg);
	pthread_join(slow.thread, NULL);
	pthread_join(other.thread, NULL);
	EQUAL(other.ret, want);
	(munmap)(slow.arg, 4096);
	close(uffd);
}

static int with_a_message(void)
{
	int fd = new_context(0);

	if (fd < 0 || set_pmc(fd, 0, FAULTS, SW_USER) || set_period(fd, 0, FAULTS, 1, PFM_REGFL_OVFL_NOTIFY) ||
	    load(fd, my_tid()) || pfm_start(fd, NULL))
		return -1;
	fault(1);
	return fcntl(fd, F_SETFL, O_NONBLOCK) ? -1 : fd;
}

static void commands_do_not_wait_for_memory(void)
{
	int fd;

	MUST(fd = with_a_message());
	TRUE(has_message(fd));
	meet(fd, call_write, call_stop, 0);
	meet(fd, call_read, call_read_other, sizeof(pfarg_msg_t));
	TRUE(!has_message(fd));
	close(fd);
}

static void a_message_that_cannot_be_had_stays(void)
{
	void *volatile nowhere = (void *)8;
	pfarg_msg_t msg;
	int fd;

	MUST(fd = with_a_message());
	FAILS(read(fd, nowhere, sizeof(msg)), EFAULT);
	EQUAL(read(fd, &msg, sizeof(msg)), sizeof(msg));
	EQUAL(msg.type, PFM_MSG_OVFL);
	FAILS(read(fd, &msg, sizeof(msg)), EAGAIN);
	close(fd);
}

/* --- a shared context ------------------------------------------------------------------------- */

static bool is_loaded(int fd)
{
	return ioctl(fd, PFM_IOC(PFM_NR_IS_LOADED, 0), 0) == 1;
}

static void spin_and_pause(uint64_t n)
{
	spin(n);
	for (;;)
		pause();
}

static void still_loaded(uint64_t fd)
{
	_exit(!is_loaded((int)fd));
}

/*
 * Figure 3.10, P1: after the other process has closed its descriptor, the context exists, and is
 * not loaded.
 */
static void take_over(uint64_t fd)
{
	_exit(is_loaded((int)fd) || load((int)fd, my_tid()) || !is_loaded((int)fd));
}

static void a_close_ends_self_monitoring(void)
{
	struct child c;
	int fd, other;

	MUST(fd = new_context(0));
	c = child_new(take_over, (uint64_t)fd);
	MUST(set_pmc(fd, 0, SWITCHES, SW_KERNEL));
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	other = dup(fd);
	close(fd);
	TRUE(is_loaded(other));		/* the close of one of two descriptors does not unload */
	close(other);
	child_go(&c);
	EQUAL(child_end(&c), 0);
}

/*
 * A close by one process does not unload a context that monitors another process and is open
 * elsewhere.
 */
static void a_close_does_not_end_it_for_others(void)
{
	struct child c = child_new(spin_and_pause, 0), reader;
	int fd;

	MUST(fd = new_context(0));
	MUST(set_pmc(fd, 0, SWITCHES, SW_KERNEL));
	MUST(load(fd, c.pid));
	reader = child_new(still_loaded, (uint64_t)fd);
	close(fd);
	child_go(&reader);
	EQUAL(child_end(&reader), 0);
	kill(c.pid, SIGKILL);
	child_end(&c);
}

/* --- waiters ---------------------------------------------------------------------------------- */

enum how { BY_READ, BY_POLL, BY_SELECT, HOWS };

struct waiter {
	int		fd;
	enum how	how;
	_Atomic pid_t	tid;
	bool		woken;
};

static bool wait_for(int fd, enum how how)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	pfarg_msg_t msg;
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	switch (how) {
	case BY_READ:
		return read(fd, &msg, sizeof(msg)) == sizeof(msg) && msg.type == PFM_MSG_END;
	case BY_POLL:
		return poll(&p, 1, -1) == 1 && (p.revents & POLLIN);
	default:
		return select(fd + 1, &set, NULL, NULL, NULL) == 1 && FD_ISSET(fd, &set);
	}
}

static void *waiting(void *arg)
{
	struct waiter *w = arg;

	w->tid = my_tid();
	w->woken = wait_for(w->fd, w->how);
	return NULL;
}

static void exec_set_uid(uint64_t unused)
{
	(void)unused;
	if (setuid(65534))
		_exit(3);
	execl("/tmp/set_uid", "true", NULL);
	_exit(4);
}

static bool make_set_uid(void)
{
	return !system("cp /bin/busybox /tmp/set_uid && chmod 4755 /tmp/set_uid");
}

/*
 * If the thread exits, is killed, or executes a set-uid program, a thread that waits is woken,
 * however it waits.
 */
static void waiters_are_woken_at_each_end(void)
{
	enum { EXITS, IS_KILLED, GAINS_RIGHTS, ENDS };

	TRUE(make_set_uid());
	for (int i = 0; i < ENDS * HOWS; i++) {
		struct waiter w = { .how = i % HOWS };
		int end = i / HOWS;
		struct child c = child_new(end == GAINS_RIGHTS ? exec_set_uid : child_spin, 1000);
		pthread_t thread;

		MUST(w.fd = new_context(0));
		MUST(set_pmc(w.fd, 0, FAULTS, SW_USER));
		MUST(load(w.fd, c.pid));
		MUST(pfm_start(w.fd, NULL));
		TRUE(!pthread_create(&thread, NULL, waiting, &w));
		while (!w.tid)
			sched_yield();
		await_sleep(w.tid);
		if (end == IS_KILLED)
			kill(c.pid, SIGKILL);
		else
			child_go(&c);
		pthread_join(thread, NULL);
		check(w.woken, "end %d, waiter %d was not told", end, w.how);
		child_end(&c);
		close(w.fd);
	}
	unlink("/tmp/set_uid");
}

/* --- other users of the PMU ------------------------------------------------------------------- */

static int others[MOST_COUNTERS];

static void come(void)
{
	take_all(0, others);
}

static void leave(void)
{
	for (int i = 0; i < MOST_COUNTERS; i++)
		close(others[i]);
}

static void a_counter_that_is_lost_is_told_of(void)
{
	struct child c = child_new(spin_and_pause, 100000);
	pfarg_pmd_t pmd = { .reg_num = 0 };
	int fd;

	MUST(fd = new_context(0));
	MUST(set_pmc(fd, 0, 0, USER | INST));
	MUST(load(fd, c.pid));
	MUST(pfm_start(fd, NULL));
	MUST(pfm_read_pmds(fd, &pmd, 1));
	come();
	child_go(&c);
	await_sleep(c.pid);
	FAILS(pfm_read_pmds(fd, &pmd, 1), EBUSY);
	leave();
	MUST(pfm_unload_context(fd));
	MUST(load(fd, c.pid));
	MUST(pfm_read_pmds(fd, &pmd, 1));
	close(fd);
	kill(c.pid, SIGKILL);
	child_end(&c);
}

/*
 * The loss is reported even if the first read comes after the thread's end, when its events are
 * gone.
 */
static void a_counter_is_lost_and_the_thread_ends(void)
{
	struct child c = child_new(child_spin, 100000);
	pfarg_pmd_t pmd = { .reg_num = 0 };
	int fd;

	MUST(fd = new_context(0));
	MUST(set_pmc(fd, 0, 0, USER | INST));
	MUST(load(fd, c.pid));
	MUST(pfm_start(fd, NULL));
	come();
	child_go(&c);
	EQUAL(child_end(&c), 0);
	leave();
	FAILS(pfm_read_pmds(fd, &pmd, 1), EBUSY);
	FAILS(load(fd, c.pid), ESRCH);		/* a refused load does not end that */
	FAILS(pfm_read_pmds(fd, &pmd, 1), EBUSY);
	close(fd);
}

enum { HALF = 2000000 };	/* instructions */

static void work_and_stop(uint64_t n)
{
	work(n);
	raise(SIGSTOP);
	work(n);
}

/* set_blind is the time in which others had the counter; in the rest it counted. */
static void it_is_told_how_long_a_counter_was_lost(void)
{
	for (uint32_t flags = 0; flags <= PFM_FL_INHERIT; flags += PFM_FL_INHERIT) {
		struct child c = child_new(work_and_stop, HALF);
		pfarg_setinfo_t info = { .set_id = 0 };
		pfarg_pmd_t pmd = { .reg_num = 0 };
		double share;
		int fd, status;

		MUST(fd = new_context(flags));
		MUST(set_pmc(fd, 0, 0, PROGRAM));
		MUST(load(fd, c.pid));
		MUST(pfm_start(fd, NULL));
		child_go(&c);
		TRUE(waitpid(c.pid, &status, WUNTRACED) == c.pid && WIFSTOPPED(status));
		come();
		kill(c.pid, SIGCONT);
		EQUAL(child_end(&c), 0);
		leave();
		FAILS(pfm_read_pmds(fd, &pmd, 1), EBUSY);
		TRUE(pmd.reg_value >= HALF && pmd.reg_value < HALF + HALF / 10);
		MUST(pfm_getinfo_evtsets(fd, &info, 1));
		share = 1 - (double)info.set_blind / info.set_act_duration;
		check(share > 0.4 && share < 0.6, "counted for %.3f of %llu ns", share,
		      (unsigned long long)info.set_act_duration);
		close(fd);
	}
}

static int to_grandchild[2], from_breeder[2];

/* Creates a child, which spins when it is asked to; then sleeps for ever. */
static void breed(uint64_t lives)
{
	pid_t pid;
	char byte;

	signal(SIGCHLD, SIG_IGN);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(to_grandchild[0], &byte, 1) != 1)
			_exit(3);
		spin(100000);
		if (lives)
			pause();
		_exit(0);
	}
	if (write(from_breeder[1], &pid, sizeof(pid)) != sizeof(pid))
		_exit(3);
	for (;;)
		pause();
}

static void await_end(pid_t pid)
{
	while (!kill(pid, 0))
		sched_yield();
}

/* A child's lost time is reported by the root, while the child lives and after its end. */
static void a_counter_of_a_child_is_lost(void)
{
	pfarg_pmd_t pmd = { .reg_num = 0 };
	struct child c;
	pid_t pid;
	int fd;

	MUST(pipe(to_grandchild));
	MUST(pipe(from_breeder));
	for (uint64_t lives = 0; lives < 2; lives++) {
		c = child_new(breed, lives);
		MUST(fd = new_context(PFM_FL_INHERIT));
		MUST(set_pmc(fd, 0, 0, USER | INST));
		MUST(load(fd, c.pid));
		MUST(pfm_start(fd, NULL));
		child_go(&c);
		TRUE(read(from_breeder[0], &pid, sizeof(pid)) == sizeof(pid));
		await_sleep(pid);
		await_sleep(c.pid);
		MUST(pfm_read_pmds(fd, &pmd, 1));
		come();
		TRUE(write(to_grandchild[1], "", 1) == 1);
		if (lives)
			await_sleep(pid);
		else
			await_end(pid);
		leave();
		FAILS(pfm_read_pmds(fd, &pmd, 1), EBUSY);
		close(fd);
		kill(c.pid, SIGKILL);
		child_end(&c);
	}
}

/*
 * A counter that keeps its place is never reported as lost, however often its thread is scheduled
 * out and in.
 */
static void nothing_is_told_where_nothing_is_lost(void)
{
	struct child c = child_new(child_spin, 1000000), beside = child_new(child_spin, 1000000);
	pfarg_setinfo_t info = { .set_id = 0 };
	pfarg_pmd_t pmd = { .reg_num = 0 };
	int fd;

	MUST(fd = new_context(0));
	MUST(set_pmc(fd, 0, 0, USER | INST));
	MUST(load(fd, c.pid));
	MUST(pfm_start(fd, NULL));
	child_go(&c);
	child_go(&beside);
	EQUAL(child_end(&beside), 0);
	EQUAL(child_end(&c), 0);
	MUST(pfm_read_pmds(fd, &pmd, 1));
	TRUE(pmd.reg_value >= 2000000);
	MUST(pfm_getinfo_evtsets(fd, &info, 1));
	EQUAL(info.set_blind, 0);
	close(fd);
}

int main(void)
{
	pin(0);
	TEST(who_is_not_monitored_is_not_held);
	TEST(commands_do_not_wait_for_memory);
	TEST(a_message_that_cannot_be_had_stays);
	TEST(a_counter_that_is_lost_is_told_of);
	TEST(a_counter_is_lost_and_the_thread_ends);
	TEST(it_is_told_how_long_a_counter_was_lost);
	TEST(a_counter_of_a_child_is_lost);
	TEST(nothing_is_told_where_nothing_is_lost);
	TEST(a_close_ends_self_monitoring);
	TEST(a_close_does_not_end_it_for_others);
	TEST(each_end_is_told);
	TEST(waiters_are_woken_at_each_end);
	return tests_failed > 0;
}
