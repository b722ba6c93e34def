/* SPDX-License-Identifier: MIT */
/*
 * perfmon.h - includes the perfmon interface without the macro that replaces mmap(): this module
 * maps sampling buffers by pfm_map_buffer().
 */
#ifndef LPFM_PERFMON_H
#define LPFM_PERFMON_H

#define PFM_NO_MMAP_REDIRECT
#include "perfmon/perfmon.h"

#endif
