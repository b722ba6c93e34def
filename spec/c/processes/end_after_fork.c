// SPDX-License-Identifier: MIT
/*
 * end_after_fork.c - 3.3.6 on the machine of LPFM_MACHINE: END is sent "when the monitored thread
 * does not have access to the file descriptor". A child that inherited it is monitored to its end.
 *
 *   end_after_fork WHAT	what the child does with the descriptor; prints "END" or "no END"
 *	nothing|close|close_range|dup2|dup_and_close|close_both|exec|exec_first|exec_fails|exec_by_thread
 *	thread|grandchild	the latter has a child of its own, which is monitored
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perfmon/perfmon.h"
#include "../parts.h"

static void *nothing(void *arg)
{
	return arg;
}

static void *execute(void *arg)
{
	execl("/bin/true", "true", NULL);
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
		execute(NULL);
	if (!strcmp(what, "exec_fails"))
		execl("/", "/", NULL);
	if (!strcmp(what, "exec_by_thread") && !pthread_create(&thread, NULL, execute, NULL))
		pause();
	if (!strcmp(what, "thread") && !pthread_create(&thread, NULL, nothing, NULL))
		pthread_join(thread, NULL);
}

static void one_processor(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Lets the monitoring process run rather than those that it monitors. */
static void give_way(void)
{
	static const struct sched_param none;

	sched_setscheduler(0, SCHED_IDLE, &none);
}

/*
 * Forks a child that ends once it has read a byte from go, and writes the child's id. The child is
 * SCHED_IDLE on the tool's CPU: the tool gets the id before the child has left fork().
 */
static void grandchild(int go, int id)
{
	char byte;
	pid_t pid;

	give_way();
	pid = fork();
	if (!pid)
		_exit(read(go, &byte, 1) != 1);
	if (write(id, &pid, sizeof(pid)) == sizeof(pid))
		waitpid(pid, NULL, 0);
	_exit(0);
}

/* Executes a program that ends once it has read a line from go. */
static void exec_first(int go, int executed)
{
	dup2(go, STDIN_FILENO);
	fcntl(executed, F_SETFD, FD_CLOEXEC);
	execl("/bin/sh", "sh", "-c", "read -r line", NULL);
	_exit(1);
}

int main(int argc, char **argv)
{
	int fd, go[2], executed[2], copy = -1;
	pfarg_ctx_t ctx = { 0 };
	pfarg_load_t load = { 0 };
	struct pollfd p;
	pfarg_msg_t msg;
	char byte;
	pid_t pid;

	if (argc == 2 && !strcmp(argv[1], "grandchild"))
		one_processor();
	fd = pfm_create_context(&ctx, NULL, NULL, 0);
	if (argc != 2 || fd < 0 || pipe(go) || pipe(executed))
		DIE("pfm_create_context");
	if (!strcmp(argv[1], "close_both"))
		copy = dup(fd);
	pid = fork();
	if (!pid) {
		close(go[1]);
		if (!strcmp(argv[1], "exec_first"))
			exec_first(go[0], executed[1]);
		if (!strcmp(argv[1], "grandchild"))
			grandchild(go[0], executed[1]);
		if (read(go[0], &byte, 1) != 1)
			_exit(1);
		child(argv[1], fd);
		if (copy >= 0)
			close(copy);
		_exit(0);
	}
	close(executed[1]);
	if (!strcmp(argv[1], "exec_first") && read(executed[0], &byte, 1))
		DIE("the child's exec");
	load.load_pid = (uint32_t)pid;
	if (!strcmp(argv[1], "grandchild") && read(executed[0], &load.load_pid, sizeof(pid)) != sizeof(pid))
		DIE("the grandchild");
	if (pfm_load_context(fd, &load) || pfm_start(fd, NULL))
		DIE("pfm_load_context");
	if (write(go[1], "\n", 1) != 1 || waitpid(pid, NULL, 0) != pid)
		DIE("the child");
	/* once the context is unloaded, END has been sent if it is sent at all */
	while (!pfm_stop(fd))
		usleep(1000);
	p = (struct pollfd){ .fd = fd, .events = POLLIN };
	if (poll(&p, 1, 0) == 1 && read(fd, &msg, sizeof(msg)) == sizeof(msg) && msg.type == PFM_MSG_END)
		puts("END");
	else
		puts("no END");
	return 0;
}
