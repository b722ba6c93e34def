// SPDX-License-Identifier: MIT
/*
 * quick_reads.c - pfm_read_pmds() as a running program calls it again and again, on the machine of
 * LPFM_MACHINE, and what may come between: commands, descriptors closed and used for something
 * else, signals, threads.
 *
 *   quick_reads one|values|commands|closed|replaced|reused|held|signals|threads
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perfmon/perfmon.h"
#include "../parts.h"

/* PMD66, page faults, and three other software counters. */
static const uint16_t nums[] = { 66, 64, 67, 68 };
#define NUM ((int)(sizeof(nums) / sizeof(nums[0])))

static void ask(pfarg_pmd_t *pmds)
{
	memset(pmds, 0, NUM * sizeof(*pmds));
	for (int i = 0; i < NUM; i++)
		pmds[i].reg_num = nums[i];
}

static void load(int fd, int tid)
{
	pfarg_load_t req = { .load_pid = (uint32_t)tid };

	CHECK(!pfm_load_context(fd, &req));
	CHECK(!pfm_start(fd, NULL));
}

static int create(uint64_t first)
{
	pfarg_ctx_t ctx = { 0 };
	pfarg_pmc_t pmcs[NUM] = { { 0 } };
	pfarg_pmd_t pmds[NUM];
	int fd = pfm_create_context(&ctx, NULL, NULL, 0);

	ask(pmds);
	for (int i = 0; i < NUM; i++) {
		pmcs[i].reg_num = nums[i];
		pmcs[i].reg_value = 9;
	}
	pmds[0].reg_value = first;
	CHECK(fd >= 0);
	CHECK(!pfm_write_pmcs(fd, pmcs, NUM));
	CHECK(!pfm_write_pmds(fd, pmds, NUM));
	return fd;
}

static int counting(uint64_t first)
{
	int fd = create(first);

	load(fd, gettid());
	return fd;
}

static uint64_t faults(int fd)
{
	pfarg_pmd_t pmds[NUM];

	ask(pmds);
	CHECK(!pfm_read_pmds(fd, pmds, NUM));
	return pmds[0].reg_value;
}

static int refused(int fd)
{
	pfarg_pmd_t pmds[NUM];

	ask(pmds);
	return pfm_read_pmds(fd, pmds, NUM) == -1 && errno == EBADF;
}

/* Touches new pages. */
static void fault(int pages)
{
	size_t size = (size_t)pages * 4096;
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	CHECK(!madvise(at, size, MADV_NOHUGEPAGE) || errno == EINVAL);
	for (int i = 0; i < pages; i++)
		((volatile char *)at)[i * 4096] = 1;
	munmap(at, size);
}

/* --- one system call ------------------------------------------------------------------------ */

#define READS 100

static void read_between_marks(void)
{
	pfarg_pmd_t pmds[NUM];
	int fd = counting(0);

	ask(pmds);
	faults(fd);
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	syscall(SYS_getppid);
	for (int i = 0; i < READS; i++)
		if (pfm_read_pmds(fd, pmds, NUM))
			_exit(1);
	syscall(SYS_getppid);
	_exit(failures != 0);
}

/* Returns the number of the system call that the traced thread enters; -1 at another stop. */
static long entered(pid_t pid, int *status)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_SYSCALL, pid, 0, 0) || waitpid(pid, status, __WALL) != pid || !WIFSTOPPED(*status) ||
	    WSTOPSIG(*status) != (SIGTRAP | 0x80) ||
	    ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) <= 0 || info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return -1;
	return (long)info.entry.nr;
}

