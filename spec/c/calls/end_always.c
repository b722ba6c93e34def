// SPDX-License-Identifier: MIT
/*
 * end_always.c - 3.3.6: END comes when the monitored thread ends, whatever has masked or held it,
 * and not before:
 *
 *   end_always CASE
 *
 * "This could be because the entire process exited or simply because that thread terminated"; "It
 * is not possible to suppress the termination message"; when it is received "the context is
 * detached".
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perfmon/perfmon.h"
#include "perfmon/perfmon_dfl_smpl.h"
#include "../parts.h"

#define FAULTS	66
#define NEW_FAULTS	200	/* page faults of the executed program */

static int go[2], leave[2], came[2];

static void fault(void)
{
	volatile char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	p[0] = 1;
	munmap((void *)p, 4096);
}

static void wait_to_go(void)
{
	char c;

	if (read(go[0], &c, 1) != 1)
		_exit(1);
}

static void some_faults(void)
{
	for (int i = 0; i < 3000; i++)
		fault();
}

static void endless(void)
{
	for (;;)
		fault();
}

/* The first thread ends, and the process goes on. */
static void leader(void)
{
	pthread_exit(NULL);
}

/* Another thread ends the process while this one is held. */
static void *end_process(void *unused)
{
	char c = 0;

	_exit(write(came[1], &c, 1) != 1 || read(leave[0], &c, 1) != 1);
	return unused;
}

/* Runs in the executed program: causes page faults, reports that, and ends when it is asked to. */
static int executed(int say, int hear)
{
	char c;

	for (int i = 0; i < NEW_FAULTS; i++)
		fault();
	return write(say, "x", 1) != 1 || read(hear, &c, 1) != 1;
}

static void execute(void)
{
	char say[12], hear[12];

	snprintf(say, sizeof(say), "%d", came[1]);
	snprintf(hear, sizeof(hear), "%d", leave[0]);
	execl("/proc/self/exe", "end_always", say, hear, NULL);
	_exit(1);
}

static bool first_executes;

static void take_part(bool executes)
{
	if (executes) {
		wait_to_go();
		execute();
	}
	for (;;)
		pause();
}

static void *second_thread(void *unused)
{
	pid_t tid = gettid();

	if (write(came[1], &tid, sizeof(tid)) != sizeof(tid))
		_exit(1);
	take_part(!first_executes);
	return unused;
}

/* Starts a process of two threads, one of which calls exec(2); *second: the second thread's tid. */
static pid_t start_two(pid_t *second)
{
	pthread_t thread;
	pid_t pid;

	REQUIRE(!pipe(go) && !pipe(leave) && !pipe(came));
	pid = fork();
	if (!pid) {
		close(leave[1]);	/* so that read() returns when the tool has ended */
		if (pthread_create(&thread, NULL, second_thread, NULL))
			_exit(1);
		take_part(first_executes);
	}
	REQUIRE(read(came[0], second, sizeof(*second)) == sizeof(*second));
	return pid;
}

/* Starts a process of two threads; waits for both, since their start causes page faults, too. */
static pid_t start_target(void (*work)(void))
{
	pthread_t thread;
	pid_t pid;
	char c;

	REQUIRE(!pipe(go) && !pipe(leave) && !pipe(came));
	pid = fork();
	if (pid) {
		REQUIRE(read(came[0], &c, 1) == 1);
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pthread_create(&thread, NULL, end_process, NULL))
		_exit(1);
	wait_to_go();
	work();
	_exit(0);
}

