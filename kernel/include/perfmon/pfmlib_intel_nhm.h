/* SPDX-License-Identifier: MIT */
/*
 * pfmlib_intel_nhm.h - further input of pfm_dispatch_events() for Intel's Nehalem and Westmere.
 * Fields that are 0 have no effect.
 */
#ifndef PERFMON_PFMLIB_INTEL_NHM_H
#define PERFMON_PFMLIB_INTEL_NHM_H

#include <perfmon/pfmlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PMU_NHM_NUM_COUNTERS	7

#define PFM_NHM_SEL_INV		0x1	/* counts cycles with fewer than cnt_mask events */
#define PFM_NHM_SEL_EDGE	0x2	/* counts rising edges */
#define PFM_NHM_SEL_ANYTHR	0x4	/* counts for any thread of the core */
#define PFM_NHM_SEL_OCC_RST	0x8	/* for the uncore only, so it is refused: INVAL */

typedef struct {
	unsigned long	cnt_mask;	/* 1 - 255: counts cycles with at least that many events */
	unsigned int	flags;		/* PFM_NHM_SEL_* */
} pfmlib_nhm_counter_t;

typedef struct {
	unsigned int	pebs_used;	/* uses PEBS for all events that have it: PMC17 */
	unsigned int	ld_lat_thres;	/* cycles, 3 - 65535, for LATENCY_ABOVE_THRESHOLD: PMC18 */
} pfmlib_nhm_pebs_t;

/* Kinds of branches in the last branch records. */
#define PFMLIB_NHM_LBR_JCC		0x4
#define PFMLIB_NHM_LBR_NEAR_REL_CALL	0x8
#define PFMLIB_NHM_LBR_NEAR_IND_CALL	0x10
#define PFMLIB_NHM_LBR_NEAR_RET		0x20
#define PFMLIB_NHM_LBR_NEAR_IND_JMP	0x40
#define PFMLIB_NHM_LBR_NEAR_REL_JMP	0x80
#define PFMLIB_NHM_LBR_FAR_BRANCH	0x100
#define PFMLIB_NHM_LBR_ALL		0x1fc

typedef struct {
	unsigned int	lbr_used;	/* last branch records: PMC30, PMD31-63 */
	unsigned int	lbr_plm;	/* PFM_PLM0, PFM_PLM3; 0: pfp_dfl_plm */
	unsigned int	lbr_filter;	/* PFMLIB_NHM_LBR_*: kinds that are not recorded */
} pfmlib_nhm_lbr_t;

typedef struct {
	/* [i] is for pfp_events[i] */
	pfmlib_nhm_counter_t	pfp_nhm_counters[PMU_NHM_NUM_COUNTERS];
	pfmlib_nhm_pebs_t	pfp_nhm_pebs;
	/* for the uncore only, so it is refused: NOTSUPP */
	uint32_t		pfm_nhm_unc_flags;
	pfmlib_nhm_lbr_t	pfp_nhm_lbr;
	uint64_t		reserved[4];
} pfmlib_nhm_input_param_t;

/* pfm_dispatch_events() does not change this structure. */
typedef struct {
	uint64_t	reserved[8];
} pfmlib_nhm_output_param_t;

/* Returns 1 if the processor can sample the event with its unit masks precisely, else 0. */
int pfm_nhm_is_pebs(pfmlib_event_t *e);
/* Returns 0, as the library has no events of the uncore. */
int pfm_nhm_is_uncore(pfmlib_event_t *e);
/*
 * Describes the data source (0 - 15) of a precise sample in *desc, which the caller frees;
 * INVAL, NOMEM.
 */
int pfm_nhm_data_src_desc(unsigned int val, char **desc);

#ifdef __cplusplus
}
#endif
#endif /* PERFMON_PFMLIB_INTEL_NHM_H */
