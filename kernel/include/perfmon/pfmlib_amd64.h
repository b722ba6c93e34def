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

/*
 * The registers of instruction-based sampling, as AMD's BIOS and Kernel Developer's Guide for family 10h (31116) has
 * them: PMC4 and PMD4; PMC5 and PMD7; PMD9, 10 and 11.
 */
typedef union {
	uint64_t	val;
	struct {
		uint64_t	ibsfetchmaxcnt:16, ibsfetchcnt:16;	/* in sixteens */
		uint64_t	ibsfetchlat:16;				/* cycles */
		uint64_t	ibsfetchen:1, ibsfetchval:1;		/* it samples; it has a sample */
		uint64_t	ibsfetchcomp:1, ibsicmiss:1;		/* complete; missed the L1I */
		uint64_t	ibsphyaddrvalid:1;
		uint64_t	ibsl1tlbpgsz:2, ibsl1tlbmiss:1, ibsl2tlbmiss:1;
		uint64_t	ibsranden:1;				/* periods are randomized */
		uint64_t	reserved:6;
	} reg;
} ibsfetchctl_t;

typedef union {
	uint64_t	val;
	struct {
		uint64_t	ibsopmaxcnt:16;				/* in sixteens */
		uint64_t	reserved1:1;
		uint64_t	ibsopen:1, ibsopval:1;			/* it samples; it has a sample */
		uint64_t	ibsopcntl:1;				/* operations are counted, not cycles */
		uint64_t	reserved2:44;
	} reg;
} ibsopctl_t;

typedef union {
	uint64_t	val;
	struct {
		uint64_t	ibscomptoretctr:16, ibstagtoretctr:16;	/* cycles since completion, since the tag */
		uint64_t	ibsopbrnresync:1, ibsopmispreturn:1, ibsopreturn:1;
		uint64_t	ibsopbrntaken:1, ibsopbrnmisp:1, ibsopbrnret:1;
		uint64_t	reserved:26;
	} reg;
} ibsopdata_t;

typedef union {
	uint64_t	val;
	struct {
		uint64_t	nbibsreqsrc:3;				/* what answered a load beyond the L2 */
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
		uint64_t	ibsdcmiss:1, ibsdcmissacc:1;		/* missed the L1D; misaligned */
		uint64_t	ibsdcldbnkcon:1, ibsdcstbnkcon:1, ibsdcsttoldfwd:1, ibsdcsttoldcan:1;
		uint64_t	ibsdcucmemacc:1, ibsdcwcmemacc:1, ibsdclockedop:1, ibsdcmabhit:1;
		uint64_t	ibsdclinaddrvalid:1, ibsdcphyaddrvalid:1;
		uint64_t	reserved1:13;
		uint64_t	ibsdcmisslat:16;			/* cycles */
		uint64_t	reserved2:16;
	} reg;
} ibsopdata3_t;

/* Where a PMD is, counted from the control register's. */
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
