/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * pmu.h - a PMU description: the logical registers of a model and where they lie (2.2.1, 3.2).
 * Descriptions know nothing of events.
 */
#ifndef PFM_CORE_PMU_H
#define PFM_CORE_PMU_H

#include "os.h"
#include "perfmon/perfmon.h"

struct pfm_context;
struct pfm_set;
struct pfm_where;

struct pfm_reg {
	uint16_t	num;		/* of the PMC or PMD; tables ascend by it */
	uint16_t	type;		/* PFM_REG_TYPE_*: the actual register */
	uint32_t	kind;		/* PFM_REG_I | ... */
	uint64_t	dfl;		/* a PMC's default measures nothing (3.1.2) */
	uint64_t	rsvd;		/* reserved bits keep their default (3.1.13) */
	uint64_t	index;		/* of the actual register, or PFM_REG_IDX_NONE */
	uint16_t	ctrl;		/* PMD: the PMC that controls it, or PFM_REG_NO_CTRL */
	uint16_t	width;		/* bits the hardware has; 0: 64 */
	const char	*name;
	/* virtual PMDs: the value at where (NULL: now); and a write, NULL where it is read-only */
	uint64_t	(*read)(struct pfm_context *ctx, const struct pfm_where *where);
	int		(*write)(struct pfm_context *ctx, uint64_t value);
};

struct pfm_pmu {
	const char		*name;
	uint16_t		counter_width;	/* bits of the hardware counters */
	const struct pfm_reg	*pmcs, *pmds;
	uint16_t		num_pmcs, num_pmds;
	/*
	 * For registers with PFM_REG_WC, optional: inspect or amend *value; negative errno through
	 * pfm_refuse() to refuse it. ctx may be loaded.
	 */
	int (*check_pmc)(struct pfm_context *ctx, struct pfm_set *set, uint16_t num, uint64_t *value);
	int (*check_pmd)(struct pfm_context *ctx, struct pfm_set *set, uint16_t num, uint64_t *value);
};

const struct pfm_reg *pfm_pmu_pmc(const struct pfm_pmu *pmu, unsigned int num);	/* NULL: none */
const struct pfm_reg *pfm_pmu_pmd(const struct pfm_pmu *pmu, unsigned int num);

#endif
