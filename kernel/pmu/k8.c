// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * k8.c - the PMU of AMD's K8: four counters of 48 bits, PerfEvtSel0-3 and PerfCtr0-3. The interrupt
 * bit (20) of a PerfEvtSel is always on, because 64-bit emulation needs it. A counter counts only
 * if its enable bit (22) and USR (16) or OS (17) are set.
 */
#include "models.h"

#define WIDTH	48
#define INT	(1ULL << 20)
#define RSVD	(0xffffffff00000000ULL | INT | 1ULL << 21)

#define SEL(n) { .num = n, .type = PFM_REG_TYPE_MSR, .index = 0xc0010000ULL + n, .dfl = INT, \
	.rsvd = RSVD, .ctrl = PFM_REG_NO_CTRL, .kind = PFM_REG_NO64, .name = "PERFSEL" #n }
#define CTR(n) { .num = n, .type = PFM_REG_TYPE_MSR, .index = 0xc0010004ULL + n, .ctrl = n, \
	.width = WIDTH, .kind = PFM_REG_C64 | PFM_REG_INTR, .name = "PERFCTR" #n }

static const struct pfm_reg pmcs[] = { SEL(0), SEL(1), SEL(2), SEL(3) };
static const struct pfm_reg pmds[] = { CTR(0), CTR(1), CTR(2), CTR(3) };

const struct pfm_pmu pfm_pmu_k8 = {
	.name = "AMD K8",
	.counter_width = WIDTH,
	PFM_PMU_TABLES,
};
