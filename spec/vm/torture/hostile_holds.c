// SPDX-License-Identifier: MIT
/*
 * hostile_holds.c - threads that are held at a notification (3.5.14), or are about to be, are
 * killed, stopped and traced, many threads restart them, and contexts leave them. A thread that no
 * context monitors may not stay held.
 */
#include <sys/ptrace.h>

#include "hostile.h"

/* --- wrongblock: only the thread on which the context is loaded now may be held ------------- */

struct echo {
	pid_t	pid;
	int	ask[2], answer[2];
};

/*
 * Creates a process that sleeps in read(). It overflows there, since its context switches are
 * counted.
 */
static struct echo echo_new(void)
{
	struct echo e;
	char byte;

	if (pipe(e.ask) || pipe(e.answer))
		exit(3);
	e.pid = fork();
	if (!e.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (read(e.ask[0], &byte, 1) == 1 && write(e.answer[1], &byte, 1) == 1)
			;
		_exit(0);
	}
	await_sleep(e.pid);
	return e;
}

static void echo_ask(struct echo *e)
{
	if (write(e->ask[1], "", 1) != 1)
		exit(3);
}

static bool echo_answers(struct echo *e, int ms)
{
	struct pollfd p = { .fd = e->answer[0], .events = POLLIN };
	char byte;

	return poll(&p, 1, ms) == 1 && read(p.fd, &byte, 1) == 1;
}

static void echo_end(struct echo *e)
{
	kill_and_reap(e->pid);
	for (int i = 0; i < 2; i++) {
		close(e->ask[i]);
		close(e->answer[i]);
	}
}

/*
 * Lets the echo process overflow as it goes back to sleep in read(), after it has answered: it will
 * be held when it returns from read(). If the kernel preempts it before the answer, it overflows
 * and is held there: then it is restarted, and goes on to the answer.
 */
static void overflow_asleep(int fd, struct echo *e)
{
	MUST(set_period(fd, 0, SWITCHES, 1, PFM_REGFL_OVFL_NOTIFY));
	MUST(load(fd, e->pid));
	MUST(pfm_start(fd, NULL));
	echo_ask(e);
	while (TRUE(await_message(fd, PFM_MSG_OVFL))) {
		await_sleep(e->pid);
		if (echo_answers(e, 0))
			return;
		MUST(pfm_restart(fd));
	}
}

/*
 * Restarts until the echo process answers: if it is preempted before, it overflows and is held
 * again.
 */
static bool answers_when_freed(int fd, struct echo *e)
{
	struct pollfd p[] = { { .fd = e->answer[0], .events = POLLIN }, { .fd = fd, .events = POLLIN } };

	do {
		if (pfm_restart(fd))
			return check(false, "restart: %s", pfm_explain());
		if (poll(p, 2, SOON) < 1)
			return false;
		if (p[0].revents)
			return echo_answers(e, 0);
	} while (await_message(fd, PFM_MSG_OVFL));
	return false;
}

static void wrongblock(void)
{
	struct echo first = echo_new(), second = echo_new();
	int fd;

	MUST(fd = new_context(PFM_FL_NOTIFY_BLOCK));
	MUST(set_pmc(fd, 0, SWITCHES, SW_KERNEL));
	overflow_asleep(fd, &first);
	MUST(pfm_unload_context(fd));
	overflow_asleep(fd, &second);
	echo_ask(&first);
	check(echo_answers(&first, SOON), "the first, which nobody monitors, is held: %c", state_of(first.pid));
	echo_ask(&second);
	check(!echo_answers(&second, 200), "the second, which has overflowed, is not held");
	check(answers_when_freed(fd, &second), "the second is not freed");
	close(fd);
	echo_end(&first);
	echo_end(&second);
}

/* --- blocked: and killed, stopped, unloaded, restarted, closed -------------------------------- */

static void disturb(int fd, const pid_t *pids)
{
	for (int i = 0; i < 40 && !over(); i++) {
		load_and_start(fd, pids[any(2)]);
		serve(fd);
		if (!any(10))
			kill(pids[any(2)], any(2) ? SIGSTOP : SIGCONT);
		usleep(any(2000));
	}
}

