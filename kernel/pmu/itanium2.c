// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * itanium2.c - the PMU of the Itanium 2: four counters of 47 bits, event address registers for
 * instructions (PMC10) and data (PMC11), a branch trace buffer (PMC12), two opcode matchers, and
 * the debug registers as PMC256 - PMC271 (chapter 5).
 */
#include "core.h"
#include "ia64.h"
#include "models.h"

#define WIDTH 47

#define ENABLE	0x800000ULL	/* bit 23 of PMC4 enables all counters */

/* Writable bits of the configuration registers; the other bits keep their defaults. */
#define COUNTER_BITS	0x0fffff7fULL
#define OPCODE_BITS	0xffffffff3ffffffbULL
#define IEAR_BITS	0xffffULL
#define DEAR_BITS	0x030f01cfULL
#define BTB_BITS	0xffffULL
#define DRANGE_BITS	0x1e00018181818ULL
#define IRANGE_BITS	0x2492ULL
#define OPMATCH_BITS	0xfULL

static const struct pfm_reg pmcs[] = {
	PFM_ITA_COUNTER_PMC(4, ENABLE, COUNTER_BITS), PFM_ITA_COUNTER_PMC(5, 0, COUNTER_BITS),
	PFM_ITA_COUNTER_PMC(6, 0, COUNTER_BITS), PFM_ITA_COUNTER_PMC(7, 0, COUNTER_BITS),
	PFM_ITA_CONFIG_PMC(8, 0xffffffff3fffffffULL, OPCODE_BITS),
	PFM_ITA_CONFIG_PMC(9, 0xffffffff3fffffffULL, OPCODE_BITS), PFM_ITA_MONITOR_PMC(10, 0, IEAR_BITS),
	PFM_ITA_MONITOR_PMC(11, 0, DEAR_BITS), PFM_ITA_MONITOR_PMC(12, 0, BTB_BITS),
	PFM_ITA_CONFIG_PMC(13, 0x2078fefefefeULL, DRANGE_BITS),
	PFM_ITA_CONFIG_PMC(14, 0xdb60db60db60db6ULL, IRANGE_BITS),
	PFM_ITA_CONFIG_PMC(15, 0xfffffff0ULL, OPMATCH_BITS), PFM_ITA_DEBUG_REGS,
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
	*value = pfm_ita_set_pm(ctx, num == 10 ? 4 : 6, *value);
	if (num == 4)
		/* a raw value without this bit would stop the other counters, too */
		*value |= ENABLE;
	return 0;
}

const struct pfm_pmu pfm_pmu_itanium2 = {
	.name = "Itanium 2",
	.counter_width = WIDTH,
	PFM_PMU_TABLES,
	.check_pmc = check_pmc,
};
