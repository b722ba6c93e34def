/* SPDX-License-Identifier: MIT */
/*
 * pfmlib_montecito.h - further input and output of pfm_dispatch_events() for the dual-core
 * Itanium 2: event address registers, execution trace buffer with its instruction pointer mode,
 * opcode matchers, code and data address ranges.
 */
#ifndef PERFMON_PFMLIB_MONTECITO_H
#define PERFMON_PFMLIB_MONTECITO_H

#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_itanium2.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PMU_MONT_FIRST_COUNTER	4
#define PMU_MONT_NUM_COUNTERS	12
#define PMU_MONT_NUM_PMCS	27
#define PMU_MONT_NUM_PMDS	36
#define PMU_MONT_NUM_ETB	16
#define PMU_MONT_COUNTER_WIDTH	47

/* Layouts of the PMC registers, least significant bit first. */
typedef union {
	unsigned long long pmc_val;

	struct {				/* PMC4 - PMC15: counters */
		unsigned long long pmc_plm:4;
		unsigned long long pmc_ev:1;
		unsigned long long pmc_oi:1;	/* overflow interrupt */
		unsigned long long pmc_pm:1;	/* privileged monitor */
		unsigned long long pmc_ig1:1;
		unsigned long long pmc_es:8;	/* event select */
		unsigned long long pmc_umask:4;
		unsigned long long pmc_thres:3;
		unsigned long long pmc_ig2:1;
		unsigned long long pmc_ism:2;	/* instruction set: 2 */
		unsigned long long pmc_all:1;	/* counts for both threads */
		unsigned long long pmc_i:1;	/* counts invalid lines */
		unsigned long long pmc_s:1;	/* counts shared lines */
		unsigned long long pmc_e:1;	/* counts exclusive lines */
		unsigned long long pmc_m:1;	/* counts modified lines */
		unsigned long long pmc_res3:33;
	} pmc_mont_counter_reg;

	struct {				/* PMC32, PMC34: opcode matchers, mask */
		unsigned long long opcm_mask:41;
		unsigned long long opcm_ig1:7;
		unsigned long long opcm_b:1;
		unsigned long long opcm_f:1;
		unsigned long long opcm_i:1;
		unsigned long long opcm_m:1;
		unsigned long long opcm_ig2:4;
		unsigned long long opcm_inv:1;	/* PMC32: inverts code pair 0 */
		unsigned long long opcm_ig_ad:1;	/* PMC32: ignore the code ranges */
		unsigned long long opcm_ig3:6;
	} pmc32_34_mont_reg;

	struct {				/* PMC33, PMC35: opcode matchers, match */
		unsigned long long opcm_match:41;
		unsigned long long opcm_ig1:23;
	} pmc33_35_mont_reg;

	struct {				/* PMC36: channels without matchers */
		unsigned long long opcm_ch0_ig_opcm:1;
		unsigned long long opcm_ch1_ig_opcm:1;
		unsigned long long opcm_ch2_ig_opcm:1;
		unsigned long long opcm_ch3_ig_opcm:1;
		unsigned long long opcm_res:28;
		unsigned long long opcm_ig:32;
	} pmc36_mont_reg;

	struct {				/* PMC37: instruction EAR, cache mode */
		unsigned long long iear_plm:4;
		unsigned long long iear_pm:1;
		unsigned long long iear_umask:8;
		unsigned long long iear_ct:1;	/* must be 1 */
		unsigned long long iear_res:2;
		unsigned long long iear_ig:48;
	} pmc37_mont_cache_reg;

	struct {				/* PMC37: instruction EAR, TLB mode */
		unsigned long long iear_plm:4;
		unsigned long long iear_pm:1;
		unsigned long long iear_umask:7;
		unsigned long long iear_ct:2;	/* must be 0 */
		unsigned long long iear_res:50;
	} pmc37_mont_tlb_reg;

	struct {				/* PMC40: data EAR */
		unsigned long long dear_plm:4;
		unsigned long long dear_ig1:2;
		unsigned long long dear_pm:1;
		unsigned long long dear_mode:2;
		unsigned long long dear_ig2:7;
		unsigned long long dear_umask:4;
		unsigned long long dear_ig3:4;
		unsigned long long dear_ism:2;	/* must be 2 */
		unsigned long long dear_ig4:38;
	} pmc40_mont_reg;

	struct {				/* PMC42: IP-EAR */
		unsigned long long ipear_plm:4;
		unsigned long long ipear_ig1:2;
		unsigned long long ipear_pm:1;
		unsigned long long ipear_ig2:1;
		unsigned long long ipear_mode:3;	/* 4: on */
		unsigned long long ipear_delay:8;
		unsigned long long ipear_ig3:45;
	} pmc42_mont_reg;

	struct {				/* PMC39: execution trace buffer */
		unsigned long long etbc_plm:4;
		unsigned long long etbc_res1:2;
		unsigned long long etbc_pm:1;
		unsigned long long etbc_ds:1;	/* must be 0 */
		unsigned long long etbc_tm:2;	/* taken or not */
		unsigned long long etbc_ptm:2;	/* target predicted */
		unsigned long long etbc_ppm:2;	/* predicate predicted */
		unsigned long long etbc_brt:2;	/* type of branch */
		unsigned long long etbc_ig:48;
	} pmc39_mont_reg;

	struct {				/* PMC41: data ranges */
		unsigned long long darc_res1:3;
		unsigned long long darc_cfg_dtag0:2;
		unsigned long long darc_res2:6;
		unsigned long long darc_cfg_dtag1:2;
		unsigned long long darc_res3:6;
		unsigned long long darc_cfg_dtag2:2;
		unsigned long long darc_res4:6;
		unsigned long long darc_cfg_dtag3:2;
		unsigned long long darc_res5:16;
		unsigned long long darc_ena_dbrp0:1;
		unsigned long long darc_ena_dbrp1:1;
		unsigned long long darc_ena_dbrp2:1;
		unsigned long long darc_ena_dbrp3:1;
		unsigned long long darc_res6:15;
	} pmc41_mont_reg;

	struct {				/* PMC38: code ranges */
		unsigned long long iarc_res1:1;
		unsigned long long iarc_ig_ibrp0:1;	/* 0: the pair's range applies */
		unsigned long long iarc_res2:2;
		unsigned long long iarc_ig_ibrp1:1;
		unsigned long long iarc_res3:2;
		unsigned long long iarc_ig_ibrp2:1;
		unsigned long long iarc_res4:2;
		unsigned long long iarc_ig_ibrp3:1;
		unsigned long long iarc_res5:2;
		unsigned long long iarc_fine:1;
		unsigned long long iarc_ig6:50;
	} pmc38_mont_reg;
} pfm_mont_pmc_reg_t;

