// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * armv8.c - the PMU of ARMv8 (PMUv3): six event counters, PMC/PMD 0-5, and the cycle counter,
 * PMC/PMD 31, numbered by their bits in PMCNTENSET_EL0.
 *
 * All are 32 bits wide, because PMCR_EL0.LC and LP are clear. The default of a PMC excludes EL1 (P,
 * bit 31) and EL0 (U, bit 30), so that nothing is counted. The index of a register consists of op0,
 * op1, CRn, CRm and op2, as in bits 5 to 20 of the instructions MRS and MSR.
 */
#include "models.h"

#define WIDTH	32
#define EXCLUDE	0xc0000000ULL
#define EVENT	0xffffULL

#define SYSREG(op0, op1, crn, crm, op2)	((op0) << 14 | (op1) << 11 | (crn) << 7 | (crm) << 3 | (op2))
#define SYSREG_CNTR(n)	SYSREG(3, 3, 14, 8 + (n) / 8, (n) % 8)
#define SYSREG_TYPER(n)	SYSREG(3, 3, 14, 12 + (n) / 8, (n) % 8)
#define SYSREG_CCNTR	SYSREG(3, 3, 9, 13, 0)
#define SYSREG_CCFILTR	SYSREG_TYPER(31)

#define TYPER(n) { .num = n, .type = PFM_REG_TYPE_SPR, .index = SYSREG_TYPER(n), \
	.dfl = EXCLUDE, .rsvd = ~(EXCLUDE | EVENT), .ctrl = PFM_REG_NO_CTRL, .kind = PFM_REG_NO64, \
	.name = "PMEVTYPER" #n "_EL0" }
#define CNTR(n) { .num = n, .type = PFM_REG_TYPE_SPR, .index = SYSREG_CNTR(n), .ctrl = n, \
	.width = WIDTH, .kind = PFM_REG_C64 | PFM_REG_INTR, .name = "PMEVCNTR" #n "_EL0" }

static const struct pfm_reg pmcs[] = {
	TYPER(0), TYPER(1), TYPER(2), TYPER(3), TYPER(4), TYPER(5),
	{ .num = 31, .type = PFM_REG_TYPE_SPR, .index = SYSREG_CCFILTR, .dfl = EXCLUDE, .rsvd = ~EXCLUDE,
	  .ctrl = PFM_REG_NO_CTRL, .kind = PFM_REG_NO64, .name = "PMCCFILTR_EL0" },
};

static const struct pfm_reg pmds[] = {
	CNTR(0), CNTR(1), CNTR(2), CNTR(3), CNTR(4), CNTR(5),
	{ .num = 31, .type = PFM_REG_TYPE_SPR, .index = SYSREG_CCNTR, .ctrl = 31, .width = WIDTH,
	  .kind = PFM_REG_C64 | PFM_REG_INTR, .name = "PMCCNTR_EL0" },
};

const struct pfm_pmu pfm_pmu_armv8 = {
	.name = "ARMv8 PMUv3",
	.counter_width = WIDTH,
	PFM_PMU_TABLES,
};
