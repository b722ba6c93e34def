// SPDX-License-Identifier: MIT
/*
 * inherit.c - PFM_FL_INHERIT in perfmon.ko: threads and processes that the monitored one creates
 * are counted with it, from their fork on, however they end.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "users.h"

#define KIB	1024UL

static int family(void)
{
	pfarg_pmd_t pmd = { .reg_num = FAULTS, .reg_flags = PFM_REGFL_OWN };
	int fd = new_context(PFM_FL_INHERIT);

	return fd < 0 || set_pmc(fd, 0, FAULTS, SW_USER) || pfm_write_pmds(fd, &pmd, 1) ? -1 : fd;
}

static int started_on(pid_t tid)
{
	int fd = family();

	check(fd >= 0 && !load(fd, tid) && !pfm_start(fd, NULL), "started_on: %s", pfm_explain());
	return fd;
}

static uint64_t own(int fd)
{
	pfarg_pmd_t pmd = { .reg_num = FAULTS, .reg_flags = PFM_REGFL_OWN };

	if (pfm_read_pmds(fd, &pmd, 1))
		check(false, "own: %s (%s)", strerror(errno), pfm_explain());
	return pmd.reg_value;
}

static uint64_t lost(int fd)
{
	pfarg_setinfo_t info = { .set_id = 0 };

	check(!pfm_getinfo_evtsets(fd, &info, 1), "pfm_getinfo_evtsets: %s", pfm_explain());
	return info.set_lost;
}

/* Waits for the message that all monitored threads have ended. */
static void await_end(int fd)
{
	pfarg_msg_t msg;

	TRUE(read(fd, &msg, sizeof(msg)) == sizeof(msg) && msg.type == PFM_MSG_END);
}

/* --- a tree --------------------------------------------------------------------------------- */

enum { PAGES = 500, DEPTH = 3, WIDTH = 3, PROCESSES = 1 + 3 + 9 + 27 };

static void *fault_in_thread(void *unused)
{
	char *pages = (mmap)(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(pages, PAGES * 4096, MADV_NOHUGEPAGE);
	for (int i = 0; i < PAGES; i++)
		((volatile char *)pages)[i * 4096] = 1;
	return unused;
}

static void grow(int depth, bool wait)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, fault_in_thread, NULL))
		_exit(4);
	pthread_join(thread, NULL);
	for (int i = 0; depth && i < WIDTH; i++) {
		pid_t pid = fork();

		if (!pid) {
			grow(depth - 1, wait);
			_exit(0);
		}
		if (wait)
			waitpid(pid, NULL, 0);
	}
}

static void tree(uint64_t wait)
{
	signal(SIGCHLD, wait ? SIG_DFL : SIG_IGN);
	grow(DEPTH, wait);
}

/*
 * Counts the faults of all processes of a tree, and a few dozen per process for fork(), and no
 * others.
 */
static void a_tree_is_counted(void)
{
	for (int wait = 0; wait < 2; wait++) {
		struct child c = child_new(tree, wait);
		int fd = started_on(c.pid);
		uint64_t n;

		child_go(&c);
		await_end(fd);
		child_end(&c);
		n = get_pmd(fd, 0, FAULTS);
		check(n >= PROCESSES * PAGES && n < PROCESSES * (PAGES + 100), "%llu faults",
		      (unsigned long long)n);
		TRUE(own(fd) < PAGES);		/* another thread touched the pages */
		EQUAL(lost(fd), 0);
		close(fd);
	}
}

/* --- while children live ---------------------------------------------------------------------- */

static int orders[2], reports[2];

static void obey(void)
{
	char byte;

	while (read(orders[0], &byte, 1) == 1) {
		fault(100);
		if (write(reports[1], "", 1) != 1)
			_exit(3);
	}
}

