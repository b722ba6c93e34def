/* SPDX-License-Identifier: MIT */
/*
 * ia64.h - what Itanium processors have in common: the PMC of a counter, and the restrictions of an
 * event (5.6).
 */
#ifndef PFM_SIM_MODELS_IA64_H
#define PFM_SIM_MODELS_IA64_H

#include "sim/sim.h"

#define I	SIM_BY_CODE
#define IO	(SIM_BY_CODE | SIM_BY_OPCODE)
#define IOD	(SIM_BY_CODE | SIM_BY_OPCODE | SIM_BY_DATA)

/*
 * Implements decode() of struct sim_codes; a code has the event select in bits 0-7, the unit mask
 * in 8-11.
 */
bool sim_ia64_decode(const uint64_t *pmcs, unsigned int pmd, uint64_t *code, unsigned int *levels);
uint64_t sim_ia64_encode(unsigned int pmd, uint64_t code, unsigned int levels);

/*
 * An opcode matcher. It matches instructions that equal match in the bits of mask, and are for one
 * of these units (bits for b, f, i, m, from 0).
 */
struct sim_ia64_matcher {
	uint64_t	mask, match;
	unsigned int	units;
};

/* The registers that restrict events, in the layout of Itanium 2. */
struct sim_ia64_restriction {
	uint64_t	code, data;		/* PMC14 and PMC13 */
	uint64_t	free;			/* PMC15: a set bit frees a pair from its matcher */
	/* inverted: code pair 0 selects what is outside of it; no_pair0: it selects nothing */
	bool		inverted, no_pair0;
	struct sim_ia64_matcher (*matcher)(const uint64_t *pmcs, unsigned int pair);
};

/* Returns the SIM_BY_* by which the event of a code can be restricted. */
unsigned int sim_ia64_restricted_by(const struct sim_encoding *encodings, uint64_t code);
/* Fills in f for a counter with the PMC pmc; its event can be restricted by "by". */
void sim_ia64_filter(const uint64_t *pmcs, const struct sim_ia64_restriction *r, unsigned int by, uint64_t pmc,
		     uint64_t code, struct sim_filter *f);
/*
 * Parts of sim_ia64_filter(): add a threshold; an opcode matcher; a pair of debug registers, from
 * br[0] on, as a further range.
 */
void sim_ia64_threshold(uint64_t pmc, struct sim_filter *f);
void sim_ia64_match(struct sim_ia64_matcher m, struct sim_filter *f);
struct sim_range *sim_ia64_pair(struct sim_ranges *ranges, const uint64_t *br);

#endif
