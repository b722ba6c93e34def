// SPDX-License-Identifier: GPL-2.0
/* fmt_pebs.c - perfmon_pebs_smpl.ko: the formats with samples that the processor writes (PEBS). */
#include "formats.h"
#include "perfmon/perfmon_pebs_smpl.h"
#include "perfmon_module.h"

PFM_FMT_ALIAS(PFM_PEBS_SMPL);
PFM_FMT_ALIAS(PFM_PEBS32_SMPL);
PFM_FMT_ALIAS(PFM_PEBS_NHM_SMPL);
PFM_FORMAT_MODULE("sampling buffers that the processor writes", &pfm_fmt_pebs, &pfm_fmt_pebs32, &pfm_fmt_pebs_nhm);
