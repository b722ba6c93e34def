/* SPDX-License-Identifier: MIT */
/*
 * pfmlib_gen_ia32.h - further input of pfm_dispatch_events() for Intel's architectural PMU.
 * Fields that are 0 have no effect.
 */
#ifndef PERFMON_PFMLIB_GEN_IA32_H
#define PERFMON_PFMLIB_GEN_IA32_H

#include <perfmon/pfmlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PMU_GEN_IA32_MAX_COUNTERS	32

#define PFM_GEN_IA32_SEL_INV	0x1	/* counts cycles with fewer than cnt_mask events */
#define PFM_GEN_IA32_SEL_EDGE	0x2	/* counts rising edges */
#define PFM_GEN_IA32_SEL_ANYTHR	0x4	/* counts for any thread of the core */

typedef struct {
	unsigned long	cnt_mask;	/* 1 - 255: counts cycles with at least that many events */
	unsigned int	flags;		/* PFM_GEN_IA32_SEL_* */
} pfmlib_gen_ia32_counter_t;

typedef struct {
	/* [i] is for pfp_events[i] */
	pfmlib_gen_ia32_counter_t	pfp_gen_ia32_counters[PMU_GEN_IA32_MAX_COUNTERS];
	uint64_t			reserved[4];
} pfmlib_gen_ia32_input_param_t;

/* pfm_dispatch_events() does not change this structure. */
typedef struct {
	uint64_t	reserved[8];
} pfmlib_gen_ia32_output_param_t;

#ifdef __cplusplus
}
#endif
#endif /* PERFMON_PFMLIB_GEN_IA32_H */