static void blocked(void)
{
	crew_starts(3, restarter);
	while (!over()) {
		pid_t pids[2] = { spawn(work_for_ever), spawn(work_for_ever) };
		int fd = any_context(PFM_FL_NOTIFY_BLOCK);
		bool first = any(2);

		let_overflow(fd, 500 + any(5000), PFM_REGFL_OVFL_NOTIFY);
		common_fd = fd;
		disturb(fd, pids);
		common_fd = -1;
		if (first)
			close(fd);
		kill_and_reap(pids[0]);
		kill_and_reap(pids[1]);
		if (!first)
			close(fd);
	}
	crew_ends();
}

/* --- traced: held and stopped by a debugger at once ------------------------------------------- */

static void await_stop(int fd, pid_t pid)
{
	int status;

	for (int i = 0; i < 50 && waitpid(pid, &status, WNOHANG | __WALL) != pid; i++) {
		try(pfm_restart(fd));
		usleep(200);
	}
}

static void trace(int fd, pid_t pid)
{
	if (try(ptrace(PTRACE_SEIZE, pid, 0, any(2) ? PTRACE_O_TRACEEXIT : 0)))
		return;
	ptrace(PTRACE_INTERRUPT, pid, 0, 0);
	await_stop(fd, pid);
	if (any(2))
		ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
	if (any(2)) {
		try(pfm_unload_context(fd));
		load_and_start(fd, pid);
	}
	serve(fd);
	if (any(2)) {
		ptrace(PTRACE_CONT, pid, 0, 0);
		usleep(any(500));
		ptrace(PTRACE_INTERRUPT, pid, 0, 0);
	}
	await_stop(fd, pid);
	ptrace(PTRACE_DETACH, pid, 0, 0);
}

/*
 * Kills a thread: with PTRACE_O_TRACEEXIT it stops as it exits, and the tracer must let it
 * continue.
 */
static void let_exit(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, pid, 0, 0);
}

static void traced(void)
{
	while (!over()) {
		pid_t pid = spawn(work_for_ever);
		int fd = any_context(maybe_block());
		bool first = any(2);

		let_overflow(fd, 2000, PFM_REGFL_OVFL_NOTIFY);
		load_and_start(fd, pid);
		for (int i = 0; i < 20 && !over(); i++)
			trace(fd, pid);
		if (first)
			close(fd);
		let_exit(pid);
		if (!first)
			close(fd);
	}
}

/* --- storm: overflows as fast as they can come, restarted by three threads -------------------- */

static void overflow_at_once(int fd)
{
	for (int i = 0; i < 2; i++) {
		try(set_pmc(fd, 0, i, (i ? USER : BOTH) | CYCLES));
		try(set_period(fd, 0, i, 200 + any(1000), PFM_REGFL_OVFL_NOTIFY));
	}
	try(set_pmc(fd, 0, FAULTS, SW_USER | SW_KERNEL));
	try(set_period(fd, 0, FAULTS, 1, PFM_REGFL_OVFL_NOTIFY));
}

static void storm(void)
{
	crew_starts(3, restarter);
	while (!over()) {
		pid_t pid = spawn(work_for_ever);
		int fd = any_context(maybe_block());

		overflow_at_once(fd);
		load_and_start(fd, pid);
		common_fd = fd;
		for (int i = 0; i < 50 && !over(); i++) {
			serve(fd);
			if (!any(8))
				load_and_start(fd, pid);
			usleep(any(3000));
		}
		common_fd = -1;
		close(fd);
		kill_and_reap(pid);
	}
	crew_ends();
}

int main(int argc, char **argv)
{
	static const struct scenario all[] = {
		{ "wrongblock", wrongblock }, { "blocked", blocked }, { "traced", traced }, { "storm", storm },
		{ NULL, NULL },
	};

	return run_scenarios(all, argc, argv);
}
