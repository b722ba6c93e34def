/* SPDX-License-Identifier: MIT */
/*
 * pfmlib_itanium2.h - further input and output of pfm_dispatch_events() for Itanium 2: event
 * address registers, branch trace buffer, opcode matchers, code and data address ranges.
 */
#ifndef PERFMON_PFMLIB_ITANIUM2_H
#define PERFMON_PFMLIB_ITANIUM2_H

#include <perfmon/pfmlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PMU_ITA2_FIRST_COUNTER	4
#define PMU_ITA2_NUM_COUNTERS	4
#define PMU_ITA2_NUM_PMCS	16
#define PMU_ITA2_NUM_PMDS	18
#define PMU_ITA2_NUM_BTB	8
#define PMU_ITA2_COUNTER_WIDTH	47

/* Layouts of the PMC registers, least significant bit first. */
typedef union {
	unsigned long long pmc_val;

	struct {				/* PMC4 - PMC7: counters */
		unsigned long long pmc_plm:4;
		unsigned long long pmc_ev:1;
		unsigned long long pmc_oi:1;	/* overflow interrupt */
		unsigned long long pmc_pm:1;	/* privileged monitor */
		unsigned long long pmc_ig1:1;
		unsigned long long pmc_es:8;	/* event select */
		unsigned long long pmc_umask:4;
		unsigned long long pmc_thres:3;
		unsigned long long pmc_enable:1; /* PMC4 only: power enable */
		unsigned long long pmc_ism:2;	/* instruction set */
		unsigned long long pmc_ig2:38;
	} pmc_ita2_counter_reg;

	struct {				/* PMC8, PMC9: opcode matchers */
		unsigned long long opcm_ig_ad:1;	/* ignore the code ranges */
		unsigned long long opcm_inv:1;	/* inverts the code range */
		unsigned long long opcm_bit2:1;	/* must be 1 */
		unsigned long long opcm_mask:27;
		unsigned long long opcm_ig1:3;
		unsigned long long opcm_match:27;
		unsigned long long opcm_b:1;
		unsigned long long opcm_f:1;
		unsigned long long opcm_i:1;
		unsigned long long opcm_m:1;
	} pmc8_9_ita2_reg;

	struct {				/* PMC10: instruction EAR, cache mode */
		unsigned long long iear_plm:4;
		unsigned long long iear_pm:1;
		unsigned long long iear_umask:8;
		unsigned long long iear_ct:1;	/* must be 1 */
		unsigned long long iear_ism:2;
		unsigned long long iear_ig4:48;
	} pmc10_ita2_cache_reg;

	struct {				/* PMC10: instruction EAR, TLB mode */
		unsigned long long iear_plm:4;
		unsigned long long iear_pm:1;
		unsigned long long iear_umask:7;
		unsigned long long iear_ct:2;	/* must be 0 */
		unsigned long long iear_ism:2;
		unsigned long long iear_ig4:48;
	} pmc10_ita2_tlb_reg;

	struct {				/* PMC11: data EAR */
		unsigned long long dear_plm:4;
		unsigned long long dear_ig1:2;
		unsigned long long dear_pm:1;
		unsigned long long dear_mode:2;
		unsigned long long dear_ig2:7;
		unsigned long long dear_umask:4;
		unsigned long long dear_ig3:4;
		unsigned long long dear_ism:2;
		unsigned long long dear_ig4:38;
	} pmc11_ita2_reg;

	struct {				/* PMC12: branch trace buffer */
		unsigned long long btbc_plm:4;
		unsigned long long btbc_ig1:2;
		unsigned long long btbc_pm:1;
		unsigned long long btbc_ds:1;
		unsigned long long btbc_tm:2;
		unsigned long long btbc_ptm:2;
		unsigned long long btbc_ppm:2;
		unsigned long long btbc_brt:2;
		unsigned long long btbc_ig2:48;
	} pmc12_ita2_reg;

	struct {				/* PMC13: data ranges */
		unsigned long long darc_ig1:3;
		unsigned long long darc_cfg_dbrp0:2;
		unsigned long long darc_ig2:6;
		unsigned long long darc_cfg_dbrp1:2;
		unsigned long long darc_ig3:6;
		unsigned long long darc_cfg_dbrp2:2;
		unsigned long long darc_ig4:6;
		unsigned long long darc_cfg_dbrp3:2;
		unsigned long long darc_ig5:16;
		unsigned long long darc_ena_dbrp0:1;
		unsigned long long darc_ena_dbrp1:1;
		unsigned long long darc_ena_dbrp2:1;
		unsigned long long darc_ena_dbrp3:1;
		unsigned long long darc_ig6:15;
	} pmc13_ita2_reg;

	struct {				/* PMC14: code ranges */
		unsigned long long iarc_ig1:1;
		unsigned long long iarc_ibrp0:1;	/* 0: the pair's range applies */
		unsigned long long iarc_ig2:2;
		unsigned long long iarc_ibrp1:1;
		unsigned long long iarc_ig3:2;
		unsigned long long iarc_ibrp2:1;
		unsigned long long iarc_ig4:2;
		unsigned long long iarc_ibrp3:1;
		unsigned long long iarc_ig5:2;
		unsigned long long iarc_fine:1;
		unsigned long long iarc_ig6:50;
	} pmc14_ita2_reg;

	struct {				/* PMC15: assigns pairs to opcode matchers */
		unsigned long long opcmc_ibrp0_pmc8:1;
		unsigned long long opcmc_ibrp1_pmc9:1;
		unsigned long long opcmc_ibrp2_pmc8:1;
		unsigned long long opcmc_ibrp3_pmc9:1;
		unsigned long long opcmc_ig1:60;
	} pmc15_ita2_reg;
} pfm_ita2_pmc_reg_t;

