// SPDX-License-Identifier: MIT
/*
 * perfctr.c - perfctr's virtual counters, by the sentences of their specification: "perfctr CASE".
 * Silent where all is well. Counts page faults, which all machines can, to the last one: each page
 * is touched once.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perfctr/libperfctr.h"
#include "perfmon/sim.h"

#include "../pages.h"
#define EXPLAIN perfctr_explain
#include "../parts.h"

#define PAGES	1000
#define FEW	300		/* faults of the calls, the program and sanitizers, between two commands */
#define FAULTS	66
#define MINOR	67
#define LEVELS	9

#define REQUIRE_ERR(call, err) REQUIRE((call) == -1 && errno == (err))

#define BETWEEN(low, value, high) do { \
	unsigned long long v_ = (value); \
	unsigned long long low_ = (low), high_ = (high); \
	if (v_ < low_ || v_ > high_) { \
		printf("line %d: %s is %llu\n", __LINE__, #value, v_); \
		exit(1); \
	} \
} while (0)

static struct vperfctr_control faults(void)
{
	struct vperfctr_control c;

	memset(&c, 0, sizeof(c));
	c.cpu_control.tsc_on = 1;
	c.cpu_control.nractrs = 1;
	c.cpu_control.pmc_map[0] = FAULTS;
	c.cpu_control.evntsel[0] = LEVELS;
	return c;
}

static int counting(int tid)
{
	struct vperfctr_control c = faults();
	int fd = sys_vperfctr_open(tid, 1);

	REQUIRE(fd >= 0);
	REQUIRE(!sys_vperfctr_control(fd, &c));
	return fd;
}

static struct perfctr_sum_ctrs sums(int fd)
{
	struct perfctr_sum_ctrs s;

	REQUIRE(!sys_vperfctr_read(fd, &s, NULL, NULL));
	return s;
}