static int monitor(pid_t pid, uint32_t flags, const char *format, uint32_t pmd_flags)
{
	pfm_dfl_smpl_arg_t arg = { .buf_size = 4096 };
	pfarg_ctx_t ctx = { .ctx_flags = flags };
	pfarg_load_t load = { .load_pid = (uint32_t)pid };
	pfarg_pmc_t pmc = { .reg_num = FAULTS, .reg_value = 9 };
	pfarg_pmd_t pmd = { .reg_num = FAULTS, .reg_value = -3, .reg_long_reset = -3, .reg_short_reset = -3,
			    .reg_flags = pmd_flags };
	int fd = pfm_create_context(&ctx, format, format ? &arg : NULL, format ? sizeof(arg) : 0);

	REQUIRE(fd >= 0);
	REQUIRE(!fcntl(fd, F_SETFD, FD_CLOEXEC));
	REQUIRE(!pfm_write_pmcs(fd, &pmc, 1) && !pfm_write_pmds(fd, &pmd, 1));
	REQUIRE(!pfm_load_context(fd, &load) && !pfm_start(fd, NULL));
	REQUIRE(write(go[1], "x", 1) == 1);
	return fd;
}

static int next(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	pfarg_msg_t msg;

	REQUIRE(poll(&p, 1, 30000) == 1);
	REQUIRE(read(fd, &msg, sizeof(msg)) == sizeof(msg));
	return (int)msg.msg_type;
}

static void ended(int fd, pid_t pid)
{
	REQUIRE(next(fd) == PFM_MSG_END);
	REQUIRE(pfm_unload_context(fd) == -1);
	kill(pid, SIGKILL);
	REQUIRE(waitpid(pid, NULL, 0) == pid);
}

static void masked(const char *format, uint32_t pmd_flags)
{
	pid_t pid = start_target(some_faults);
	int fd = monitor(pid, 0, format, pmd_flags);

	if (pmd_flags)
		REQUIRE(next(fd) == PFM_MSG_OVFL);
	ended(fd, pid);
}

static void full(void) { masked("default", PFM_REGFL_OVFL_NOTIFY); }
static void saturated(void) { masked("default", 0); }
static void plain(void) { masked(NULL, PFM_REGFL_OVFL_NOTIFY); }

static void killed(void)
{
	pid_t pid = start_target(endless);
	int fd = monitor(pid, PFM_FL_NOTIFY_BLOCK, NULL, PFM_REGFL_OVFL_NOTIFY);

	REQUIRE(next(fd) == PFM_MSG_OVFL);
	kill(pid, SIGKILL);
	ended(fd, pid);
}

static void exits(void)
{
	pid_t pid = start_target(endless);
	int fd = monitor(pid, PFM_FL_NOTIFY_BLOCK, NULL, PFM_REGFL_OVFL_NOTIFY);

	REQUIRE(next(fd) == PFM_MSG_OVFL);
	REQUIRE(write(leave[1], "x", 1) == 1);
	ended(fd, pid);
}

static void first_thread(void)
{
	pid_t pid = start_target(leader);

	ended(monitor(pid, 0, NULL, 0), pid);
}

static uint64_t faults(int fd)
{
	pfarg_pmd_t pmd = { .reg_num = FAULTS };

	REQUIRE(!pfm_read_pmds(fd, &pmd, 1));
	return pmd.reg_value;
}

static void executed_now(void)
{
	char c;

	REQUIRE(read(came[0], &c, 1) == 1);
}

/* 3.1.7: "When a monitored thread invokes the exec() system call, the context remains attached." */
static void goes_on(int fd, pid_t pid)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	executed_now();
	REQUIRE(!poll(&p, 1, 0));
	REQUIRE(write(leave[1], "x", 1) == 1);
	ended(fd, pid);
	REQUIRE(faults(fd) - (uint64_t)-3 >= NEW_FAULTS);
}

/* exec(2) ends all other threads of a process; the calling thread gets the first one's tid. */
static void ends_with_it(int fd, pid_t pid)
{
	executed_now();
	REQUIRE(next(fd) == PFM_MSG_END);
	REQUIRE(pfm_unload_context(fd) == -1);
	REQUIRE(faults(fd) - (uint64_t)-3 < NEW_FAULTS);
	kill(pid, SIGKILL);
	REQUIRE(waitpid(pid, NULL, 0) == pid);
}

