// SPDX-License-Identifier: MIT
/*
 * security.c - which users may monitor what, and what calls a context's descriptor and its target
 * must survive.
 */
#include <sys/prctl.h>
#include <sys/stat.h>

#include "check.h"

#define NOBODY 65534

/* Runs fn as the user nobody, and returns what it returns, 0 to 255. */
static int as_nobody(int (*fn)(int), int arg)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		/* a change of the user makes a process undumpable, which hides it from that user */
		if (setgid(NOBODY) || setuid(NOBODY) || prctl(PR_SET_DUMPABLE, 1))
			_exit(255);
		_exit(fn(arg));
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 254;
}

/* Writes a PMC. Returns 0, or the errno if that is refused. */
static int try_pmc(uint64_t value)
{
	int fd = new_context(0);

	return fd >= 0 && !set_pmc(fd, 0, COUNTER, value) ? 0 : errno;
}

static int try_user(int unused)
{
	(void)unused;
	return try_pmc(PROGRAM);
}

static int try_kernel(int unused)
{
	(void)unused;
	return try_pmc(BOTH | INST);
}

static int try_self(int unused)
{
	int fd = new_context(0);

	(void)unused;
	return fd >= 0 && !set_pmc(fd, 0, COUNTER, PROGRAM) && !load(fd, my_tid()) && !pfm_start(fd, NULL) &&
	       (work(100), get_pmd(fd, 0, COUNTER) >= 100) ? 0 : errno;
}

static int try_cpu(int unused)
{
	int fd = new_context(PFM_FL_SYSTEM_WIDE);

	(void)unused;
	return fd >= 0 && !set_pmc(fd, 0, COUNTER, PROGRAM) && !load(fd, my_tid()) ? 0 : errno;
}

static void set_paranoid(const char *value)
{
	int fd = open("/proc/sys/kernel/perf_event_paranoid", O_WRONLY);

	TRUE(fd >= 0 && write(fd, value, strlen(value)) > 0);
	close(fd);
}

static void kernel_level_needs_permission(void)
{
	set_paranoid("2");
	EQUAL(as_nobody(try_user, 0), 0);
	EQUAL(as_nobody(try_self, 0), 0);
	EQUAL(as_nobody(try_cpu, 0), EPERM);
	EQUAL(as_nobody(try_kernel, 0), EPERM);
	EQUAL(try_kernel(0), 0);
	set_paranoid("1");
	EQUAL(as_nobody(try_kernel, 0), 0);
	EQUAL(as_nobody(try_cpu, 0), EPERM);
	set_paranoid("0");
	EQUAL(as_nobody(try_cpu, 0), 0);
	set_paranoid("2");
}

static int try_thread(int tid)
{
	int fd = new_context(0);

	return fd >= 0 && !load(fd, tid) ? 0 : errno;
}

static int try_own_child(int unused)
{
	struct child c = child_new(child_spin, 1);
	int err = try_thread(c.pid);

	(void)unused;
	child_go(&c);
	child_end(&c);
	return err;
}

static void foreign_threads_are_refused(void)
{
	struct child c = child_new(child_spin, 1);

	EQUAL(as_nobody(try_thread, c.pid), EPERM);
	EQUAL(as_nobody(try_thread, 1), EPERM);
	EQUAL(as_nobody(try_own_child, 0), 0);
	child_go(&c);
	child_end(&c);
}

/* --- exec ------------------------------------------------------------------------------------- */

#define EXECED	200000		/* instructions of the executed program; far more than a fork takes */

static const char *program;

static void become(uint64_t suid)
{
	execl(suid ? "/tmp/suid" : program, "security", "spin", NULL);
	_exit(9);
}

static void spin_forever(uint64_t suid)
{
	become(suid);
}

/*
 * Returns 1 if the work of a program that a child executes was counted, 2 if not; more than 99
 * after an error.
 */
static int watch_exec(int suid)
{
	struct child c = child_new(spin_forever, (uint64_t)suid);
	uint64_t count, later;
	pfarg_msg_t msg;
	int fd = new_context(0);

	fcntl(fd, F_SETFD, FD_CLOEXEC);
	if (fd < 0 || set_pmc(fd, 0, COUNTER, PROGRAM) || load(fd, c.pid) || pfm_start(fd, NULL))
		return 100;
	child_go(&c);
	if (read(fd, &msg, sizeof(msg)) != sizeof(msg) || msg.type != PFM_MSG_END)
		return 101;
	count = get_pmd(fd, 0, COUNTER);
	child_end(&c);
	later = get_pmd(fd, 0, COUNTER);
	if (count != later)
		return 102;
	return count >= EXECED ? 1 : 2;		/* 1: the program's work was counted */
}

/* Creates a child, so that the context stays loaded, and executes a set-uid program. */
static void breed_and_become(uint64_t unused)
{
	pid_t parent = getpid();

	(void)unused;
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == parent)	/* the parent may have ended already */
			pause();
		_exit(0);
	}
	execl("/tmp/suid", "security", "breed", NULL);
	_exit(9);
}

/*
 * Returns 1 if the work of a set-uid program's child was counted, 2 if not; more than 99 after an
 * error.
 */
static int watch_children(int unused)
{
	struct child c = child_new(breed_and_become, 0);
	pfarg_msg_t msg;
	int fd = new_context(PFM_FL_INHERIT);

	(void)unused;
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	if (fd < 0 || set_pmc(fd, 0, COUNTER, PROGRAM) || load(fd, c.pid) || pfm_start(fd, NULL))
		return 100;
	child_go(&c);
	if (child_end(&c))
		return 103;
	if (read(fd, &msg, sizeof(msg)) != sizeof(msg) || msg.type != PFM_MSG_END)
		return 101;
	return get_pmd(fd, 0, COUNTER) >= EXECED ? 1 : 2;
}

