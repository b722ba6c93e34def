/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* intel.h - registers that Core 2 and Nehalem share. The includer defines WIDTH, INT and RSVD. */
#ifndef PFM_PMU_INTEL_H
#define PFM_PMU_INTEL_H

#define SEL(n) { .num = n, .type = PFM_REG_TYPE_MSR, .index = 0x186 + n, .dfl = INT, \
	.rsvd = RSVD, .ctrl = PFM_REG_NO_CTRL, .kind = PFM_REG_NO64, .name = "PERFEVTSEL" #n }
#define CTR(n) { .num = n, .type = PFM_REG_TYPE_MSR, .index = 0xc1 + n, .ctrl = n, \
	.width = WIDTH, .kind = PFM_REG_C64 | PFM_REG_INTR, .name = "PMC" #n }
#define FIXED(n) { .num = 16 + n, .type = PFM_REG_TYPE_MSR, .index = 0x309 + n, .ctrl = 16, \
	.width = WIDTH, .kind = PFM_REG_C64 | PFM_REG_INTR, .name = "FIXED_CTR" #n }
#define CONFIG(n, msr, d, bits, text) { .num = n, .type = PFM_REG_TYPE_MSR, .index = msr, .dfl = d, \
	.rsvd = ~(bits), .ctrl = PFM_REG_NO_CTRL, .name = text }
#define LAST(n, msr, text) { .num = n, .type = PFM_REG_TYPE_MSR, .index = msr, .ctrl = 30, .name = text }

#endif
