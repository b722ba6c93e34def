// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * builtin.c - the sampling formats that are part of perfmon, as libperfmon registers them. In the
 * kernel each is a module.
 */
#include "formats.h"

#define ADDRESS(format)	&pfm_fmt_##format,

pfm_buffer_fmt_t *const pfm_builtin_formats[] = { PFM_FORMATS(ADDRESS) NULL };
