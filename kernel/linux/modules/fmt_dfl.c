// SPDX-License-Identifier: GPL-2.0
/* fmt_dfl.c - perfmon_dfl_smpl.ko: the default sampling format, in both layouts. */
#include "formats.h"
#include "perfmon/perfmon_dfl_smpl.h"
#include "perfmon_module.h"

/* used by formats that keep samples of the default format */
EXPORT_SYMBOL_GPL(pfm_dfl_max_sample);
EXPORT_SYMBOL_GPL(pfm_dfl_put_sample);
EXPORT_SYMBOL_GPL(pfm_dfl_put_entry);
EXPORT_SYMBOL_GPL(pfm_dfl_hold);
EXPORT_SYMBOL_GPL(pfm_dfl_restart);
EXPORT_SYMBOL_GPL(pfm_fmt_default);

PFM_FMT_ALIAS(PFM_DFL_SMPL);
PFM_FMT_ALIAS(PFM_DEFAULT_SMPL);
PFM_FORMAT_MODULE("the default sampling format", &pfm_fmt_default, &pfm_fmt_default_06);
