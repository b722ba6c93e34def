/* SPDX-License-Identifier: MIT */
/* calls.h - what the two interfaces of libperfmon share. Inside kernel/user. */
#ifndef PFM_USER_CALLS_H
#define PFM_USER_CALLS_H

#include "core.h"

/* Creates a context with fmt (whose use is handed over) or NULL; the descriptor, or -1 with errno. */
int pfm_create_with(pfarg_ctx_t *ctx, struct pfm_buffer_fmt *fmt, const void *fmt_arg);

/* The PMU that the context of fd has; NULL with errno. */
const struct pfm_pmu *pfm_pmu_of(int fd);

/* Is the context of fd bound to something? -1 with errno. */
int pfm_is_loaded(int fd);

#endif
