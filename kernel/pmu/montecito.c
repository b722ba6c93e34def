// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * montecito.c - the PMU of the dual-core Itanium 2 (Montecito): twelve counters of 47 bits, PMC/PMD
 * 4-15; opcode matchers, PMC32-36; event address registers for instructions (PMC37, PMD34 and 35)
 * and data (PMC40, PMD32, 33, 36); an execution trace buffer (PMC39, PMD38, 39 and 48-63) and its
 * instruction pointer mode (PMC42). PMC38 and 41 enable range checks by the debug registers,
 * PMC256-271. Source: Intel's reference manual for software development and optimization of the
 * dual-core Itanium 2, document 308065. Bit 25 of a counter's PMC belongs to a field that must be
 * 2.
 */
#include "core.h"
#include "ia64.h"
#include "models.h"

#define WIDTH 47

/* Writable bits of the configuration registers; the other bits keep their defaults. */
#define COUNTER_DFL	0x2000000ULL
#define COUNTER_BITS	0x7c7fff7fULL

#define COUNTER_PMC(n) { .num = n, .type = PFM_REG_TYPE_PMC, .index = n, .dfl = COUNTER_DFL, \
	.ctrl = PFM_REG_NO_CTRL, .kind = PFM_REG_WC | PFM_REG_NO64, .rsvd = ~COUNTER_BITS, .name = "PMC" #n }
#define MONITOR_PMC(n, d, bits) { .num = n, .type = PFM_REG_TYPE_PMC, .index = n, .dfl = d, \
	.ctrl = PFM_REG_NO_CTRL, .kind = PFM_REG_WC, .rsvd = ~(bits), .name = "PMC" #n }
#define CONFIG_PMC(n, d, bits) { .num = n, .type = PFM_REG_TYPE_PMC, .index = n, .dfl = d, \
	.ctrl = PFM_REG_NO_CTRL, .rsvd = ~(bits), .name = "PMC" #n }

static const struct pfm_reg pmcs[] = {
	COUNTER_PMC(4), COUNTER_PMC(5), COUNTER_PMC(6), COUNTER_PMC(7),
	COUNTER_PMC(8), COUNTER_PMC(9), COUNTER_PMC(10), COUNTER_PMC(11),
	COUNTER_PMC(12), COUNTER_PMC(13), COUNTER_PMC(14), COUNTER_PMC(15),
	CONFIG_PMC(32, 0x30f01ffffffffffULL, 0x30f01ffffffffffULL), CONFIG_PMC(33, 0, 0x1ffffffffffULL),
	CONFIG_PMC(34, 0xf01ffffffffffULL, 0xf01ffffffffffULL), CONFIG_PMC(35, 0, 0x1ffffffffffULL),
	CONFIG_PMC(36, 0xfffffff0ULL, 0xfULL),
	MONITOR_PMC(37, 0, 0x3fffULL),
	CONFIG_PMC(38, 0xdb6ULL, 0x2492ULL),
	MONITOR_PMC(39, 0, 0xffcfULL), MONITOR_PMC(40, 0x2000000ULL, 0xf01cfULL),
	CONFIG_PMC(41, 0x2078fefefefeULL, 0x1e00018181818ULL),
	MONITOR_PMC(42, 0, 0x7ff4fULL),
	PFM_IBR(256, 0), PFM_IBR(257, 1), PFM_IBR(258, 2), PFM_IBR(259, 3),
	PFM_IBR(260, 4), PFM_IBR(261, 5), PFM_IBR(262, 6), PFM_IBR(263, 7),
	PFM_DBR(264, 0), PFM_DBR(265, 1), PFM_DBR(266, 2), PFM_DBR(267, 3),
	PFM_DBR(268, 4), PFM_DBR(269, 5), PFM_DBR(270, 6), PFM_DBR(271, 7),
};

#define COUNTER_PMD(n) { .num = n, .type = PFM_REG_TYPE_PMD, .index = n, .ctrl = n, \
	.width = WIDTH, .kind = PFM_REG_C64 | PFM_REG_INTR, .name = "PMD" #n }
#define BUFFER_PMD(n, c) { .num = n, .type = PFM_REG_TYPE_PMD, .index = n, .ctrl = c, .name = "PMD" #n }

static const struct pfm_reg pmds[] = {
	COUNTER_PMD(4), COUNTER_PMD(5), COUNTER_PMD(6), COUNTER_PMD(7),
	COUNTER_PMD(8), COUNTER_PMD(9), COUNTER_PMD(10), COUNTER_PMD(11),
	COUNTER_PMD(12), COUNTER_PMD(13), COUNTER_PMD(14), COUNTER_PMD(15),
	BUFFER_PMD(32, 40), BUFFER_PMD(33, 40), BUFFER_PMD(34, 37), BUFFER_PMD(35, 37), BUFFER_PMD(36, 40),
	BUFFER_PMD(38, 39), BUFFER_PMD(39, 39),
	BUFFER_PMD(48, 39), BUFFER_PMD(49, 39), BUFFER_PMD(50, 39), BUFFER_PMD(51, 39),
	BUFFER_PMD(52, 39), BUFFER_PMD(53, 39), BUFFER_PMD(54, 39), BUFFER_PMD(55, 39),
	BUFFER_PMD(56, 39), BUFFER_PMD(57, 39), BUFFER_PMD(58, 39), BUFFER_PMD(59, 39),
	BUFFER_PMD(60, 39), BUFFER_PMD(61, 39), BUFFER_PMD(62, 39), BUFFER_PMD(63, 39),
};

static int check_pmc(struct pfm_context *ctx, struct pfm_set *set, uint16_t num, uint64_t *value)
{
	(void)set;
	if (num >= PFM_ITA_IBR)
		return pfm_ita_check_debug_reg(num, *value);
	*value = pfm_ita_set_pm(ctx, num == 37 ? 4 : 6, *value);
	return 0;
}

const struct pfm_pmu pfm_pmu_montecito = {
	.name = "Montecito",
	.counter_width = WIDTH,
	.pmcs = pmcs,
	.pmds = pmds,
	.num_pmcs = sizeof(pmcs) / sizeof(pmcs[0]),
	.num_pmds = sizeof(pmds) / sizeof(pmds[0]),
	.check_pmc = check_pmc,
};
