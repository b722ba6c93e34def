// SPDX-License-Identifier: MIT
/*
 * denied.c - runs a program for which a system call fails, as in a container:
 *
 *   denied ERRNO[:CALL] PROGRAM [ARGUMENTS]
 *
 * CALL is ptrace, fcntl, pidfd, prlimit or socketpair; without it, perf_event_open(2) fails.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	unsigned int err = argc > 2 ? (unsigned int)atoi(argv[1]) : 0;
	const char *name = argc > 2 && strchr(argv[1], ':') ? strchr(argv[1], ':') + 1 : "";
	unsigned int call = !strcmp(name, "ptrace") ? SYS_ptrace :
			    !strcmp(name, "fcntl") ? SYS_fcntl :
			    !strcmp(name, "pidfd") ? SYS_pidfd_open :
			    !strcmp(name, "prlimit") ? SYS_prlimit64 :
			    !strcmp(name, "socketpair") ? SYS_socketpair : SYS_perf_event_open;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };

	if (!err || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
		perror("denied");
		return 120;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 121;
}
