// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * itanium.c - the PMU of the first Itanium: four counters of 32 bits, PMC/PMD 4-7; opcode matchers,
 * PMC8 and 9; event address registers for instructions (PMC10, PMD0 and 1) and data (PMC11, PMD2,
 * 3, 17); a branch trace buffer (PMC12, PMD8-16). PMC13 enables range checks by the instruction
 * debug registers, PMC256-263, and bit 28 of PMC11 those by the data debug registers, PMC264-271.
 * Source: Intel's Itanium processor reference manual for software development, document 245320.
 */
#include "core.h"
#include "ia64.h"
#include "models.h"

#define WIDTH 32

#define COUNTER_BITS	0x37fff7fULL	/* plm, ev, oi, pm, event (7), unit mask, threshold (3), ism */
#define OPCODE_BITS	0xfffffffffffffff8ULL
#define OPCODE_DFL	0xf00000003ffffff8ULL
#define IEAR_BITS	0x30f00cfULL	/* plm, pm, TLB or cache, unit mask, ism */
#define DEAR_BITS	0x130f00cfULL	/* the fields of IEAR_BITS, and pt */
#define BTB_BITS	0xffcfULL
#define DEAR_DFL	0x10000000ULL	/* pt is set: data is not restricted to ranges */
#define IRANGE_DFL	0x3ffff00000001ULL	/* ta is set: code is not restricted to ranges */

static const struct pfm_reg pmcs[] = {
	PFM_ITA_COUNTER_PMC(4, 0, COUNTER_BITS), PFM_ITA_COUNTER_PMC(5, 0, COUNTER_BITS),
	PFM_ITA_COUNTER_PMC(6, 0, COUNTER_BITS), PFM_ITA_COUNTER_PMC(7, 0, COUNTER_BITS),
	PFM_ITA_CONFIG_PMC(8, OPCODE_DFL, OPCODE_BITS), PFM_ITA_CONFIG_PMC(9, OPCODE_DFL, OPCODE_BITS),
	PFM_ITA_MONITOR_PMC(10, 0, IEAR_BITS), PFM_ITA_MONITOR_PMC(11, DEAR_DFL, DEAR_BITS),
	PFM_ITA_MONITOR_PMC(12, 0, BTB_BITS), PFM_ITA_CONFIG_PMC(13, IRANGE_DFL, 1ULL), PFM_ITA_DEBUG_REGS,
};

static const struct pfm_reg pmds[] = {
	PFM_ITA_BUFFER_PMD(0, 10), PFM_ITA_BUFFER_PMD(1, 10), PFM_ITA_BUFFER_PMD(2, 11),
	PFM_ITA_BUFFER_PMD(3, 11), PFM_ITA_COUNTER_PMD(4, WIDTH), PFM_ITA_COUNTER_PMD(5, WIDTH),
	PFM_ITA_COUNTER_PMD(6, WIDTH), PFM_ITA_COUNTER_PMD(7, WIDTH), PFM_ITA_BUFFER_PMD(8, 12),
	PFM_ITA_BUFFER_PMD(9, 12), PFM_ITA_BUFFER_PMD(10, 12), PFM_ITA_BUFFER_PMD(11, 12),
	PFM_ITA_BUFFER_PMD(12, 12), PFM_ITA_BUFFER_PMD(13, 12), PFM_ITA_BUFFER_PMD(14, 12),
	PFM_ITA_BUFFER_PMD(15, 12), PFM_ITA_BUFFER_PMD(16, 12), PFM_ITA_BUFFER_PMD(17, 11),
};

static int check_pmc(struct pfm_context *ctx, struct pfm_set *set, uint16_t num, uint64_t *value)
{
	(void)set;
	if (num >= PFM_ITA_IBR)
		return pfm_ita_check_debug_reg(num, *value);
	*value = pfm_ita_set_pm(ctx, 6, *value);
	return 0;
}

const struct pfm_pmu pfm_pmu_itanium = {
	.name = "Itanium",
	.counter_width = WIDTH,
	PFM_PMU_TABLES,
	.check_pmc = check_pmc,
};
