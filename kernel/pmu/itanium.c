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

#define COUNTER_PMC(n) { .num = n, .type = PFM_REG_TYPE_PMC, .index = n, \
	.ctrl = PFM_REG_NO_CTRL, .kind = PFM_REG_WC | PFM_REG_NO64, .rsvd = ~COUNTER_BITS, .name = "PMC" #n }
#define MONITOR_PMC(n, d, bits) { .num = n, .type = PFM_REG_TYPE_PMC, .index = n, .dfl = d, \
	.ctrl = PFM_REG_NO_CTRL, .kind = PFM_REG_WC, .rsvd = ~(bits), .name = "PMC" #n }
#define CONFIG_PMC(n, d, bits) { .num = n, .type = PFM_REG_TYPE_PMC, .index = n, .dfl = d, \
	.ctrl = PFM_REG_NO_CTRL, .rsvd = ~(bits), .name = "PMC" #n }

static const struct pfm_reg pmcs[] = {
	COUNTER_PMC(4), COUNTER_PMC(5), COUNTER_PMC(6), COUNTER_PMC(7),
	CONFIG_PMC(8, OPCODE_DFL, OPCODE_BITS), CONFIG_PMC(9, OPCODE_DFL, OPCODE_BITS),
	MONITOR_PMC(10, 0, IEAR_BITS), MONITOR_PMC(11, DEAR_DFL, DEAR_BITS), MONITOR_PMC(12, 0, BTB_BITS),
	CONFIG_PMC(13, IRANGE_DFL, 1ULL),
	PFM_IBR(256, 0), PFM_IBR(257, 1), PFM_IBR(258, 2), PFM_IBR(259, 3),
	PFM_IBR(260, 4), PFM_IBR(261, 5), PFM_IBR(262, 6), PFM_IBR(263, 7),
	PFM_DBR(264, 0), PFM_DBR(265, 1), PFM_DBR(266, 2), PFM_DBR(267, 3),
	PFM_DBR(268, 4), PFM_DBR(269, 5), PFM_DBR(270, 6), PFM_DBR(271, 7),
};

#define COUNTER_PMD(n) { .num = n, .type = PFM_REG_TYPE_PMD, .index = n, .ctrl = n, \
	.width = WIDTH, .kind = PFM_REG_C64 | PFM_REG_INTR, .name = "PMD" #n }
#define BUFFER_PMD(n, c) { .num = n, .type = PFM_REG_TYPE_PMD, .index = n, .ctrl = c, .name = "PMD" #n }

static const struct pfm_reg pmds[] = {
	BUFFER_PMD(0, 10), BUFFER_PMD(1, 10), BUFFER_PMD(2, 11), BUFFER_PMD(3, 11),
	COUNTER_PMD(4), COUNTER_PMD(5), COUNTER_PMD(6), COUNTER_PMD(7),
	BUFFER_PMD(8, 12), BUFFER_PMD(9, 12), BUFFER_PMD(10, 12), BUFFER_PMD(11, 12),
	BUFFER_PMD(12, 12), BUFFER_PMD(13, 12), BUFFER_PMD(14, 12), BUFFER_PMD(15, 12),
	BUFFER_PMD(16, 12), BUFFER_PMD(17, 11),
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
	.pmcs = pmcs,
	.pmds = pmds,
	.num_pmcs = sizeof(pmcs) / sizeof(pmcs[0]),
	.num_pmds = sizeof(pmds) / sizeof(pmds[0]),
	.check_pmc = check_pmc,
};
