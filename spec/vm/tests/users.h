/* SPDX-License-Identifier: MIT */
/* users.h - runs functions as other users than root, with chosen capabilities. */
#ifndef SPEC_VM_USERS_H
#define SPEC_VM_USERS_H

#include <linux/capability.h>

#include "check.h"

#define NOBODY		65534
#define CAP(cap)	(1ULL << (cap))
#ifndef CAP_PERFMON
#define CAP_PERFMON	38
#endif

static inline int become(uid_t uid, uint64_t caps)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .effective = (uint32_t)caps, .permitted = (uint32_t)caps },
		{ .effective = (uint32_t)(caps >> 32), .permitted = (uint32_t)(caps >> 32) },
	};

	if (prctl(PR_SET_KEEPCAPS, 1) || setgid(uid) || setuid(uid) || syscall(SYS_capset, &head, data))
		return -1;
	/* a change of the user makes a process undumpable, which hides it from that user */
	return prctl(PR_SET_DUMPABLE, 1);
}

static inline int status_of(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) < 0)
		return 253;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 254;
}

/* Runs fn(arg) as that user, with these capabilities alone, and returns its result, 0 to 252. */
static inline int as_user(uid_t uid, uint64_t caps, int (*fn)(int), int arg)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(become(uid, caps) ? 252 : fn(arg));
	}
	return status_of(pid);
}

__attribute__((unused))
static void write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	TRUE(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static inline void set_paranoid(int level)
{
	char text[8];

	snprintf(text, sizeof(text), "%d", level);
	write_to("/proc/sys/kernel/perf_event_paranoid", text);
}

#endif
