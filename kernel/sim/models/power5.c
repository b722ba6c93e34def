// SPDX-License-Identifier: MIT
/*
 * power5.c - the events of POWER5's counters. PMD5 counts instructions, PMD6 cycles. The value of
 * MMCR1 chooses a group (pmu/power5.h), which says what PMD1-4 count; any other value counts
 * nothing. A code here has the counter in bits 0-3 and the group, 0 for PMD5 and 6, from bit 4 on.
 * A dispatch group consists of one instruction here.
 */
#include "pmu/power5.h"
#include "sim/sim.h"

#define CODE(group, counter) ((group) << 4 | (counter)), 0xfff
#define MARK SIM_BY_MARK

static const struct sim_encoding encodings[] = {
	{ CODE(0, 6), SIM_EV_CYCLES, 0 },		/* PM_RUN_CYC */
	{ CODE(142, 1), SIM_EV_CYCLES, 0 },		/* PM_CYC */
	{ CODE(143, 1), SIM_EV_CYCLES, 0 },
	{ CODE(141, 2), SIM_EV_CYCLES, 0 },
	{ CODE(144, 2), SIM_EV_CYCLES, 0 },
	{ CODE(146, 2), SIM_EV_CYCLES, 0 },
	{ CODE(0, 5), SIM_EV_INSTRUCTIONS, 0 },	/* PM_INST_CMPL */
	{ CODE(146, 1), SIM_EV_INSTRUCTIONS, 0 },
	{ CODE(18, 3), SIM_EV_UOPS, 0 },		/* PM_IOPS_CMPL */
	{ CODE(40, 4), SIM_EV_UOPS, 0 },
	{ CODE(18, 4), SIM_EV_BRANCHES, 0 },		/* PM_BR_ISSUED */
	{ CODE(41, 3), SIM_EV_BRANCH_MISSES, 0 },	/* PM_BR_MPRED_CR */
	{ CODE(41, 4), SIM_EV_NEVER, 0 },		/* PM_BR_MPRED_TA: counted by _CR here */
	{ CODE(141, 4), SIM_EV_FP_OPS, 0 },		/* PM_FPU_FIN */
	{ CODE(44, 4), SIM_EV_L1D_ACCESSES, 0 },	/* PM_LD_REF_L1 */
	{ CODE(144, 4), SIM_EV_L1D_ACCESSES, 0 },
	{ CODE(44, 3), SIM_EV_L1D_MISSES, 0 },		/* PM_LD_MISS_L1 */
	{ CODE(143, 3), SIM_EV_L1D_MISSES, 0 },
	{ CODE(146, 3), SIM_EV_L1D_MISSES, 0 },
	{ CODE(45, 3), SIM_EV_STORES, 0 },		/* PM_ST_REF_L1 */
	{ CODE(144, 3), SIM_EV_STORES, 0 },
	{ CODE(40, 2), SIM_EV_L1I_MISSES, 0 },		/* PM_GRP_IC_MISS */
	{ CODE(44, 2), SIM_EV_DTLB_MISSES, 0 },	/* PM_DTLB_MISS */
	{ CODE(50, 3), SIM_EV_L2_MISSES, 0 },		/* PM_DATA_FROM_L2MISS */
	{ CODE(50, 2), SIM_EV_L3_MISSES, 0 },		/* PM_DATA_FROM_LMEM */
	{ CODE(126, 2), SIM_EV_UOPS, 0 },		/* PM_IOPS_CMPL */
	{ CODE(147, 2), SIM_EV_INSTRUCTIONS, 0 },	/* PM_INST_CMPL */
	{ CODE(147, 3), SIM_EV_STORES, 0 },		/* PM_ST_REF_L1 */
	{ CODE(147, 4), SIM_EV_L1D_ACCESSES, 0 },	/* PM_LD_REF_L1 */
	{ CODE(115, 1), SIM_EV_INSTRUCTIONS, MARK },	/* PM_MRK_GRP_DISP */
	{ CODE(115, 3), SIM_EV_INSTRUCTIONS, MARK },	/* PM_MRK_INST_FIN */
	{ CODE(115, 4), SIM_EV_INSTRUCTIONS, MARK },	/* PM_MRK_GRP_CMPL */
	{ CODE(116, 1), SIM_EV_INSTRUCTIONS, MARK },	/* PM_MRK_GRP_ISSUED */
	{ CODE(116, 2), SIM_EV_BRANCHES, MARK },	/* PM_MRK_BRU_FIN */
	{ CODE(116, 3), SIM_EV_L1D_MISSES, MARK },	/* PM_MRK_L1_RELOAD_VALID */
	{ CODE(116, 4), SIM_EV_L1I_MISSES, MARK },	/* PM_MRK_GRP_IC_MISS */
	{ CODE(121, 3), SIM_EV_L3_MISSES, MARK },	/* PM_MRK_DATA_FROM_LMEM */
	{ CODE(124, 1), SIM_EV_DTLB_MISSES, MARK },	/* PM_MRK_DTLB_MISS_4K */
	{ CODE(124, 3), SIM_EV_DTLB_MISSES, MARK },	/* PM_MRK_DTLB_MISS */
	{ CODE(126, 1), SIM_EV_L1D_MISSES, MARK },	/* PM_MRK_LD_MISS_L1 */
	{ CODE(147, 1), SIM_EV_L1D_MISSES, MARK },
	{ CODE(127, 1), SIM_EV_STORES, MARK },		/* PM_MRK_ST_CMPL */
	{ CODE(128, 3), SIM_EV_FP_OPS, MARK },		/* PM_MRK_FPU_FIN */
	{ CODE(141, 3), SIM_EV_FP_OPS, MARK },
	{ 0, 0, 0, 0 }
};

