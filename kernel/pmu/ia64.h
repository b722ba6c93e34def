/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* ia64.h - registers and checks that the descriptions of Itanium processors share (chapter 5). */
#ifndef PFM_PMU_IA64_H
#define PFM_PMU_IA64_H

#include "pmu.h"

/* PMC256-263 are the instruction debug registers, 264-271 those for data */
#define PFM_ITA_IBR	256
#define PFM_ITA_DBR	264

#define PFM_IBR(n, r) { .num = n, .type = PFM_REG_TYPE_IBR, .index = r, .kind = PFM_REG_WC, \
	.ctrl = PFM_REG_NO_CTRL, .name = "IBR" #r }
#define PFM_DBR(n, r) { .num = n, .type = PFM_REG_TYPE_DBR, .index = r, .kind = PFM_REG_WC, \
	.ctrl = PFM_REG_NO_CTRL, .name = "DBR" #r }

/* The debug registers, the same ones in every model. */
#define PFM_ITA_DEBUG_REGS \
	PFM_IBR(256, 0), PFM_IBR(257, 1), PFM_IBR(258, 2), PFM_IBR(259, 3), \
	PFM_IBR(260, 4), PFM_IBR(261, 5), PFM_IBR(262, 6), PFM_IBR(263, 7), \
	PFM_DBR(264, 0), PFM_DBR(265, 1), PFM_DBR(266, 2), PFM_DBR(267, 3), \
	PFM_DBR(268, 4), PFM_DBR(269, 5), PFM_DBR(270, 6), PFM_DBR(271, 7)

/* d is the default of PMC n, and bits are those that a program may write. */
#define PFM_ITA_COUNTER_PMC(n, d, bits) { .num = n, .type = PFM_REG_TYPE_PMC, .index = n, .dfl = d, \
	.ctrl = PFM_REG_NO_CTRL, .kind = PFM_REG_WC | PFM_REG_NO64, .rsvd = ~(bits), .name = "PMC" #n }
#define PFM_ITA_MONITOR_PMC(n, d, bits) { .num = n, .type = PFM_REG_TYPE_PMC, .index = n, .dfl = d, \
	.ctrl = PFM_REG_NO_CTRL, .kind = PFM_REG_WC, .rsvd = ~(bits), .name = "PMC" #n }
#define PFM_ITA_CONFIG_PMC(n, d, bits) { .num = n, .type = PFM_REG_TYPE_PMC, .index = n, .dfl = d, \
	.ctrl = PFM_REG_NO_CTRL, .rsvd = ~(bits), .name = "PMC" #n }

#define PFM_ITA_COUNTER_PMD(n, bits) { .num = n, .type = PFM_REG_TYPE_PMD, .index = n, .ctrl = n, \
	.width = bits, .kind = PFM_REG_C64 | PFM_REG_INTR, .name = "PMD" #n }
/* PMC c controls PMD n. */
#define PFM_ITA_BUFFER_PMD(n, c) { .num = n, .type = PFM_REG_TYPE_PMD, .index = n, .ctrl = c, .name = "PMD" #n }

/* Refuses rogue breakpoints (5.6.3): ibr.x, dbr.r and dbr.w must be clear in the odd registers. */
int pfm_ita_check_debug_reg(uint16_t num, uint64_t value);
/*
 * Sets the bit pm of a PMC's value: monitors are privileged in system-wide contexts and user
 * monitors in others, whatever the program has written (5.2).
 */
uint64_t pfm_ita_set_pm(struct pfm_context *ctx, unsigned int pm, uint64_t value);

#endif
