/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * formats.h - the sampling formats that come with perfmon, and what they may use of the core.
 */
#ifndef PFM_FORMATS_H
#define PFM_FORMATS_H

#include "format.h"
#include "machine.h"

extern pfm_buffer_fmt_t pfm_fmt_default;	/* 3.6, in the layout of 2.x */
extern pfm_buffer_fmt_t pfm_fmt_default_06;	/* 3.6, to the letter */

bool pfm_all_zero(const void *p, size_t size);

#endif
