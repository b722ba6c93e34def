// SPDX-License-Identifier: MIT
/*
 * power5.c - events of POWER5, from IBM's groups as OProfile lists them (events/ppc64/power5): only
 * those of a group count together, each on one counter. PM_INST_CMPL and PM_RUN_CYC go with any
 * group.
 *
 * PMC 0-2 are MMCR0, MMCR1 and MMCRA, which all counters have in common; PMD 1-6 are the counters.
 */
#include "model.h"
#include "pmu/power5.h"

enum { MMCR0, MMCR1, MMCRA };

struct power5_event {
	const char	*name, *desc;
	uint16_t	group;		/* number of the group; 0: any group */
	uint16_t	counter;
};

#define EVENT(event, group, counter, words) { event "_GRP" #group, words, group, counter }

static const struct power5_event events[] = {
	{ "PM_RUN_CYC", "cycles", 0, 6 },
	{ "PM_INST_CMPL", "instructions completed", 0, 5 },
	EVENT("PM_LSU0_REJECT_LMQ_FULL", 18, 1, "rejects of load/store unit 0: LMQ full"),
	EVENT("PM_LSU1_REJECT_LMQ_FULL", 18, 2, "rejects of load/store unit 1: LMQ full"),
	EVENT("PM_IOPS_CMPL", 18, 3, "internal operations completed"),
	EVENT("PM_BR_ISSUED", 18, 4, "branches issued"),
	EVENT("PM_GRP_IC_MISS_NONSPEC", 40, 1, "groups with an instruction cache miss, not speculative"),
	EVENT("PM_GRP_IC_MISS", 40, 2, "groups with an instruction cache miss"),
	EVENT("PM_L1_DCACHE_RELOAD_VALID", 40, 3, "L1 data cache reloads"),
	EVENT("PM_IOPS_CMPL", 40, 4, "internal operations completed"),
	EVENT("PM_TLB_MISS", 41, 1, "TLB misses"),
	EVENT("PM_SLB_MISS", 41, 2, "SLB misses"),
	EVENT("PM_BR_MPRED_CR", 41, 3, "branches with their condition mispredicted"),
	EVENT("PM_BR_MPRED_TA", 41, 4, "branches with their target mispredicted"),
	EVENT("PM_DATA_TABLEWALK_CYC", 44, 1, "cycles of table walks for data"),
	EVENT("PM_DTLB_MISS", 44, 2, "data TLB misses"),
	EVENT("PM_LD_MISS_L1", 44, 3, "loads that missed the L1 data cache"),
	EVENT("PM_LD_REF_L1", 44, 4, "loads from the L1 data cache"),
	EVENT("PM_DATA_FROM_L2", 45, 1, "loads that the L2 answered"),
	EVENT("PM_LSU_DERAT_MISS", 45, 2, "misses of the translation cache for data"),
	EVENT("PM_ST_REF_L1", 45, 3, "stores to the L1 data cache"),
	EVENT("PM_ST_MISS_L1", 45, 4, "stores that missed the L1 data cache"),
	EVENT("PM_DATA_FROM_L3", 50, 1, "loads that the L3 answered"),
	EVENT("PM_DATA_FROM_LMEM", 50, 2, "loads that local memory answered"),
	EVENT("PM_DATA_FROM_L2MISS", 50, 3, "loads that missed the L2"),
	EVENT("PM_DATA_FROM_RMEM", 50, 4, "loads that remote memory answered"),
	EVENT("PM_MRK_GRP_DISP", 115, 1, "groups with a marked instruction, dispatched"),
	EVENT("PM_MRK_ST_MISS_L1", 115, 2, "marked stores that missed the L1 data cache"),
	EVENT("PM_MRK_INST_FIN", 115, 3, "marked instructions finished"),
	EVENT("PM_MRK_GRP_CMPL", 115, 4, "groups with a marked instruction, completed"),
	EVENT("PM_MRK_GRP_ISSUED", 116, 1, "groups with a marked instruction, issued"),
	EVENT("PM_MRK_BRU_FIN", 116, 2, "marked instructions that the branch unit finished"),
	EVENT("PM_MRK_L1_RELOAD_VALID", 116, 3, "L1 data cache reloads by marked instructions"),
	EVENT("PM_MRK_GRP_IC_MISS", 116, 4, "groups with a marked instruction and an instruction cache miss"),
	EVENT("PM_MRK_DATA_FROM_L3", 119, 1, "marked loads that the L3 answered"),
	EVENT("PM_MRK_DATA_FROM_L3_CYC", 119, 2, "cycles of marked loads that the L3 answered"),
	EVENT("PM_MRK_DATA_FROM_L35_MOD", 119, 3, "marked loads from another L3, modified there"),
	EVENT("PM_MRK_DATA_FROM_L35_MOD_CYC", 119, 4, "cycles of marked loads from another L3, modified there"),
	EVENT("PM_MRK_DATA_FROM_L35_SHR", 121, 1, "marked loads from another L3, shared"),
	EVENT("PM_MRK_DATA_FROM_L35_SHR_CYC", 121, 2, "cycles of marked loads from another L3, shared"),
	EVENT("PM_MRK_DATA_FROM_LMEM", 121, 3, "marked loads that local memory answered"),
	EVENT("PM_MRK_DATA_FROM_LMEM_CYC", 121, 4, "cycles of marked loads that local memory answered"),
	EVENT("PM_MRK_DTLB_MISS_4K", 124, 1, "marked data TLB misses, pages of 4 KB"),
	EVENT("PM_MRK_DTLB_MISS_16M", 124, 2, "marked data TLB misses, pages of 16 MB"),
	EVENT("PM_MRK_DTLB_MISS", 124, 3, "marked data TLB misses"),
	EVENT("PM_MRK_DSLB_MISS", 124, 4, "marked data SLB misses"),
	EVENT("PM_MRK_LD_MISS_L1", 126, 1, "marked loads that missed the L1 data cache"),
	EVENT("PM_IOPS_CMPL", 126, 2, "internal operations completed"),
	EVENT("PM_MRK_ST_CMPL_INT", 126, 3, "marked stores completed with an intervention"),
	EVENT("PM_MRK_CRU_FIN", 126, 4, "marked instructions that the condition register unit finished"),
	EVENT("PM_MRK_ST_CMPL", 127, 1, "marked stores completed"),
	EVENT("PM_MRK_ST_MISS_L1", 127, 2, "marked stores that missed the L1 data cache"),
	EVENT("PM_MRK_LSU_FLUSH_UST", 127, 3, "flushes by marked stores that were unaligned"),
	EVENT("PM_MRK_LSU_FLUSH_ULD", 127, 4, "flushes by marked loads that were unaligned"),
	EVENT("PM_MRK_STCX_FAIL", 128, 1, "marked conditional stores that failed"),
	EVENT("PM_MRK_ST_GPS", 128, 2, "marked stores sent to the storage subsystem"),
	EVENT("PM_MRK_FPU_FIN", 128, 3, "marked instructions that the floating-point units finished"),
	EVENT("PM_MRK_GRP_TIMEO", 128, 4, "groups with a marked instruction that was not completed in time"),
	EVENT("PM_CYC", 141, 2, "cycles"),
	EVENT("PM_MRK_FPU_FIN", 141, 3, "marked instructions that the floating-point units finished"),
	EVENT("PM_FPU_FIN", 141, 4, "results of the floating-point units"),
	EVENT("PM_CYC", 142, 1, "cycles"),
	EVENT("PM_FPU_STF", 142, 2, "floating-point stores executed"),
	EVENT("PM_INST_DISP", 142, 3, "instructions dispatched"),
	EVENT("PM_LSU_LDF", 142, 4, "floating-point loads executed"),
	EVENT("PM_CYC", 143, 1, "cycles"),
	EVENT("PM_INST_DISP_ATTEMPT", 143, 2, "instructions that were to be dispatched"),
	EVENT("PM_LD_MISS_L1", 143, 3, "loads that missed the L1 data cache"),
	EVENT("PM_ST_MISS_L1", 143, 4, "stores that missed the L1 data cache"),
	EVENT("PM_TLB_MISS", 144, 1, "TLB misses"),
	EVENT("PM_CYC", 144, 2, "cycles"),
	EVENT("PM_ST_REF_L1", 144, 3, "stores to the L1 data cache"),
	EVENT("PM_LD_REF_L1", 144, 4, "loads from the L1 data cache"),
	EVENT("PM_INST_CMPL", 146, 1, "instructions completed"),
	EVENT("PM_CYC", 146, 2, "cycles"),
	EVENT("PM_LD_MISS_L1", 146, 3, "loads that missed the L1 data cache"),
	EVENT("PM_DC_INV_L2", 146, 4, "L1 data cache lines that the L2 invalidated"),
	EVENT("PM_MRK_LD_MISS_L1", 147, 1, "marked loads that missed the L1 data cache"),
	EVENT("PM_INST_CMPL", 147, 2, "instructions completed"),
	EVENT("PM_ST_REF_L1", 147, 3, "stores to the L1 data cache"),
	EVENT("PM_LD_REF_L1", 147, 4, "loads from the L1 data cache"),
};

