/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * power5.h - groups of POWER5's events: the values of MMCR1 and MMCRA determine what all counters
 * count. Numbers and values are those of IBM's user guide of the performance monitor, which
 * OProfile uses, too (events/ppc64/power5).
 */
#ifndef PFM_PMU_POWER5_H
#define PFM_PMU_POWER5_H

/* X(group, MMCR1, MMCRA) */
#define PFM_POWER5_GROUPS(X) \
	X(18, 0x820c000dc2ca02c8ULL, 1)		/* pm_lsu_reject4 */ \
	X(40, 0x4003000e32cec802ULL, 1)		/* pm_ic_miss */ \
	X(41, 0x808000031010caccULL, 0)		/* pm_branch_miss */ \
	X(44, 0x00b000008e881020ULL, 0)		/* pm_L1_tlbmiss */ \
	X(45, 0x00b300000e202086ULL, 0)		/* pm_L1_DERAT_miss */ \
	X(50, 0x000300031c0e360eULL, 0)		/* pm_dsource2 */ \
	X(115, 0x0008000404c60a26ULL, 1)	/* pm_mrk_grp1 */ \
	X(116, 0x410300022a0ac822ULL, 1)	/* pm_mrk_grp2 */ \
	X(119, 0x010b00031c484c4cULL, 1)	/* pm_mrk_dsource3 */ \
	X(121, 0x010b00033c4c4040ULL, 1)	/* pm_mrk_dsource5 */ \
	X(124, 0x0cf00000828a8c8eULL, 1)	/* pm_mrk_lbmiss */ \
	X(126, 0x000800081002060aULL, 1)	/* pm_mrk_lsmiss */ \
	X(127, 0x0028000406c62020ULL, 1)	/* pm_mrk_ulsflush */ \
	X(128, 0x00080008cc062816ULL, 1)	/* pm_mrk_misc */ \
	X(141, 0x00000000201e2810ULL, 0)	/* pm_hpmcount1 */ \
	X(142, 0x043000041e201220ULL, 0)	/* pm_hpmcount2 */ \
	X(143, 0x403000041ec21086ULL, 0)	/* pm_hpmcount3 */ \
	X(144, 0x00b00000101e2020ULL, 0)	/* pm_hpmcount4 */ \
	X(146, 0x00300000121e108eULL, 0)	/* pm_eprof1 */ \
	X(147, 0x0038000810122020ULL, 1)	/* pm_eprof2 */

/* MMCR0: freeze all, the supervisor, the user; the interrupts of all PMCs, which are always on. */
#define PFM_POWER5_FC	0x80000000ULL
#define PFM_POWER5_FCS	0x40000000ULL
#define PFM_POWER5_FCP	0x20000000ULL
#define PFM_POWER5_INT	0x0400c000ULL

/* MMCRA: instructions are marked. */
#define PFM_POWER5_SAMPLE	1ULL

#endif
