/* SPDX-License-Identifier: MIT */
/*
 * pfmlib_pentium4.h - the registers for which pfm_dispatch_events() returns values on Pentium 4.
 * Events have no further input there: model_in and model_out are NULL.
 */
#ifndef PERFMON_PFMLIB_PENTIUM4_H
#define PERFMON_PFMLIB_PENTIUM4_H

#include <perfmon/pfmlib.h>

#define PENTIUM4_NUM_PMCS	65	/* 0 - 22, 32 - 53 ESCRs; 23 - 31, 54 - 62 CCCRs; 63, 64 PEBS */
#define PENTIUM4_NUM_PMDS	18

/* Event selection and control, least significant bit first. */
typedef union {
	unsigned long long val;
	struct {
		unsigned long t1_usr:1;
		unsigned long t1_os:1;
		unsigned long t0_usr:1;
		unsigned long t0_os:1;
		unsigned long tag_enable:1;
		unsigned long tag_value:4;
		unsigned long event_mask:16;
		unsigned long event_select:6;
		unsigned long reserved:1;
	} bits;
} pentium4_escr_value_t;

/* Counter configuration and control. */
typedef union {
	unsigned long long val;
	struct {
		unsigned long reserved1:12;
		unsigned long enable:1;
		unsigned long escr_select:3;
		unsigned long active_thread:2;
		unsigned long compare:1;
		unsigned long complement:1;
		unsigned long threshold:4;
		unsigned long edge:1;
		unsigned long force_ovf:1;
		unsigned long ovf_pmi_t0:1;
		unsigned long ovf_pmi_t1:1;
		unsigned long reserved2:2;
		unsigned long cascade:1;
		unsigned long overflow:1;
	} bits;
} pentium4_cccr_value_t;

#endif /* PERFMON_PFMLIB_PENTIUM4_H */
