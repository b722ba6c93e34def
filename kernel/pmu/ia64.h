/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* ia64.h - what the descriptions of Itanium processors have in common (chapter 5). */
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

/* Refuses rogue breakpoints (5.6.3): ibr.x, dbr.r and dbr.w must be clear in the odd registers. */
int pfm_ita_check_debug_reg(uint16_t num, uint64_t value);
/*
 * Sets the bit pm of a PMC's value: monitors are privileged in system-wide contexts and user
 * monitors in others, whatever the program has written (5.2).
 */
uint64_t pfm_ita_set_pm(struct pfm_context *ctx, unsigned int pm, uint64_t value);

#endif
