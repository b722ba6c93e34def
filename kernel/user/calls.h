/* SPDX-License-Identifier: MIT */
/* calls.h - functions that the pfm_*() calls and perfmonctl() share. */
#ifndef PFM_USER_CALLS_H
#define PFM_USER_CALLS_H

#include "core.h"

/*
 * Creates a context as specification 0.6 does: the UUID in ctx names the format, and the size of
 * the format's argument is not passed. Returns the descriptor, or -1 with errno.
 */
int pfm_create_06(pfarg_ctx_t *ctx, void *fmt_arg);

/* Returns the PMU of the context of fd; NULL with errno. */
const struct pfm_pmu *pfm_pmu_of(int fd);

/*
 * Fills in value and flags of a PMC as they are. Returns false if they are not known: in a context
 * of perfmon.ko, or if there is no such set or PMC.
 */
bool pfm_get_pmc(int fd, pfarg_pmc_t *req);

/* Returns 1 if the context of fd is loaded, 0 if not; -1 with errno. */
int pfm_is_loaded(int fd);

#endif
