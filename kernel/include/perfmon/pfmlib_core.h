/* SPDX-License-Identifier: MIT */
/*
 * pfmlib_core.h - what pfm_dispatch_events() takes beyond events on Intel's Core and Atom.
 * What is 0 asks for nothing.
 */
#ifndef PERFMON_PFMLIB_CORE_H
#define PERFMON_PFMLIB_CORE_H

#include <perfmon/pfmlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PMU_CORE_NUM_COUNTERS	5

#define PFM_CORE_SEL_INV	0x1	/* cycles with less than cnt_mask */
#define PFM_CORE_SEL_EDGE	0x2	/* beginnings */
#define PFM_CORE_SEL_ANYTHR	0x4	/* of any thread of the core; Atom */

typedef struct {
	unsigned long	cnt_mask;	/* 1 - 255: cycles with at least that many */
	unsigned int	flags;		/* PFM_CORE_SEL_* */
} pfmlib_core_counter_t;

typedef struct {
	unsigned int	pebs_used;	/* of the first event that can be sampled precisely: PMC17 */
} pfmlib_core_pebs_t;

typedef struct {
	pfmlib_core_counter_t	pfp_core_counters[PMU_CORE_NUM_COUNTERS];	/* by event */
	pfmlib_core_pebs_t	pfp_core_pebs;
	uint64_t		reserved[4];
} pfmlib_core_input_param_t;

/* Left as it is. */
typedef struct {
	uint64_t	reserved[8];
} pfmlib_core_output_param_t;

/* 1: the processor can sample the event, with its unit masks, precisely; 0 also for events of other models. */
int pfm_core_is_pebs(pfmlib_event_t *e);

#ifdef __cplusplus
}
#endif
#endif /* PERFMON_PFMLIB_CORE_H */
