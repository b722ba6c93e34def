// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * itanium2.c - the PMU of the Itanium 2: four counters of 47 bits, event address registers for
 * instructions (PMC10) and data (PMC11), a branch trace buffer (PMC12), two opcode matchers, and the
 * debug registers as PMC256 - PMC271 (chapter 5).
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

#define COUNTER_PMC(n, d) { .num = n, .type = PFM_REG_TYPE_PMC, .index = n, .dfl = d, \
	.ctrl = PFM_REG_NO_CTRL, .kind = PFM_REG_WC | PFM_REG_NO64, .rsvd = ~COUNTER_BITS, .name = "PMC" #n }
#define MONITOR_PMC(n, bits) { .num = n, .type = PFM_REG_TYPE_PMC, .index = n, \
	.ctrl = PFM_REG_NO_CTRL, .kind = PFM_REG_WC, .rsvd = ~(bits), .name = "PMC" #n }
#define CONFIG_PMC(n, d, bits) { .num = n, .type = PFM_REG_TYPE_PMC, .index = n, .dfl = d, \
	.ctrl = PFM_REG_NO_CTRL, .rsvd = ~(bits), .name = "PMC" #n }
static const struct pfm_reg pmcs[] = {
	COUNTER_PMC(4, ENABLE), COUNTER_PMC(5, 0), COUNTER_PMC(6, 0), COUNTER_PMC(7, 0),
	CONFIG_PMC(8, 0xffffffff3fffffffULL, OPCODE_BITS),
	CONFIG_PMC(9, 0xffffffff3fffffffULL, OPCODE_BITS),
	MONITOR_PMC(10, IEAR_BITS), MONITOR_PMC(11, DEAR_BITS), MONITOR_PMC(12, BTB_BITS),
	CONFIG_PMC(13, 0x2078fefefefeULL, DRANGE_BITS),
	CONFIG_PMC(14, 0xdb60db60db60db6ULL, IRANGE_BITS),
	CONFIG_PMC(15, 0xfffffff0ULL, OPMATCH_BITS),
	PFM_IBR(256, 0), PFM_IBR(257, 1), PFM_IBR(258, 2), PFM_IBR(259, 3),
	PFM_IBR(260, 4), PFM_IBR(261, 5), PFM_IBR(262, 6), PFM_IBR(263, 7),
	PFM_DBR(264, 0), PFM_DBR(265, 1), PFM_DBR(266, 2), PFM_DBR(267, 3),
	PFM_DBR(268, 4), PFM_DBR(269, 5), PFM_DBR(270, 6), PFM_DBR(271, 7),
};

#define COUNTER_PMD(n) { .num = n, .type = PFM_REG_TYPE_PMD, .index = n, .ctrl = n, \
	.width = WIDTH, .kind = PFM_REG_C64 | PFM_REG_INTR, .name = "PMD" #n }
#define BUFFER_PMD(n, c) { .num = n, .type = PFM_REG_TYPE_PMD, .index = n, .ctrl = c, \
	.name = "PMD" #n }

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
	*value = pfm_ita_set_pm(ctx, num == 10 ? 4 : 6, *value);
	if (num == 4)
		/* a raw value without this bit would stop the other counters, too */
		*value |= ENABLE;
	return 0;
}

const struct pfm_pmu pfm_pmu_itanium2 = {
	.name = "Itanium 2",
	.counter_width = WIDTH,
	.pmcs = pmcs,
	.pmds = pmds,
	.num_pmcs = sizeof(pmcs) / sizeof(pmcs[0]),
	.num_pmds = sizeof(pmds) / sizeof(pmds[0]),
	.check_pmc = check_pmc,
};
