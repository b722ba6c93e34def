/* SPDX-License-Identifier: MIT */
/*
 * module_client.h - the linux machine for the rest of libperfmon: the core is in perfmon.ko, and
 * calls become ioctls. Used only in kernel/user.
 */
#ifndef PFM_USER_LINUX_H
#define PFM_USER_LINUX_H

#include "linux/abi/perfmon_ioctl.h"
#include "user.h"

/* Returns true if m represents the machine in the kernel. */
bool pfm_linux_is(const struct pfm_machine *m);

/*
 * Returns why the module cannot be used though it is loaded, as a line for the notes of another
 * machine; or NULL.
 */
const char *pfm_linux_obstacle(void);

/*
 * If fd is a context of perfmon.ko, makes the call nr on it, with n in the size field of the
 * ioctl's number, sets *ret to what the program's call must return, and returns true. Returns false
 * if fd is not such a context.
 */
bool pfm_linux_call(int fd, unsigned int nr, int n, void *arg, int *ret);
/* Does what pfm_linux_call() does, for calls with a vector of n elements. */
bool pfm_linux_vector(int fd, unsigned int nr, int n, void *v, int *ret);

/*
 * Called when something other than a call has failed on fd: if it is a context of perfmon.ko,
 * pfm_explain() will have its reason.
 */
void pfm_linux_reason(int fd);

/*
 * Returns the description of perfmon.ko's registers, which also holds for contexts that came from
 * another process. Returns NULL with errno if the module cannot be used.
 */
const struct pfm_pmu *pfm_linux_pmu(void);

/* These make a call that needs no context. They return what the program's call must return. */
int pfm_linux_ask(unsigned int nr, int n, void *arg);
int pfm_linux_ask_vector(unsigned int nr, int n, void *v);

/*
 * Creates a context (3.1.1). fmt_name names the format; if it is NULL, the UUID in ctx does. size
 * ~0 means the size that the format declares.
 */
int pfm_linux_create(pfarg_ctx_t *ctx, const char *fmt_name, const void *fmt_arg, size_t size);

#endif
