/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* models.h - the PMU descriptions in this folder. */
#ifndef PFM_PMU_MODELS_H
#define PFM_PMU_MODELS_H

#include "pmu.h"

extern const struct pfm_pmu pfm_pmu_itanium2;
extern const struct pfm_pmu pfm_pmu_k8;
extern const struct pfm_pmu pfm_pmu_p6;
extern const struct pfm_pmu pfm_pmu_armv8;

#endif