static const struct {
	uint16_t	num;
	uint64_t	mmcr1, mmcra;
} groups[] = {
#define GROUP(num, mmcr1, mmcra) { num, mmcr1, mmcra },
	PFM_POWER5_GROUPS(GROUP)
};

static void power5_event(const struct pfl_model *m, unsigned int idx, struct pfl_event *ev)
{
	(void)m;
	ev->name = events[idx].name;
	ev->desc = events[idx].desc;
	ev->code = events[idx].group << 4 | events[idx].counter;
	ev->nmods = 2;
}

static void power5_attr(const struct pfl_model *m, unsigned int idx, unsigned int a, struct pfl_attr *attr)
{
	static const struct pfl_attr attrs[] = {
		{ "k", "in supervisor state", 0, PFMLIB_MASK_BOOLEAN, 'k' },
		{ "u", "in problem state", 1, PFMLIB_MASK_BOOLEAN, 'u' },
	};

	(void)m, (void)idx;
	*attr = attrs[a];
}

static void share(struct pfl_demand *d, unsigned int pmc, uint64_t value)
{
	d->shared[d->nshared++] = (struct pfl_shared) { pmc, value };
}

static void share_group(struct pfl_demand *d, unsigned int num)
{
	for (size_t i = 0; i < PFL_COUNT(groups); i++) {
		if (groups[i].num != num)
			continue;
		share(d, MMCR1, groups[i].mmcr1);
		share(d, MMCRA, groups[i].mmcra);
	}
}

