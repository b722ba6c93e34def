// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * p6.c - the PMU of Intel's P6 family and of the Pentium M: two counters of 40 bits, PerfEvtSel0-1
 * and PerfCtr0-1. The interrupt bit (20) of a PerfEvtSel is always on, because 64-bit emulation
 * needs it. The enable bit (22) of PerfEvtSel0 enables both counters.
 */
#include "models.h"

#define WIDTH	40
#define INT	(1ULL << 20)
#define RSVD	(0xffffffff00000000ULL | INT | 1ULL << 21)

#define SEL(n) { .num = n, .type = PFM_REG_TYPE_MSR, .index = 0x186 + n, .dfl = INT, \
	.rsvd = RSVD, .ctrl = PFM_REG_NO_CTRL, .kind = PFM_REG_NO64, .name = "PERFEVTSEL" #n }
#define CTR(n) { .num = n, .type = PFM_REG_TYPE_MSR, .index = 0xc1 + n, .ctrl = n, \
	.width = WIDTH, .kind = PFM_REG_C64 | PFM_REG_INTR, .name = "PERFCTR" #n }

static const struct pfm_reg pmcs[] = { SEL(0), SEL(1) };
static const struct pfm_reg pmds[] = { CTR(0), CTR(1) };

#define PMU(text) { .name = text, .counter_width = WIDTH, PFM_PMU_TABLES }

const struct pfm_pmu pfm_pmu_p6 = PMU("Intel P6");
const struct pfm_pmu pfm_pmu_pentium_m = PMU("Intel Pentium M");
