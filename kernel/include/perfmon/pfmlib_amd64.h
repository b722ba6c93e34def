/* SPDX-License-Identifier: MIT */
/*
 * pfmlib_amd64.h - what pfm_dispatch_events() takes beyond events on AMD's K7 to family 16h.
 * What is 0 asks for nothing.
 */
#ifndef PERFMON_PFMLIB_AMD64_H
#define PERFMON_PFMLIB_AMD64_H

#include <perfmon/pfmlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PMU_AMD64_MAX_COUNTERS	4

#define PFM_AMD64_SEL_INV	0x1	/* cycles with less than cnt_mask */
#define PFM_AMD64_SEL_EDGE	0x2	/* beginnings */
#define PFM_AMD64_SEL_GUEST	0x4	/* in guests alone */
#define PFM_AMD64_SEL_HOST	0x8	/* outside of them */

typedef struct {
	uint32_t	cnt_mask;	/* 1 - 255: cycles with at least that many */
	uint32_t	flags;		/* PFM_AMD64_SEL_* */
} pfmlib_amd64_counter_t;

typedef struct {
	unsigned int	maxcnt;
	unsigned int	options;
} ibs_param_t;

/*
 * Instruction-based sampling, of family 10h (others: BADHOST); it needs the output. maxcnt: a period of up to 20 bits,
 * whose lowest four are 0; options: fetches are randomized, operations counted instead of cycles.
 */
#define IBS_OPTIONS_RANDEN	1
#define IBS_OPTIONS_UOPS	1
#define PFMLIB_AMD64_USE_IBSFETCH 1
#define PFMLIB_AMD64_USE_IBSOP	2

typedef struct {
	pfmlib_amd64_counter_t	pfp_amd64_counters[PMU_AMD64_MAX_COUNTERS];	/* by event */
	uint32_t		flags;		/* PFMLIB_AMD64_USE_* */
	uint32_t		reserved1;
	ibs_param_t		ibsfetch;
	ibs_param_t		ibsop;
	uint64_t		reserved2;
} pfmlib_amd64_input_param_t;

/* Where the control registers, PMD4 and 7, are in pfp_pmds. */
typedef struct {
	uint32_t	ibsfetch_base;
	uint32_t	ibsop_base;
	uint64_t	reserved[7];
} pfmlib_amd64_output_param_t;

#ifdef __cplusplus
}
#endif
#endif /* PERFMON_PFMLIB_AMD64_H */
