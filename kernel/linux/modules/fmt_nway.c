// SPDX-License-Identifier: GPL-2.0
/* fmt_nway.c - perfmon_nway_smpl.ko: the n-way sampling format. */
#include "formats.h"
#include "perfmon/perfmon_nway_smpl.h"
#include "perfmon_module.h"

/* The format "program" uses this format if it keeps its samples in this layout. */
EXPORT_SYMBOL_GPL(pfm_fmt_nway);

PFM_FMT_ALIAS(PFM_NWAY_SMPL);
PFM_FORMAT_MODULE("a sampling buffer of several regions", &pfm_fmt_nway);
