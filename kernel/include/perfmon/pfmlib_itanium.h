/* SPDX-License-Identifier: MIT */
/*
 * pfmlib_itanium.h - further input and output of pfm_dispatch_events() for the first Itanium:
 * event address registers, branch trace buffer, opcode matchers, code and data address ranges.
 */
#ifndef PERFMON_PFMLIB_ITANIUM_H
#define PERFMON_PFMLIB_ITANIUM_H

#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_itanium2.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PMU_ITA_FIRST_COUNTER	4
#define PMU_ITA_NUM_COUNTERS	4
#define PMU_ITA_NUM_PMCS	14
#define PMU_ITA_NUM_PMDS	18
#define PMU_ITA_NUM_BTB		8
#define PMU_ITA_COUNTER_WIDTH	32

/* Layouts of the PMC registers, least significant bit first. */
typedef union {
	unsigned long long pmc_val;

	struct {				/* PMC4 - PMC7: counters */
		unsigned long long pmc_plm:4;
		unsigned long long pmc_ev:1;
		unsigned long long pmc_oi:1;	/* overflow interrupt */
		unsigned long long pmc_pm:1;	/* privileged monitor */
		unsigned long long pmc_ig1:1;
		unsigned long long pmc_es:7;	/* event select */
		unsigned long long pmc_ig2:1;
		unsigned long long pmc_umask:4;
		unsigned long long pmc_thres:3;
		unsigned long long pmc_ig3:1;
		unsigned long long pmc_ism:2;	/* instruction set */
		unsigned long long pmc_ig4:38;
	} pmc_ita_count_reg;

	struct {				/* PMC8, PMC9: opcode matchers */
		unsigned long long ignored1:3;
		unsigned long long mask:27;
		unsigned long long ignored2:3;
		unsigned long long match:27;
		unsigned long long b:1;
		unsigned long long f:1;
		unsigned long long i:1;
		unsigned long long m:1;
	} pmc8_9_ita_reg;

	struct {				/* PMC10: instruction EAR */
		unsigned long long iear_plm:4;
		unsigned long long iear_ig1:2;
		unsigned long long iear_pm:1;
		unsigned long long iear_tlb:1;	/* 0: cache, 1: TLB */
		unsigned long long iear_ig2:8;
		unsigned long long iear_umask:4;
		unsigned long long iear_ig3:4;
		unsigned long long iear_ism:2;
		unsigned long long iear_ig4:38;
	} pmc10_ita_reg;

	struct {				/* PMC11: data EAR */
		unsigned long long dear_plm:4;
		unsigned long long dear_ig1:2;
		unsigned long long dear_pm:1;
		unsigned long long dear_tlb:1;	/* 0: cache, 1: TLB */
		unsigned long long dear_ig2:8;
		unsigned long long dear_umask:4;
		unsigned long long dear_ig3:4;
		unsigned long long dear_ism:2;
		unsigned long long dear_ig4:2;
		unsigned long long dear_pt:1;	/* 0: data ranges apply */
		unsigned long long dear_ig5:35;
	} pmc11_ita_reg;

	struct {				/* PMC12: branch trace buffer */
		unsigned long long btbc_plm:4;
		unsigned long long btbc_ig1:2;
		unsigned long long btbc_pm:1;
		unsigned long long btbc_tar:1;	/* predicted by target registers */
		unsigned long long btbc_tm:2;	/* taken or not */
		unsigned long long btbc_ptm:2;	/* target predicted */
		unsigned long long btbc_ppm:2;	/* predicate predicted */
		unsigned long long btbc_bpt:1;	/* predicted by the target cache */
		unsigned long long btbc_bac:1;	/* predicted by the address calculator */
		unsigned long long btbc_ig2:48;
	} pmc12_ita_reg;

	struct {				/* PMC13: code ranges */
		unsigned long long irange_ta:1;	/* 0: ranges apply */
		unsigned long long irange_ig:63;
	} pmc13_ita_reg;
} pfm_ita_pmc_reg_t;

/* Layouts of the PMD registers. */
typedef union {
	unsigned long long pmd_val;

	struct {				/* PMD4 - PMD7 */
		unsigned long long pmd_count:32;
		unsigned long long pmd_sxt32:32;
	} pmd_ita_counter_reg;

	struct {				/* PMD0: instruction EAR, line */
		unsigned long long iear_v:1;	/* valid */
		unsigned long long iear_tlb:1;
		unsigned long long iear_ig1:3;
		unsigned long long iear_icla:59;
	} pmd0_ita_reg;

	struct {				/* PMD1: instruction EAR, latency */
		unsigned long long iear_lat:12;
		unsigned long long iear_ig1:52;
	} pmd1_ita_reg;

	struct {				/* PMD2: data EAR, data address */
		unsigned long long dear_daddr:64;
	} pmd2_ita_reg;

	struct {				/* PMD3: data EAR, latency */
		unsigned long long dear_latency:12;
		unsigned long long dear_ig1:50;
		unsigned long long dear_level:2;
	} pmd3_ita_reg;

	struct {				/* PMD8 - PMD15: branch trace buffer */
		unsigned long long btb_b:1;	/* 1: a branch, 0: a target */
		unsigned long long btb_mp:1;
		unsigned long long btb_slot:2;
		unsigned long long btb_addr:60;
	} pmd8_15_ita_reg;

	struct {				/* PMD16: branch trace buffer, index */
		unsigned long long btbi_bbi:3;
		unsigned long long btbi_full:1;
		unsigned long long btbi_ignored:60;
	} pmd16_ita_reg;

	struct {				/* PMD17: data EAR, instruction address */
		unsigned long long dear_vl:1;	/* valid */
		unsigned long long dear_ig1:1;
		unsigned long long dear_slot:2;
		unsigned long long dear_iaddr:60;
	} pmd17_ita_reg;
} pfm_ita_pmd_reg_t;

