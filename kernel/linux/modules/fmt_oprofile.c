// SPDX-License-Identifier: GPL-2.0
/* fmt_oprofile.c - perfmon_oprofile_smpl.ko: a sampling buffer like OProfile's. */
#include "formats.h"
#include "perfmon/perfmon_oprofile_smpl.h"
#include "perfmon_module.h"

PFM_FMT_ALIAS(PFM_OPROFILE_SMPL);
PFM_FORMAT_MODULE("a sampling buffer like OProfile's", &pfm_fmt_oprofile);
