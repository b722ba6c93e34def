/* SPDX-License-Identifier: MIT */
/* ia64.h - what Itanium processors have in common: a counter's PMC, and what restricts an event (5.6). */
#ifndef PFM_SIM_MODELS_IA64_H
#define PFM_SIM_MODELS_IA64_H

#include "sim/sim.h"

#define I	SIM_BY_CODE
#define IO	(SIM_BY_CODE | SIM_BY_OPCODE)
#define IOD	(SIM_BY_CODE | SIM_BY_OPCODE | SIM_BY_DATA)

/* As in struct sim_codes; the code is the event select in bits 0-7, the unit mask in 8-11. */
bool sim_ia64_decode(const uint64_t *pmcs, unsigned int pmd, uint64_t *code, unsigned int *levels);
uint64_t sim_ia64_encode(unsigned int pmd, uint64_t code, unsigned int levels);

/* An opcode matcher: instructions equal to match in the bits of mask, of these units (bits b f i m, from 0). */
struct sim_ia64_matcher {
	uint64_t	mask, match;
	unsigned int	units;
};

/* Registers that restrict, in the layout of Itanium 2. */
struct sim_ia64_restriction {
	uint64_t	code, data;		/* PMC14, PMC13 */
	uint64_t	free;			/* PMC15: a bit frees a pair of its matcher */
	bool		inverted, no_pair0;	/* code pair 0: what is outside of it; it is none */
	struct sim_ia64_matcher (*matcher)(const uint64_t *pmcs, unsigned int pair);
};

/* What an event of code can be restricted by, SIM_BY_*. */
unsigned int sim_ia64_restricted_by(const struct sim_encoding *encodings, uint64_t code);
/* f of a counter with the PMC pmc; by is what its event can be restricted by. */
void sim_ia64_filter(const uint64_t *pmcs, const struct sim_ia64_restriction *r, unsigned int by, uint64_t pmc,
		     uint64_t code, struct sim_filter *f);
/* The parts of that: a threshold; an opcode matcher; a pair of debug registers, from br[0] on, as one more range. */
void sim_ia64_threshold(uint64_t pmc, struct sim_filter *f);
void sim_ia64_match(struct sim_ia64_matcher m, struct sim_filter *f);
struct sim_range *sim_ia64_pair(struct sim_ranges *ranges, const uint64_t *br);

#endif