/* Neither a set-uid program nor its children are counted. */
static void set_uid_programs_are_not_monitored(void)
{
	char command[256];

	snprintf(command, sizeof(command), "cp %s /tmp/suid && chmod 4755 /tmp/suid", program);
	EQUAL(system(command), 0);
	EQUAL(as_nobody(watch_exec, 1), 2);
	NEEDS_TASK_WORK();
	EQUAL(as_nobody(watch_children, 0), 2);
}

static void an_exec_keeps_the_context(void)
{
	EQUAL(as_nobody(watch_exec, 0), 1);
	EQUAL(watch_exec(0), 1);
}

/* --- counters of others ----------------------------------------------------------------------- */

#ifdef __aarch64__
#define CHAIN	0x1eULL		/* counts overflows of the counter before; perf refuses it, too */

static int count_overflows_of_others(int unused)
{
	int fd = new_context(0);

	(void)unused;
	if (fd < 0 || set_pmc(fd, 0, COUNTER, PROGRAM))
		return 100;
	return set_pmc(fd, 0, COUNTER + 1, USER | CHAIN) ? errno : 0;
}

static void overflows_of_others_are_not_counted(void)
{
	EQUAL(as_nobody(count_overflows_of_others, 0), EINVAL);
	EQUAL(count_overflows_of_others(0), EINVAL);
}
#endif

/* --- descriptors ------------------------------------------------------------------------------ */

static void command_it(uint64_t fd)
{
	work(20000);
	if (pfm_stop((int)fd) || get_pmd((int)fd, 0, COUNTER) < 20000)
		_exit(4);
}

/* A child inherits the descriptor, and may use it after the parent closed its own. */
static void descriptors_can_be_passed_on(void)
{
	struct child c;
	int fd;

	MUST(fd = new_context(0));
	MUST(set_pmc(fd, 0, COUNTER, PROGRAM));
	c = child_new(command_it, (uint64_t)fd);
	MUST(load(fd, c.pid));
	MUST(pfm_start(fd, NULL));
	close(fd);
	child_go(&c);
	EQUAL(WEXITSTATUS(child_end(&c)), 0);
}

/*
 * Reads n elements, of which one is bad. The kernel keeps few elements on its stack, and allocates
 * memory for many.
 */
static void around_a_bad_one(int fd, int n)
{
	pfarg_pmd_t v[8];

	memset(v, 0, sizeof(v));
	for (int i = 0; i < n; i++) {
		v[i] = (pfarg_pmd_t){ .reg_num = COUNTER, .reg_value = 7, .reg_long_reset = 8, .reg_short_reset = 9,
				      .reg_last_reset_val = 10, .reg_ovfl_switch_cnt = 11, .reg_smpl_eventid = 12 };
	}
	v[n - 2].reg_num = 299;
	FAILS(pfm_read_pmds(fd, v, n), EINVAL);
	for (int i = 0; i < n; i++) {
		bool was_read = i < n - 2;

		EQUAL(v[i].reg_flags, i == n - 2 ? PFM_REG_RETFL_NOTAVAIL : 0);
		EQUAL(v[i].reg_value, was_read ? 4711 : 7);
		EQUAL(v[i].reg_last_reset_val, was_read ? 4711 : 10);
		EQUAL(v[i].reg_ovfl_switch_cnt, was_read ? 0 : 11);
		TRUE(v[i].reg_long_reset == 8 && v[i].reg_short_reset == 9 && v[i].reg_smpl_eventid == 12);
	}
}

/* 3.1.4: a read changes only the results, and only in elements that were read. */
static void reading_changes_only_results(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *pages = (mmap)(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pfarg_pmd_t *last = (pfarg_pmd_t *)(pages + page) - 1;
	int fd;

	MUST(fd = new_context(0));
	MUST(set_pmc(fd, 0, COUNTER, PROGRAM));
	MUST(set_pmd(fd, 0, COUNTER, 4711));
	around_a_bad_one(fd, 3);
	around_a_bad_one(fd, 8);
	last->reg_num = COUNTER;
	MUST(mprotect(pages + page, page, PROT_NONE));
	MUST(pfm_read_pmds(fd, last, 1));
	EQUAL(last->reg_value, 4711);
	FAILS(pfm_read_pmds(fd, last, 2), EFAULT);
	FAILS(pfm_read_pmds(fd, (pfarg_pmd_t *)((char *)last + 8), 1), EFAULT);
	MUST(mprotect(pages, page, PROT_READ));
	FAILS(pfm_read_pmds(fd, last, 1), EFAULT);
	FAILS(pfm_read_pmds(fd, (pfarg_pmd_t *)(-(uintptr_t)page), 1), EFAULT);
	(munmap)(pages, 2 * page);
	close(fd);
}

int main(int argc, char **argv)
{
	static char path[128];

	if (argc > 1 && !strcmp(argv[1], "spin")) {
		work(EXECED);
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "breed")) {
		if (!fork()) {
			work(EXECED);
			_exit(0);
		}
		wait(NULL);
		return 0;
	}
	pin(0);
	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		return 3;
	program = path;
	TEST(kernel_level_needs_permission);
	TEST(foreign_threads_are_refused);
	TEST(set_uid_programs_are_not_monitored);
	TEST(an_exec_keeps_the_context);
#ifdef __aarch64__
	TEST(overflows_of_others_are_not_counted);
#endif
	TEST(descriptors_can_be_passed_on);
	TEST(reading_changes_only_results);
	return tests_failed > 0;
}
