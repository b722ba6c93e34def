/* SPDX-License-Identifier: MIT */
/*
 * check.h - what the tests inside the emulated machine share. A program runs its tests one by one
 * and prints a line for each: "ok NAME", "not ok NAME: why", or "skipped NAME: why".
 */
#ifndef SPEC_VM_CHECK_H
#define SPEC_VM_CHECK_H

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perfmon/perfmon.h"
#include "perfmon/perfmon_dfl_smpl.h"

/*
 * PMC values. Each of the first counters can count INST, CYCLES and BRANCHES (retired ones), at the
 * levels USER or BOTH. CYC is the counter of cycles, which on arm64 counts nothing else, and
 * CYC_PMC(level) the value of its PMC. The counters 0 to PLAIN - 1 are available, whatever else the
 * kernel counts.
 */
#ifdef __aarch64__
#define USER		0x80000000ULL
#define BOTH		0ULL
#define INST		0x08ULL
#define CYCLES		0x11ULL
#define CYC		31
#define CYC_PMC(level)	(level)
#define PLAIN		6
#else
#include <cpuid.h>

/* AMD's processors have no fixed counters: the kernel's watchdog takes one of six. */
static inline bool is_amd(void)
{
	unsigned int max, vendor = 0, c, d;

	__get_cpuid(0, &max, &vendor, &c, &d);
	return vendor == signature_AMD_ebx;
}

#define USER		0x10000ULL
#define BOTH		0x30000ULL
#define INST		0xc0ULL
#define CYCLES		(is_amd() ? 0x76ULL : 0x3cULL)
#define BRANCHES	(is_amd() ? 0xc2ULL : 0xc4ULL)
#define CYC		(is_amd() ? 4 : 6)
#define CYC_PMC(level)	((level) | CYCLES)
#define PLAIN		(is_amd() ? 4 : 6)
#endif

static const char *test_name;
static char test_why[512];
static bool test_failed, test_skipped;
static int tests_failed;

__attribute__((unused, format(printf, 2, 3)))
static bool check(bool good, const char *fmt, ...)
{
	va_list args;

	if (good || test_failed)
		return good;
	test_failed = true;
	va_start(args, fmt);
	vsnprintf(test_why, sizeof(test_why), fmt, args);
	va_end(args);
	return good;
}

/*
 * Returns true if the kernel exports task_work_add() to modules. Only Debian's patches do that;
 * they also add the setting unprivileged_userns_clone. If the function is not exported, INHERIT,
 * NOTIFY_BLOCK and records of formats are refused.
 */
__attribute__((unused))
static bool exports_task_work(void)
{
	return !access("/proc/sys/kernel/unprivileged_userns_clone", F_OK);
}

#define NEEDS_TASK_WORK() do { \
	if (!exports_task_work()) { \
		test_skipped = true; \
		return; \
	} \
} while (0)

#define EQUAL(a, b) do { \
	long long a_ = (long long)(a), b_ = (long long)(b); \
	check(a_ == b_, "line %d: %s is %lld, not %lld", __LINE__, #a, a_, b_); \
} while (0)
#define TRUE(cond) check(cond, "line %d: not so: %s", __LINE__, #cond)
/* Makes a call that must succeed, else the test ends. */
#define MUST(call) do { \
	if ((call) < 0) { \
		if (errno == EOPNOTSUPP) \
			NEEDS_TASK_WORK(); \
		check(false, "line %d: %s: %s (%s)", __LINE__, #call, strerror(errno), pfm_explain()); \
		return; \
	} \
} while (0)
#define FAILS(call, err) do { \
	errno = 0; \
	long ret_ = (long)(call); \
	check(ret_ == -1 && errno == (err), "line %d: %s returned %ld, %s, not %s (%s)", __LINE__, #call, ret_, \
	      strerror(errno), strerror(err), pfm_explain()); \
} while (0)

__attribute__((unused))
static void run_test(const char *name, void (*fn)(void))
{
	test_name = name;
	test_failed = test_skipped = false;
	fn();
	tests_failed += test_failed;
	if (test_failed)
		printf("not ok %s: %s\n", name, test_why);
	else if (test_skipped)
		printf("skipped %s: this kernel does not export task_work_add()\n", name);
	else
		printf("ok %s\n", name);
	fflush(stdout);
}
#define TEST(fn) run_test(#fn, fn)

/* --- work of known size ---------------------------------------------------------------------- */

/* Executes 2 instructions per iteration; the branch is taken in all but the last. */
static inline __attribute__((always_inline)) void spin(uint64_t n)
{
	if (!n)
		return;
#ifdef __aarch64__
	asm volatile("1: subs %0, %0, #1; b.ne 1b" : "+r"(n) : : "cc");
#else
	asm volatile("1: sub $1, %0; jnz 1b" : "+r"(n) : : "cc");
#endif
}

#define FAULTS		66		/* PMC and PMD of page faults, which software counts exactly */
#define SW_USER		0x8