/* Layouts of the PMD registers. */
typedef union {
	unsigned long long pmd_val;

	struct {				/* PMD4 - PMD7 */
		unsigned long long pmd_count:47;
		unsigned long long pmd_sxt47:17;
	} pmd_ita2_counter_reg;

	struct {				/* PMD0: instruction EAR, address */
		unsigned long long iear_stat:2;
		unsigned long long iear_ig1:3;
		unsigned long long iear_iaddr:59;
	} pmd0_ita2_reg;

	struct {				/* PMD1: instruction EAR, latency */
		unsigned long long iear_latency:12;
		unsigned long long iear_overflow:1;
		unsigned long long iear_ig1:51;
	} pmd1_ita2_reg;

	struct {				/* PMD2: data EAR, data address */
		unsigned long long dear_daddr;
	} pmd2_ita2_reg;

	struct {				/* PMD3: data EAR, latency */
		unsigned long long dear_latency:13;
		unsigned long long dear_overflow:1;
		unsigned long long dear_stat:2;
		unsigned long long dear_ig1:48;
	} pmd3_ita2_reg;

	struct {				/* PMD8 - PMD15: branch trace buffer */
		unsigned long long btb_b:1;	/* 1: a branch, 0: a target */
		unsigned long long btb_mp:1;
		unsigned long long btb_slot:2;
		unsigned long long btb_addr:60;
	} pmd8_15_ita2_reg;

	struct {				/* PMD16: branch trace buffer, index */
		unsigned long long btbi_bbi:3;
		unsigned long long btbi_full:1;
		unsigned long long btbi_pmdext:32;	/* four bits for each of PMD8 - PMD15 */
		unsigned long long btbi_ignored:28;
	} pmd16_ita2_reg;

	struct {				/* PMD17: data EAR, instruction address */
		unsigned long long dear_slot:2;
		unsigned long long dear_bn:1;
		unsigned long long dear_vl:1;
		unsigned long long dear_iaddr:60;
	} pmd17_ita2_reg;
} pfm_ita2_pmd_reg_t;

typedef enum {
	PFMLIB_ITA2_ISM_BOTH = 0,
	PFMLIB_ITA2_ISM_IA32 = 1,
	PFMLIB_ITA2_ISM_IA64 = 2
} pfmlib_ita2_ism_t;

#define PFMLIB_ITA2_FL_EVT_NO_QUALCHECK	0x1	/* do not check whether ranges apply to the event */

typedef struct {
	unsigned int		flags;
	unsigned int		thres;	/* 0 - 7: counts cycles with more occurrences than this */
	pfmlib_ita2_ism_t	ism;
} pfmlib_ita2_counter_t;

typedef struct {
	unsigned char		opcm_used;
	unsigned long		pmc_val;	/* in the layout of PMC8 and PMC9 */
} pfmlib_ita2_opcm_t;

/*
 * Without btb_used, the event BRANCH_EVENT programs the buffer to record all branches. With it,
 * these settings apply, and the event is optional (without it, the buffer runs freely).
 */
typedef struct {
	unsigned char		btb_used;
	unsigned char		btb_ds;
	unsigned char		btb_tm;
	unsigned char		btb_ptm;
	unsigned char		btb_ppm;
	unsigned char		btb_brt;
	unsigned int		btb_plm;	/* 0: pfp_dfl_plm */
} pfmlib_ita2_btb_t;

typedef enum {
	PFMLIB_ITA2_EAR_CACHE_MODE = 0,
	PFMLIB_ITA2_EAR_TLB_MODE = 1,
	PFMLIB_ITA2_EAR_ALAT_MODE = 2		/* data EAR alone */
} pfmlib_ita2_ear_mode_t;