/* Layouts of the PMD registers. */
typedef union {
	unsigned long long pmd_val;

	struct {				/* PMD4 - PMD15 */
		unsigned long long pmd_count:47;
		unsigned long long pmd_sxt47:17;
	} pmd_mont_counter_reg;

	struct {				/* PMD32: data EAR, data address */
		unsigned long long dear_daddr:64;
	} pmd32_mont_reg;

	struct {				/* PMD33: data EAR, latency */
		unsigned long long dear_latency:13;
		unsigned long long dear_ov:1;
		unsigned long long dear_stat:2;
		unsigned long long dear_ig:48;
	} pmd33_mont_reg;

	struct {				/* PMD34: instruction EAR, line */
		unsigned long long iear_stat:2;
		unsigned long long iear_ig:3;
		unsigned long long iear_iaddr:59;
	} pmd34_mont_reg;

	struct {				/* PMD35: instruction EAR, latency */
		unsigned long long iear_latency:12;
		unsigned long long iear_ov:1;
		unsigned long long iear_ig:51;
	} pmd35_mont_reg;

	struct {				/* PMD36: data EAR, instruction address */
		unsigned long long dear_slot:2;
		unsigned long long dear_bn:1;	/* in the next bundle */
		unsigned long long dear_vl:1;	/* valid */
		unsigned long long dear_iaddr:60;
	} pmd36_mont_reg;

	struct {				/* PMD38: execution trace buffer, index */
		unsigned long long etbi_ebi:4;
		unsigned long long etbi_ig1:1;
		unsigned long long etbi_full:1;
		unsigned long long etbi_ig2:58;
	} pmd38_mont_reg;

	struct {				/* PMD39: four more bits of PMD48 - PMD63 */
		unsigned long long etb_pmd48ext_b1:1;
		unsigned long long etb_pmd48ext_bruflush:1;
		unsigned long long etb_pmd48ext_res:2;
		unsigned long long etb_pmd56ext_b1:1;
		unsigned long long etb_pmd56ext_bruflush:1;
		unsigned long long etb_pmd56ext_res:2;
		unsigned long long etb_pmd49ext_b1:1;
		unsigned long long etb_pmd49ext_bruflush:1;
		unsigned long long etb_pmd49ext_res:2;
		unsigned long long etb_pmd57ext_b1:1;
		unsigned long long etb_pmd57ext_bruflush:1;
		unsigned long long etb_pmd57ext_res:2;
		unsigned long long etb_pmd50ext_b1:1;
		unsigned long long etb_pmd50ext_bruflush:1;
		unsigned long long etb_pmd50ext_res:2;
		unsigned long long etb_pmd58ext_b1:1;
		unsigned long long etb_pmd58ext_bruflush:1;
		unsigned long long etb_pmd58ext_res:2;
		unsigned long long etb_pmd51ext_b1:1;
		unsigned long long etb_pmd51ext_bruflush:1;
		unsigned long long etb_pmd51ext_res:2;
		unsigned long long etb_pmd59ext_b1:1;
		unsigned long long etb_pmd59ext_bruflush:1;
		unsigned long long etb_pmd59ext_res:2;
		unsigned long long etb_pmd52ext_b1:1;
		unsigned long long etb_pmd52ext_bruflush:1;
		unsigned long long etb_pmd52ext_res:2;
		unsigned long long etb_pmd60ext_b1:1;
		unsigned long long etb_pmd60ext_bruflush:1;
		unsigned long long etb_pmd60ext_res:2;
		unsigned long long etb_pmd53ext_b1:1;
		unsigned long long etb_pmd53ext_bruflush:1;
		unsigned long long etb_pmd53ext_res:2;
		unsigned long long etb_pmd61ext_b1:1;
		unsigned long long etb_pmd61ext_bruflush:1;
		unsigned long long etb_pmd61ext_res:2;
		unsigned long long etb_pmd54ext_b1:1;
		unsigned long long etb_pmd54ext_bruflush:1;
		unsigned long long etb_pmd54ext_res:2;
		unsigned long long etb_pmd62ext_b1:1;
		unsigned long long etb_pmd62ext_bruflush:1;
		unsigned long long etb_pmd62ext_res:2;
		unsigned long long etb_pmd55ext_b1:1;
		unsigned long long etb_pmd55ext_bruflush:1;
		unsigned long long etb_pmd55ext_res:2;
		unsigned long long etb_pmd63ext_b1:1;
		unsigned long long etb_pmd63ext_bruflush:1;
		unsigned long long etb_pmd63ext_res:2;
	} pmd39_mont_reg;

	struct {				/* PMD39 with the IP-EAR */
		unsigned long long ipear_pmd48ext_cycles:2;
		unsigned long long ipear_pmd48ext_f:1;
		unsigned long long ipear_pmd48ext_ef:1;
		unsigned long long ipear_pmd56ext_cycles:2;
		unsigned long long ipear_pmd56ext_f:1;
		unsigned long long ipear_pmd56ext_ef:1;
		unsigned long long ipear_pmd49ext_cycles:2;
		unsigned long long ipear_pmd49ext_f:1;
		unsigned long long ipear_pmd49ext_ef:1;
		unsigned long long ipear_pmd57ext_cycles:2;
		unsigned long long ipear_pmd57ext_f:1;
		unsigned long long ipear_pmd57ext_ef:1;
		unsigned long long ipear_pmd50ext_cycles:2;
		unsigned long long ipear_pmd50ext_f:1;
		unsigned long long ipear_pmd50ext_ef:1;
		unsigned long long ipear_pmd58ext_cycles:2;
		unsigned long long ipear_pmd58ext_f:1;
		unsigned long long ipear_pmd58ext_ef:1;
		unsigned long long ipear_pmd51ext_cycles:2;
		unsigned long long ipear_pmd51ext_f:1;
		unsigned long long ipear_pmd51ext_ef:1;
		unsigned long long ipear_pmd59ext_cycles:2;
		unsigned long long ipear_pmd59ext_f:1;
		unsigned long long ipear_pmd59ext_ef:1;
		unsigned long long ipear_pmd52ext_cycles:2;
		unsigned long long ipear_pmd52ext_f:1;
		unsigned long long ipear_pmd52ext_ef:1;
		unsigned long long ipear_pmd60ext_cycles:2;
		unsigned long long ipear_pmd60ext_f:1;
		unsigned long long ipear_pmd60ext_ef:1;
		unsigned long long ipear_pmd53ext_cycles:2;
		unsigned long long ipear_pmd53ext_f:1;
		unsigned long long ipear_pmd53ext_ef:1;
		unsigned long long ipear_pmd61ext_cycles:2;
		unsigned long long ipear_pmd61ext_f:1;
		unsigned long long ipear_pmd61ext_ef:1;
		unsigned long long ipear_pmd54ext_cycles:2;
		unsigned long long ipear_pmd54ext_f:1;
		unsigned long long ipear_pmd54ext_ef:1;
		unsigned long long ipear_pmd62ext_cycles:2;
		unsigned long long ipear_pmd62ext_f:1;
		unsigned long long ipear_pmd62ext_ef:1;
		unsigned long long ipear_pmd55ext_cycles:2;
		unsigned long long ipear_pmd55ext_f:1;
		unsigned long long ipear_pmd55ext_ef:1;
		unsigned long long ipear_pmd63ext_cycles:2;
		unsigned long long ipear_pmd63ext_f:1;
		unsigned long long ipear_pmd63ext_ef:1;
	} pmd39_ipear_mont_reg;

	struct {				/* PMD48 - PMD63: execution trace buffer */
		unsigned long long etb_s:1;	/* 1: a branch, 0: a target */
		unsigned long long etb_mp:1;
		unsigned long long etb_slot:2;	/* 3: the branch was not taken */
		unsigned long long etb_addr:60;
	} pmd48_63_etb_mont_reg;

	struct {				/* PMD48 - PMD63 with the IP-EAR */
		unsigned long long ipear_addr:60;
		unsigned long long ipear_cycles:4;	/* PMD39 has two more bits */
	} pmd48_63_ipear_mont_reg;

	struct {				/* PMD48 - PMD63 with the IP-EAR, frozen early */
		unsigned long long ipear_delay:8;
		unsigned long long ipear_addr:52;
		unsigned long long ipear_cycles:4;
	} pmd48_63_ipear_ef_mont_reg;
} pfm_mont_pmd_reg_t;