typedef enum {
	PFMLIB_ITA_ISM_BOTH = 0,
	PFMLIB_ITA_ISM_IA32 = 1,
	PFMLIB_ITA_ISM_IA64 = 2
} pfmlib_ita_ism_t;

#define PFMLIB_ITA_FL_EVT_NO_QUALCHECK	0x1	/* do not check whether ranges apply to the event */

typedef struct {
	unsigned int		flags;
	unsigned int		thres;	/* 0 - 7: counts cycles with more occurrences than this */
	pfmlib_ita_ism_t	ism;
} pfmlib_ita_counter_t;

typedef struct {
	unsigned char		opcm_used;
	unsigned long		pmc_val;	/* in the layout of PMC8 and PMC9 */
} pfmlib_ita_opcm_t;

/*
 * Without btb_used, BRANCH_EVENT records all branches. With it, these settings apply, and the
 * event is optional.
 */
typedef struct {
	unsigned char		btb_used;
	unsigned char		btb_tar;
	unsigned char		btb_tac;
	unsigned char		btb_bac;
	unsigned char		btb_tm;
	unsigned char		btb_ptm;
	unsigned char		btb_ppm;
	unsigned int		btb_plm;	/* 0: pfp_dfl_plm */
} pfmlib_ita_btb_t;

typedef enum {
	PFMLIB_ITA_EAR_CACHE_MODE = 0,
	PFMLIB_ITA_EAR_TLB_MODE = 1
} pfmlib_ita_ear_mode_t;

/*
 * Without ear_used, the name of an EAR event sets the register up. With it, these settings
 * apply.
 */
typedef struct {
	unsigned char		ear_used;
	pfmlib_ita_ear_mode_t	ear_mode;
	pfmlib_ita_ism_t	ear_ism;
	unsigned int		ear_plm;	/* 0: pfp_dfl_plm */
	unsigned long		ear_umask;
} pfmlib_ita_ear_t;

typedef struct {
	unsigned int		rr_flags;	/* must be 0 */
	unsigned int		rr_plm;		/* 0: pfp_dfl_plm; not used for data ranges */
	unsigned long		rr_start;
	unsigned long		rr_end;	/* first address after it; a 0 range ends the list */
} pfmlib_ita_input_rr_desc_t;

typedef struct {
	unsigned char		rr_used;
	unsigned int		rr_flags;	/* always 0 */
	unsigned int		rr_nbr_used;	/* unused */
	pfmlib_ita_input_rr_desc_t rr_limits[4];
} pfmlib_ita_input_rr_t;

/* These types are those of the Itanium 2. */
typedef pfmlib_ita2_output_rr_desc_t pfmlib_ita_output_rr_desc_t;
typedef pfmlib_ita2_output_rr_t pfmlib_ita_output_rr_t;

typedef struct {
	pfmlib_ita_counter_t	pfp_ita_counters[PMU_ITA_NUM_COUNTERS];
	unsigned long		pfp_ita_flags;
	pfmlib_ita_opcm_t	pfp_ita_pmc8;
	pfmlib_ita_opcm_t	pfp_ita_pmc9;
	pfmlib_ita_ear_t	pfp_ita_iear;
	pfmlib_ita_ear_t	pfp_ita_dear;
	pfmlib_ita_btb_t	pfp_ita_btb;
	pfmlib_ita_input_rr_t	pfp_ita_drange;
	pfmlib_ita_input_rr_t	pfp_ita_irange;
	unsigned long		reserved[1];
} pfmlib_ita_input_param_t;

typedef struct {
	pfmlib_ita_output_rr_t	pfp_ita_drange;
	pfmlib_ita_output_rr_t	pfp_ita_irange;
	unsigned long		reserved[6];
} pfmlib_ita_output_param_t;

/* These functions return 1 or 0; for events of other models, 0. */
int pfm_ita_is_ear(unsigned int i);
int pfm_ita_is_dear(unsigned int i);
int pfm_ita_is_dear_tlb(unsigned int i);
int pfm_ita_is_dear_cache(unsigned int i);
int pfm_ita_is_iear(unsigned int i);
int pfm_ita_is_iear_tlb(unsigned int i);
int pfm_ita_is_iear_cache(unsigned int i);
int pfm_ita_is_btb(unsigned int i);
int pfm_ita_support_opcm(unsigned int i);
int pfm_ita_support_iarr(unsigned int i);
int pfm_ita_support_darr(unsigned int i);

/*
 * These functions return PFMLIB_ERR_INVAL for events of other models; get_ear_mode() also for
 * events that are not EAR events.
 */
int pfm_ita_get_ear_mode(unsigned int i, pfmlib_ita_ear_mode_t *m);
int pfm_ita_get_event_maxincr(unsigned int i, unsigned int *maxincr);
int pfm_ita_get_event_umask(unsigned int i, unsigned long *umask);

#ifdef __cplusplus
}
#endif
#endif /* PERFMON_PFMLIB_ITANIUM_H */
