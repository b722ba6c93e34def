/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* x86.h - the PMUs of today's x86 processors. */
#ifndef PFM_PMU_X86_H
#define PFM_PMU_X86_H

#include "pmu.h"

/* Bits of an event select register, of Intel's and AMD's processors where no maker is named. */
#define PFM_X86_USR	(1ULL << 16)
#define PFM_X86_OS	(1ULL << 17)
#define PFM_X86_PC	(1ULL << 19)
#define PFM_X86_INT	(1ULL << 20)
#define PFM_X86_ANY	(1ULL << 21)	/* Intel: counts what the core's other thread does, too */
#define PFM_X86_EN	(1ULL << 22)
#define PFM_X86_INV	(1ULL << 23)
#define PFM_X86_CMASK	(0xffULL << 24)
#define PFM_X86_IN_TX	(1ULL << 32)	/* Intel: counts only in transactions */
#define PFM_X86_IN_TXCP	(1ULL << 33)	/* Intel: does not count what an aborted transaction did */
#define PFM_X86_EVENT	0xffffULL	/* the event number and its unit mask */

#define PFM_X86_CYCLES_INTEL	0x3cULL
#define PFM_X86_CYCLES_AMD	0x76ULL

/*
 * Event, unit mask, levels, edge, inversion, counter mask; 32-35 extend the event number, 40 and 41
 * select guest or host.
 */
#define PFM_X86_COMMON_BITS	0xff87ffffULL
#define PFM_X86_INTEL_BITS	(PFM_X86_COMMON_BITS | PFM_X86_ANY | PFM_X86_IN_TX)
#define PFM_X86_AMD_BITS	(PFM_X86_COMMON_BITS | 0x30f00000000ULL)

/*
 * Returns the config for a PMC's value that the kernel's driver programs, and by which it chooses
 * the counter. The driver itself sets EN and PC, and INT is always on. Intel's fixed-function
 * counters accept an event only in its plain form. INV without a counter mask has no effect on an
 * event, but keeps it off those counters.
 */
static inline uint64_t pfm_x86_config(uint64_t pmc, bool intel)
{
	uint64_t config = (pmc & (intel ? PFM_X86_INTEL_BITS : PFM_X86_AMD_BITS)) | PFM_X86_INT;

	return intel && !(pmc & PFM_X86_CMASK) ? config | PFM_X86_INV : config;
}

extern const struct pfm_pmu pfm_pmu_x86_intel;	/* architectural perfmon */
extern const struct pfm_pmu pfm_pmu_x86_amd;	/* core counter extensions */

#endif