/* Creates a process that ends, and one that works on order(), as this process then does, too. */
static void two_and_one(uint64_t unused)
{
	pid_t pid = fork();

	(void)unused;
	if (!pid) {
		fault(1000);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	if (!fork())
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (write(reports[1], "", 1) != 1)
		_exit(3);
	obey();
}

static void order(int n)
{
	char byte;

	for (int i = 0; i < n; i++)
		if (write(orders[1], "", 1) != 1)
			exit(3);
	for (int i = 0; i < n; i++)
		if (read(reports[0], &byte, 1) != 1)
			exit(3);
}

static bool grew_by(int fd, uint64_t *from, uint64_t n)
{
	uint64_t now = get_pmd(fd, 0, FAULTS), by = now - *from;

	*from = now;
	return check(by >= n && by <= n + n / 10, "%llu, not %llu", (unsigned long long)by, (unsigned long long)n);
}

static void living_ones_are_commanded(void)
{
	struct child c;
	uint64_t now = 0;
	char byte[2];
	int fd;

	if (pipe(orders) || pipe(reports))
		exit(3);
	c = child_new(two_and_one, 0);
	fd = started_on(c.pid);
	child_go(&c);
	for (int i = 0; i < 2; i++)
		TRUE(read(reports[0], byte, 1) == 1);
	now = get_pmd(fd, 0, FAULTS);
	TRUE(now >= 1000 && now < 1300);
	order(40); /* copies the pages that the processes share, so that later counts are exact */
	now = get_pmd(fd, 0, FAULTS);
	order(20);
	grew_by(fd, &now, 2000);
	MUST(pfm_stop(fd));
	order(20);
	grew_by(fd, &now, 0);
	MUST(pfm_start(fd, NULL));
	order(20);
	grew_by(fd, &now, 2000);
	MUST(set_pmd(fd, 0, FAULTS, now = 7));
	order(20);
	grew_by(fd, &now, 2000);
	FAILS(set_pmc(fd, 0, FAULTS, SW_USER), EBUSY);
	MUST(pfm_unload_context(fd));
	order(20);
	grew_by(fd, &now, 0);
	close(fd);
	kill(c.pid, SIGKILL);
	child_end(&c);
}

/* --- ends ------------------------------------------------------------------------------------- */

/*
 * The parent ends before its child runs for the first time: both have one CPU, and a real-time
 * priority.
 */
static void exit_at_once(void)
{
	struct sched_param p = { .sched_priority = 1 };

	pin(0);
	if (sched_setscheduler(0, SCHED_FIFO, &p))
		_exit(2);
	if (fork())
		_exit(0);
}

static void leave_a_child(uint64_t up)
{
	char byte;

	exit_at_once();
	if (fork())
		_exit(0);
	if (read((int)up, &byte, 1) != 1)
		_exit(3);
	fault(2000);
	_exit(0);
}

/* The first process ends and is reaped; the context stays loaded while the process' child lives. */
static void the_last_one_ends_it(void)
{
	struct child c;
	uint64_t before;
	int up[2], fd;

	if (pipe(up))
		exit(3);
	c = child_new(leave_a_child, up[0]);
	fd = started_on(c.pid);
	child_go(&c);
	child_end(&c);
	TRUE(!has_message(fd));
	before = get_pmd(fd, 0, FAULTS);
	TRUE(write(up[1], "", 1) == 1);
	await_end(fd);
	TRUE(get_pmd(fd, 0, FAULTS) - before >= 2000);
	MUST(load(fd, my_tid()));
	close(fd);
}

static void breed(uint64_t unused)
{
	(void)unused;
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		pid_t pid = fork();

		if (!pid) {
			pthread_t thread;

			if (!pthread_create(&thread, NULL, fault_in_thread, NULL) && getpid() % 2)
				pthread_join(thread, NULL);
			_exit(0);
		}
		if (pid > 0 && pid % 3 == 0)
			kill(pid, SIGKILL);
	}
}

/* The context is closed, unloaded, read and stopped at any moment of a fork or an exit. */
static void they_come_and_go_under_commands(void)
{
	struct child c = child_new(breed, 0);
	struct timespec t = { 0, 300000 };

	child_go(&c);
	for (int i = 0; i < 200; i++) {
		int fd = started_on(c.pid);

		t.tv_nsec = 100000 + i % 17 * 200000;
		nanosleep(&t, NULL);
		get_pmd(fd, 0, FAULTS);
		if (i % 2)
			MUST(pfm_stop(fd));
		if (i % 3 == 0)
			MUST(pfm_unload_context(fd));
		close(fd);
	}
	kill(c.pid, SIGKILL);
	child_end(&c);
}

/* --- all sets, hardware too ------------------------------------------------------------------- */

