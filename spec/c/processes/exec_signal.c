// SPDX-License-Identifier: MIT
/*
 * exec_signal.c - 3.1.15 on the machine of LPFM_MACHINE, one in user space: an exec ends the
 * program's contexts, and none of their signals comes after it. A process with contexts that signal
 * overflows executes this program again.
 *
 *   exec_signal		tries all ways; prints those in which the new program did not end as it should
 *   exec_signal simulated	where threads of the program cannot be monitored
 *   exec_signal spin		the new program
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perfmon/perfmon.h"
#include "../parts.h"

#define TASK_CLOCK	64
#define USER_LEVEL	8
#define PERIOD		200000		/* ns */
#define TIMES		5

static const char self[] = "/proc/self/exe";
static volatile sig_atomic_t seen;
static volatile int context;

static void handler(int sig)
{
	int err = errno;
	pfarg_msg_t msg;

	(void)sig;
	while (read(context, &msg, sizeof(msg)) == sizeof(msg))
		;
	seen++;
	pfm_restart(context);
	errno = err;
}

/* --- how a context signals ------------------------------------------------------------------- */

enum owner { PROCESS, THREAD, GROUP };

struct kind {
	enum owner	owner;
	bool		own_signal;	/* F_SETSIG; else SIGIO */
	bool		no_msg;		/* signals without messages */
	bool		kept;		/* not close-on-exec */
	bool		low;		/* dup2() moves the descriptor to a lower number */
	bool		moved;		/* dup3() moves the descriptor after the last call */
	bool		idle;		/* not loaded */
};

/* The first three are also tried with an exec that fails. */
static const struct kind kinds[] = {
	{ .own_signal = true }, { .own_signal = false }, { .no_msg = true, .own_signal = true }, { .kept = true },
	{ .low = true, .own_signal = true }, { .owner = THREAD }, { .owner = THREAD, .own_signal = true },
	{ .owner = GROUP }, { .owner = GROUP, .kept = true, .low = true },
	{ .moved = true }, { .moved = true, .no_msg = true, .own_signal = true },
	{ .idle = true }, { .idle = true, .kept = true },
};
#define NUM_KINDS (sizeof(kinds) / sizeof(*kinds))

static void set_owner(int fd, const struct kind *k)
{
	struct f_owner_ex owner = { k->owner == THREAD ? F_OWNER_TID : k->owner == GROUP ? F_OWNER_PGRP : F_OWNER_PID,
				    k->owner == THREAD ? (pid_t)syscall(SYS_gettid) : k->owner == GROUP ? getpgrp() :
				    getpid() };

	if ((k->own_signal && fcntl(fd, F_SETSIG, SIGRTMIN + 2)) || fcntl(fd, F_SETOWN_EX, &owner) ||
	    fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) || fcntl(fd, F_SETFD, k->kept ? 0 : FD_CLOEXEC))
		DIE("fcntl");
}

/* Makes a context that may signal; a loaded one does so all the time. */
static int signal_always(const struct kind *k)
{
	pfarg_ctx_t ctx = { .ctx_flags = k->no_msg ? PFM_FL_OVFL_NO_MSG : 0 };
	pfarg_pmc_t pmc = { .reg_num = TASK_CLOCK, .reg_value = USER_LEVEL };
	pfarg_pmd_t pmd = { .reg_num = TASK_CLOCK, .reg_flags = PFM_REGFL_OVFL_NOTIFY, .reg_value = -PERIOD,
			    .reg_long_reset = -PERIOD, .reg_short_reset = -PERIOD };
	pfarg_load_t load = { .load_pid = (uint32_t)syscall(SYS_gettid) };
	int fd, at = k->low ? dup(0) : -1;

	signal(SIGIO, handler);
	signal(SIGRTMIN + 2, handler);
	fd = pfm_create_context(&ctx, NULL, NULL, 0);
	if (fd < 0)
		DIE("pfm_create_context");
	if (k->low) {
		dup2(fd, at);
		close(fd);
		fd = at;
	}
	context = fd;
	set_owner(fd, k);
	if (!k->idle && (pfm_write_pmcs(fd, &pmc, 1) || pfm_write_pmds(fd, &pmd, 1) || pfm_load_context(fd, &load) ||
			 pfm_start(fd, NULL)))
		DIE("monitoring");
	return fd;
}

static void spin_until(int n)
{
	while (seen < n)
		;
}

