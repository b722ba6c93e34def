/* SPDX-License-Identifier: MIT */
/*
 * pfmlib_core.h - further input of pfm_dispatch_events() for Intel's Core and Atom.
 * Fields that are 0 have no effect.
 */
#ifndef PERFMON_PFMLIB_CORE_H
#define PERFMON_PFMLIB_CORE_H

#include <perfmon/pfmlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PMU_CORE_NUM_COUNTERS	5

#define PFM_CORE_SEL_INV	0x1	/* counts cycles with fewer than cnt_mask events */
#define PFM_CORE_SEL_EDGE	0x2	/* counts rising edges */
#define PFM_CORE_SEL_ANYTHR	0x4	/* Atom: counts for any thread of the core */

typedef struct {
	unsigned long	cnt_mask;	/* 1 - 255: counts cycles with at least that many events */
	unsigned int	flags;		/* PFM_CORE_SEL_* */
} pfmlib_core_counter_t;

typedef struct {
	unsigned int	pebs_used;	/* uses PEBS for the first event that has it: PMC17 */
} pfmlib_core_pebs_t;

typedef struct {
	/* [i] is for pfp_events[i] */
	pfmlib_core_counter_t	pfp_core_counters[PMU_CORE_NUM_COUNTERS];
	pfmlib_core_pebs_t	pfp_core_pebs;
	uint64_t		reserved[4];
} pfmlib_core_input_param_t;

/* pfm_dispatch_events() does not change this structure. */
typedef struct {
	uint64_t	reserved[8];
} pfmlib_core_output_param_t;

/* Returns 1 if the processor can sample the event with its unit masks precisely, else 0. */
int pfm_core_is_pebs(pfmlib_event_t *e);

#ifdef __cplusplus
}
#endif
#endif /* PERFMON_PFMLIB_CORE_H */
