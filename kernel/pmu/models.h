/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* models.h - the list of PMU models. */
#ifndef PFM_PMU_MODELS_H
#define PFM_PMU_MODELS_H

#include "pmu.h"

/*
 * A row for each model: X(toy) is the description pfm_pmu_toy, which the simulated computer
 * "sim:toy" has. The first row is the model of "sim".
 */
#define PFM_PMU_MODELS(X) \
	X(itanium2) \
	X(k8) \
	X(p6) \
	X(armv8) \
	X(core2) \
	X(nehalem) \
	X(fam10h) \
	X(montecito) \
	X(itanium) \
	X(pentium_m) \
	X(netburst) \
	X(em64t) \
	X(power5) \
	X(mips20k) \
	X(mips5k)

#define PFM_DECLARE_PMU(model)	extern const struct pfm_pmu pfm_pmu_##model;
PFM_PMU_MODELS(PFM_DECLARE_PMU)

/* The registers that one logical processor of a model has with HyperThreading. */
extern const struct pfm_pmu pfm_pmu_netburst_ht, pfm_pmu_em64t_ht;

/* Initializes the tables of a description from the arrays pmcs and pmds of its file. */
#define PFM_PMU_TABLES .pmcs = pmcs, .pmds = pmds, \
	.num_pmcs = sizeof(pmcs) / sizeof(pmcs[0]), .num_pmds = sizeof(pmds) / sizeof(pmds[0])

#endif
