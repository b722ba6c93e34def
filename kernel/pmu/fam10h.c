// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * fam10h.c - the PMU of AMD's family 10h: four counters of 48 bits like those of the K8, and
 * instruction-based sampling. PMC4 enables samples of fetches, which are in PMD5 and 6, and PMC5
 * samples of operations, which are in PMD8-13. PMD4 and 7 are the control registers with the fields
 * that the hardware changes: counters, valid bits, the fetch's latency. Source: AMD's BIOS and
 * Kernel Developer's Guide for family 10h, document 31116. The interrupt bit (20) of a PerfEvtSel
 * is always on, because 64-bit emulation needs it. Bits 32-35 extend the event number, 40 and 41
 * restrict counting to the guest or the host.
 */
#include "models.h"

#define WIDTH	48
#define INT	(1ULL << 20)
#define RSVD	(0xfffffcf000000000ULL | INT | 1ULL << 21)

#define FETCH_BITS	(0xffffULL | 1ULL << 48 | 1ULL << 57)	/* period / 16; enable; randomize */
/* period / 16; enable; count operations instead of cycles */
#define OP_BITS		(0xffffULL | 1ULL << 17 | 1ULL << 19)

#define SEL(n) { .num = n, .type = PFM_REG_TYPE_MSR, .index = 0xc0010000ULL + n, .dfl = INT, \
	.rsvd = RSVD, .ctrl = PFM_REG_NO_CTRL, .kind = PFM_REG_NO64, .name = "PERFSEL" #n }
#define CTR(n) { .num = n, .type = PFM_REG_TYPE_MSR, .index = 0xc0010004ULL + n, .ctrl = n, \
	.width = WIDTH, .kind = PFM_REG_C64 | PFM_REG_INTR, .name = "PERFCTR" #n }
#define IBS_CTL(n, msr, bits, text) { .num = n, .type = PFM_REG_TYPE_MSR, .index = msr, .rsvd = ~(bits), \
	.ctrl = PFM_REG_NO_CTRL, .name = text }
#define IBS(n, msr, c, text) { .num = n, .type = PFM_REG_TYPE_MSR, .index = msr, .ctrl = c, .name = text }

static const struct pfm_reg pmcs[] = {
	SEL(0), SEL(1), SEL(2), SEL(3),
	IBS_CTL(4, 0xc0011030ULL, FETCH_BITS, "IBSFETCHCTL"),
	IBS_CTL(5, 0xc0011033ULL, OP_BITS, "IBSOPCTL"),
};

static const struct pfm_reg pmds[] = {
	CTR(0), CTR(1), CTR(2), CTR(3),
	IBS(4, 0xc0011030ULL, 4, "IBSFETCHCTL"), IBS(5, 0xc0011031ULL, 4, "IBSFETCHLINAD"),
	IBS(6, 0xc0011032ULL, 4, "IBSFETCHPHYSAD"),
	IBS(7, 0xc0011033ULL, 5, "IBSOPCTL"), IBS(8, 0xc0011034ULL, 5, "IBSOPRIP"),
	IBS(9, 0xc0011035ULL, 5, "IBSOPDATA"), IBS(10, 0xc0011036ULL, 5, "IBSOPDATA2"),
	IBS(11, 0xc0011037ULL, 5, "IBSOPDATA3"), IBS(12, 0xc0011038ULL, 5, "IBSDCLINAD"),
	IBS(13, 0xc0011039ULL, 5, "IBSDCPHYSAD"),
};

const struct pfm_pmu pfm_pmu_fam10h = {
	.name = "AMD family 10h",
	.counter_width = WIDTH,
	PFM_PMU_TABLES,
};
