/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* x86.h - the PMUs of today's x86 processors. */
#ifndef PFM_PMU_X86_H
#define PFM_PMU_X86_H

#include "pmu.h"

/* Bits of an event select register, common to both makers. */
#define PFM_X86_USR	(1ULL << 16)
#define PFM_X86_OS	(1ULL << 17)
#define PFM_X86_PC	(1ULL << 19)
#define PFM_X86_INT	(1ULL << 20)
#define PFM_X86_ANY	(1ULL << 21)	/* Intel: of the core's other thread, too */
#define PFM_X86_EN	(1ULL << 22)
#define PFM_X86_INV	(1ULL << 23)
#define PFM_X86_CMASK	(0xffULL << 24)
#define PFM_X86_IN_TX	(1ULL << 32)	/* Intel: in transactions only */
#define PFM_X86_IN_TXCP	(1ULL << 33)	/* Intel: not what a transaction takes back */
#define PFM_X86_EVENT	0xffffULL	/* and its unit mask */

#define PFM_X86_CYCLES_INTEL	0x3cULL
#define PFM_X86_CYCLES_AMD	0x76ULL

/* Event, unit mask, levels, edge, inversion, counter mask; 32-35: more of the event, 40 and 41: guest, host. */
#define PFM_X86_COMMON_BITS	0xff87ffffULL
#define PFM_X86_INTEL_BITS	(PFM_X86_COMMON_BITS | PFM_X86_ANY | PFM_X86_IN_TX)
#define PFM_X86_AMD_BITS	(PFM_X86_COMMON_BITS | 0x30f00000000ULL)

/*
 * What the kernel's driver is to program for a PMC's value, by which it also chooses the counter. EN and PC are
 * its business, INT is always on. Intel's counters of fixed function take an event only in its plain form; INV
 * without a counter mask means nothing to them, and keeps it off those.
 */
static inline uint64_t pfm_x86_config(uint64_t pmc, bool intel)
{
	uint64_t config = (pmc & (intel ? PFM_X86_INTEL_BITS : PFM_X86_AMD_BITS)) | PFM_X86_INT;

	return intel && !(pmc & PFM_X86_CMASK) ? config | PFM_X86_INV : config;
}

extern const struct pfm_pmu pfm_pmu_x86_intel;	/* architectural perfmon */
extern const struct pfm_pmu pfm_pmu_x86_amd;	/* core counter extensions */

#endif
