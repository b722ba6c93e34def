/* SPDX-License-Identifier: MIT */
/* process.c - records of child processes, and lists of threads. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/process.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct lpfm_process *processes;

struct lpfm_process *lpfm_process_new(pid_t pid)
{
	struct lpfm_process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->pid = pid;
	p->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	pthread_mutex_lock(&lock);
	p->next = processes;
	processes = p;
	pthread_mutex_unlock(&lock);
	return p;
}

void lpfm_process_free(struct lpfm_process *p)
{
	struct lpfm_process **link = &processes;

	pthread_mutex_lock(&lock);
	while (*link != p)
		link = &(*link)->next;
	*link = p->next;
	pthread_mutex_unlock(&lock);
	if (p->pidfd >= 0)
		close(p->pidfd);
	free(p);
}

static void finish(struct lpfm_process *p, int status, const struct rusage *usage)
{
	p->done = true;
	p->status = status;
	p->usage = *usage;
}

/*
 * Returns 1 if the process has ended, 0 if not, -1 with errno. The status of a stopped process is
 * not consumed.
 */
static int has_ended(pid_t pid)
{
	siginfo_t info = { .si_pid = 0 };
	int ret;

	do
		ret = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
	while (ret && errno == EINTR);
	if (ret)
		return -1;
	return info.si_pid && (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED);
}

static int reap(struct lpfm_process *p)
{
	struct rusage usage;
	int status, ret = has_ended(p->pid);

	if (ret <= 0)
		return ret;
	if (wait4(p->pid, &status, WNOHANG, &usage) != p->pid)
		return -1;
	finish(p, status, &usage);
	return 1;
}

int lpfm_process_poll(struct lpfm_process *p)
{
	int ret;

	pthread_mutex_lock(&lock);
	ret = p->done ? 1 : reap(p);
	pthread_mutex_unlock(&lock);
	return ret;
}

/*
 * Holds the lock, so that the process is not reaped before the signal is sent: until it is reaped,
 * no other process gets its id.
 */
int lpfm_process_kill(struct lpfm_process *p, int sig)
{
	int ret = -1;

	pthread_mutex_lock(&lock);
	if (p->done)
		errno = ESRCH;
	else
		ret = kill(p->pid, sig);
	pthread_mutex_unlock(&lock);
	return ret;
}

int lpfm_process_threads(pid_t pid, pid_t *tids, int room)
{
	struct dirent *entry;
	char path[64];
	int n = 0, err;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir) {
		/* the process may exist although /proc hides it */
		if (errno == ENOENT)
			errno = kill(pid, 0) && errno != EPERM ? ESRCH : EPERM;
		return -1;
	}
	errno = 0;
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		if (n < room)
			tids[n] = atoi(entry->d_name);
		n++;
	}
	err = errno;
	closedir(dir);
	errno = err == ENOENT ? ESRCH : err;
	return err ? -1 : n;
}
