// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * x86.c - the programmable counters of today's x86 processors, PMC/PMD 0 and up. A processor may
 * have fewer than are listed.
 *
 * The interrupt bit (20) is always on. Nothing is counted unless USR (16) or OS (17) is set.
 */
#include "x86.h"

#define WIDTH		48
/* bits 32 and 33 select transactions */
#define INTEL_RSVD	(0xfffffffc00000000ULL | PFM_X86_INT)
/* bits 32-35 extend the event number, 40 and 41 select guest and host */
#define AMD_RSVD	(0xfffffcf000200000ULL | PFM_X86_INT)

#define SEL(n, msr, reserved) { .num = n, .type = PFM_REG_TYPE_MSR, .index = msr, .dfl = PFM_X86_INT, \
	.rsvd = reserved, .ctrl = PFM_REG_NO_CTRL, .name = "PERFEVTSEL" #n }
#define CTR(n, msr) { .num = n, .type = PFM_REG_TYPE_MSR, .index = msr, .ctrl = n, .width = WIDTH, \
	.kind = PFM_REG_C64 | PFM_REG_INTR, .name = "PMC" #n }

#define INTEL_SEL(n)	SEL(n, 0x186 + n, INTEL_RSVD)
#define INTEL_CTR(n)	CTR(n, 0xc1 + n)
#define AMD_SEL(n)	SEL(n, 0xc0010200ULL + 2 * n, AMD_RSVD)
#define AMD_CTR(n)	CTR(n, 0xc0010201ULL + 2 * n)

static const struct pfm_reg intel_pmcs[] = {
	INTEL_SEL(0), INTEL_SEL(1), INTEL_SEL(2), INTEL_SEL(3),
	INTEL_SEL(4), INTEL_SEL(5), INTEL_SEL(6), INTEL_SEL(7),
};
static const struct pfm_reg intel_pmds[] = {
	INTEL_CTR(0), INTEL_CTR(1), INTEL_CTR(2), INTEL_CTR(3),
	INTEL_CTR(4), INTEL_CTR(5), INTEL_CTR(6), INTEL_CTR(7),
};
static const struct pfm_reg amd_pmcs[] = {
	AMD_SEL(0), AMD_SEL(1), AMD_SEL(2), AMD_SEL(3), AMD_SEL(4), AMD_SEL(5),
};
static const struct pfm_reg amd_pmds[] = {
	AMD_CTR(0), AMD_CTR(1), AMD_CTR(2), AMD_CTR(3), AMD_CTR(4), AMD_CTR(5),
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

const struct pfm_pmu pfm_pmu_x86_intel = {
	.name = "Intel x86",
	.counter_width = WIDTH,
	.pmcs = intel_pmcs,
	.pmds = intel_pmds,
	.num_pmcs = COUNT(intel_pmcs),
	.num_pmds = COUNT(intel_pmds),
};

const struct pfm_pmu pfm_pmu_x86_amd = {
	.name = "AMD x86",
	.counter_width = WIDTH,
	.pmcs = amd_pmcs,
	.pmds = amd_pmds,
	.num_pmcs = COUNT(amd_pmcs),
	.num_pmds = COUNT(amd_pmds),
};