static void execs(bool first, bool monitor_first, void (*then)(int fd, pid_t pid))
{
	pid_t second, pid;

	first_executes = first;
	pid = start_two(&second);
	then(monitor(monitor_first ? pid : second, 0, NULL, 0), pid);
}

static void first_execs(void) { execs(true, true, goes_on); }
static void second_execs(void) { execs(false, false, goes_on); }
static char state_of(pid_t pid)
{
	char path[32], text[256] = "";
	const char *at;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	at = fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;
	fclose(f);
	return at ? at[2] : 0;
}

/* Stops the tool until the target has executed a program and ended. */
static void hold_tool(int begin, int let_go, pid_t tool, pid_t target)
{
	char c;

	if (read(begin, &c, 1) != 1 || kill(tool, SIGSTOP))
		_exit(1);
	while (state_of(tool) != 'T')
		;
	if (write(let_go, "x", 1) == 1 && read(came[0], &c, 1) == 1 && write(leave[1], "x", 1) == 1)
		while (state_of(target) != 'Z')
			;
	_exit(kill(tool, SIGCONT));
}

/*
 * A thread that executes a program and ends is followed, though the tool does not run until then.
 */
static void unseen(void)
{
	pid_t second, pid, helper;
	int begin[2], fd;

	first_executes = false;
	pid = start_two(&second);
	REQUIRE(!pipe(begin));
	helper = fork();
	if (!helper)
		hold_tool(begin[0], go[1], getppid(), pid);
	go[1] = begin[1];	/* monitor() writes there what lets the target go */
	fd = monitor(second, 0, NULL, 0);
	ended(fd, pid);
	REQUIRE(faults(fd) - (uint64_t)-3 >= NEW_FAULTS);
	REQUIRE(waitpid(helper, NULL, 0) == helper);
}

static int own_fd;

static void *monitor_itself(void *unused)
{
	pfarg_ctx_t ctx = { 0 };
	pfarg_load_t load = { .load_pid = (uint32_t)gettid() };

	own_fd = pfm_create_context(&ctx, NULL, NULL, 0);
	REQUIRE(own_fd >= 0);
	REQUIRE(!pfm_load_context(own_fd, &load) && !pfm_start(own_fd, NULL));
	return unused;
}

/* "The message applies only non self-monitoring threads"; the context can be loaded again. */
static void own(void)
{
	pfarg_load_t load = { .load_pid = (uint32_t)gettid() };
	struct pollfd p = { .events = POLLIN };
	pthread_t thread;

	REQUIRE(!pthread_create(&thread, NULL, monitor_itself, NULL));
	REQUIRE(!pthread_join(thread, NULL));
	p.fd = own_fd;
	/* after pthread_join() the thread may still be about to end */
	while (pfm_load_context(own_fd, &load)) {
		REQUIRE(errno == EBUSY);
		REQUIRE(!poll(&p, 1, 0));
		sched_yield();
	}
	REQUIRE(!pfm_start(own_fd, NULL) && !pfm_unload_context(own_fd));
}

static void exec_ends_first(void) { execs(false, true, ends_with_it); }
static void exec_ends_second(void) { execs(true, false, ends_with_it); }

static const struct part cases[] = {
	{ "full", full }, { "saturated", saturated }, { "plain", plain }, { "killed", killed },
	{ "exits", exits }, { "leader", first_thread },
	{ "first_execs", first_execs }, { "second_execs", second_execs },
	{ "unseen", unseen }, { "own", own },
	{ "exec_ends_first", exec_ends_first }, { "exec_ends_second", exec_ends_second },
	{ NULL, NULL }
};

int main(int argc, char **argv)
{
	if (argc == 3)
		return executed(atoi(argv[1]), atoi(argv[2]));
	return run_part(cases, argc, argv);
}