#define PFMLIB_MONT_FL_EVT_NO_QUALCHECK	0x1	/* do not check whether ranges apply to the event */
#define PFMLIB_MONT_FL_EVT_ALL_THRD	0x2	/* counts both threads: PFMLIB_ERR_NOTSUPP */
#define PFMLIB_MONT_FL_EVT_ACTIVE_ONLY	0x4
#define PFMLIB_MONT_FL_EVT_ALWAYS	0x8

typedef struct {
	unsigned int		flags;
	unsigned int		thres;	/* 0 - 7: counts cycles with more occurrences than this */
} pfmlib_mont_counter_t;

/*
 * Without etb_used, ETB_EVENT records all branches. With it, these settings apply, and the event
 * is optional.
 */
typedef struct {
	unsigned char		etb_used;
	unsigned int		etb_plm;	/* 0: pfp_dfl_plm */
	unsigned char		etb_tm;
	unsigned char		etb_ptm;
	unsigned char		etb_ppm;
	unsigned char		etb_brt;
} pfmlib_mont_etb_t;

typedef enum {
	PFMLIB_MONT_EAR_CACHE_MODE = 0,
	PFMLIB_MONT_EAR_TLB_MODE = 1,
	PFMLIB_MONT_EAR_ALAT_MODE = 2		/* data EAR alone */
} pfmlib_mont_ear_mode_t;

