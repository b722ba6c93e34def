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

extern const struct pfm_pmu pfm_pmu_x86_intel;	/* architectural perfmon */
extern const struct pfm_pmu pfm_pmu_x86_amd;	/* core counter extensions */

#endif