/* --- ways to execute a program --------------------------------------------------------------- */

#define NAME	"exec_signal"
#define WORD	"spin"

static char *const words[] = { (char *)NAME, (char *)WORD, NULL };

static void by_execl(void) { execl(self, NAME, WORD, NULL); }
static void by_execle(void) { execle(self, NAME, WORD, NULL, environ); }
static void by_execlp(void) { execlp(self, NAME, WORD, NULL); }
static void by_execv(void) { execv(self, words); }
static void by_execve(void) { execve(self, words, environ); }
static void by_execvp(void) { execvp(self, words); }
static void by_execvpe(void) { execvpe(self, words, environ); }
static void by_fexecve(void) { fexecve(open(self, O_RDONLY), words, environ); }
static void by_execveat(void) { syscall(SYS_execveat, -1, self, words, environ, 0); }

static void *in_thread(void *unused)
{
	by_execv();
	return unused;
}

static void by_a_thread(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, in_thread, NULL))
		pthread_join(thread, NULL);
}

static const struct {
	const char	*name;
	void		(*exec)(void);
} ways[] = {
	{ "execl", by_execl }, { "execle", by_execle }, { "execlp", by_execlp }, { "execv", by_execv },
	{ "execve", by_execve }, { "execvp", by_execvp }, { "execvpe", by_execvpe }, { "fexecve", by_fexecve },
	{ "a thread", by_a_thread },
};
#define NUM_WAYS (sizeof(ways) / sizeof(*ways))

/* Forks a process that calls exec() after signals of a context of kind k; returns its status. */
static int become(const struct kind *k, void (*exec)(void))
{
	int fd, status = -1, pid = fork();

	if (!pid) {
		setpgid(0, 0);
		fd = signal_always(k);
		spin_until(k->idle ? 0 : 3);
		if (k->moved) {
			context = dup3(fd, 0, O_CLOEXEC);
			close(fd);
		}
		exec();
		_exit(4);
	}
	waitpid(pid, &status, 0);
	return status;
}

static int failed;

static void try(size_t kind, const char *way, void (*exec)(void))
{
	for (int i = 0; i < TIMES; i++) {
		int status = become(&kinds[kind], exec);

		if (status) {
			printf("kind %zu by %s: status %#x\n", kind, way, (unsigned int)status);
			failed++;
			return;
		}
	}
}

/* Ends a process with a context that sends its signals to the process group. */
static void end_in_a_group(void)
{
	int status = -1, pid = fork();

	if (!pid) {
		setpgid(0, 0);
		pid = fork();
		if (!pid) {
			signal_always(&(struct kind){ .owner = GROUP, .idle = true });
			_exit(0);
		}
		waitpid(pid, &status, 0);
		_exit(status != 0);
	}
	waitpid(pid, &status, 0);
	if (status) {
		printf("an exit: status %#x\n", (unsigned int)status);
		failed++;
	}
}

/*
 * An exec that fails leaves the context and its signals as they were: a signal that was to be sent
 * during the exec is sent when the exec has failed.
 */
static void fail_and_go_on(const struct kind *k)
{
	int now, fd = signal_always(k);

	now = seen;
	spin_until(now + 1);
	do {
		if (!execl("/nowhere", "nowhere", NULL) || errno != ENOENT || !(fcntl(fd, F_GETFL) & O_ASYNC)) {
			printf("after an exec that failed: %s\n", strerror(errno));
			failed++;
			break;
		}
	} while (seen < now + 200);
	close(fd);
}

int main(int argc, char **argv)
{
	bool simulated = argc > 1 && !strcmp(argv[1], "simulated");

	if (argc > 1 && !simulated)
		return strcmp(argv[1], WORD) != 0 || argc != 2;
	for (size_t i = 0; i < NUM_KINDS; i++)
		if (!simulated || kinds[i].idle)
			try(i, "execv", by_execv);
	for (size_t i = 0; i < NUM_WAYS; i++)
		try(simulated ? NUM_KINDS - 1 : 0, ways[i].name, ways[i].exec);
	try(simulated ? NUM_KINDS - 2 : 0, "a call past the library", by_execveat);
	end_in_a_group();
	for (size_t i = 0; !simulated && i < 3; i++)
		fail_and_go_on(&kinds[i]);
	if (!failed)
		puts("nothing came after any exec");
	return failed;
}
