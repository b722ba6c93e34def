/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * pmu.h - a PMU description: the logical registers of a model, and the actual registers that they
 * stand for (2.2.1, 3.2). Descriptions have no events.
 */
#ifndef PFM_CORE_PMU_H
#define PFM_CORE_PMU_H

#include "os.h"
#include "perfmon/perfmon.h"

struct pfm_context;
struct pfm_set;
struct pfm_where;

struct pfm_reg {
	uint16_t	num;		/* number of the PMC or PMD; tables are sorted by it */
	/* PFM_REG_TYPE_*: the kind of the actual register: a PMC, an MSR, an IBR, ... */
	uint16_t	type;
	/* PFM_REG_*, ored: whether it counts, interrupts, is read-only, ... */
	uint32_t	kind;
	uint64_t	dfl;		/* the default; that of a PMC measures nothing (3.1.2) */
	uint64_t	rsvd;		/* reserved bits keep their default (3.1.13) */
	uint64_t	index;		/* number of the actual register, or PFM_REG_IDX_NONE */
	uint16_t	ctrl;		/* in a PMD: the PMC that controls it, or PFM_REG_NO_CTRL */
	uint16_t	width;		/* number of bits that the hardware has; 0: 64 */
	const char	*name;
	/*
	 * For virtual PMDs: read() returns the value at the overflow "where", or the present one if
	 * where is NULL. write() is NULL if the PMD is read-only.
	 */
	uint64_t	(*read)(struct pfm_context *ctx, const struct pfm_where *where);
	int		(*write)(struct pfm_context *ctx, uint64_t value);
};

struct pfm_pmu {
	const char		*name;
	uint16_t		counter_width;	/* width of the hardware counters in bits */
	const struct pfm_reg	*pmcs, *pmds;
	uint16_t		num_pmcs, num_pmds;
	/*
	 * Optional functions that check the value of a register with PFM_REG_WC, and may change
	 * it. They return 0, or a negative errno from pfm_refuse() if they refuse the value. ctx
	 * may be loaded.
	 */
	int (*check_pmc)(struct pfm_context *ctx, struct pfm_set *set, uint16_t num, uint64_t *value);
	int (*check_pmd)(struct pfm_context *ctx, struct pfm_set *set, uint16_t num, uint64_t *value);
};

/* Both return the register with that number, or NULL if there is none. */
const struct pfm_reg *pfm_pmu_pmc(const struct pfm_pmu *pmu, unsigned int num);
const struct pfm_reg *pfm_pmu_pmd(const struct pfm_pmu *pmu, unsigned int num);
/* Returns the first PMD after "after" (NULL: of all) that the PMC controls, or NULL. */
const struct pfm_reg *pfm_pmu_controlled(const struct pfm_pmu *pmu, uint16_t pmc, const struct pfm_reg *after);
#define pfm_for_each_controlled(pmd, pmu, pmc) \
	for ((pmd) = NULL; ((pmd) = pfm_pmu_controlled(pmu, pmc, pmd)); )

#endif