static void one(void)
{
	int status, marks = 0, calls = 0, reads = 0;
	pid_t pid = fork();

	if (!pid)
		read_between_marks();
	CHECK(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	CHECK(!ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
	while (marks < 2 && (WIFSTOPPED(status))) {
		long nr = entered(pid, &status);

		marks += nr == SYS_getppid;
		calls += marks == 1 && nr >= 0 && nr != SYS_getppid;
		reads += marks == 1 && nr == SYS_read;
	}
	CHECK(marks == 2);
	printf("%d calls of pfm_read_pmds(), %d system calls\n", READS, calls);
	CHECK(reads == READS && calls == READS);
	ptrace(PTRACE_DETACH, pid, 0, 0);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

/* --- the values are what a command would read ----------------------------------------------- */

static void values(void)
{
	int fd = counting(1ULL << 40);
	uint64_t last = faults(fd), now;

	CHECK(last >= 1ULL << 40);
	for (int i = 1; i < 100; i++) {
		fault(i);
		now = faults(fd);
		CHECK(now - last >= (uint64_t)i && now - last < (uint64_t)i + 16);
		last = now;
	}
	close(fd);
}

/* A read sees the effect of the command before it. */
static void commands(void)
{
	pfarg_pmd_t pmd = { .reg_num = 66, .reg_value = 1ULL << 50 }, bad[2] =
			  { { .reg_num = 66 }, { .reg_num = 319 } };
	int fd = counting(0);
	uint64_t at;

	CHECK(faults(fd) < 1ULL << 20 && faults(fd) < 1ULL << 20);
	CHECK(!pfm_write_pmds(fd, &pmd, 1));
	CHECK(faults(fd) >= 1ULL << 50 && faults(fd) >= 1ULL << 50);
	CHECK(!pfm_stop(fd));
	at = faults(fd);
	fault(100);
	CHECK(faults(fd) == at && faults(fd) == at);
	CHECK(!pfm_start(fd, NULL));
	at = faults(fd);
	fault(100);
	CHECK(faults(fd) >= at + 100);
	CHECK(pfm_read_pmds(fd, bad, 2) == -1 && errno == EINVAL);
	CHECK(!PFM_REG_HAS_ERROR(bad[0].reg_flags) && bad[0].reg_value >= at && PFM_REG_HAS_ERROR(bad[1].reg_flags));
	CHECK(pfm_read_pmds(fd, bad, 0) == -1 && errno == EINVAL);
	CHECK(pfm_read_pmds(fd, NULL, 1) == -1 && errno == EFAULT);
	CHECK(!pfm_unload_context(fd));
	at = faults(fd);
	fault(100);
	CHECK(faults(fd) == at && faults(fd) == at);
	load(fd, gettid());
	CHECK(faults(fd) >= at && faults(fd) < at + 50);
	close(fd);
}

/* --- descriptors that become something else ------------------------------------------------- */

static int null_at(int fd)
{
	int null = open("/dev/null", O_RDONLY);

	return null == fd || (syscall(SYS_dup3, null, fd, 0) == fd && !close(null));
}

static int by_close(int fd)
{
	return close(fd) || !null_at(fd);
}

static int by_close_range(int fd)
{
	return close_range((unsigned int)fd, (unsigned int)fd, 0) || !null_at(fd);
}

static int by_dup2(int fd)
{
	int null = open("/dev/null", O_RDONLY);

	return dup2(null, fd) != fd || close(null);
}

static int by_dup3(int fd)
{
	int null = open("/dev/null", O_RDONLY);

	return dup3(null, fd, O_CLOEXEC) != fd || close(null);
}

static int by_stdio(int fd)
{
	FILE *file = fdopen(fd, "r");

	return !file || fclose(file) || !null_at(fd);
}

static int (*const ways[])(int) = { by_close, by_close_range, by_dup2, by_dup3, by_stdio };

/* Reads of a closed descriptor fail, whether or not another one keeps the context alive. */
static void closed(void)
{
	for (size_t i = 0; i < 2 * sizeof(ways) / sizeof(ways[0]); i++) {
		int fd = counting(1000), copy = i % 2 ? dup(fd) : -1;

		faults(fd);
		CHECK(faults(fd) >= 1000);
		CHECK(!ways[i / 2](fd));
		CHECK(refused(fd) && refused(fd));
		if (copy >= 0) {
			CHECK(faults(copy) >= 1000 && faults(copy) >= 1000);
			close(copy);
		}
		close(fd);
		CHECK(refused(fd));
	}
}

static void *count_other(void *arg)
{
	faults(*(int *)arg);
	return NULL;
}

/*
 * dup2() gives a context's descriptor number to a context that monitors another process, and back.
 * Reads return the count of the context that has the number; a duplicate keeps the first context.
 */
static void replaced(void)
{
	int child = fork(), a, b, copy;
	pthread_t thread;

	if (!child) {
		pause();
		_exit(0);
	}
	a = counting(1ULL << 30);
	b = create(1ULL << 40);
	load(b, child);
	copy = dup(a);
	CHECK(faults(a) < 1ULL << 40 && faults(a) < 1ULL << 40 && faults(b) >= 1ULL << 40);
	CHECK(dup2(b, a) == a);
	CHECK(faults(a) >= 1ULL << 40 && faults(a) >= 1ULL << 40);
	CHECK(faults(copy) < 1ULL << 40 && faults(copy) >= 1ULL << 30);
	CHECK(dup2(copy, a) == a && faults(a) < 1ULL << 40 && faults(a) < 1ULL << 40);
	CHECK(!pthread_create(&thread, NULL, count_other, &a) && !pthread_join(thread, NULL));
	close(a);
	close(copy);
	close(b);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* If system calls that bypass the library give a number to another context, reads use that one. */
static void reused(void)
{
	pfarg_pmd_t pmd = { .reg_num = 66, .reg_value = 1ULL << 50 };
	int low = open("/dev/null", O_RDONLY), a = counting(1ULL << 30), copy = dup(a), b;

	CHECK(faults(a) < 1ULL << 40 && faults(a) < 1ULL << 40);
	CHECK(!syscall(SYS_close, a));
	close(low);		/* a context takes two numbers, and has the higher one */
	b = create(1ULL << 40);
	CHECK(b == a && faults(b) == 1ULL << 40 && faults(b) == 1ULL << 40);
	CHECK(faults(copy) < 1ULL << 40 && faults(copy) >= 1ULL << 30);
	CHECK(syscall(SYS_dup3, b, copy, 0) == copy);
	CHECK(!pfm_write_pmds(copy, &pmd, 1) && faults(copy) == 1ULL << 50 && faults(b) == 1ULL << 50);
	CHECK(!syscall(SYS_close, b) && pfm_stop(b) == -1 && errno == EBADF && refused(b));
	CHECK(faults(copy) == 1ULL << 50);
	close(copy);
}

/* A child that inherited the descriptor keeps the context; reads of the parent's number fail. */
static void held(void)
{
	int fd = counting(1000), child;

	faults(fd);
	faults(fd);
	child = fork();
	if (!child) {
		/* a child may not command its parent's contexts */
		CHECK(refused(fd) && refused(fd));
		if (failures)
			_exit(1);
		pause();
	}
	CHECK(faults(fd) >= 1000);
	CHECK(!by_close(fd));
	CHECK(refused(fd) && refused(fd));
	kill(child, SIGTERM);
	waitpid(child, NULL, 0);
	close(fd);
}

/* --- signals, threads ----------------------------------------------------------------------- */

static int handled_fd;
static volatile sig_atomic_t handled;

/* 5.7: a handler may make calls; it interrupts the program anywhere, also in a read. */
static void on_alarm(int sig)
{
	int saved = errno, n = handled++;

	(void)sig;
	if (n % 5 == 0) {
		CHECK(!pfm_unload_context(handled_fd));
		load(handled_fd, gettid());
	} else if (n % 5 == 1) {
		CHECK(!pfm_stop(handled_fd) && !pfm_start(handled_fd, NULL));
	}
	CHECK(faults(handled_fd) >= 1000);
	errno = saved;
}

static void signals(void)
{
	struct itimerval every = { { 0, 100 }, { 0, 100 } }, never = { 0 };
	struct sigaction act = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	uint64_t last, now;

	handled_fd = counting(1000);
	last = faults(handled_fd);
	CHECK(!sigaction(SIGALRM, &act, NULL));
	CHECK(!setitimer(ITIMER_REAL, &every, NULL));
	while (handled < 2000) {
		now = faults(handled_fd);
		CHECK(now >= last);
		last = now;
	}
	CHECK(!setitimer(ITIMER_REAL, &never, NULL));
	close(handled_fd);
}

static int shared_fd;
static volatile int stop_reading;

static void *keep_reading(void *arg)
{
	uint64_t *reads = arg;
	pfarg_pmd_t pmds[NUM];

	while (!__atomic_load_n(&stop_reading, __ATOMIC_RELAXED)) {
		ask(pmds);
		if (pfm_read_pmds(__atomic_load_n(&shared_fd, __ATOMIC_RELAXED), pmds, NUM))
			CHECK(errno == EBADF);
		else	/* 0: the context was created just now */
			CHECK(pmds[0].reg_value >= 1000 || !pmds[0].reg_value);
		++*reads;
	}
	return NULL;
}

/*
 * While two threads read, the context is unloaded, loaded and closed, and a pipe gets the numbers
 * of its counters' descriptors: the reads must not take a byte from the pipe.
 */
static void threads(void)
{
	uint64_t reads[2] = { 0 };
	pthread_t readers[2];
	int pipes[8][2];

	shared_fd = counting(1000);
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_create(&readers[i], NULL, keep_reading, &reads[i]));
	for (int round = 0; round < 300; round++) {
		char byte = 0;

		CHECK(!pfm_unload_context(shared_fd));
		for (int i = 0; i < 8; i++)
			CHECK(!pipe(pipes[i]) && write(pipes[i][1], "x", 1) == 1);
		for (int i = 0; i < 8; i++)
			CHECK(read(pipes[i][0], &byte, 1) == 1 && byte == 'x');
		for (int i = 0; i < 8; i++)
			close(pipes[i][0]), close(pipes[i][1]);
		load(shared_fd, gettid());
		CHECK(faults(shared_fd) >= 1000);
		if (round % 10 == 9) {
			close(shared_fd);
			__atomic_store_n(&shared_fd, counting(1000), __ATOMIC_RELAXED);
		}
	}
	__atomic_store_n(&stop_reading, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(readers[i], NULL);
	CHECK(reads[0] && reads[1]);
	close(shared_fd);
}

static const struct part parts[] = {
	{ "one", one }, { "values", values }, { "commands", commands }, { "closed", closed },
	{ "replaced", replaced }, { "reused", reused }, { "held", held }, { "signals", signals },
	{ "threads", threads }, { NULL, NULL }
};

int main(int argc, char **argv)
{
	return run_part(parts, argc, argv);
}
