/* SPDX-License-Identifier: MIT */
/* calls.h - what the two interfaces of libperfmon share. Inside kernel/user. */
#ifndef PFM_USER_CALLS_H
#define PFM_USER_CALLS_H

#include "core.h"

/* As 0.6 creates contexts: the format by its UUID in ctx, and its argument without a size. */
int pfm_create_06(pfarg_ctx_t *ctx, void *fmt_arg);

/* The errno of perfmonctl()'s command cmd for err: one of its list. errnos.c */
int pfm_listed_errno(int cmd, int err);

/* The PMU that the context of fd has; NULL with errno. */
const struct pfm_pmu *pfm_pmu_of(int fd);

/* Is the context of fd bound to something? -1 with errno. */
int pfm_is_loaded(int fd);

#endif
