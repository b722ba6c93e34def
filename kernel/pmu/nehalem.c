// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * nehalem.c - the PMU of a core of Intel's Nehalem: architectural perfmon, version 3. It has four
 * general counters, PMC/PMD 0-3, and three fixed-function counters, PMD16-18, which share PMC16.
 * PMC17 makes the general counters sample precisely (PEBS), and PMC18 sets the latency from which
 * loads are sampled. PMC19 selects offcore responses. The last branches, which PMC30 filters, are
 * in PMD32-63, and PMD31 has the number of the latest. Source: Intel's Software Developer's Manual,
 * volume 3. The interrupt bits are always on, because 64-bit emulation needs them.
 * IA32_PERF_GLOBAL_CTRL is no logical register: with it the machine starts and stops all counters.
 * The uncore PMU is not described here.
 */
#include "intel.h"
#include "models.h"

#define WIDTH	48
#define INT	(1ULL << 20)
#define RSVD	(0xffffffff00000000ULL | INT)

#define FIXED_INT	0x888ULL
/* two privilege level bits and "any thread" for each counter */
#define FIXED_BITS	0x777ULL
#define PEBS_BITS	0xf0000000fULL	/* for each counter: PEBS records, and latencies in them */

#define BRANCH(n) LAST(32 + 2 * n, 0x680 + n, "LBR_FROM" #n), LAST(33 + 2 * n, 0x6c0 + n, "LBR_TO" #n)

static const struct pfm_reg pmcs[] = {
	SEL(0), SEL(1), SEL(2), SEL(3),
	{ .num = 16, .type = PFM_REG_TYPE_MSR, .index = 0x38d, .dfl = FIXED_INT, .rsvd = ~FIXED_BITS,
	  .ctrl = PFM_REG_NO_CTRL, .kind = PFM_REG_NO64, .name = "FIXED_CTR_CTRL" },
	CONFIG(17, 0x3f1, 0, PEBS_BITS, "PEBS_ENABLE"),
	CONFIG(18, 0x3f6, 0, 0xffffULL, "PEBS_LD_LAT"),
	CONFIG(19, 0x1a6, 0, 0xffffULL, "OFFCORE_RSP0"),
	CONFIG(30, 0x1c8, 0, 0x1ffULL, "LBR_SELECT"),
};

static const struct pfm_reg pmds[] = {
	CTR(0), CTR(1), CTR(2), CTR(3), FIXED(0), FIXED(1), FIXED(2),
	LAST(31, 0x1c9, "LBR_TOS"),
	BRANCH(0), BRANCH(1), BRANCH(2), BRANCH(3), BRANCH(4), BRANCH(5), BRANCH(6), BRANCH(7),
	BRANCH(8), BRANCH(9), BRANCH(10), BRANCH(11), BRANCH(12), BRANCH(13), BRANCH(14), BRANCH(15),
};

const struct pfm_pmu pfm_pmu_nehalem = {
	.name = "Intel Nehalem",
	.counter_width = WIDTH,
	PFM_PMU_TABLES,
};