enum { MMCR0, MMCR1, MMCRA };

static const struct {
	unsigned int	num;
	uint64_t	mmcr1, mmcra;
} groups[] = {
#define GROUP(num, mmcr1, mmcra) { num, mmcr1, mmcra },
	PFM_POWER5_GROUPS(GROUP)
};

#define NUM_GROUPS (sizeof(groups) / sizeof(groups[0]))

static bool chosen(uint64_t mmcr1, unsigned int pmd, uint64_t *code)
{
	for (unsigned int i = 0; i < NUM_GROUPS; i++) {
		if (groups[i].mmcr1 != mmcr1)
			continue;
		*code = groups[i].num << 4 | pmd;
		return true;
	}
	return false;
}

static bool decode(const uint64_t *pmcs, unsigned int pmd, uint64_t *code, unsigned int *levels)
{
	*levels = 0;
	if (!(pmcs[MMCR0] & PFM_POWER5_FCP))
		*levels |= 1 << PFM_SIM_USER;
	if (!(pmcs[MMCR0] & PFM_POWER5_FCS))
		*levels |= 1 << PFM_SIM_KERNEL | 1 << PFM_SIM_INTR;
	if (pmcs[MMCR0] & PFM_POWER5_FC)
		return false;
	*code = pmd;
	return pmd > 4 || chosen(pmcs[MMCR1], pmd, code);
}

static bool takes(unsigned int pmd, uint64_t code)
{
	return (code & 0xf) == pmd && (pmd < 5) == (code >> 4 != 0);
}

static uint64_t mmcr0(unsigned int levels)
{
	uint64_t value = PFM_POWER5_INT;

	if (!(levels >> PFM_SIM_USER & 1))
		value |= PFM_POWER5_FCP;
	if (!(levels & ~(1U << PFM_SIM_USER)))
		value |= PFM_POWER5_FCS;
	return value;
}

static unsigned int group_of(uint64_t code)
{
	unsigned int i = 0;

	while (i + 1 < NUM_GROUPS && groups[i].num != code >> 4)
		i++;
	return i;
}

static uint64_t encode(unsigned int pmd, uint64_t code, unsigned int levels)
{
	return pmd > 4 ? mmcr0(levels) : groups[group_of(code)].mmcr1;
}

static unsigned int others(unsigned int pmd, uint64_t code, unsigned int levels, struct pfm_sim_pmc *to)
{
	if (pmd > 4)
		return 0;
	to[0] = (struct pfm_sim_pmc){ MMCR0, mmcr0(levels) };
	to[1] = (struct pfm_sim_pmc){ MMCRA, groups[group_of(code)].mmcra };
	return 2;
}

static void filter(const uint64_t *pmcs, uint64_t pmc, uint64_t code, struct sim_filter *f)
{
	(void)pmcs, (void)pmc;
	for (const struct sim_encoding *e = encodings; e->mask; e++)
		f->marked |= e->code == code && e->by & MARK;
}

/*
 * The real L2 of 1.9 MB and L3 of 36 MB have three slices each. Here they have the same
 * associativity, and the number of sets is a power of two. Stores go past the L1D to the L2.
 */
static const struct cache_shapes power5 = {
	.part = {
		[CACHE_L1I] = { .size = 64 << 10, .assoc = 2, .line = 128 },
		[CACHE_L1D] = { .size = 32 << 10, .assoc = 4, .line = 128 },
		[CACHE_L2] = { .size = 1280 << 10, .assoc = 10, .line = 128, .latency = 11 },
		[CACHE_L3] = { .size = 24 << 20, .assoc = 12, .line = 256, .latency = 85 },
		[CACHE_ITLB] = { .size = 1024 * 4096, .assoc = 4, .line = 4096, .latency = 30 },
		[CACHE_DTLB] = { .size = 1024 * 4096, .assoc = 4, .line = 4096, .latency = 30 },
	},
	.memory = 220, .mispredicted = 12, .predictor = CACHE_GSHARE, .write_around = true,
};

const struct sim_codes sim_codes_power5 = {
	.caches = &power5,
	.encodings = encodings,
	.mask = 0xfff,
	.decode = decode,
	.encode = encode,
	.takes = takes,
	.others = others,
	.filter = filter,
	.marking = { .on = PFM_POWER5_SAMPLE, .pmc = MMCRA, .ip = 7, .data = 8 },
};
