// SPDX-License-Identifier: GPL-2.0 OR MIT
/* ia64.c - checks of registers that all Itanium processors need. */
#include "core.h"
#include "ia64.h"

int pfm_ita_check_debug_reg(uint16_t num, uint64_t value)
{
	if (num & 1 && num < PFM_ITA_DBR && value >> 63)
		return pfm_refuse(-EINVAL, "PMC%u: ibr.x (bit 63) must be clear", num);
	if (num & 1 && num > PFM_ITA_DBR && value >> 62)
		return pfm_refuse(-EINVAL, "PMC%u: dbr.r and dbr.w (bits 63, 62) must be clear", num);
	return 0;
}

uint64_t pfm_ita_set_pm(struct pfm_context *ctx, unsigned int pm, uint64_t value)
{
	uint32_t privileged = PFM_FL_SYSTEM_WIDE | PFM_ITA_FL_PRIV_MONITORS;

	return ctx->flags & privileged ? value | 1ULL << pm : value & ~(1ULL << pm);
}
