/* SPDX-License-Identifier: MIT */
/*
 * pfmlib_amd64.h - further input of pfm_dispatch_events() for AMD's K7 to family 16h.
 * Fields that are 0 have no effect.
 */
#ifndef PERFMON_PFMLIB_AMD64_H
#define PERFMON_PFMLIB_AMD64_H

#include <perfmon/pfmlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PMU_AMD64_MAX_COUNTERS	4

#define PFM_AMD64_SEL_INV	0x1	/* counts cycles with fewer than cnt_mask events */
#define PFM_AMD64_SEL_EDGE	0x2	/* counts rising edges */
#define PFM_AMD64_SEL_GUEST	0x4	/* counts in guests only */
#define PFM_AMD64_SEL_HOST	0x8	/* counts outside of guests */

typedef struct {
	uint32_t	cnt_mask;	/* 1 - 255: counts cycles with at least that many events */
	uint32_t	flags;		/* PFM_AMD64_SEL_* */
} pfmlib_amd64_counter_t;

typedef struct {
	unsigned int	maxcnt;
	unsigned int	options;
} ibs_param_t;

/*
 * Instruction-based sampling, of family 10h (others: BADHOST); it needs model_out. maxcnt: a
 * period of up to 20 bits, the lowest four of which are 0; options: randomize fetches, count
 * operations instead of cycles.
 */
#define IBS_OPTIONS_RANDEN	1
#define IBS_OPTIONS_UOPS	1
#define PFMLIB_AMD64_USE_IBSFETCH 1
#define PFMLIB_AMD64_USE_IBSOP	2

typedef struct {
	/* [i] is for pfp_events[i] */
	pfmlib_amd64_counter_t	pfp_amd64_counters[PMU_AMD64_MAX_COUNTERS];
	uint32_t		flags;		/* PFMLIB_AMD64_USE_* */
	uint32_t		reserved1;
	ibs_param_t		ibsfetch;
	ibs_param_t		ibsop;
	uint64_t		reserved2;
} pfmlib_amd64_input_param_t;

/*
 * The registers of instruction-based sampling, from AMD's BIOS and Kernel Developer's Guide for
 * family 10h (31116): PMC4 and PMD4; PMC5 and PMD7; PMD9, 10 and 11.
 */
typedef union {
	uint64_t	val;
	struct {
		uint64_t	ibsfetchmaxcnt:16, ibsfetchcnt:16;	/* in units of 16 */
		uint64_t	ibsfetchlat:16;				/* cycles */
		uint64_t	ibsfetchen:1, ibsfetchval:1;		/* on; has a sample */
		uint64_t	ibsfetchcomp:1, ibsicmiss:1;	/* complete; missed the L1I */
		uint64_t	ibsphyaddrvalid:1;
		uint64_t	ibsl1tlbpgsz:2, ibsl1tlbmiss:1, ibsl2tlbmiss:1;
		uint64_t	ibsranden:1;				/* randomizes periods */
		uint64_t	reserved:6;
	} reg;
} ibsfetchctl_t;

typedef union {
	uint64_t	val;
	struct {
		uint64_t	ibsopmaxcnt:16;				/* in units of 16 */
		uint64_t	reserved1:1;
		uint64_t	ibsopen:1, ibsopval:1;			/* on; has a sample */
		uint64_t	ibsopcntl:1;				/* counts operations */
		uint64_t	reserved2:44;
	} reg;
} ibsopctl_t;

typedef union {
	uint64_t	val;
	struct {
		/* cycles since completion, since the tag */
		uint64_t	ibscomptoretctr:16, ibstagtoretctr:16;
		uint64_t	ibsopbrnresync:1, ibsopmispreturn:1, ibsopreturn:1;
		uint64_t	ibsopbrntaken:1, ibsopbrnmisp:1, ibsopbrnret:1;
		uint64_t	reserved:26;
	} reg;
} ibsopdata_t;

typedef union {
	uint64_t	val;
	struct {
		uint64_t	nbibsreqsrc:3;				/* source of a load */
		uint64_t	reserved1:1;
		uint64_t	nbibsreqdstproc:1, nbibsreqcachehitst:1;
		uint64_t	reserved2:58;
	} reg;
} ibsopdata2_t;

typedef union {
	uint64_t	val;
	struct {
		uint64_t	ibsldop:1, ibsstop:1;			/* a load, a store */
		uint64_t	ibsdcl1tlbmiss:1, ibsdcl2tlbmiss:1;
		uint64_t	ibsdcl1tlbhit2m:1, ibsdcl1tlbhit1g:1, ibsdcl2tlbhit2m:1;
		uint64_t	ibsdcmiss:1, ibsdcmissacc:1;	/* missed the L1D; misaligned */
		uint64_t	ibsdcldbnkcon:1, ibsdcstbnkcon:1, ibsdcsttoldfwd:1, ibsdcsttoldcan:1;
		uint64_t	ibsdcucmemacc:1, ibsdcwcmemacc:1, ibsdclockedop:1, ibsdcmabhit:1;
		uint64_t	ibsdclinaddrvalid:1, ibsdcphyaddrvalid:1;
		uint64_t	reserved1:13;
		uint64_t	ibsdcmisslat:16;			/* cycles */
		uint64_t	reserved2:16;
	} reg;
} ibsopdata3_t;

/* Numbers of PMDs, relative to that of the control register. */
#define PMD_IBSFETCHCTL		0
#define PMD_IBSFETCHLINAD	1
#define PMD_IBSFETCHPHYSAD	2
#define PMD_IBSOPCTL		0
#define PMD_IBSOPRIP		1
#define PMD_IBSOPDATA		2
#define PMD_IBSOPDATA2		3
#define PMD_IBSOPDATA3		4
#define PMD_IBSDCLINAD		5
#define PMD_IBSDCPHYSAD		6

/* Positions of the control registers, PMD4 and PMD7, in pfp_pmds. */
typedef struct {
	uint32_t	ibsfetch_base;
	uint32_t	ibsop_base;
	uint64_t	reserved[7];
} pfmlib_amd64_output_param_t;

#ifdef __cplusplus
}
#endif
#endif /* PERFMON_PFMLIB_AMD64_H */
