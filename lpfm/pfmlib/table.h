/* SPDX-License-Identifier: MIT */
/* table.h - models described by a table of this library: PMCs in the layout of x86 or ARMv8. */
#ifndef PFL_TABLE_H
#define PFL_TABLE_H

#include "model.h"

#define TBL_DEFAULT	0x1	/* in force when no mask is given */
#define TBL_ALONE	0x2	/* cannot be combined */

struct tbl_mask {
	const char	*name, *desc;
	uint16_t	code;
	uint16_t	flags;
};

struct tbl_event {
	const char	*name;
	uint16_t	code;
	uint16_t	models;			/* bits: the models that have it */
	uint32_t	counters;		/* bits: the counters it can be on */
	const struct tbl_mask *masks;		/* ended by one without a name, or NULL */
	const char	*desc;
};

struct tbl {
	const struct tbl_event *events;		/* ended by one without a name */
	uint16_t	model;			/* bit of struct tbl_event.models */
	uint32_t	counters;		/* bits: all counters */
	bool		x86;			/* modifiers and levels as in an EVTSEL, else as in PMEVTYPER */
	uint32_t	pmc_address, pmd_address; /* of register 0; 0: numbers are addresses */
};

extern const struct pfl_ops pfl_table_ops;

#endif
