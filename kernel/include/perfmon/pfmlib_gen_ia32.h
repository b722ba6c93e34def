/* SPDX-License-Identifier: MIT */
/*
 * pfmlib_gen_ia32.h - what pfm_dispatch_events() takes beyond events on Intel's architectural PMU.
 * What is 0 asks for nothing.
 */
#ifndef PERFMON_PFMLIB_GEN_IA32_H
#define PERFMON_PFMLIB_GEN_IA32_H

#include <perfmon/pfmlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PMU_GEN_IA32_MAX_COUNTERS	32

#define PFM_GEN_IA32_SEL_INV	0x1	/* cycles with less than cnt_mask */
#define PFM_GEN_IA32_SEL_EDGE	0x2	/* beginnings */
#define PFM_GEN_IA32_SEL_ANYTHR	0x4	/* of any thread of the core */

typedef struct {
	unsigned long	cnt_mask;	/* 1 - 255: cycles with at least that many */
	unsigned int	flags;		/* PFM_GEN_IA32_SEL_* */
} pfmlib_gen_ia32_counter_t;

typedef struct {
	pfmlib_gen_ia32_counter_t	pfp_gen_ia32_counters[PMU_GEN_IA32_MAX_COUNTERS];	/* by event */
	uint64_t			reserved[4];
} pfmlib_gen_ia32_input_param_t;

/* Left as it is. */
typedef struct {
	uint64_t	reserved[8];
} pfmlib_gen_ia32_output_param_t;

#ifdef __cplusplus
}
#endif
#endif /* PERFMON_PFMLIB_GEN_IA32_H */
