/* SPDX-License-Identifier: MIT */
/* table.h - models described by a table of this library: PMCs in the layout of x86 or ARMv8. */
#ifndef PFL_TABLE_H
#define PFL_TABLE_H

#include "model.h"

#define TBL_DEFAULT	0x1	/* the mask is used if none is given */
#define TBL_ALONE	0x2	/* the mask cannot be combined with others */

struct tbl_mask {
	const char	*name, *desc;
	uint16_t	code;
	uint16_t	flags;
};

struct tbl_event {
	const char	*name;
	uint16_t	code;
	uint16_t	models;			/* bits of the models that have the event */
	uint32_t	counters;		/* bits of the counters that can count the event */
	const struct tbl_mask *masks;		/* a mask without a name ends the list; or NULL */
	const char	*desc;
};

struct tbl {
	const struct tbl_event *events;		/* an event without a name ends the list */
	uint16_t	model;			/* the model's bit in struct tbl_event.models */
	uint32_t	counters;		/* bits of all its counters */
	/* true: modifiers and levels are encoded as in an EVTSEL; false: as in PMEVTYPER */
	bool		x86;
	/* addresses of register 0; 0: the numbers of registers are their addresses */
	uint32_t	pmc_address, pmd_address;
};

extern const struct pfl_ops pfl_table_ops;

#endif
