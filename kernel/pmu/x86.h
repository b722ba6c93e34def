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
#define PFM_X86_EN	(1ULL << 22)
#define PFM_X86_INV	(1ULL << 23)
#define PFM_X86_CMASK	(0xffULL << 24)

#define PFM_X86_CYCLES_INTEL	0x3cULL
#define PFM_X86_CYCLES_AMD	0x76ULL

/*
 * What the kernel's driver is to program for a PMC's value, by which it also chooses the counter. EN and PC are
 * its business, INT is always on. Intel's counters of fixed function take an event only in its plain form; INV
 * without a counter mask means nothing to them, and keeps it off those.
 */
static inline uint64_t pfm_x86_config(uint64_t pmc, bool intel)
{
	uint64_t config = (pmc & ~(PFM_X86_EN | PFM_X86_PC)) | PFM_X86_INT;

	return intel && !(pmc & PFM_X86_CMASK) ? config | PFM_X86_INV : config;
}

extern const struct pfm_pmu pfm_pmu_x86_intel;	/* architectural perfmon */
extern const struct pfm_pmu pfm_pmu_x86_amd;	/* core counter extensions */

#endif
