// SPDX-License-Identifier: GPL-2.0 OR MIT
/* pmu.c - looks up registers, and describes them for programs (3.1.13, 3.1.14, 3.2). */
#include "core.h"

static const struct pfm_reg *find(const struct pfm_reg *regs, unsigned int n, unsigned int num)
{
	unsigned int lo = 0, hi = n;

	/*
	 * most tables begin with registers 0, 1, 2, ..., so the number is tried as an index first
	 */
	if (num < n) {
		const struct pfm_reg *reg = &regs[pfm_os_index(num, n)];

		if (reg->num == num)
			return reg;
	}
	while (lo < hi) {
		unsigned int mid = (lo + hi) / 2;

		if (regs[mid].num < num)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n && regs[lo].num == num ? &regs[lo] : NULL;
}

const struct pfm_reg *pfm_pmu_pmc(const struct pfm_pmu *pmu, unsigned int num)
{
	return find(pmu->pmcs, pmu->num_pmcs, num);
}

const struct pfm_reg *pfm_pmu_pmd(const struct pfm_pmu *pmu, unsigned int num)
{
	return find(pmu->pmds, pmu->num_pmds, num);
}

const struct pfm_reg *pfm_pmu_controlled(const struct pfm_pmu *pmu, uint16_t pmc, const struct pfm_reg *after)
{
	const struct pfm_reg *end = pmu->pmds + pmu->num_pmds;

	for (const struct pfm_reg *pmd = after ? after + 1 : pmu->pmds; pmd < end; pmd++)
		if (pmd->ctrl == pmc)
			return pmd;
	return NULL;
}

static void describe(pfarg_reginfo_t *info, const struct pfm_reg *reg)
{
	info->reg_type = reg->type;
	info->reg_flags = 0;
	info->reg_def_value = reg->dfl;
	info->reg_rsvd_mask = reg->rsvd;
	info->reg_index = reg->index;
	info->reg_kind = reg->kind | PFM_REG_I;
	info->reg_width = reg->width ? reg->width : 64;
	info->reg_ctrl = reg->ctrl;
	pfm_copy_name(info->reg_name, reg->name, sizeof(info->reg_name));
}

static int getinfo(pfarg_reginfo_t *v, int n, const struct pfm_pmu *pmu, const char *what,
		   const struct pfm_reg *(*lookup)(const struct pfm_pmu *, unsigned int))
{
	for (int i = 0; i < n; i++) {
		const struct pfm_reg *reg = lookup(pmu, v[i].reg_num);

		if (v[i].reg_flags & ~PFM_REG_RETFL_MASK ||
		    !pfm_all_zero(v[i].reg_reserved, sizeof(v[i].reg_reserved))) {
			v[i].reg_flags |= PFM_REG_RETFL_EINVAL;
			return pfm_refuse(-EINVAL, "reg_flags and reserved fields must be 0");
		}
		if (!reg) {
			v[i].reg_flags |= PFM_REG_RETFL_EINVAL;
			return pfm_refuse(-EINVAL, "%s%u does not exist on %s", what, v[i].reg_num,
					  pmu->name);
		}
		describe(&v[i], reg);
	}
	return 0;
}

int pfm_do_getinfo_pmcs(struct pfm_machine *m, pfarg_pmcinfo_t *v, int n)
{
	return getinfo(v, n, m->pmu, "PMC", pfm_pmu_pmc);
}

int pfm_do_getinfo_pmds(struct pfm_machine *m, pfarg_pmdinfo_t *v, int n)
{
	return getinfo(v, n, m->pmu, "PMD", pfm_pmu_pmd);
}
