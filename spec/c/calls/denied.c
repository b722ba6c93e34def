// SPDX-License-Identifier: MIT
/*
 * denied.c - runs a program for which a system call fails, as in a container:
 *
 *   denied ERRNO[:CALL] PROGRAM [ARGUMENTS]
 *
 * CALL is one of `calls`; without it, perf_event_open(2) fails. Of the calls of mmap(2),
 * those fail that map shared memory to read it only, as a sampling buffer.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char	*name;
	unsigned int	number;
} calls[] = {
	{ "", SYS_perf_event_open }, { "epoll_create", SYS_epoll_create1 }, { "epoll_ctl", SYS_epoll_ctl },
	{ "fcntl", SYS_fcntl }, { "getaffinity", SYS_sched_getaffinity }, { "ioctl", SYS_ioctl },
	{ "mmap", SYS_mmap }, { "pidfd", SYS_pidfd_open }, { "prlimit", SYS_prlimit64 },
	{ "ptrace", SYS_ptrace }, { "send", SYS_sendto }, { "sigaction", SYS_rt_sigaction },
	{ "socketpair", SYS_socketpair }, { "wait", SYS_wait4 }, { "waitid", SYS_waitid },
};

/* Returns the number of a system call, or -1: it is not in `calls`. */
static int number_of(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(name, calls[i].name))
			return (int)calls[i].number;
	return -1;
}

int main(int argc, char **argv)
{
	unsigned int err = argc > 2 ? (unsigned int)atoi(argv[1]) : 0;
	const char *name = argc > 2 && strchr(argv[1], ':') ? strchr(argv[1], ':') + 1 : "";
	int call = number_of(name);
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)call, 0, 6),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROT_READ, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MAP_SHARED, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };

	if (!err || call < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
		perror("denied");
		return 120;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 121;
}
