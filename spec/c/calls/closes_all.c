// SPDX-License-Identifier: MIT
/*
 * closes_all.c - 3.1.1, 3.3 on the machine of LPFM_MACHINE: a program that closes all descriptors
 * that it did not open, as daemons do, can make contexts after it, and its own descriptors are left
 * alone. Prints "ok", or what was wrong.
 *
 *   closes_all library	closes them by closefrom(3)
 *   closes_all kernel		closes them by close_range(2), which the library does not see
 */
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perfmon/perfmon.h"
#include "../parts.h"

#define TASK_CLOCK	64
#define USER_LEVEL	8
#define PERIOD		200000		/* ns */
#define EPOLLS		8

/* Makes a context, and waits for the message of its overflow. */
static void measure(void)
{
	pfarg_ctx_t ctx = { 0 };
	pfarg_pmc_t pmc = { .reg_num = TASK_CLOCK, .reg_value = USER_LEVEL };
	pfarg_pmd_t pmd = { .reg_num = TASK_CLOCK, .reg_flags = PFM_REGFL_OVFL_NOTIFY, .reg_value = -PERIOD };
	pfarg_load_t load = { .load_pid = (uint32_t)syscall(SYS_gettid) };
	struct pollfd p = { .events = POLLIN };
	pfarg_msg_t msg;

	p.fd = pfm_create_context(&ctx, NULL, NULL, 0);
	if (p.fd < 0 || pfm_write_pmcs(p.fd, &pmc, 1) || pfm_write_pmds(p.fd, &pmd, 1) ||
	    pfm_load_context(p.fd, &load) || pfm_start(p.fd, NULL))
		DIE("monitoring");
	while (!poll(&p, 1, 0))
		;
	if (read(p.fd, &msg, sizeof(msg)) != sizeof(msg) || msg.msg_type != PFM_MSG_OVFL)
		DIE("the message of an overflow");
	/* close() alone would end the context only when the library's thread has noticed it */
	if (pfm_unload_context(p.fd))
		DIE("unload");
	close(p.fd);
}

/* Stops and continues this process, so that all its waits begin anew. */
static void stop_and_go_on(void)
{
	pid_t parent = getpid(), pid = fork();
	char path[64], line[512] = "";

	if (!pid) {
		snprintf(path, sizeof(path), "/proc/%d/stat", (int)parent);
		kill(parent, SIGSTOP);
		while (!strstr(line, ") T")) {
			FILE *f = fopen(path, "r");

			if (!f || !fgets(line, sizeof(line), f))
				_exit(1);
			fclose(f);
		}
		kill(parent, SIGCONT);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epolls[EPOLLS], ends[2];

	measure();
	if (argc > 1 && !strcmp(argv[1], "library"))
		closefrom(3);
	else
		syscall(SYS_close_range, 3, ~0U, 0);
	for (int i = 0; i < EPOLLS; i++)
		epolls[i] = epoll_create1(0);
	if (pipe(ends))
		DIE("pipe");
	measure();
	stop_and_go_on();
	event.data.fd = ends[0];
	for (int i = 0; i < EPOLLS; i++)
		if (epoll_wait(epolls[i], &event, 1, 0) || epoll_ctl(epolls[i], EPOLL_CTL_ADD, ends[0], &event))
			DIE("an epoll descriptor of the program's own");
	if (write(ends[1], "x", 1) != 1)
		DIE("write");
	for (int i = 0; i < EPOLLS; i++)
		if (epoll_wait(epolls[i], &event, 1, -1) != 1 || event.data.fd != ends[0])
			DIE("an event of the program's own");
	measure();
	puts("ok");
	return 0;
}