/*
 * Without ear_used, the name of an EAR event sets the register up. With it, these settings
 * apply.
 */
typedef struct {
	unsigned char		ear_used;
	pfmlib_mont_ear_mode_t	ear_mode;
	unsigned int		ear_plm;	/* 0: pfp_dfl_plm */
	unsigned long		ear_umask;
} pfmlib_mont_ear_t;

/* Ranges are those of the Itanium 2, but a fine range lies within 64 KB. */
typedef pfmlib_ita2_input_rr_desc_t pfmlib_mont_input_rr_desc_t;
typedef pfmlib_ita2_input_rr_t pfmlib_mont_input_rr_t;
typedef pfmlib_ita2_output_rr_desc_t pfmlib_mont_output_rr_desc_t;
typedef pfmlib_ita2_output_rr_t pfmlib_mont_output_rr_t;

#define PFMLIB_MONT_RR_INV		0x1	/* code outside of the only range */
#define PFMLIB_MONT_RR_NO_FINE_MODE	0x2
/*
 * Events that count demand fetches and prefetches (L1I_FILLS) need one or both flags, else
 * PFMLIB_ERR_IRRFLAGS.
 */
#define PFMLIB_MONT_IRR_DEMAND_FETCH	0x4
#define PFMLIB_MONT_IRR_PREFETCH_MATCH	0x8