static int power5_encode(const struct pfl_model *m, unsigned int idx, const pfmlib_event_t *e, unsigned int plm,
			 unsigned int flags, struct pfl_demand *d)
{
	const struct power5_event *pe = &events[idx];
	struct pfl_alt *alt = &d->alts[d->nalts++];

	(void)m, (void)flags;
	if (plm & (PFM_PLM1 | PFM_PLM2))
		return pfl_explain(PFMLIB_ERR_INVAL, "%s: this PMU has privilege levels 0 and 3 only", pe->name);
	if (e->num_masks)
		return pfl_explain(PFMLIB_ERR_UMASK, "%s has no unit masks", pe->name);
	alt->pmd = pe->counter;
	alt->pmc[0] = alt->pmc[1] = PFL_NO_PMC;
	pfl_mask_set(&alt->claims, PFL_FIELDS + pe->counter);
	share(d, MMCR0, PFM_POWER5_INT | (plm & PFM_PLM3 ? 0 : PFM_POWER5_FCP) |
	      (plm & PFM_PLM0 ? 0 : PFM_POWER5_FCS));
	share_group(d, pe->group);
	return PFMLIB_SUCCESS;
}

static void power5_registers(const struct pfl_model *m, pfmlib_regmask_t *pmcs, pfmlib_regmask_t *pmds,
			     pfmlib_regmask_t *counters)
{
	(void)m;
	for (unsigned int i = MMCR0; i <= MMCRA; i++)
		pfm_regmask_set(pmcs, i);
	for (unsigned int i = 1; i <= 8; i++)
		pfm_regmask_set(pmds, i);
	for (unsigned int i = 1; i <= m->ncounters; i++)
		pfm_regmask_set(counters, i);
}

/* Returns the number of the special purpose register. */
static uint64_t power5_address(const struct pfl_model *m, bool pmd, unsigned int n)
{
	static const uint16_t control[] = { 795, 798, 786 };

	(void)m;
	if (pmd)
		return n <= 6 ? 786 + n : 789 + n;
	return n < PFL_COUNT(control) ? control[n] : 0;
}

static const char *power5_reg_name(const struct pfl_model *m, unsigned int pmc)
{
	static const char *const names[] = { "MMCR0", "MMCR1", "MMCRA" };

	(void)m;
	return pmc < PFL_COUNT(names) ? names[pmc] : NULL;
}

static const struct pfl_ops power5_ops = {
	.event = power5_event,
	.attr = power5_attr,
	.encode = power5_encode,
	.registers = power5_registers,
	.address = power5_address,
	.reg_name = power5_reg_name,
};

struct pfl_model pfl_power5 = {
	.name = "power5",
	.desc = "IBM POWER5",
	.type = PFMLIB_POWER5_PMU,
	.nevents = PFL_COUNT(events),
	.ncounters = 6,
	.width = 31,
	.ops = &power5_ops,
};