static volatile const struct vperfctr_state *map(int fd)
{
	volatile const struct vperfctr_state *kstate;

	kstate = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
	REQUIRE(kstate != MAP_FAILED);
	return kstate;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* "inactive, with all control fields disabled and all counters having the value zero"; "EEXIST" */
static void opens(void)
{
	struct vperfctr_control control, none = { 0 };
	struct perfctr_sum_ctrs sum, children, zero = { 0 };
	struct perfctr_info info;
	char path[64], name[64] = "";
	int fd, other;

	REQUIRE_ERR(sys_vperfctr_open(0, 0), ENOENT);
	REQUIRE_ERR(sys_vperfctr_open(0x7fffffff, 1), ESRCH);
	REQUIRE_ERR(sys_vperfctr_open(-1, 1), ESRCH);
	fd = sys_vperfctr_open(0, 1);
	REQUIRE(fd >= 0);
	REQUIRE_ERR(sys_vperfctr_open(0, 1), EEXIST);
	REQUIRE_ERR(sys_vperfctr_open((int)syscall(SYS_gettid), 1), EEXIST);
	REQUIRE(!sys_vperfctr_read(fd, &sum, &control, &children));
	REQUIRE(!memcmp(&sum, &zero, sizeof(zero)) && !memcmp(&children, &zero, sizeof(zero)));
	REQUIRE(!memcmp(&control, &none, sizeof(none)));
	/* "identifies perfctr state file descriptors as belonging to "vperfctrfs"" */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	REQUIRE(readlink(path, name, sizeof(name) - 1) > 0 && strstr(name, "vperfctrfs"));
	other = sys_vperfctr_open(0, 0);
	REQUIRE(other >= 0 && other != fd);
	REQUIRE(!perfctr_info(&info) && info.nrctrs >= 2 && !(info.features & PERFCTR_FEATURE_RDPMC));
	close(fd);
	REQUIRE(!sys_vperfctr_read(other, &sum, NULL, NULL));
	close(other);
	/* the thread keeps its counters without a descriptor */
	REQUIRE_ERR(sys_vperfctr_open(0, 1), EEXIST);
}

/* A command that fails changes nothing. */
static void errors(void)
{
	struct vperfctr_control c, now;
	int fd = counting(0), pipes[2], full = open("/dev/null", O_RDONLY);

	REQUIRE(!pipe(pipes));
	for (int i = 0; i < 3; i++) {
		int bad = i == 0 ? -1 : i == 1 ? pipes[0] : full;

		c = faults();
		REQUIRE_ERR(sys_vperfctr_control(bad, &c), EBADF);
		REQUIRE_ERR(sys_vperfctr_read(bad, NULL, &c, NULL), EBADF);
		REQUIRE_ERR(sys_vperfctr_unlink(bad), EBADF);
		REQUIRE_ERR(sys_vperfctr_iresume(bad), EBADF);
	}
	REQUIRE_ERR(sys_vperfctr_control(fd, NULL), EFAULT);
	REQUIRE_ERR(perfctr_info(NULL), EFAULT);
	REQUIRE_ERR(sys_vperfctr_iresume(fd), EPERM);
#define BAD(change) do { \
	c = faults(); \
	change; \
	REQUIRE_ERR(sys_vperfctr_control(fd, &c), EINVAL); \
} while (0)
	BAD(c._reserved[1] = 1);
	BAD(c.cpu_control._reserved[3] = 1);
	BAD(c.cpu_control.tsc_on = 2);
	BAD(c.cpu_control.nractrs = PERFCTR_MAX + 1);
	BAD(c.cpu_control.nrictrs = ~0U);
	BAD(c.cpu_control.pmc_map[0] = 100000);
	BAD(c.cpu_control.pmc_map[0] = 80);		/* a virtual PMD */
	BAD(c.cpu_control.pmc_map[0] = 64);		/* the PMD of the TSC, which tsc_on uses */
	BAD(c.cpu_control.nractrs = 2; c.cpu_control.pmc_map[1] = FAULTS);
	/* no signal */
	BAD(c.cpu_control.nractrs = 0; c.cpu_control.nrictrs = 1; c.cpu_control.ireset[0] = -10);
	/* no ireset */
	BAD(c.cpu_control.nractrs = 0; c.cpu_control.nrictrs = 1; c.si_signo = SIGUSR1);
	BAD(c.cpu_control.nractrs = 0; c.cpu_control.nrictrs = 1; c.cpu_control.ireset[0] = -10; c.si_signo = 65);
	REQUIRE(!sys_vperfctr_read(fd, NULL, &now, NULL));
	c = faults();
	REQUIRE(!memcmp(&c, &now, sizeof(c)));
	touch(PAGES);
	BETWEEN(PAGES, sums(fd).pmc[0], PAGES + 3 * FEW);
	/* "read-only access to the state" */
	REQUIRE(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
	REQUIRE(write(fd, "", 1) == -1 && ftruncate(fd, 0) == -1);
}

/* --- counting --------------------------------------------------------------------------------- */

/*
 * "Before restarting, the counter sums are reset to zero", but for those in preserve, and the TSC.
 */
static void preserves(void)
{
	struct vperfctr_control c = faults();
	struct perfctr_sum_ctrs before, s;
	int fd = counting(0);

	touch(PAGES);
	before = sums(fd);
	BETWEEN(PAGES, before.pmc[0], PAGES + FEW);
	REQUIRE(before.tsc > 0);
	REQUIRE(!sys_vperfctr_control(fd, &c));
	s = sums(fd);
	BETWEEN(0, s.pmc[0], FEW);
	REQUIRE(s.tsc > before.tsc);

	touch(PAGES);
	c.cpu_control.nractrs = 2;
	c.cpu_control.pmc_map[1] = MINOR;
	c.cpu_control.evntsel[1] = LEVELS;
	c.preserve = 1;
	REQUIRE(!sys_vperfctr_control(fd, &c));
	touch(PAGES);
	s = sums(fd);
	BETWEEN(2 * PAGES, s.pmc[0], 2 * PAGES + 2 * FEW);
	BETWEEN(PAGES, s.pmc[1], PAGES + FEW);

	/* "The TSC's sum is only reset if the TSC is disabled in the new state" */
	c.cpu_control.tsc_on = 0;
	REQUIRE(!sys_vperfctr_control(fd, &c));
	s = sums(fd);
	REQUIRE(!s.tsc && s.pmc[0] >= 2 * PAGES && s.pmc[1] < FEW);
}

/*
 * "stops and samples any currently running counters ... Before restarting, the counter sums are
 * reset"; a "control object that activates neither the TSC nor any PMCs" restarts nothing.
 */
static void stops(void)
{
	struct vperfctr_control c = faults(), off, got;
	struct perfctr_sum_ctrs running, s;
	int fd = counting(0);

	memset(&off, 0, sizeof(off));
	for (off.preserve = 0; off.preserve <= 1; off.preserve++) {
		touch(PAGES);
		running = sums(fd);
		REQUIRE(!sys_vperfctr_control(fd, &off));
		REQUIRE(!sys_vperfctr_read(fd, &s, &got, NULL));
		REQUIRE(!memcmp(&got, &off, sizeof(off)));
		BETWEEN(running.pmc[0], s.pmc[0], running.pmc[0] + FEW);
		REQUIRE(s.tsc >= running.tsc);
		REQUIRE(vperfctr_read_pmc(map(fd), 0) == s.pmc[0] && vperfctr_read_tsc(map(fd)) == s.tsc);
		touch(PAGES);
		/* stopped counters can be stopped again */
		REQUIRE(!sys_vperfctr_control(fd, &off));
		running = sums(fd);
		REQUIRE(running.pmc[0] == s.pmc[0] && running.tsc == s.tsc);
		REQUIRE(!sys_vperfctr_control(fd, &c));
		BETWEEN(0, sums(fd).pmc[0], FEW);
		REQUIRE(sums(fd).tsc > s.tsc);
	}
}

/* "value = sum + (now - start)": by the specification's algorithm, and by the header's function. */
static void mapped(void)
{
	int fd = counting(0);
	volatile const struct vperfctr_state *kstate = map(fd);
	uint64_t now, start, sum, tsc0, tsc1, value, before, after;

	for (int i = 0; i < 3; i++) {
		touch(PAGES);
		before = i == 1 ? 0 : sums(fd).pmc[0];	/* sums() samples; round 1 does without */
		tsc0 = kstate->cpu_state.tsc_start;
		for (;;) {
			rdpmcl(kstate->cpu_state.pmc[0].map, now);
			start = kstate->cpu_state.pmc[0].start;
			sum = kstate->cpu_state.pmc[0].sum;
			tsc1 = kstate->cpu_state.tsc_start;
			if (tsc1 == tsc0)
				break;
			tsc0 = tsc1;
		}
		value = sum + (now - start);
		after = vperfctr_read_pmc(kstate, 0);
		REQUIRE(value >= before && after >= value && sums(fd).pmc[0] >= after);
		BETWEEN((i + 1) * PAGES, value, (i + 1) * (PAGES + FEW));
		before = vperfctr_read_tsc(kstate);
		REQUIRE(before <= sums(fd).tsc && before <= vperfctr_read_tsc(kstate));
	}
	REQUIRE(!sys_vperfctr_unlink(fd));
	REQUIRE(vperfctr_read_pmc(kstate, 0) == sums(fd).pmc[0] && vperfctr_read_tsc(kstate) == sums(fd).tsc);
	close(fd);
	REQUIRE(!(kstate->flags & VPERFCTR_ATTACHED) && kstate->cpu_state.pmc[0].sum >= 3 * PAGES);
}

/*
 * "If the object already had been detached, then no action is performed"; commands need it
 * attached.
 */
static void unlinked(void)
{
	struct vperfctr_control c = faults(), now;
	struct perfctr_sum_ctrs s;
	int fd = counting(0), other = sys_vperfctr_open(0, 0);

	touch(PAGES);
	REQUIRE(!sys_vperfctr_unlink(fd));
	s = sums(fd);
	BETWEEN(PAGES, s.pmc[0], PAGES + FEW);
	touch(PAGES);
	REQUIRE(!sys_vperfctr_unlink(other) && !sys_vperfctr_unlink(fd));
	REQUIRE(sums(other).pmc[0] == s.pmc[0] && sums(other).tsc == s.tsc);
	REQUIRE(!sys_vperfctr_read(fd, NULL, &now, NULL) && !memcmp(&c, &now, sizeof(c)));
	REQUIRE_ERR(sys_vperfctr_control(fd, &c), ESRCH);
	REQUIRE_ERR(sys_vperfctr_iresume(fd), ESRCH);
	counting(0);
	REQUIRE(sums(fd).pmc[0] == s.pmc[0]);
}

/* --- other threads ---------------------------------------------------------------------------- */

struct worker {
	pthread_t	thread;
	int		tid, go[2], done[2];
};

static void *work(void *arg)
{
	struct worker *w = arg;
	char c;

	__atomic_store_n(&w->tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	while (read(w->go[0], &c, 1) == 1) {
		touch(PAGES);
		REQUIRE(write(w->done[1], "", 1) == 1);
	}
	return NULL;
}

static void begin(struct worker *w)
{
	w->tid = 0;
	REQUIRE(!pipe(w->go) && !pipe(w->done));
	REQUIRE(!pthread_create(&w->thread, NULL, work, w));
	while (!__atomic_load_n(&w->tid, __ATOMIC_ACQUIRE))
		;
}

static void let_touch(struct worker *w)
{
	char c;

	REQUIRE(write(w->go[1], "", 1) == 1 && read(w->done[0], &c, 1) == 1);
}

/* Waits until the kernel has ended the thread, for which pthread_join() does not wait. */
static void end(struct worker *w)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d", w->tid);
	close(w->go[1]);
	pthread_join(w->thread, NULL);
	while (!access(path, F_OK))
		sched_yield();
}

/* "Accesses from threads other than the owner are permitted"; "It can outlive its owner thread." */
static void others(void)
{
	struct vperfctr_control c = faults();
	struct perfctr_sum_ctrs s;
	uint64_t before;
	struct worker w;
	int fd;

	begin(&w);
	fd = counting(w.tid);
	let_touch(&w);
	touch(PAGES);
	BETWEEN(PAGES, sums(fd).pmc[0], PAGES + FEW);
	REQUIRE(!sys_vperfctr_control(fd, &c));
	let_touch(&w);
	let_touch(&w);
	before = sums(fd).pmc[0];
	end(&w);
	s = sums(fd);
	BETWEEN(2 * PAGES, before, 2 * PAGES + FEW);
	BETWEEN(before, s.pmc[0], before + FEW);
	REQUIRE(s.tsc > 0);
	REQUIRE_ERR(sys_vperfctr_control(fd, &c), ESRCH);
	REQUIRE(sums(fd).pmc[0] == s.pmc[0] && sums(fd).tsc == s.tsc);
	REQUIRE_ERR(sys_vperfctr_open(w.tid, 1), ESRCH);
	REQUIRE(!sys_vperfctr_unlink(fd));
}

/* Threads count at the same time, each with its own counters; those of ended threads are freed. */
static void *self(void *arg)
{
	int fd = counting(0);

	(void)arg;
	touch(PAGES);
	BETWEEN(PAGES, sums(fd).pmc[0], PAGES + FEW);
	close(fd);
	return NULL;
}

static void threads(void)
{
	for (int round = 0; round < 12; round++) {
		pthread_t t[5];

		for (int i = 0; i < 5; i++)
			REQUIRE(!pthread_create(&t[i], NULL, self, NULL));
		for (int i = 0; i < 5; i++)
			pthread_join(t[i], NULL);
	}
	BETWEEN(3, open("/dev/null", O_RDONLY), 3 * 40);	/* the threads left none open */
}

static void *count_again(void *arg)
{
	struct vperfctr_control c = faults();
	int fd = counting(0);

	(void)arg;
	for (;;) {
		sys_vperfctr_control(fd, &c);
		sums(fd);
		pthread_testcancel();
	}
	return NULL;
}

/* If a thread is cancelled in a call or between calls, other threads can still make calls. */
static void cancelled(void)
{
	for (int round = 0; round < 60; round++) {
		struct timespec until = { .tv_nsec = 50000 * (round % 20) };
		pthread_t t;
		int fd;

		REQUIRE(!pthread_create(&t, NULL, count_again, NULL));
		nanosleep(&until, NULL);
		pthread_cancel(t);
		pthread_join(t, NULL);
		fd = counting(0); /* not before, because the thread would inherit the counters */
		touch(PAGES);
		BETWEEN(PAGES, sums(fd).pmc[0], PAGES + FEW);
		REQUIRE(!sys_vperfctr_unlink(fd) && !close(fd));
	}
}

/* A child of fork() has a descriptor, and counters of its own. */
static void forked(void)
{
	struct vperfctr_control c = faults();
	int fd = counting(0), status;
	volatile const struct vperfctr_state *kstate = map(fd);
	pid_t pid = fork();

	if (!pid) {
		REQUIRE_ERR(sys_vperfctr_control(fd, &c), EBADF);
		REQUIRE_ERR(sys_vperfctr_unlink(fd), EBADF);
		REQUIRE_ERR(sys_vperfctr_open(0, 0), ENOENT);
		REQUIRE(kstate->flags & VPERFCTR_ATTACHED);
		fflush(stdout);
		_exit(0);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid && !status);
	touch(PAGES);
	REQUIRE(sums(fd).pmc[0] >= PAGES);
	REQUIRE(!sys_vperfctr_unlink(fd));
	pid = fork();
	if (!pid) {	/* after the unlink any process with the descriptor can read it */
		REQUIRE(sums(fd).pmc[0] >= PAGES);
		self(NULL);
		_exit(0);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid && !status);
}

/* --- overflows -------------------------------------------------------------------------------- */

static int overflowing;
static volatile sig_atomic_t signals, wrong, resume;
static volatile int seen_mask;

static void on_overflow(int sig, siginfo_t *info, void *context)
{
	(void)context;
	seen_mask = (int)info->si_pmc_ovf_mask;
	if (sig != SIGRTMIN + 3 || info->si_code != SI_PMC_OVF)
		wrong++;
	signals++;
	if (resume && sys_vperfctr_iresume(overflowing))
		wrong++;
}

static struct vperfctr_control interrupting(int period)
{
	struct vperfctr_control c = faults();

	c.si_signo = SIGRTMIN + 3;
	c.cpu_control.nrictrs = 1;
	c.cpu_control.pmc_map[1] = MINOR;
	c.cpu_control.evntsel[1] = LEVELS;
	c.cpu_control.ireset[1] = -period;
	return c;
}

static void begin_overflows(int period)
{
	struct sigaction act = { .sa_sigaction = on_overflow, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct vperfctr_control c = interrupting(period);

	touch(PAGES);
	REQUIRE(!sigaction(SIGRTMIN + 3, &act, NULL));
	overflowing = sys_vperfctr_open(0, 1);
	REQUIRE(overflowing >= 0);
	REQUIRE(!sys_vperfctr_control(overflowing, &c));
}

static void await(int n)
{
	while (signals < n)
		touch(1);
}

/* At an overflow "the counters are sampled and suspended (TSC remains active)", until iresume. */
static void overflows(void)
{
	struct perfctr_sum_ctrs first, s;
	volatile const struct vperfctr_state *kstate;
	sigset_t set;

	begin_overflows(PAGES);
	kstate = map(overflowing);
	await(1);
	REQUIRE(!wrong && seen_mask == 2);
	REQUIRE(kstate->flags & VPERFCTR_SUSPENDED);
	first = sums(overflowing);
	BETWEEN(PAGES, first.pmc[1], PAGES + FEW);
	REQUIRE(first.pmc[0] >= PAGES);
	touch(PAGES);
	s = sums(overflowing);
	REQUIRE(s.pmc[0] == first.pmc[0] && s.pmc[1] == first.pmc[1] && s.tsc > first.tsc);
	REQUIRE(vperfctr_read_pmc(kstate, 1) == s.pmc[1]);
	REQUIRE(vperfctr_read_tsc(kstate) >= s.tsc);

	REQUIRE(!sys_vperfctr_iresume(overflowing) && !sys_vperfctr_iresume(overflowing));
	REQUIRE(!(kstate->flags & VPERFCTR_SUSPENDED));
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 3);
	REQUIRE(signals == 1);
	touch(PAGES / 2);		/* the period begins anew */
	REQUIRE(signals == 1);
	BETWEEN(first.pmc[1] + PAGES / 2, sums(overflowing).pmc[1], first.pmc[1] + PAGES / 2 + FEW);
	await(2);
	BETWEEN(first.pmc[1] + PAGES, sums(overflowing).pmc[1], first.pmc[1] + PAGES + FEW);
	REQUIRE(sums(overflowing).tsc > s.tsc && !wrong);
	REQUIRE(!sys_vperfctr_unlink(overflowing));
	BETWEEN(first.pmc[1] + PAGES, sums(overflowing).pmc[1], first.pmc[1] + PAGES + FEW);
}

/* Makes both counters of page faults interrupt, each with its own period. */
static void begin_both(int faults_period, int minor_period)
{
	struct vperfctr_control c = interrupting(minor_period);

	c.cpu_control.nractrs = 0;
	c.cpu_control.nrictrs = 2;
	c.cpu_control.ireset[0] = -faults_period;
	REQUIRE(!sys_vperfctr_control(overflowing, &c));
}

/* "si_pmc_ovf_mask equal to the set of overflown counters": a control forgets earlier ones. */
static void forgets(void)
{
	uint64_t first;

	begin_overflows(1000 * PAGES);
	begin_both(PAGES, 1000 * PAGES);
	await(1);
	REQUIRE(seen_mask == 1);
	begin_both(1000 * PAGES, PAGES);
	await(2);
	REQUIRE(!wrong && seen_mask == 2);
	first = sums(overflowing).pmc[0];
	REQUIRE(!sys_vperfctr_iresume(overflowing));
	touch(PAGES / 2);		/* counter 0 has not overflowed: it goes on */
	BETWEEN(first + PAGES / 2, sums(overflowing).pmc[0], first + PAGES / 2 + FEW);
	await(3);
	REQUIRE(seen_mask == 2);
}

/* The mask has all counters that overflowed together: each fault is a minor one here. */
static void together(void)
{
	begin_overflows(1000 * PAGES);
	for (int i = 1; i <= 3; i++) {
		begin_both(PAGES, PAGES);
		await(i);
		REQUIRE(!wrong && seen_mask == 3);
	}
}

/* Programs call iresume in the handler itself. */
static void resumes(void)
{
	struct vperfctr_control c = interrupting(PAGES / 10), off = { 0 };

	resume = 1;
	begin_overflows(PAGES / 10);
	await(5);
	REQUIRE(!wrong && sums(overflowing).pmc[1] >= 5 * PAGES / 10);
	for (int i = 0; i < 20; i++) {		/* while threads of the library start and end */
		signals = 0;
		REQUIRE(!sys_vperfctr_control(overflowing, &c));
		await(1);
		REQUIRE(!sys_vperfctr_control(overflowing, &off));
	}
	REQUIRE(!wrong);
}

/* The thread that ran the handler: the owner of the counters, whichever gave the command. */
static pthread_t signalled;

static void note(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info, (void)context;
	signalled = pthread_self();
	signals++;
}

static void owners(void)
{
	struct sigaction act = { .sa_sigaction = note, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct vperfctr_control c = interrupting(PAGES);
	struct worker w;
	int fd;

	REQUIRE(!sigaction(SIGRTMIN + 3, &act, NULL));
	begin(&w);
	fd = sys_vperfctr_open(w.tid, 1);
	REQUIRE(!sys_vperfctr_control(fd, &c));
	while (!signals)
		let_touch(&w);
	REQUIRE(pthread_equal(signalled, w.thread));
	REQUIRE(!sys_vperfctr_iresume(fd));
	signals = 0;
	while (!signals)
		let_touch(&w);
	end(&w);
	BETWEEN(2 * PAGES, sums(fd).pmc[1], 3 * PAGES);
}

/* Signals a thread of another process; the process that opened the counters resumes them. */
static void signals_processes(void)
{
	struct sigaction act = { .sa_sigaction = on_overflow, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct vperfctr_control c = interrupting(PAGES);
	int ready[2], fd, status;
	char byte;
	pid_t pid;

	REQUIRE(!pipe(ready));
	pid = fork();
	if (!pid) {
		close(ready[1]);
		REQUIRE(!sigaction(SIGRTMIN + 3, &act, NULL));
		REQUIRE(read(ready[0], &byte, 1) == 0);
		await(2);
		_exit(wrong || seen_mask != 2);
	}
	fd = sys_vperfctr_open(pid, 1);
	REQUIRE(fd >= 0);
	REQUIRE(!sys_vperfctr_control(fd, &c));
	close(ready[1]);
	while (!waitpid(pid, &status, WNOHANG))
		sys_vperfctr_iresume(fd);	/* ESRCH: when it has ended */
	REQUIRE(!status);
	REQUIRE(sums(fd).pmc[1] >= 2 * PAGES);
}

/* --- children --------------------------------------------------------------------------------- */

/* Forks a child, which for each byte of go touches pages and writes to done, until go ends. */
static pid_t child(int go[2], int done[2])
{
	pid_t pid;
	char c;

	REQUIRE(!pipe(go) && !pipe(done));
	pid = fork();
	REQUIRE(pid >= 0);
	if (pid) {
		close(go[0]);
		close(done[1]);
		return pid;
	}
	close(go[1]);
	close(done[0]);
	while (read(go[0], &c, 1) == 1) {
		touch(PAGES);
		if (write(done[1], "", 1) != 1)
			_exit(1);
	}
	_exit(0);
}

static void tell(int go, int done)
{
	char c;

	REQUIRE(write(go, "", 1) == 1 && read(done, &c, 1) == 1);
}

static struct perfctr_sum_ctrs of_children(int fd)
{
	struct perfctr_sum_ctrs s;

	REQUIRE(!sys_vperfctr_read(fd, NULL, NULL, &s));
	return s;
}

#define BIRTH 600	/* faults of a fork's child, apart from its pages */

/* "the sums of exited childrens' counters" are read apart from the parent's own. */
static void children(void)
{
	struct perfctr_sum_ctrs s;
	int fd = counting(0), go[2], done[2];
	uint64_t mine;
	pid_t pid;

	mine = sums(fd).pmc[0];
	pid = child(go, done);
	tell(go[1], done[0]);
	close(go[1]);
	REQUIRE(waitpid(pid, NULL, 0) == pid);
	touch(2 * PAGES);
	s = of_children(fd);
	BETWEEN(PAGES, s.pmc[0], PAGES + BIRTH);
	REQUIRE(s.tsc > 0);
	BETWEEN(mine + 2 * PAGES, sums(fd).pmc[0], mine + 2 * PAGES + BIRTH);
	REQUIRE(!sys_vperfctr_unlink(fd));
	/* on perf, the children's count is the difference of two events, and may be off by a few */
	BETWEEN(s.pmc[0] - FEW, of_children(fd).pmc[0], s.pmc[0] + FEW);
}

/*
 * On the machine perf the sum has the counts of living children, too: perf_event gives the sum
 * alone.
 */
static void living(void)
{
	int fd = counting(0), go[2], done[2];
	pid_t pid = child(go, done);

	tell(go[1], done[0]);
	BETWEEN(PAGES, of_children(fd).pmc[0], PAGES + BIRTH);
	close(go[1]);
	REQUIRE(waitpid(pid, NULL, 0) == pid);
	BETWEEN(PAGES, of_children(fd).pmc[0], PAGES + BIRTH);
}

/* On machines other than perf, the sum does not have the counts of living children. */
static void exited(void)
{
	int fd = counting(0), go[2], done[2];
	pid_t pid = child(go, done);

	tell(go[1], done[0]);
	REQUIRE(!of_children(fd).pmc[0] && !of_children(fd).tsc);
	close(go[1]);
	REQUIRE(waitpid(pid, NULL, 0) == pid);
	BETWEEN(PAGES, of_children(fd).pmc[0], PAGES + BIRTH);
}

/*
 * "If the child and its parent still have the same perfctr control settings": here the parent gets
 * others while the child lives, so the child's counts are not added.
 */
static void estranged(void)
{
	struct vperfctr_control c = faults();
	int fd = counting(0), go[2], done[2];
	pid_t pid = child(go, done);

	tell(go[1], done[0]);
	REQUIRE(!sys_vperfctr_control(fd, &c));
	tell(go[1], done[0]);
	close(go[1]);
	REQUIRE(waitpid(pid, NULL, 0) == pid);
	BETWEEN(0, of_children(fd).pmc[0], 0);
}

/* A child's counts are added to its parent's when it has ended, not only when it is reaped. */
static void unreaped(void)
{
	int fd = counting(0), go[2], done[2];
	siginfo_t info;
	pid_t pid;

	for (int i = 1; i <= 2; i++) {
		if (i == 2)
			signal(SIGCHLD, SIG_IGN);	/* the system reaps it */
		pid = child(go, done);
		tell(go[1], done[0]);
		close(go[1]);
		if (i == 1)
			REQUIRE(!waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
		else
			REQUIRE(waitpid(pid, NULL, 0) == -1 && errno == ECHILD);
		BETWEEN(i * PAGES, of_children(fd).pmc[0], i * (PAGES + BIRTH));
	}
}

/* --- exactly, on the simulated computer ---------------------------------------------------- */

#define LOOP(n)	{ .op = PFM_SIM_LOOP, .count = (n) }, \
	{ .op = PFM_SIM_SITE, .ns = 10, .ip = 0x1000 }, { .op = PFM_SIM_END }
#define PROGRAM(steps)	{ (steps), sizeof(steps) / sizeof((steps)[0]) }

static void is(int fd, uint64_t own, uint64_t others)
{
	struct perfctr_sum_ctrs sum, children;

	REQUIRE(!sys_vperfctr_read(fd, &sum, NULL, &children));
	BETWEEN(own, sum.pmc[0], own);
	BETWEEN(10 * own, sum.tsc, 10 * own);
	BETWEEN(others, children.pmc[0], others);
	BETWEEN(10 * others, children.tsc, 10 * others);
}

/*
 * The parent has two children, of 20 and of 1000 instructions; the first has a child of 5. They run
 * on 4 CPUs, and an instruction takes 10 ns.
 */
static void simulated(void)
{
	static const struct pfm_sim_step grandchild[] = { LOOP(5) };
	static const struct pfm_sim_program p5 = PROGRAM(grandchild);
	static const struct pfm_sim_step brief[] = { { .op = PFM_SIM_FORK, .program = &p5 }, LOOP(20) };
	static const struct pfm_sim_step lasting[] = { LOOP(1000) };
	static const struct pfm_sim_program p20 = PROGRAM(brief), p1000 = PROGRAM(lasting);
	static const struct pfm_sim_step parent[] = { LOOP(10), { .op = PFM_SIM_FORK, .program = &p20 },
		{ .op = PFM_SIM_FORK, .program = &p1000 }, LOOP(2000) };
	struct pfm_sim_spawn spawn = { .program = PROGRAM(parent) };
	struct vperfctr_control c = faults();
	struct pfm_sim *sim = pfm_sim_get();
	int tid, fd;

	REQUIRE(sim);
	tid = pfm_sim_spawn(sim, &spawn);
	c.cpu_control.pmc_map[0] = 4;
	REQUIRE(!pfm_sim_encode(sim, "instructions", 1 << PFM_SIM_USER, 4, &c.cpu_control.evntsel[0]));
	fd = sys_vperfctr_open(tid, 1);
	REQUIRE(fd >= 0);
	REQUIRE(!sys_vperfctr_control(fd, &c));
	REQUIRE(pfm_sim_run_ns(sim, 200) == 1);
	is(fd, 20, 5);		/* the grandchild has ended */
	REQUIRE(pfm_sim_run_ns(sim, 300) == 1);
	is(fd, 50, 25);

	/* after another control, the child that lives still has the old one */
	c.preserve = 1;
	c.cpu_control.tsc_on = 1;
	REQUIRE(!sys_vperfctr_control(fd, &c));
	is(fd, 50, 0);
	REQUIRE(pfm_sim_run_ns(sim, 15000) == 1);
	is(fd, 1550, 0);
	REQUIRE(pfm_sim_run_ns(sim, 15000) == 1);
	is(fd, 2010, 0);
	REQUIRE(!sys_vperfctr_unlink(fd));
	is(fd, 2010, 0);

	/* "a simulated thread takes no signals" */
	tid = pfm_sim_spawn(sim, &spawn);
	fd = sys_vperfctr_open(tid, 1);
	c = interrupting(10);
	REQUIRE_ERR(sys_vperfctr_control(fd, &c), EINVAL);
	c = faults();
	c.cpu_control.pmc_map[0] = 4;
	REQUIRE(!pfm_sim_encode(sim, "instructions", 1 << PFM_SIM_USER, 4, &c.cpu_control.evntsel[0]));
	REQUIRE(!sys_vperfctr_control(fd, &c));
	REQUIRE(pfm_sim_run_ns(sim, 500) == 1);
	/* after the unlink, children that live are no longer counted */
	REQUIRE(!sys_vperfctr_unlink(fd));
	is(fd, 50, 25);
	pfm_sim_put(sim);
}

static const struct part cases[] = {
	{ "opens", opens }, { "errors", errors }, { "preserves", preserves },
	{ "stops", stops }, { "mapped", mapped },
	{ "unlinked", unlinked }, { "others", others }, { "threads", threads }, { "forked", forked },
	{ "cancelled", cancelled },
	{ "overflows", overflows }, { "forgets", forgets }, { "together", together },
	{ "resumes", resumes }, { "owners", owners },
	{ "processes", signals_processes },
	{ "children", children }, { "living", living }, { "exited", exited }, { "simulated", simulated },
	{ "estranged", estranged }, { "unreaped", unreaped }, { NULL, NULL }
};

int main(int argc, char **argv)
{
	return run_part(cases, argc, argv);
}
