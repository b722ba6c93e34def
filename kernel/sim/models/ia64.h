/* SPDX-License-Identifier: MIT */
/*
 * ia64.h - declarations that the Itanium models share: the PMC of a counter, and the restrictions
 * of an event (5.6).
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
	/* inverted: code pair 0 selects code outside of it; no_pair0: it selects nothing */
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

/*
 * The rows of struct sim_encoding that Itanium 2 and Montecito share. The latter gives some events
 * another name, and L2 accesses another code.
 */
#define SIM_ITANIUM2_ENCODINGS(l2_code, l2_mask) \
	{ 0x12, 0xff, SIM_EV_CYCLES, 0 },		/* CPU_CYCLES, CPU_OP_CYCLES */ \
	{ 0x08, 0xff, SIM_EV_INSTRUCTIONS, IO },	/* IA64_INST_RETIRED */ \
	{ 0x25b, 0xfff, SIM_EV_BRANCH_MISSES, IO },	/* BR_MISPRED_DETAIL.ALL.WRONG_PATH */ \
	{ 0x35b, 0xfff, SIM_EV_NEVER, IO },		/* .WRONG_TARGET: counted as WRONG_PATH here */ \
	{ 0x5b, 0xfff, SIM_EV_BRANCHES, IO },		/* BR_MISPRED_DETAIL.ALL.ALL_PRED */ \
	{ 0xcd, 0xff, SIM_EV_LOADS, IOD },		/* LOADS_RETIRED */ \
	{ 0xd1, 0xff, SIM_EV_STORES, IOD },		/* STORES_RETIRED */ \
	{ 0x09, 0xff, SIM_EV_FP_OPS, I },		/* FP_OPS_RETIRED */ \
	{ 0x50, 0xff, SIM_EV_NOPS, IO },		/* NOPS_RETIRED */ \
	{ 0x00, 0xff, SIM_EV_STALLS, 0 },		/* BACK_END_BUBBLE */ \
	{ 0xc2, 0xff, SIM_EV_L1D_ACCESSES, IOD },	/* L1D_READS_SET0 */ \
	{ 0xc7, 0xff, SIM_EV_L1D_MISSES, IOD },		/* L1D_READ_MISSES */ \
	{ 0x40, 0xff, SIM_EV_L1I_ACCESSES, I },		/* L1I_READS */ \
	{ 0x41, 0xff, SIM_EV_L1I_MISSES, I },		/* L1I_FILLS */ \
	{ l2_code, l2_mask, SIM_EV_L2_ACCESSES, IOD }, \
	{ 0xcb, 0xff, SIM_EV_L2_MISSES, IOD },		/* L2_MISSES, L2D_MISSES */ \
	{ 0xdb, 0xff, SIM_EV_L3_ACCESSES, IOD },	/* L3_REFERENCES */ \
	{ 0xdc, 0xff, SIM_EV_L3_MISSES, IOD },		/* L3_MISSES */ \
	{ 0xc1, 0xff, SIM_EV_DTLB_MISSES, IOD },	/* L2DTLB_MISSES */ \
	{ 0x47, 0xff, SIM_EV_ITLB_MISSES, I },		/* ITLB_MISSES_FETCH */ \
	{ 0x87, 0xff, SIM_EV_BUS_ACCESSES, 0 },		/* BUS_ALL */ \
	{ 0x9e, 0xff, SIM_EV_INTERRUPTS, 0 },		/* EXTERN_DP_PINS_0_TO_3 */ \
	{ 0xc8, 0xff, SIM_EV_DEAR, IOD },		/* DATA_EAR_EVENTS */ \
	{ 0x43, 0xff, SIM_EV_IEAR, I },			/* L1I_EAR_EVENTS */ \
	{ 0x11, 0xff, SIM_EV_BTB, IO },			/* BRANCH_EVENT, ETB_EVENT */

/* Members of struct sim_codes that all models share; each defines encodings, filter and traces. */
#define SIM_IA64_CODES \
	.encodings = encodings, .mask = 0xff, .filter = filter, .ia64 = true, \
	.ctx_flags = PFM_ITA_FL_INSECURE | PFM_ITA_FL_PRIV_MONITORS, \
	.set_flags = PFM_ITA_SETFL_EXCL_INTR | PFM_ITA_SETFL_INTR_ONLY | PFM_ITA_SETFL_IDLE_EXCL, \
	.traces = &traces, .wanted = sim_trace_wanted, .trace = sim_trace

#endif
