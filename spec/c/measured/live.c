// SPDX-License-Identifier: MIT
/*
 * live.c - on sim:k8,live: threads that monitor themselves at the same time, fork, and end: "live
 * CASE". Prints only failures.
 */
#include <linux/perf_event.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "perfmon/perfmon.h"
#include "../parts.h"

#define THREADS 6
#define FORKS	300
#define CYCLES	0x430076	/* CPU_CLK_UNHALTED, at user and kernel level */
#define MS	1000000ULL

static uint64_t used(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void burn(uint64_t ns)
{
	uint64_t end = used() + ns;

	while (used() < end)
		;
}

/* Counts cycles from -left on, with a notification if left is not 0. */
static int begin(uint32_t tid, uint64_t left)
{
	pfarg_ctx_t ctx = { 0 };
	pfarg_pmc_t pc = { .reg_num = 0, .reg_value = CYCLES };
	pfarg_pmd_t pd = { .reg_num = 0, .reg_value = -left, .reg_flags = left ? PFM_REGFL_OVFL_NOTIFY : 0 };
	pfarg_load_t load = { .load_pid = tid };
	int fd = pfm_create_context(&ctx, NULL, NULL, 0);

	REQUIRE(fd >= 0);
	REQUIRE(!pfm_write_pmcs(fd, &pc, 1) && !pfm_write_pmds(fd, &pd, 1));
	REQUIRE(!pfm_load_context(fd, &load) && !pfm_start(fd, NULL));
	return fd;
}

static uint64_t value(int fd)
{
	pfarg_pmd_t pd = { .reg_num = 0 };

	REQUIRE(!pfm_read_pmds(fd, &pd, 1));
	return pd.reg_value;
}

static uint32_t gettid_(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

/* At 1 GHz the cycles are the ns, and all of those between the calls are counted. */
static void *self(void *arg)
{
	(void)arg;
	for (int i = 0; i < 20; i++) {
		uint64_t before = used(), first, inside, last;
		int fd = begin(gettid_(), 0);

		first = used();
		burn(MS);
		inside = used() - first;
		REQUIRE(!pfm_stop(fd));
		last = value(fd);
		REQUIRE(last >= inside - 100 && last <= used() - before);
		burn(MS / 10);
		REQUIRE(value(fd) == last);
		close(fd);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		REQUIRE(!pthread_create(&t[i], NULL, self, NULL));
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

/* The child of a loaded parent has none of its contexts, and can make its own. */
static void forked(void)
{
	int fd = begin(gettid_(), 0), status;
	pid_t pid = fork();

	if (!pid) {
		pfarg_pmd_t pd = { .reg_num = 0 };

		REQUIRE(pfm_read_pmds(fd, &pd, 1) == -1 && errno == EBADF);
		self(NULL);
		_exit(0);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid && !status);
	burn(MS);
	REQUIRE(value(fd) >= MS - 100);
	close(fd);
}

static void child(void)
{
	int fd;

	alarm(120);	/* ends a program that hangs */
	fd = begin(gettid_(), 0);
	burn(MS / 10);
	REQUIRE(value(fd) > 0);
	_exit(0);
}

/* If a fork comes while threads are switched, the child's copy of the computer is consistent. */
static void forking(void)
{
	pthread_t t[THREADS];
	int status;
	pid_t pid;

	close(begin(gettid_(), 0));
	for (int i = 0; i < THREADS; i++)
		REQUIRE(!pthread_create(&t[i], NULL, self, NULL));
	for (int i = 0; i < FORKS; i++) {
		pid = fork();
		if (!pid)
			child();
		REQUIRE(waitpid(pid, &status, 0) == pid && !status);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

static void *burner(void *arg)
{
	uint32_t *tid = arg;

	__atomic_store_n(tid, gettid_(), __ATOMIC_RELEASE);
	while (__atomic_load_n(tid, __ATOMIC_ACQUIRE))
		;
	return NULL;
}

static uint32_t next_message(int fd)
{
	pfarg_msg_t msg;

	REQUIRE(read(fd, &msg, sizeof(msg)) == sizeof(msg));
	return msg.type;
}

/* A thread that makes no calls itself overflows while the tool waits in read(). */
static void other(void)
{
	uint32_t tid = 0;
	pthread_t t;
	int fd;

	REQUIRE(!pthread_create(&t, NULL, burner, &tid));
	while (!__atomic_load_n(&tid, __ATOMIC_ACQUIRE))
		;
	fd = begin(tid, 5 * MS);
	REQUIRE(next_message(fd) == PFM_MSG_OVFL);
	REQUIRE(!pfm_restart(fd));
	__atomic_store_n(&tid, 0, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
	close(fd);
}

/* Returns for how many ns an event on this thread has run. */
static uint64_t event_ns(int event)
{
	uint64_t words[2];

	REQUIRE(read(event, words, sizeof(words)) == sizeof(words));
	return words[1];
}

/*
 * Burns MS when the pipe lets it, and ends at once. The time is that of an event: the CPU time also
 * has what a hypervisor takes away while threads are switched.
 */
static void *last_gasp(void *arg)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
					.config = PERF_COUNT_SW_DUMMY,
					.read_format = PERF_FORMAT_TOTAL_TIME_RUNNING };
	int event = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	const int *pipes = arg;
	uint32_t tid = gettid_();
	uint64_t end;
	char c;

	REQUIRE(event >= 0);
	REQUIRE(write(pipes[3], &tid, sizeof(tid)) == sizeof(tid) && read(pipes[0], &c, 1) == 1);
	end = event_ns(event) + MS;
	while (event_ns(event) < end)
		;
	close(event);
	return NULL;
}

/*
 * What a thread did before it ended is counted, even if it is gone when the computer looks at it.
 */
static void last(void)
{
	int pipes[4], fd;
	uint32_t tid;
	pthread_t t;
	pid_t pid;

	REQUIRE(!pipe(pipes) && !pipe(pipes + 2));
	for (int i = 0; i < 40; i++) {
		pid = i % 2 ? fork() : 1;
		if (!pid) {
			last_gasp(pipes);
			_exit(0);
		}
		REQUIRE(i % 2 || !pthread_create(&t, NULL, last_gasp, pipes));
		REQUIRE(read(pipes[2], &tid, sizeof(tid)) == sizeof(tid));
		fd = begin(tid, 0);
		REQUIRE(write(pipes[1], "", 1) == 1);
		REQUIRE(i % 2 ? waitpid(pid, NULL, 0) == pid : !pthread_join(t, NULL));
		REQUIRE(value(fd) >= MS / 2);
		close(fd);
	}
}

static void nobody(void)
{
	pfarg_ctx_t ctx = { 0 };
	pfarg_load_t load = { .load_pid = 0x7fffffff };
	int fd = pfm_create_context(&ctx, NULL, NULL, 0);

	REQUIRE(pfm_load_context(fd, &load) == -1 && errno == ESRCH);
	load.load_pid = gettid_();
	REQUIRE(!pfm_load_context(fd, &load));
	close(fd);
}

static const struct part cases[] = {
	{ "threads", threads }, { "forked", forked }, { "forking", forking }, { "other", other },
	{ "last", last }, { "nobody", nobody }, { NULL, NULL }
};

int main(int argc, char **argv)
{
	return run_part(cases, argc, argv);
}
