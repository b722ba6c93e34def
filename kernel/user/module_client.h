/* SPDX-License-Identifier: MIT */
/*
 * module_client.h - the linux machine as libperfmon sees it: perfmon.ko has the core, calls become ioctls.
 * Inside kernel/user.
 */
#ifndef PFM_USER_LINUX_H
#define PFM_USER_LINUX_H

#include "linux/abi/perfmon_ioctl.h"
#include "user.h"

/* Is m the kernel's? */
bool pfm_linux_is(const struct pfm_machine *m);

/* Why the module, though loaded, cannot be used: a line for the notes of another machine; or NULL. */
const char *pfm_linux_obstacle(void);

/*
 * The call nr with n in its size field, if fd is a context of perfmon.ko: the result, as a program
 * wants it, is then in *ret. false: it is none.
 */
bool pfm_linux_call(int fd, unsigned int nr, int n, void *arg, int *ret);
/* The same, for calls with a vector of n elements. */
bool pfm_linux_vector(int fd, unsigned int nr, int n, void *v, int *ret);

/* Something else than a call failed on fd: if it is a context of perfmon.ko, pfm_explain() has its reason. */
void pfm_linux_reason(int fd);

/* Its registers, also for contexts of it that came from another process; NULL with errno. */
const struct pfm_pmu *pfm_linux_pmu(void);

/* Calls that need no context. The result as a program wants it. */
int pfm_linux_ask(unsigned int nr, int n, void *arg);
int pfm_linux_ask_vector(unsigned int nr, int n, void *v);

/* 3.1.1: the format by name, or, NULL, by the UUID in ctx. size ~0: as the format has it. */
int pfm_linux_create(pfarg_ctx_t *ctx, const char *fmt_name, const void *fmt_arg, size_t size);

#endif
