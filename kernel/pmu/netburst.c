// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * netburst.c - the PMU of Intel's Pentium 4, and of its successors with EM64T: 18 counters of 40
 * bits, PMD0-17. A CCCR, PMC23-31 and 54-62, controls each counter. It selects an ESCR, which says
 * what is counted: PMC0-22 are the ESCRs of the even side, for PMD0-8, PMC32-53 those of the odd
 * side, for PMD9-17. PMC63 and 96 tag operations for PEBS and replay events. The numbers are those
 * of libpfm 3, except for PEBS_ENABLE, which is PMC64 there: here PMC64 is that of a software
 * counter. Source: Intel's Software Developer's Manual, volume 3.
 *
 * A CCCR's default has the interrupt bit (26, of logical processor 0) and both bits of the field
 * that says when to count (16, 17). The interrupt bit is always on, because 64-bit emulation needs
 * it. Processors with EM64T have no IQ_ESCRs.
 *
 * With HyperThreading two logical processors share these registers. perfmon 2.x divides them
 * permanently: the first one has the even side, the second one the odd side, under the numbers of
 * the even side. Neither has PEBS, as its two registers exist only once. Bits that name a logical
 * processor are those of the first one in both halves: the bits of an ESCR for the other one's
 * levels (0, 1) are reserved, and a CCCR always counts, whichever threads run. Addresses are those
 * of the first half.
 */
#include "models.h"

#define WIDTH		40
#define ESCR_BITS	0x7fffffffULL	/* levels of both threads, tag, event mask, event select */
#define CCCR_BITS	0x41fff000ULL	/* enable, ESCR select, thread, threshold, edge; cascade */
#define CCCR_DFL	(1ULL << 26 | 3ULL << 16)
#define OTHER_LEVELS	3ULL		/* an ESCR's level bits for logical processor 1 */
#define COUNTERS	18
#define EVEN_COUNTERS	9

#define CCCR_OF(n, counter, text, bits) { .num = n, .type = PFM_REG_TYPE_MSR, .index = 0x360 + counter, \
	.dfl = CCCR_DFL, .rsvd = ~(bits), .ctrl = PFM_REG_NO_CTRL, .kind = PFM_REG_NO64, .name = text }
#define CTR(n, cccr, counter, text) { .num = n, .type = PFM_REG_TYPE_MSR, .index = 0x300 + counter, .ctrl = cccr, \
	.width = WIDTH, .kind = PFM_REG_C64 | PFM_REG_INTR, .name = text }
#define CONFIG(n, msr, bits, text) { .num = n, .type = PFM_REG_TYPE_MSR, .index = msr, .rsvd = ~(bits), \
	.ctrl = PFM_REG_NO_CTRL, .name = text }

/* ESCR and CCCR are registers of the whole processor, HT_ESCR and HT_CCCR of a logical one. */
#define ESCR(n, msr, text)	CONFIG(n, msr, ESCR_BITS, text)
#define CCCR(n, counter, text)	CCCR_OF(n, counter, text, CCCR_BITS)
#define HT_ESCR(n, msr, text)	CONFIG(n, msr, ESCR_BITS & ~OTHER_LEVELS, text)
#define HT_CCCR(n, counter, text) CCCR_OF(n, counter, text, CCCR_BITS & ~CCCR_DFL)

#define PEBS_MATRIX_VERT CONFIG(63, 0x3f2, 0x13ULL, "PEBS_MATRIX_VERT")
#define PEBS_ENABLE	CONFIG(96, 0x3f1, 0x0701ffffULL, "PEBS_ENABLE")

#define EVEN_ESCRS(E) \
	E(0, 0x3b2, "BPU_ESCR0"), E(1, 0x3b4, "IS_ESCR0"), E(2, 0x3aa, "MOB_ESCR0"), \
	E(3, 0x3b6, "ITLB_ESCR0"), E(4, 0x3ac, "PMH_ESCR0"), E(5, 0x3c8, "IX_ESCR0"), \
	E(6, 0x3a2, "FSB_ESCR0"), E(7, 0x3a0, "BSU_ESCR0"), E(8, 0x3c0, "MS_ESCR0"), \
	E(9, 0x3c4, "TC_ESCR0"), E(10, 0x3c2, "TBPU_ESCR0"), E(11, 0x3a6, "FLAME_ESCR0"), \
	E(12, 0x3a4, "FIRM_ESCR0"), E(13, 0x3ae, "SAAT_ESCR0"), E(14, 0x3b0, "U2L_ESCR0"), \
	E(15, 0x3a8, "DAC_ESCR0")
#define EVEN_ESCRS_OF_IQ(E) \
	E(17, 0x3ca, "ALF_ESCR0"), E(18, 0x3bc, "RAT_ESCR0"), E(19, 0x3be, "SSU_ESCR0"), \
	E(20, 0x3b8, "CRU_ESCR0"), E(21, 0x3cc, "CRU_ESCR2"), E(22, 0x3e0, "CRU_ESCR4")
#define EVEN_CCCRS(C) \
	C(23, 0, "BPU_CCCR0"), C(24, 1, "BPU_CCCR1"), C(25, 4, "MS_CCCR0"), C(26, 5, "MS_CCCR1"), \
	C(27, 8, "FLAME_CCCR0"), C(28, 9, "FLAME_CCCR1"), C(29, 12, "IQ_CCCR0"), \
	C(30, 13, "IQ_CCCR1"), C(31, 16, "IQ_CCCR4")

