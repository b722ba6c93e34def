/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* formats.h - the sampling formats that are part of perfmon, and functions that they share. */
#ifndef PFM_FORMATS_H
#define PFM_FORMATS_H

#include "format.h"
#include "machine.h"

/*
 * The formats, in the order in which they are listed. X is a macro: X(toy) stands for the format
 * pfm_fmt_toy.
 */
#define PFM_FORMATS(X) \
	X(default)	/* chapter 3.6, in the layout of perfmon 2.x */ \
	X(default_06)	/* chapter 3.6, in the layout of the specification */ \
	X(nway)		/* 6.3.1, with more than two regions if wanted */ \
	X(stack)	/* 6.3.2, samples with call stacks */ \
	X(prog)		/* a BPF program decides what is kept */ \
	X(oprofile)	/* OProfile's: a ring of words for each CPU */ \
	X(pebs)		/* the processor writes the samples: EM64T, Core 2 */ \
	X(pebs32)	/* the processor writes the samples: Pentium 4 */ \
	X(pebs_nhm)	/* the processor writes the samples: Nehalem */

#define PFM_DECLARE_FORMAT(format)	extern pfm_buffer_fmt_t pfm_fmt_##format;
PFM_FORMATS(PFM_DECLARE_FORMAT)

/* builtin.c: all formats; NULL ends the array. */
extern pfm_buffer_fmt_t *const pfm_builtin_formats[];

/*
 * For formats that keep samples in the layout of perfmon 2.x: the size of the largest possible
 * sample, and a function that writes one.
 */
size_t pfm_dfl_max_sample(uint16_t num_pmds);
size_t pfm_dfl_put_sample(void *at, uint32_t buf_flags, const pfm_ovfl_arg_t *arg, uint64_t tstamp,
			  const struct pfm_where *where);
void pfm_dfl_put_entry(void *at, const pfm_ovfl_arg_t *arg, uint64_t tstamp, const struct pfm_where *where);

/*
 * pfm_dfl_hold() makes the decision for a full buffer (3.6.5). pfm_dfl_restart() is the restart of
 * a buffer that begins with the header of perfmon 2.x.
 */
void pfm_dfl_hold(pfm_ovfl_arg_t *arg);
int pfm_dfl_restart(void *buf, int is_active, pfm_ovfl_ctrl_t *ctrl);

bool pfm_all_zero(const void *p, size_t size);

/* Refuses a buffer that does not have room for the largest sample. */
static inline int pfm_refuse_buf_size(const char *format, uint64_t buf_size, uint64_t sample)
{
	return pfm_refuse(EINVAL,
			  "format %s: the argument is not valid: buf_size %llu is refused: a sample takes %llu bytes",
			  format, (unsigned long long)buf_size, (unsigned long long)sample);
}

#endif
