// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * mips.c - the PMUs of MIPS 20Kc, which has one counter, and MIPS 5Kc, which has two. They use the
 * performance counter registers of MIPS64's coprocessor 0: register 25, with selects that are
 * control and counter by turns. An address is the register's number times 8 plus its select.
 * Source: MIPS's software user's manuals of both. A counter overflows when its upper bit becomes
 * set, so it has 31 bits. The interrupt bit (4) is always on, because 64-bit emulation needs it.
 * Bits 0-3 choose when the counter counts (exceptions (EXL), kernel, supervisor, user), bits 5-8
 * what it counts.
 */
#include "models.h"

#define WIDTH	31
#define INT	(1ULL << 4)
#define BITS	0x1efULL

#define CONTROL(n) { .num = n, .type = PFM_REG_TYPE_SPR, .index = 25 << 3 | 2 * n, .dfl = INT, \
	.rsvd = ~BITS, .ctrl = PFM_REG_NO_CTRL, .kind = PFM_REG_NO64, .name = "PERFCTL" #n }
#define COUNTER(n) { .num = n, .type = PFM_REG_TYPE_SPR, .index = 25 << 3 | (2 * n + 1), .ctrl = n, \
	.width = WIDTH, .kind = PFM_REG_C64 | PFM_REG_INTR, .name = "PERFCNT" #n }

static const struct pfm_reg pmcs[] = { CONTROL(0), CONTROL(1) };
static const struct pfm_reg pmds[] = { COUNTER(0), COUNTER(1) };

#define PMU(text, n) { \
	.name = text, .counter_width = WIDTH, .pmcs = pmcs, .pmds = pmds, .num_pmcs = n, .num_pmds = n }

const struct pfm_pmu pfm_pmu_mips20k = PMU("MIPS 20Kc", 1);
const struct pfm_pmu pfm_pmu_mips5k = PMU("MIPS 5Kc", 2);
