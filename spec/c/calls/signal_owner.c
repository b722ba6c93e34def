// SPDX-License-Identifier: MIT
/*
 * signal_owner.c - 3.3.7 on the machine of LPFM_MACHINE: the owner of a descriptor gets its
 * signals, and nothing else does. Prints "ok", or what was wrong.
 *
 *   signal_owner group	the owner is process group 1; this process is the first of a pid name space
 *   signal_owner thread	the owner is a thread of another process
 *   signal_owner descriptor	the signal has the descriptor's number, for any owner
 *   signal_owner exit		the process ends while another one has the descriptor
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
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

static pid_t gettid_(void)
{
	return (pid_t)syscall(SYS_gettid);
}

/* Makes a context of this thread with this owner of its signals and this signal. */
static int owned(int type, pid_t owner, int sig)
{
	pfarg_ctx_t ctx = { .ctx_flags = PFM_FL_OVFL_NO_MSG };
	struct f_owner_ex ex = { type, owner };
	int fd = pfm_create_context(&ctx, NULL, NULL, 0);

	if (fd < 0 || fcntl(fd, F_SETOWN_EX, &ex) || fcntl(fd, F_SETSIG, sig) ||
	    fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK))
		DIE("a context with an owner");
	return fd;
}

/* Lets a counter of this thread overflow until the process is killed. */
static void overflow(int fd)
{
	pfarg_pmc_t pmc = { .reg_num = TASK_CLOCK, .reg_value = USER_LEVEL };
	pfarg_pmd_t pmd = { .reg_num = TASK_CLOCK, .reg_flags = PFM_REGFL_OVFL_NOTIFY, .reg_value = -PERIOD };
	pfarg_load_t load = { .load_pid = (uint32_t)gettid_() };

	if (pfm_write_pmcs(fd, &pmc, 1) || pfm_write_pmds(fd, &pmd, 1) || pfm_load_context(fd, &load) ||
	    pfm_start(fd, NULL))
		DIE("monitoring");
	for (;;)
		;
}

/* Kills the process; returns the signal that ended it: not SIGKILL if another one came first. */
static int killed_by(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/* Starts a process, in this group or in a new one, that waits for a signal that ends it. */
static pid_t waiting(bool new_group)
{
	pid_t pid = fork();

	if (!pid)
		for (;;)
			pause();
	if (new_group && setpgid(pid, pid))
		DIE("setpgid");
	return pid;
}

static const char *group(void)
{
	pid_t stranger = waiting(true), member, tool;
	sigset_t usr1;
	int sig;

	if (getpid() != 1 || setsid() != 1)
		DIE("this is not the first process");
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	member = fork();
	if (!member)
		_exit(sigwait(&usr1, &sig));
	tool = fork();
	if (!tool)
		overflow(owned(F_OWNER_PGRP, getpgrp(), SIGUSR1));
	waitpid(member, &sig, 0);
	killed_by(tool);
	return killed_by(stranger) == SIGKILL ? "ok" : "a process outside the group got the signal";
}

static int told[2];	/* a pipe for the tid of the signalled thread */

static void tell(int sig)
{
	pid_t tid = gettid_();

	(void)sig;
	if (write(told[1], &tid, sizeof(tid)) < 0)
		_exit(3);
}

/* Returns true if a signal to this thread alone is pending. */
static bool is_pending(void)
{
	unsigned long long signals = 0;
	char line[256];
	FILE *f = fopen("/proc/thread-self/status", "r");

	if (!f)
		DIE("status");
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "SigPnd:", 7))
			signals = strtoull(line + 7, NULL, 16);
	fclose(f);
	return signals;
}

static void *second_thread(void *unused)
{
	sigset_t usr1;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	tell(0);
	/* no sigwait(), in which a thread would also get signals to the process */
	while (!is_pending())
		sched_yield();
	tell(SIGUSR1);
	return unused;
}

static const char *thread(void)
{
	pid_t owner, tool, tid, got;
	pthread_t second;

	if (pipe(told))
		DIE("pipe");
	owner = fork();
	if (!owner) {
		signal(SIGUSR1, tell);
		pthread_create(&second, NULL, second_thread, NULL);
		for (;;)
			pause();
	}
	if (read(told[0], &tid, sizeof(tid)) != sizeof(tid))
		DIE("read");
	tool = fork();
	if (!tool)
		overflow(owned(F_OWNER_TID, tid, SIGUSR1));
	if (read(told[0], &got, sizeof(got)) != sizeof(got))
		DIE("read");
	killed_by(tool);
	killed_by(owner);
	return got == tid ? "ok" : "another thread got the signal";
}

static void tell_descriptor(int sig, siginfo_t *info, void *unused)
{
	(void)sig, (void)unused;
	if (write(told[1], &info->si_fd, sizeof(info->si_fd)) < 0)
		_exit(3);
}

/* Returns true if a signal to the owner has the number of the context's descriptor. */
static bool has_descriptor(int type, bool of_another)
{
	pid_t owner = of_another ? waiting(false) : 0, tool = fork();
	int fd, got;

	if (!tool) {
		fd = owned(type, owner ? owner : type == F_OWNER_TID ? gettid_() : getpid(), SIGUSR1);
		if (write(told[1], &fd, sizeof(fd)) < 0)
			DIE("write");
		overflow(fd);
	}
	if (read(told[0], &fd, sizeof(fd)) != sizeof(fd) || read(told[0], &got, sizeof(got)) != sizeof(got))
		DIE("read");
	killed_by(tool);
	if (owner)
		killed_by(owner);
	return got == fd;
}

static const char *descriptor(void)
{
	struct sigaction act = { .sa_sigaction = tell_descriptor, .sa_flags = SA_SIGINFO };

	if (pipe(told) || sigaction(SIGUSR1, &act, NULL))
		DIE("pipe");
	if (!has_descriptor(F_OWNER_PID, false))
		return "its own process is told another descriptor";
	if (!has_descriptor(F_OWNER_TID, false))
		return "its own thread is told another descriptor";
	return has_descriptor(F_OWNER_PID, true) ? "ok" : "another process is told another descriptor";
}

static const char *at_exit(void)
{
	pid_t tool, sibling, holder = 0;
	int ends[2];

	setpgid(0, 0);
	sibling = waiting(false);
	signal(SIGIO, SIG_IGN);
	if (pipe(ends))
		DIE("pipe");
	tool = fork();
	if (!tool) {
		owned(F_OWNER_PGRP, getpgrp(), SIGIO);
		holder = waiting(false);
		if (write(ends[1], &holder, sizeof(holder)) != sizeof(holder))
			DIE("write");
		exit(0);
	}
	if (read(ends[0], &holder, sizeof(holder)) != sizeof(holder))
		DIE("read");
	waitpid(tool, NULL, 0);
	kill(holder, SIGKILL);
	return killed_by(sibling) == SIGKILL ? "ok" : "its group got a signal, and nothing had overflowed";
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	puts(!strcmp(what, "group") ? group() : !strcmp(what, "thread") ? thread() :
	     !strcmp(what, "descriptor") ? descriptor() : at_exit());
	return 0;
}
