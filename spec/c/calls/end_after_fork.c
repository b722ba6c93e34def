// SPDX-License-Identifier: MIT
/*
 * end_after_fork.c - 3.3.6 on the machine of LPFM_MACHINE: END is sent "when the monitored thread does not have access
 * to the file descriptor". A child that inherited it is monitored to its end.
 *
 *   end_after_fork WHAT	what the child does with the descriptor; prints "END" or "no END"
 *	nothing|close|close_range|dup2|dup_and_close|close_both|exec|thread
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perfmon/perfmon.h"

static void die(const char *what)
{
	fprintf(stderr, "end_after_fork: %s: %s\n", what, pfm_explain());
	exit(1);
}

static void *nothing(void *arg)
{
	return arg;
}

static void child(const char *what, int fd)
{
	pthread_t thread;

	if (!strcmp(what, "close") || !strcmp(what, "close_both"))
		close(fd);
	if (!strcmp(what, "close_range"))
		close_range((unsigned int)fd, (unsigned int)fd, 0);
	if (!strcmp(what, "dup2"))
		dup2(STDOUT_FILENO, fd);
	if (!strcmp(what, "dup_and_close") && dup(fd) >= 0)
		close(fd);
	if (!strcmp(what, "exec"))
		execl("/bin/true", "true", NULL);
	if (!strcmp(what, "thread") && !pthread_create(&thread, NULL, nothing, NULL))
		pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	int fd, go[2], copy = -1;
	pfarg_ctx_t ctx = { 0 };
	pfarg_load_t load = { 0 };
	struct pollfd p;
	pfarg_msg_t msg;
	char byte;
	pid_t pid;

	fd = pfm_create_context(&ctx, NULL, NULL, 0);
	if (argc != 2 || fd < 0 || pipe(go))
		die("pfm_create_context");
	if (!strcmp(argv[1], "close_both"))
		copy = dup(fd);
	pid = fork();
	if (!pid) {
		close(go[1]);
		if (read(go[0], &byte, 1) != 1)
			_exit(1);
		child(argv[1], fd);
		if (copy >= 0)
			close(copy);
		_exit(0);
	}
	load.load_pid = (uint32_t)pid;
	if (pfm_load_context(fd, &load) || pfm_start(fd, NULL))
		die("pfm_load_context");
	if (write(go[1], "", 1) != 1 || waitpid(pid, NULL, 0) != pid)
		die("the child");
	/* unloaded is what both have in common, and when it is known whether a message comes */
	while (!pfm_stop(fd))
		usleep(1000);
	p = (struct pollfd){ .fd = fd, .events = POLLIN };
	if (poll(&p, 1, 0) == 1 && read(fd, &msg, sizeof(msg)) == sizeof(msg) && msg.type == PFM_MSG_END)
		puts("END");
	else
		puts("no END");
	return 0;
}
