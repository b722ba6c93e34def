// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * power5.c - the PMU of IBM's POWER5: six counters, PMD1-6, of 31 bits; their 32nd bit makes them
 * interrupt. PMC0 is MMCR0, which freezes all counters. PMC1, MMCR1, chooses what PMD1-4 count
 * together; PMD5 counts instructions, PMD6 cycles. PMC2, MMCRA, marks instructions; their addresses
 * are in PMD7 and 8. A register's address is the number of its special purpose register. Sources:
 * IBM's PowerPC architecture book, and Linux's asm/reg.h.
 */
#include "models.h"
#include "power5.h"

#define WIDTH	31
#define MMCR0_BITS	0xf83f0001ULL	/* freeze: all, supervisor, user, by mark; threshold; hypervisor */
#define MMCRA_BITS	0xffffffffULL

#define CONTROL(n, spr, d, bits, kinds, text) { .num = n, .type = PFM_REG_TYPE_SPR, .index = spr, .dfl = d, \
	.rsvd = ~(bits), .ctrl = PFM_REG_NO_CTRL, .kind = kinds, .name = text }
#define COUNTER(n, c) { .num = n, .type = PFM_REG_TYPE_SPR, .index = 786 + n, .ctrl = c, .width = WIDTH, \
	.kind = PFM_REG_C64 | PFM_REG_INTR, .name = "PMC" #n }
#define SAMPLED(n, spr, text) { .num = n, .type = PFM_REG_TYPE_SPR, .index = spr, .ctrl = 2, .name = text }

static const struct pfm_reg pmcs[] = {
	CONTROL(0, 795, PFM_POWER5_FC | PFM_POWER5_INT, MMCR0_BITS, PFM_REG_NO64, "MMCR0"),
	CONTROL(1, 798, 0, ~0ULL, PFM_REG_NO64, "MMCR1"),
	CONTROL(2, 786, 0, MMCRA_BITS, 0, "MMCRA"),
};

static const struct pfm_reg pmds[] = {
	COUNTER(1, 1), COUNTER(2, 1), COUNTER(3, 1), COUNTER(4, 1), COUNTER(5, 0), COUNTER(6, 0),
	SAMPLED(7, 796, "SIAR"), SAMPLED(8, 797, "SDAR"),
};

const struct pfm_pmu pfm_pmu_power5 = {
	.name = "IBM POWER5",
	.counter_width = WIDTH,
	PFM_PMU_TABLES,
};