typedef struct {
	unsigned char		opcm_used;
	unsigned char		opcm_m;		/* applies to M slots, I slots ... */
	unsigned char		opcm_i;
	unsigned char		opcm_f;
	unsigned char		opcm_b;
	unsigned long		opcm_match;	/* 41 bits */
	unsigned long		opcm_mask;	/* 1: ignores the bit of opcm_match */
} pfmlib_mont_opcm_t;

/* The IP-EAR excludes the execution trace buffer, which uses the same PMDs. */
typedef struct {
	unsigned char		ipear_used;
	unsigned int		ipear_plm;	/* 0: pfp_dfl_plm */
	unsigned short		ipear_delay;	/* 0 - 255, in cycles */
} pfmlib_mont_ipear_t;

typedef struct {
	pfmlib_mont_counter_t	pfp_mont_counters[PMU_MONT_NUM_COUNTERS];
	unsigned long		pfp_mont_flags;
	pfmlib_mont_opcm_t	pfp_mont_opcm1;		/* PMC32, PMC33 */
	pfmlib_mont_opcm_t	pfp_mont_opcm2;		/* PMC34, PMC35 */
	pfmlib_mont_ear_t	pfp_mont_iear;
	pfmlib_mont_ear_t	pfp_mont_dear;
	pfmlib_mont_etb_t	pfp_mont_etb;
	pfmlib_mont_ipear_t	pfp_mont_ipear;
	pfmlib_mont_input_rr_t	pfp_mont_drange;
	pfmlib_mont_input_rr_t	pfp_mont_irange;
	unsigned long		reserved[1];
} pfmlib_mont_input_param_t;

typedef struct {
	pfmlib_mont_output_rr_t	pfp_mont_drange;
	pfmlib_mont_output_rr_t	pfp_mont_irange;
	unsigned long		reserved[6];
} pfmlib_mont_output_param_t;

#define PFMLIB_MONT_EVT_NO_GRP		0
#define PFMLIB_MONT_EVT_L1D_CACHE_GRP	1
#define PFMLIB_MONT_EVT_L2D_CACHE_GRP	2
#define PFMLIB_MONT_EVT_NO_SET		-1

/* Values of pfm_mont_get_event_type(): for which of the core's threads an event counts. */
#define PFMLIB_MONT_EVT_ACTIVE		0	/* the active thread */
#define PFMLIB_MONT_EVT_FLOATING	1
#define PFMLIB_MONT_EVT_CAUSAL		2
#define PFMLIB_MONT_EVT_SELF_FLOATING	3	/* floating for the own thread, else causal */

/* These functions return 1 or 0; for events of other models, 0. */
int pfm_mont_is_ear(unsigned int i);
int pfm_mont_is_dear(unsigned int i);
int pfm_mont_is_dear_tlb(unsigned int i);
int pfm_mont_is_dear_cache(unsigned int i);
int pfm_mont_is_dear_alat(unsigned int i);
int pfm_mont_is_iear(unsigned int i);
int pfm_mont_is_iear_tlb(unsigned int i);
int pfm_mont_is_iear_cache(unsigned int i);
int pfm_mont_is_etb(unsigned int i);
int pfm_mont_support_opcm(unsigned int i);
int pfm_mont_support_iarr(unsigned int i);
int pfm_mont_support_darr(unsigned int i);
int pfm_mont_support_all(unsigned int i);
int pfm_mont_irange_is_fine(pfmlib_output_param_t *outp, pfmlib_mont_output_param_t *mod_out);

/*
 * These functions return PFMLIB_ERR_INVAL for events of other models; get_ear_mode() also for
 * events that are not EAR events.
 */
int pfm_mont_get_ear_mode(unsigned int i, pfmlib_mont_ear_mode_t *m);
int pfm_mont_get_event_maxincr(unsigned int i, unsigned int *maxincr);
int pfm_mont_get_event_umask(unsigned int i, unsigned long *umask);
int pfm_mont_get_event_group(unsigned int i, int *grp);
int pfm_mont_get_event_set(unsigned int i, int *set);
int pfm_mont_get_event_type(unsigned int i, int *type);

#ifdef __cplusplus
}
#endif
#endif /* PERFMON_PFMLIB_MONTECITO_H */
