/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * formats.h - the sampling formats that come with perfmon, and what they may use of the core.
 */
#ifndef PFM_FORMATS_H
#define PFM_FORMATS_H

#include "format.h"
#include "machine.h"

/* One row a format, in the order in which they are listed; X(toy) stands for pfm_fmt_toy. */
#define PFM_FORMATS(X) \
	X(default)	/* 3.6, in the layout of 2.x */ \
	X(default_06)	/* 3.6, to the letter */ \
	X(nway)		/* 6.3.1, and more than double */ \
	X(stack)	/* 6.3.2, with call stacks */ \
	X(prog)		/* a BPF program decides */ \
	X(oprofile)	/* a ring of words for each CPU */ \
	X(pebs)		/* written by the processor: EM64T, Core 2 */ \
	X(pebs32)	/* ... Pentium 4 */ \
	X(pebs_nhm)	/* ... Nehalem */

#define PFM_DECLARE_FORMAT(format)	extern pfm_buffer_fmt_t pfm_fmt_##format;
PFM_FORMATS(PFM_DECLARE_FORMAT)

/* builtin.c: all of them, ended by NULL. */
extern pfm_buffer_fmt_t *const pfm_builtin_formats[];

/* Samples in the layout of 2.x, for formats that keep it: the largest there can be; and writing one. */
size_t pfm_dfl_max_sample(uint16_t num_pmds);
size_t pfm_dfl_put_sample(void *at, uint32_t buf_flags, const pfm_ovfl_arg_t *arg, uint64_t tstamp,
			  const struct pfm_where *where);
void pfm_dfl_put_entry(void *at, const pfm_ovfl_arg_t *arg, uint64_t tstamp, const struct pfm_where *where);

/* 3.6.5, what follows from a full buffer; and the restart of a buffer that begins with the header of 2.x. */
void pfm_dfl_hold(pfm_ovfl_arg_t *arg);
int pfm_dfl_restart(void *buf, int is_active, pfm_ovfl_ctrl_t *ctrl);

bool pfm_all_zero(const void *p, size_t size);

#endif