/*
 * Without ear_used, the name of an EAR event sets the register up. With it, these settings
 * apply.
 */
typedef struct {
	unsigned char		ear_used;
	pfmlib_ita2_ear_mode_t	ear_mode;
	pfmlib_ita2_ism_t	ear_ism;
	unsigned int		ear_plm;	/* 0: pfp_dfl_plm */
	unsigned long		ear_umask;
} pfmlib_ita2_ear_t;

typedef struct {
	unsigned int		rr_plm;		/* 0: pfp_dfl_plm; not used for data ranges */
	unsigned long		rr_start;
	unsigned long		rr_end;	/* first address after it; a 0 range ends the list */
} pfmlib_ita2_input_rr_desc_t;

typedef struct {
	unsigned long		rr_soff;	/* bytes covered before the start */
	unsigned long		rr_eoff;	/* bytes covered after the end */
} pfmlib_ita2_output_rr_desc_t;

#define PFMLIB_ITA2_RR_INV		0x1	/* code outside of the only range */
#define PFMLIB_ITA2_RR_NO_FINE_MODE	0x2

typedef struct {
	unsigned int		rr_flags;
	pfmlib_ita2_input_rr_desc_t rr_limits[4];
	unsigned char		rr_used;
} pfmlib_ita2_input_rr_t;

typedef struct {
	unsigned int		rr_nbr_used;
	pfmlib_ita2_output_rr_desc_t rr_infos[4];
	pfmlib_reg_t		rr_br[8];	/* reg_num 0 - 7: number of an IBR or DBR */
} pfmlib_ita2_output_rr_t;

typedef struct {
	pfmlib_ita2_counter_t	pfp_ita2_counters[PMU_ITA2_NUM_COUNTERS];
	unsigned long		pfp_ita2_flags;
	pfmlib_ita2_opcm_t	pfp_ita2_pmc8;
	pfmlib_ita2_opcm_t	pfp_ita2_pmc9;
	pfmlib_ita2_ear_t	pfp_ita2_iear;
	pfmlib_ita2_ear_t	pfp_ita2_dear;
	pfmlib_ita2_btb_t	pfp_ita2_btb;
	pfmlib_ita2_input_rr_t	pfp_ita2_drange;
	pfmlib_ita2_input_rr_t	pfp_ita2_irange;
	unsigned long		reserved[1];
} pfmlib_ita2_input_param_t;

typedef struct {
	pfmlib_ita2_output_rr_t	pfp_ita2_drange;
	pfmlib_ita2_output_rr_t	pfp_ita2_irange;
	unsigned long		reserved[6];
} pfmlib_ita2_output_param_t;

#define PFMLIB_ITA2_EVT_NO_GRP		0
#define PFMLIB_ITA2_EVT_L1_CACHE_GRP	1
#define PFMLIB_ITA2_EVT_L2_CACHE_GRP	2
#define PFMLIB_ITA2_EVT_NO_SET		-1

/* These functions return 1 or 0; for events of other models, 0. */
int pfm_ita2_is_ear(unsigned int i);
int pfm_ita2_is_dear(unsigned int i);
int pfm_ita2_is_dear_tlb(unsigned int i);
int pfm_ita2_is_dear_cache(unsigned int i);
int pfm_ita2_is_dear_alat(unsigned int i);
int pfm_ita2_is_iear(unsigned int i);
int pfm_ita2_is_iear_tlb(unsigned int i);
int pfm_ita2_is_iear_cache(unsigned int i);
int pfm_ita2_is_btb(unsigned int i);
int pfm_ita2_support_opcm(unsigned int i);
int pfm_ita2_support_iarr(unsigned int i);
int pfm_ita2_support_darr(unsigned int i);
int pfm_ita2_irange_is_fine(pfmlib_output_param_t *outp, pfmlib_ita2_output_param_t *mod_out);

/*
 * These functions return PFMLIB_ERR_INVAL for events of other models; get_ear_mode() also for
 * events that are not EAR events.
 */
int pfm_ita2_get_ear_mode(unsigned int i, pfmlib_ita2_ear_mode_t *m);
int pfm_ita2_get_event_maxincr(unsigned int i, unsigned int *maxincr);
int pfm_ita2_get_event_umask(unsigned int i, unsigned long *umask);
int pfm_ita2_get_event_group(unsigned int i, int *grp);
int pfm_ita2_get_event_set(unsigned int i, int *set);

#ifdef __cplusplus
}
#endif
#endif /* PERFMON_PFMLIB_ITANIUM2_H */
