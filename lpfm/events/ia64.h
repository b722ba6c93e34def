/* SPDX-License-Identifier: MIT */
/* ia64.h - the Itaniums' own options of dispatch_events: where each is in libpfm 3's structures. Inside lpfm/events. */
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
	const char	*name;		/* NULL: the part is a number, this one */
	size_t		offset, size;
	uint64_t	max;
	enum ia64_kind	kind;
};

/* A structure of the input that begins with a byte: it is used. */
struct ia64_part {
	const char		*name;
	size_t			offset;
	const struct ia64_field	*fields;
};

/* Of one of the two lists of ranges. */
struct ia64_ranges {
	size_t	used, flags, limits, stride;
	size_t	plm, start, end;	/* in each range */
};

/* What a boolean, true or false, sets in the flags of the code ranges. */
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
	size_t				code, data;		/* ranges, in the input */
	size_t				code_out, data_out;	/* pfmlib_ita2_output_rr_t, in the output */
};

/* Up to one without a name. */
extern const struct ia64_options lpfm_ia64_options[];

#endif
