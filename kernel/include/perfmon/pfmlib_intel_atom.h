/* SPDX-License-Identifier: MIT */
/*
 * pfmlib_intel_atom.h - what pfm_dispatch_events() takes beyond events on Intel's Atom.
 * What is 0 asks for nothing.
 */
#ifndef PERFMON_PFMLIB_INTEL_ATOM_H
#define PERFMON_PFMLIB_INTEL_ATOM_H

#include <perfmon/pfmlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PMU_INTEL_ATOM_NUM_COUNTERS	5

#define PFM_INTEL_ATOM_SEL_INV		0x1	/* cycles with less than cnt_mask */
#define PFM_INTEL_ATOM_SEL_EDGE		0x2	/* beginnings */
#define PFM_INTEL_ATOM_SEL_ANYTHR	0x4	/* of any thread of the core */

typedef struct {
	unsigned long	cnt_mask;	/* 1 - 255: cycles with at least that many */
	unsigned int	flags;		/* PFM_INTEL_ATOM_SEL_* */
} pfmlib_intel_atom_counter_t;

typedef struct {
	pfmlib_intel_atom_counter_t	pfp_intel_atom_counters[PMU_INTEL_ATOM_NUM_COUNTERS];	/* by event */
	unsigned int			pfp_intel_atom_pebs_used;	/* precise sampling: NOTSUPP */
	uint64_t			reserved[4];
} pfmlib_intel_atom_input_param_t;

/* Left as it is. */
typedef struct {
	uint64_t	reserved[8];
} pfmlib_intel_atom_output_param_t;

/* 1: the processor can sample the event, with its unit masks, precisely; 0 also for events of other models. */
int pfm_intel_atom_has_pebs(pfmlib_event_t *e);

#ifdef __cplusplus
}
#endif
#endif /* PERFMON_PFMLIB_INTEL_ATOM_H */
