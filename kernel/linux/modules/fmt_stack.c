// SPDX-License-Identifier: GPL-2.0
/* fmt_stack.c - perfmon_stack_smpl.ko: the sampling format with call stacks. */
#include "formats.h"
#include "perfmon/perfmon_stack_smpl.h"
#include "perfmon_module.h"

/* The format "program" uses this format if it keeps its samples in this layout. */
EXPORT_SYMBOL_GPL(pfm_fmt_stack);

PFM_FMT_ALIAS(PFM_STACK_SMPL);
PFM_FORMAT_MODULE("samples with call stacks", &pfm_fmt_stack);