#define ODD_ESCRS \
	ESCR(32, 0x3b3, "BPU_ESCR1"), ESCR(33, 0x3b5, "IS_ESCR1"), ESCR(34, 0x3ab, "MOB_ESCR1"), \
	ESCR(35, 0x3b7, "ITLB_ESCR1"), ESCR(36, 0x3ad, "PMH_ESCR1"), ESCR(37, 0x3c9, "IX_ESCR1"), \
	ESCR(38, 0x3a3, "FSB_ESCR1"), ESCR(39, 0x3a1, "BSU_ESCR1"), ESCR(40, 0x3c1, "MS_ESCR1"), \
	ESCR(41, 0x3c5, "TC_ESCR1"), ESCR(42, 0x3c3, "TBPU_ESCR1"), ESCR(43, 0x3a7, "FLAME_ESCR1"), \
	ESCR(44, 0x3a5, "FIRM_ESCR1"), ESCR(45, 0x3af, "SAAT_ESCR1"), ESCR(46, 0x3b1, "U2L_ESCR1"), \
	ESCR(47, 0x3a9, "DAC_ESCR1")
#define ODD_ESCRS_OF_IQ \
	ESCR(49, 0x3cb, "ALF_ESCR1"), ESCR(50, 0x3bd, "RAT_ESCR1"), ESCR(51, 0x3b9, "CRU_ESCR1"), \
	ESCR(52, 0x3cd, "CRU_ESCR3"), ESCR(53, 0x3e1, "CRU_ESCR5")
#define ODD_CCCRS \
	CCCR(54, 2, "BPU_CCCR2"), CCCR(55, 3, "BPU_CCCR3"), CCCR(56, 6, "MS_CCCR2"), CCCR(57, 7, "MS_CCCR3"), \
	CCCR(58, 10, "FLAME_CCCR2"), CCCR(59, 11, "FLAME_CCCR3"), CCCR(60, 14, "IQ_CCCR2"), \
	CCCR(61, 15, "IQ_CCCR3"), CCCR(62, 17, "IQ_CCCR5")

static const struct pfm_reg netburst_pmcs[] = {
	EVEN_ESCRS(ESCR), ESCR(16, 0x3ba, "IQ_ESCR0"), EVEN_ESCRS_OF_IQ(ESCR), EVEN_CCCRS(CCCR),
	ODD_ESCRS, ESCR(48, 0x3bb, "IQ_ESCR1"), ODD_ESCRS_OF_IQ, ODD_CCCRS,
	PEBS_MATRIX_VERT, PEBS_ENABLE,
};

static const struct pfm_reg em64t_pmcs[] = {
	EVEN_ESCRS(ESCR), EVEN_ESCRS_OF_IQ(ESCR), EVEN_CCCRS(CCCR),
	ODD_ESCRS, ODD_ESCRS_OF_IQ, ODD_CCCRS,
	PEBS_MATRIX_VERT, PEBS_ENABLE,
};

static const struct pfm_reg netburst_ht_pmcs[] = {
	EVEN_ESCRS(HT_ESCR), HT_ESCR(16, 0x3ba, "IQ_ESCR0"), EVEN_ESCRS_OF_IQ(HT_ESCR), EVEN_CCCRS(HT_CCCR),
};

static const struct pfm_reg em64t_ht_pmcs[] = {
	EVEN_ESCRS(HT_ESCR), EVEN_ESCRS_OF_IQ(HT_ESCR), EVEN_CCCRS(HT_CCCR),
};

/* The counters of the even side come first. */
static const struct pfm_reg pmds[COUNTERS] = {
	CTR(0, 23, 0, "BPU_COUNTER0"), CTR(1, 24, 1, "BPU_COUNTER1"), CTR(2, 25, 4, "MS_COUNTER0"),
	CTR(3, 26, 5, "MS_COUNTER1"), CTR(4, 27, 8, "FLAME_COUNTER0"), CTR(5, 28, 9, "FLAME_COUNTER1"),
	CTR(6, 29, 12, "IQ_COUNTER0"), CTR(7, 30, 13, "IQ_COUNTER1"), CTR(8, 31, 16, "IQ_COUNTER4"),
	CTR(9, 54, 2, "BPU_COUNTER2"), CTR(10, 55, 3, "BPU_COUNTER3"), CTR(11, 56, 6, "MS_COUNTER2"),
	CTR(12, 57, 7, "MS_COUNTER3"), CTR(13, 58, 10, "FLAME_COUNTER2"), CTR(14, 59, 11, "FLAME_COUNTER3"),
	CTR(15, 60, 14, "IQ_COUNTER2"), CTR(16, 61, 15, "IQ_COUNTER3"), CTR(17, 62, 17, "IQ_COUNTER5"),
};

#define PMU(text, table, counters) { \
	.name = text, .counter_width = WIDTH, .pmcs = table, .pmds = pmds, \
	.num_pmcs = sizeof(table) / sizeof(table[0]), .num_pmds = counters }

const struct pfm_pmu pfm_pmu_netburst = PMU("Intel Pentium 4", netburst_pmcs, COUNTERS);
const struct pfm_pmu pfm_pmu_em64t = PMU("Intel Pentium 4 with EM64T", em64t_pmcs, COUNTERS);
const struct pfm_pmu pfm_pmu_netburst_ht = PMU("Intel Pentium 4 with HyperThreading", netburst_ht_pmcs, EVEN_COUNTERS);
const struct pfm_pmu pfm_pmu_em64t_ht = PMU("Intel Pentium 4 with EM64T and HyperThreading", em64t_ht_pmcs,
					    EVEN_COUNTERS);
