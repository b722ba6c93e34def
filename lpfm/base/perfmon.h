/* SPDX-License-Identifier: MIT */
/* perfmon.h - the interface, without its stand-in for mmap(): buffers are mapped by pfm_map_buffer(). */
#ifndef LPFM_PERFMON_H
#define LPFM_PERFMON_H

#define PFM_NO_MMAP_REDIRECT
#include "perfmon/perfmon.h"

#endif
