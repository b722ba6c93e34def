/* SPDX-License-Identifier: MIT */
/*
 * pfmlib_intel_atom.h - further input of pfm_dispatch_events() for Intel's Atom.
 * Fields that are 0 have no effect.
 */
#ifndef PERFMON_PFMLIB_INTEL_ATOM_H
#define PERFMON_PFMLIB_INTEL_ATOM_H

#include <perfmon/pfmlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PMU_INTEL_ATOM_NUM_COUNTERS	5

#define PFM_INTEL_ATOM_SEL_INV		0x1	/* counts cycles with fewer than cnt_mask events */
#define PFM_INTEL_ATOM_SEL_EDGE		0x2	/* counts rising edges */
#define PFM_INTEL_ATOM_SEL_ANYTHR	0x4	/* counts for any thread of the core */

typedef struct {
	unsigned long	cnt_mask;	/* 1 - 255: counts cycles with at least that many events */
	unsigned int	flags;		/* PFM_INTEL_ATOM_SEL_* */
} pfmlib_intel_atom_counter_t;

typedef struct {
	/* [i] is for pfp_events[i] */
	pfmlib_intel_atom_counter_t	pfp_intel_atom_counters[PMU_INTEL_ATOM_NUM_COUNTERS];
	/* precise sampling, which is refused: NOTSUPP */
	unsigned int			pfp_intel_atom_pebs_used;
	uint64_t			reserved[4];
} pfmlib_intel_atom_input_param_t;

/* pfm_dispatch_events() does not change this structure. */
typedef struct {
	uint64_t	reserved[8];
} pfmlib_intel_atom_output_param_t;

/* Returns 1 if the processor can sample the event with its unit masks precisely, else 0. */
int pfm_intel_atom_has_pebs(pfmlib_event_t *e);

#ifdef __cplusplus
}
#endif
#endif /* PERFMON_PFMLIB_INTEL_ATOM_H */