static void spin_in_four(uint64_t n)
{
	for (int i = 0; i < 4; i++)
		if (!fork()) {
			spin(n);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
}

static void hardware_counts_in_children(void)
{
	struct child c = child_new(spin_in_four, 1000000);
	uint64_t n;
	int fd;

	MUST(fd = new_context(PFM_FL_INHERIT));
	MUST(set_pmc(fd, 0, COUNTER, PROGRAM));
	MUST(set_pmd(fd, 0, COUNTER, 0));
	MUST(load(fd, c.pid));
	MUST(pfm_start(fd, NULL));
	child_go(&c);
	await_end(fd);
	child_end(&c);
	n = get_pmd(fd, 0, COUNTER);
	if (percpu_exact())
		check(n >= 8000000 && n < 8400000, "%llu instructions", (unsigned long long)n);
	else
		TRUE(n >= 8000000);
	EQUAL(lost(fd), 0);
	close(fd);
}

static void each_has_a_timeout(void)
{
	pfarg_setdesc_t sets[2] = {
		{ .set_id = 0, .set_flags = PFM_SETFL_TIME_SWITCH, .set_timeout = 500000 },
		{ .set_id = 1, .set_flags = PFM_SETFL_TIME_SWITCH, .set_timeout = 500000 },
	};
	pfarg_setinfo_t infos[2] = { { .set_id = 0 }, { .set_id = 1 } };
	struct child c = child_new(spin_in_four, 20000000);
	uint64_t n[2];
	int fd;

	MUST(fd = new_context(PFM_FL_INHERIT));
	MUST(pfm_create_evtsets(fd, sets, 2));
	for (int i = 0; i < 2; i++) {
		MUST(set_pmc(fd, i, COUNTER, PROGRAM));
		MUST(set_pmd(fd, i, COUNTER, 0));
	}
	MUST(load(fd, c.pid));
	MUST(pfm_start(fd, NULL));
	child_go(&c);
	await_end(fd);
	child_end(&c);
	MUST(pfm_getinfo_evtsets(fd, infos, 2));
	for (int i = 0; i < 2; i++)
		n[i] = get_pmd(fd, i, COUNTER);
	if (percpu_exact())
		check(n[0] + n[1] >= 160000000 && n[0] + n[1] < 162000000, "%llu and %llu",
		      (unsigned long long)n[0], (unsigned long long)n[1]);
	TRUE(infos[0].set_runs > 10 && infos[1].set_runs > 10);
	check(n[0] > n[1] / 2 && n[1] > n[0] / 2, "%llu and %llu", (unsigned long long)n[0],
	      (unsigned long long)n[1]);
	close(fd);
}

/* --- the user that memory is charged to ------------------------------------------------------- */

static int may_lock(unsigned long kib)
{
	return setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){ kib * KIB, kib * KIB });
}

static void forty_at_a_time(uint64_t own_kib)
{
	int gate[2];
	char byte;

	if (pipe(gate) || may_lock(own_kib))
		_exit(3);
	for (int i = 0; i < 40; i++)
		if (!fork()) {
			close(gate[1]);
			_exit(read(gate[0], &byte, 1) == 1);
		}
	close(gate[1]);
	while (wait(NULL) > 0)
		;
}

/*
 * Returns how many of 40 children that live at once were dropped, and reported as such, because kib
 * KiB of memory are too few for their contexts; they themselves may lock own_kib KiB. Then the
 * memory is free again. Returns 251 if a check failed.
 */
static int forty(int kib, int own_kib)
{
	struct child c;
	int fd, n;

	if (may_lock((unsigned long)kib))
		return 250;
	c = child_new(forty_at_a_time, (uint64_t)own_kib);
	fd = started_on(c.pid);
	child_go(&c);
	await_end(fd);
	child_end(&c);
	n = (int)lost(fd);
	close(fd);
	return test_failed ? 251 : n;
}

static int forty_in(int kib)
{
	return forty(kib, kib);
}

static int forty_that_lock_nothing(int kib)
{
	return forty(kib, 0);
}

static void memory_is_the_creators(void)
{
	write_to("/proc/sys/kernel/perf_event_paranoid", "2");
	write_to("/proc/sys/kernel/perf_event_mlock_kb", "0");
	for (int i = 0; i < 3; i++) {
		int n = as_user(NOBODY, 0, forty_in, 128);

		check(n > 0 && n < 40, "%d of 40 were not counted", n);
	}
	EQUAL(as_user(NOBODY, 0, forty_in, 4096), 0);
	EQUAL(as_user(NOBODY, 0, forty_in, 4096), 0);
	EQUAL(as_user(NOBODY, 0, forty_that_lock_nothing, 4096), 0);
	write_to("/proc/sys/kernel/perf_event_mlock_kb", "516");
}