/* Makes n page faults at user level: touches pages that were never touched, or were given back. */
__attribute__((unused, noinline))
static void fault(uint64_t n)
{
	enum { PAGES = 64 };
	static char *pages;

	if (!pages) {
		pages = (mmap)(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		madvise(pages, PAGES * 4096, MADV_NOHUGEPAGE);
	}
	for (uint64_t i = 0; i < n; i++) {
		if (i % PAGES == 0)
			madvise(pages, PAGES * 4096, MADV_DONTNEED);
		((volatile char *)pages)[i % PAGES * 4096] = 1;
	}
}

/*
 * COUNTER with PROGRAM counts instructions at user level; work() executes n of them and a few more.
 */
#define COUNTER	0
#define PROGRAM	(USER | INST)
static inline void work(uint64_t n)
{
	spin(n / 2);
}

/* Sends a descriptor through a socket. Returns 1, or -1 with errno. */
static inline ssize_t send_fd(int to, int fd, int flags)
{
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	return sendmsg(to, &m, flags);
}

static inline pid_t my_tid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

__attribute__((unused))
static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* --- contexts --------------------------------------------------------------------------------- */

static inline int new_context(uint32_t flags)
{
	pfarg_ctx_t ctx = { .ctx_flags = flags };

	return pfm_create_context(&ctx, NULL, NULL, 0);
}

static inline int set_pmc(int fd, int set, int num, uint64_t value)
{
	pfarg_pmc_t pmc = { .reg_num = num, .reg_set = set, .reg_value = value };

	return pfm_write_pmcs(fd, &pmc, 1);
}

static inline int set_pmd(int fd, int set, int num, uint64_t value)
{
	pfarg_pmd_t pmd = { .reg_num = num, .reg_set = set, .reg_value = value };

	return pfm_write_pmds(fd, &pmd, 1);
}

/* Sets a sampling period, which short and long resets reload. */
static inline int set_period(int fd, int set, int num, uint64_t period, uint32_t flags)
{
	pfarg_pmd_t pmd = { .reg_num = num, .reg_set = set, .reg_flags = flags, .reg_value = -period,
			    .reg_long_reset = -period, .reg_short_reset = -period };

	return pfm_write_pmds(fd, &pmd, 1);
}

static inline uint64_t get_pmd(int fd, int set, int num)
{
	pfarg_pmd_t pmd = { .reg_num = num, .reg_set = set };

	if (pfm_read_pmds(fd, &pmd, 1))
		check(false, "pfm_read_pmds: %s (%s)", strerror(errno), pfm_explain());
	return pmd.reg_value;
}

static inline int load(int fd, pid_t tid)
{
	pfarg_load_t load = { .load_pid = tid };

	return pfm_load_context(fd, &load);
}

static inline bool has_message(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLIN);
}

/* --- other users of the PMU ------------------------------------------------------------------- */

#define MOST_COUNTERS	32

/*
 * Takes a CPU's counters by pinned events, which come before those of threads. fds[i] is -1 if
 * there were no more.
 */
__attribute__((unused))
static void take_all(int cpu, int fds[MOST_COUNTERS])
{
	struct perf_event_attr attr = { .type = PERF_TYPE_RAW, .size = sizeof(attr), .config = INST, .pinned = 1 };

	for (int i = 0; i < MOST_COUNTERS; i++)
		fds[i] = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0);
}

/* --- children that start on command ----------------------------------------------------------- */

struct child {
	pid_t	pid;
	int	to, from;
};

/* Waits until the process sleeps, or has ended. */
static inline void await_sleep(pid_t pid)
{
	char path[32], line[256], *state;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	do {
		FILE *f = fopen(path, "r");

		if (!f || !fgets(line, sizeof(line), f))
			exit(3);
		fclose(f);
		state = strrchr(line, ')') + 2;
		sched_yield();
	} while (*state != 'S' && *state != 'D' && *state != 'Z');
}

/*
 * Return true if counts can be predicted. exact() also says so of time, which then passes only by
 * this program's instructions.
 * arm64's emulated PMU counts what all processors do: if there are several, percpu_exact() is true
 * only on x86-64.
 */
static inline bool exact(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN) == 1;
}

static inline bool percpu_exact(void)
{
#ifdef __x86_64__
	return true;
#else
	return exact();
#endif
}

/* Creates a child that waits for child_go(), runs fn(arg) and exits. */
static inline struct child child_new(void (*fn)(uint64_t), uint64_t arg)
{
	int go[2], up[2];
	struct child c;
	char byte;

	if (pipe(go) || pipe(up))
		exit(3);
	c.pid = fork();
	if (!c.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (write(up[1], "", 1) != 1 || read(go[0], &byte, 1) != 1)
			_exit(3);
		fn(arg);
		_exit(0);
	}
	c.to = go[1];
	c.from = up[0];
	close(go[0]);
	close(up[1]);
	if (read(c.from, &byte, 1) != 1)
		exit(3);
	await_sleep(c.pid);
	return c;
}

static inline void child_go(struct child *c)
{
	if (write(c->to, "", 1) != 1)
		exit(3);
}

static inline int child_end(struct child *c)
{
	int status = -1;

	waitpid(c->pid, &status, 0);
	close(c->to);
	close(c->from);
	return status;
}

__attribute__((unused))
static void child_spin(uint64_t n)
{
	spin(n);
}

#endif
