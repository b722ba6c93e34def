/* SPDX-License-Identifier: MIT */
/*
 * ia64.h - the options of dispatch_events for Itaniums, and their places in libpfm 3's structures.
 * Only files of lpfm/events include it.
 */
#ifndef LPFM_EVENTS_IA64_H
#define LPFM_EVENTS_IA64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perfmon/pfmlib_itanium.h"
#include "perfmon/pfmlib_itanium2.h"
#include "perfmon/pfmlib_montecito.h"

enum ia64_kind { IA64_NUMBER, IA64_BOOLEAN, IA64_MODE };

struct ia64_field {
	/* NULL: the part itself is a number, described by this field */
	const char	*name;
	size_t		offset, size;
	uint64_t	max;
	enum ia64_kind	kind;
};

/* A structure of the input. Its first byte says whether it is used. */
struct ia64_part {
	const char		*name;
	size_t			offset;
	const struct ia64_field	*fields;
};

/* One of the two lists of ranges. */
struct ia64_ranges {
	size_t	used, flags, limits, stride;
	size_t	plm, start, end;	/* offsets within each range */
};

/* The flag of the code ranges that a boolean option sets. */
struct ia64_flag {
	const char	*name;
	bool		when;
	unsigned int	flag;
};

struct ia64_options {
	const char			*name;
	int				(*is_event)(unsigned int event, unsigned int *maxincr);
	const struct ia64_part		*parts;
	size_t				counters, counter_size;
	int				num_counters;
	const struct ia64_field		*counter;
	const struct ia64_ranges	*ranges;
	const struct ia64_flag		*flags;
	/* offsets of the ranges in the input */
	size_t				code, data;
	/* offsets of the pfmlib_ita2_output_rr_t in the output */
	size_t				code_out, data_out;
};

/* An entry without a name ends the array. */
extern const struct ia64_options lpfm_ia64_options[];

#endif