/* --- ON_EXEC ---------------------------------------------------------------------------------- */

/* instructions; STARTUP: the dynamic linker's */
enum { BEFORE = 20000000, AFTER = 1000000, STARTUP = 2000000 };

/* Works in two processes, after the tests have executed this program. */
static int work_after_exec(void)
{
	pid_t pid = fork();

	work(AFTER);
	if (!pid)
		_exit(0);
	return waitpid(pid, NULL, 0) != pid;
}

static void spin_and_exec(uint64_t twice)
{
	char *const args[] = { "inherit", "work", NULL };

	work(BEFORE);
	if (twice && !fork())
		_exit(0);
	execv("/proc/self/exe", args);
	_exit(3);
}

static int from_exec(pid_t pid)
{
	int fd = new_context(PFM_FL_INHERIT | PFM_FL_ON_EXEC);

	return fd < 0 || set_pmc(fd, 0, COUNTER, PROGRAM) || set_pmd(fd, 0, COUNTER, 0) || load(fd, pid) ? -1 : fd;
}

static void an_exec_starts(void)
{
	for (int forks_first = 0; forks_first < 2; forks_first++) {
		struct child c = child_new(spin_and_exec, forks_first);
		uint64_t n;
		int fd;

		MUST(fd = from_exec(c.pid));
		MUST(pfm_start(fd, NULL));
		child_go(&c);
		EQUAL(child_end(&c), 0);
		await_end(fd);
		n = get_pmd(fd, 0, COUNTER);
		check(n >= 2 * AFTER && n < 2 * AFTER + STARTUP, "%llu instructions", (unsigned long long)n);
		close(fd);
	}
}

static void a_stop_before_the_exec_undoes_the_start(void)
{
	struct child c = child_new(spin_and_exec, 0);
	int fd;

	MUST(fd = from_exec(c.pid));
	MUST(pfm_start(fd, NULL));
	MUST(pfm_stop(fd));
	child_go(&c);
	EQUAL(child_end(&c), 0);
	await_end(fd);
	EQUAL(get_pmd(fd, 0, COUNTER), 0);
	close(fd);
}

/* If the thread does not exec, nothing is counted. */
static void without_an_exec_nothing_counts(void)
{
	struct child c = child_new(child_spin, AFTER);
	int fd;

	MUST(fd = from_exec(c.pid));
	MUST(pfm_start(fd, NULL));
	child_go(&c);
	EQUAL(child_end(&c), 0);
	await_end(fd);
	EQUAL(get_pmd(fd, 0, COUNTER), 0);
	close(fd);
}

static void combinations_are_refused(void)
{
	pfarg_setdesc_t set = { .set_id = 1, .set_flags = PFM_SETFL_OVFL_SWITCH };
	pfarg_pmd_t pmd = { .reg_num = FAULTS, .reg_flags = PFM_REGFL_OWN };
	int fd;

	FAILS(new_context(PFM_FL_INHERIT | PFM_FL_SYSTEM_WIDE), EINVAL);
	FAILS(new_context(PFM_FL_INHERIT | PFM_FL_NOTIFY_BLOCK), EINVAL);
	FAILS(new_context(PFM_FL_ON_EXEC), EINVAL);
	FAILS(new_context(PFM_FL_INHERIT | PFM_FL_PROCESS), EINVAL);
	check(strstr(pfm_explain(), "each thread"), "the reason is %s", pfm_explain());
	MUST(fd = family());
	FAILS(pfm_create_evtsets(fd, &set, 1), EINVAL);
	close(fd);
	MUST(fd = new_context(0));
	FAILS(pfm_write_pmds(fd, &pmd, 1), EINVAL);
	FAILS(pfm_read_pmds(fd, &pmd, 1), EINVAL);
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "work"))
		return work_after_exec();
	TEST(a_tree_is_counted);
	TEST(living_ones_are_commanded);
	TEST(the_last_one_ends_it);
	TEST(they_come_and_go_under_commands);
	TEST(hardware_counts_in_children);
	TEST(each_has_a_timeout);
	TEST(memory_is_the_creators);
	TEST(an_exec_starts);
	TEST(a_stop_before_the_exec_undoes_the_start);
	TEST(without_an_exec_nothing_counts);
	TEST(combinations_are_refused);
	return tests_failed > 0;
}
