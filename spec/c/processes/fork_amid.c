// SPDX-License-Identifier: MIT
/*
 * fork_amid.c - forks while another thread is in a call of the library that holds a lock: the same
 * call returns in the child, too. "fork_amid event" calls pfm_perf_event() with a filter that is so
 * long that memory is mapped for its copy; "fork_amid device" calls perfmonctl() on a descriptor
 * that is perfmon.ko's, which this program plays. In the other thread mmap() and open() return only
 * after the fork, or when fork() waits for a lock.
 */
#define PFM_NO_MMAP_REDIRECT
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "first_thread.h"
#include "perfmon/perfmon.h"
#define PFM06_INTERNAL
#include "perfmon/perfmonctl.h"

#define DEVICE	"/dev/perfmon"
#define FAKE	1000

static atomic_bool calling, forked;
static __thread bool waits;

static void await_fork(void)
{
	if (!waits)
		return;
	waits = false;
	atomic_store(&calling, true);
	while (!atomic_load(&forked) && !first_thread_sleeps())
		;
}

void *mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
{
	await_fork();
	return (void *)syscall(SYS_mmap, addr, size, prot, flags, fd, offset);
}

int open(const char *path, int flags, ...)
{
	va_list args;
	int mode;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, int) : 0;
	va_end(args);
	if (!strcmp(path, DEVICE))
		await_fork();
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int access(const char *path, int mode)
{
	return strcmp(path, DEVICE) ? (int)syscall(SYS_faccessat, AT_FDCWD, path, mode) : 0;
}

int ioctl(int fd, unsigned long cmd, ...)
{
	va_list args;
	void *arg;

	va_start(args, cmd);
	arg = va_arg(args, void *);
	va_end(args);
	return fd == FAKE ? 0 : (int)syscall(SYS_ioctl, fd, cmd, arg);
}

static void describe_event(void)
{
	static char filter[1 << 17];
	pfm_perf_event_t event = { .type = PERF_TYPE_TRACEPOINT, .filter = filter };
	uint64_t value;

	memset(filter, '1', sizeof(filter) - 1);
	pfm_perf_event(&event, &value);
}

/* Fails after the attempt to open the device, which does not exist. */
static void use_device(void)
{
	struct pfm06_pmc pmc = { .reg_num = 0 };

	perfmonctl(FAKE, PFM_WRITE_PMCS, &pmc, 1);
}

static void (*call)(void);

static void *caller(void *unused)
{
	waits = true;
	call();
	atomic_store(&calling, true);	/* a library built with AddressSanitizer maps nothing */
	return unused;
}

int main(int argc, char **argv)
{
	pfm_machine_info_t info;
	pthread_t thread;
	int status = -1;
	pid_t pid;

	call = argc > 1 && !strcmp(argv[1], "device") ? use_device : describe_event;
	if (pfm_get_machine(&info) || pthread_create(&thread, NULL, caller, NULL))
		return 1;
	while (!atomic_load(&calling))
		;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		call();
		_exit(0);
	}
	atomic_store(&forked, true);
	pthread_join(thread, NULL);
	alarm(20);	/* nothing in the child would release a lock that the other thread held */
	return waitpid(pid, &status, 0) != pid || status;
}
