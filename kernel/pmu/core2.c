// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * core2.c - the PMU of Intel's Core 2: architectural perfmon, version 2. It has two general
 * counters, PMC/PMD 0 and 1, and three fixed-function counters, PMD16-18, which share PMC16. PMC17
 * makes counter 0 sample precisely (PEBS). With bit 0 of PMC30, IA32_DEBUGCTL, the last branches
 * are in PMD32-39, and PMD31 has the number of the latest. Source: Intel's Software Developer's
 * Manual, volume 3. The interrupt bits are always on, because 64-bit emulation needs them.
 * IA32_PERF_GLOBAL_CTRL is no logical register: with it the machine starts and stops all counters.
 */
#include "intel.h"
#include "models.h"

#define WIDTH	40
#define INT	(1ULL << 20)
#define RSVD	(0xffffffff00000000ULL | INT | 1ULL << 21)

#define FIXED_INT	0x888ULL
#define FIXED_BITS	0x333ULL	/* two privilege level bits for each counter */
#define LBR_BIT		1ULL
#define LBR_FREEZE	(1ULL << 11)	/* freezes the branch records at an overflow; always on */

#define BRANCH(n) LAST(32 + 2 * n, 0x40 + n, "LBR_FROM" #n), LAST(33 + 2 * n, 0x60 + n, "LBR_TO" #n)

static const struct pfm_reg pmcs[] = {
	SEL(0), SEL(1),
	{ .num = 16, .type = PFM_REG_TYPE_MSR, .index = 0x38d, .dfl = FIXED_INT, .rsvd = ~FIXED_BITS,
	  .ctrl = PFM_REG_NO_CTRL, .kind = PFM_REG_NO64, .name = "FIXED_CTR_CTRL" },
	CONFIG(17, 0x3f1, 0, 1ULL, "PEBS_ENABLE"),
	CONFIG(30, 0x1d9, LBR_FREEZE, LBR_BIT, "DEBUGCTL"),
};

static const struct pfm_reg pmds[] = {
	CTR(0), CTR(1), FIXED(0), FIXED(1), FIXED(2),
	LAST(31, 0x1c9, "LBR_TOS"), BRANCH(0), BRANCH(1), BRANCH(2), BRANCH(3),
};

const struct pfm_pmu pfm_pmu_core2 = {
	.name = "Intel Core 2",
	.counter_width = WIDTH,
	PFM_PMU_TABLES,
};
