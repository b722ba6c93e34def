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

static const struct pfm_reg pmcs[] = {
	PFM_ITA_COUNTER_PMC(4, COUNTER_DFL, COUNTER_BITS), PFM_ITA_COUNTER_PMC(5, COUNTER_DFL, COUNTER_BITS),
	PFM_ITA_COUNTER_PMC(6, COUNTER_DFL, COUNTER_BITS), PFM_ITA_COUNTER_PMC(7, COUNTER_DFL, COUNTER_BITS),
	PFM_ITA_COUNTER_PMC(8, COUNTER_DFL, COUNTER_BITS), PFM_ITA_COUNTER_PMC(9, COUNTER_DFL, COUNTER_BITS),
	PFM_ITA_COUNTER_PMC(10, COUNTER_DFL, COUNTER_BITS), PFM_ITA_COUNTER_PMC(11, COUNTER_DFL, COUNTER_BITS),
	PFM_ITA_COUNTER_PMC(12, COUNTER_DFL, COUNTER_BITS), PFM_ITA_COUNTER_PMC(13, COUNTER_DFL, COUNTER_BITS),
	PFM_ITA_COUNTER_PMC(14, COUNTER_DFL, COUNTER_BITS), PFM_ITA_COUNTER_PMC(15, COUNTER_DFL, COUNTER_BITS),
	PFM_ITA_CONFIG_PMC(32, 0x30f01ffffffffffULL, 0x30f01ffffffffffULL),
	PFM_ITA_CONFIG_PMC(33, 0, 0x1ffffffffffULL),
	PFM_ITA_CONFIG_PMC(34, 0xf01ffffffffffULL, 0xf01ffffffffffULL),
	PFM_ITA_CONFIG_PMC(35, 0, 0x1ffffffffffULL), PFM_ITA_CONFIG_PMC(36, 0xfffffff0ULL, 0xfULL),
	PFM_ITA_MONITOR_PMC(37, 0, 0x3fffULL), PFM_ITA_CONFIG_PMC(38, 0xdb6ULL, 0x2492ULL),
	PFM_ITA_MONITOR_PMC(39, 0, 0xffcfULL), PFM_ITA_MONITOR_PMC(40, 0x2000000ULL, 0xf01cfULL),
	PFM_ITA_CONFIG_PMC(41, 0x2078fefefefeULL, 0x1e00018181818ULL), PFM_ITA_MONITOR_PMC(42, 0, 0x7ff4fULL),
	PFM_ITA_DEBUG_REGS,
};

static const struct pfm_reg pmds[] = {
	PFM_ITA_COUNTER_PMD(4, WIDTH), PFM_ITA_COUNTER_PMD(5, WIDTH), PFM_ITA_COUNTER_PMD(6, WIDTH),
	PFM_ITA_COUNTER_PMD(7, WIDTH), PFM_ITA_COUNTER_PMD(8, WIDTH), PFM_ITA_COUNTER_PMD(9, WIDTH),
	PFM_ITA_COUNTER_PMD(10, WIDTH), PFM_ITA_COUNTER_PMD(11, WIDTH), PFM_ITA_COUNTER_PMD(12, WIDTH),
	PFM_ITA_COUNTER_PMD(13, WIDTH), PFM_ITA_COUNTER_PMD(14, WIDTH), PFM_ITA_COUNTER_PMD(15, WIDTH),
	PFM_ITA_BUFFER_PMD(32, 40), PFM_ITA_BUFFER_PMD(33, 40), PFM_ITA_BUFFER_PMD(34, 37),
	PFM_ITA_BUFFER_PMD(35, 37), PFM_ITA_BUFFER_PMD(36, 40), PFM_ITA_BUFFER_PMD(38, 39),
	PFM_ITA_BUFFER_PMD(39, 39), PFM_ITA_BUFFER_PMD(48, 39), PFM_ITA_BUFFER_PMD(49, 39),
	PFM_ITA_BUFFER_PMD(50, 39), PFM_ITA_BUFFER_PMD(51, 39), PFM_ITA_BUFFER_PMD(52, 39),
	PFM_ITA_BUFFER_PMD(53, 39), PFM_ITA_BUFFER_PMD(54, 39), PFM_ITA_BUFFER_PMD(55, 39),
	PFM_ITA_BUFFER_PMD(56, 39), PFM_ITA_BUFFER_PMD(57, 39), PFM_ITA_BUFFER_PMD(58, 39),
	PFM_ITA_BUFFER_PMD(59, 39), PFM_ITA_BUFFER_PMD(60, 39), PFM_ITA_BUFFER_PMD(61, 39),
	PFM_ITA_BUFFER_PMD(62, 39), PFM_ITA_BUFFER_PMD(63, 39),
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
	PFM_PMU_TABLES,
	.check_pmc = check_pmc,
};
