// SPDX-License-Identifier: MIT
/*
 * itanium2.c - what the event codes of the Itanium 2 count, PMC4-7, and what restricts them: code ranges
 * (PMC14 and the IBRs), data ranges (PMC13 and the DBRs), opcode matchers (PMC8, 9, 15); 5.6.
 */
#include "sim/sim.h"

#define I	SIM_BY_CODE
#define IO	(SIM_BY_CODE | SIM_BY_OPCODE)
#define IOD	(SIM_BY_CODE | SIM_BY_OPCODE | SIM_BY_DATA)

static const struct sim_encoding encodings[] = {
	{ 0x12, 0xff, SIM_EV_CYCLES, 0 },		/* CPU_CYCLES */
	{ 0x08, 0xff, SIM_EV_INSTRUCTIONS, IO },	/* IA64_INST_RETIRED */
	{ 0x25b, 0xfff, SIM_EV_BRANCH_MISSES, IO },	/* BR_MISPRED_DETAIL.ALL.WRONG_PATH */
	{ 0x5b, 0xfff, SIM_EV_BRANCHES, IO },	/* BR_MISPRED_DETAIL.ALL.ALL_PRED */
	{ 0xcd, 0xff, SIM_EV_LOADS, IOD },		/* LOADS_RETIRED */
	{ 0xd1, 0xff, SIM_EV_STORES, IOD },		/* STORES_RETIRED */
	{ 0x09, 0xff, SIM_EV_FP_OPS, I },		/* FP_OPS_RETIRED */
	{ 0x50, 0xff, SIM_EV_NOPS, IO },		/* NOPS_RETIRED */
	{ 0x00, 0xff, SIM_EV_STALLS, 0 },		/* BACK_END_BUBBLE */
	{ 0xc2, 0xff, SIM_EV_L1D_ACCESSES, IOD },	/* L1D_READS_SET0 */
	{ 0xc7, 0xff, SIM_EV_L1D_MISSES, IOD },	/* L1D_READ_MISSES */
	{ 0x40, 0xff, SIM_EV_L1I_ACCESSES, I },	/* L1I_READS */
	{ 0x41, 0xff, SIM_EV_L1I_MISSES, I },	/* L1I_FILLS */
	{ 0xb1, 0xff, SIM_EV_L2_ACCESSES, IOD },	/* L2_REFERENCES */
	{ 0xcb, 0xff, SIM_EV_L2_MISSES, IOD },	/* L2_MISSES */
	{ 0xdb, 0xff, SIM_EV_L3_ACCESSES, IOD },	/* L3_REFERENCES */
	{ 0xdc, 0xff, SIM_EV_L3_MISSES, IOD },	/* L3_MISSES */
	{ 0xc1, 0xff, SIM_EV_DTLB_MISSES, IOD },	/* L2DTLB_MISSES */
	{ 0x47, 0xff, SIM_EV_ITLB_MISSES, I },	/* ITLB_MISSES_FETCH */
	{ 0x87, 0xff, SIM_EV_BUS_ACCESSES, 0 },	/* BUS_ALL */
	{ 0x9e, 0xff, SIM_EV_INTERRUPTS, 0 },	/* EXTERN_DP_PINS_0_TO_3 */
	{ 0xc8, 0xff, SIM_EV_DEAR, IOD },		/* DATA_EAR_EVENTS */
	{ 0x43, 0xff, SIM_EV_IEAR, I },		/* L1I_EAR_EVENTS */
	{ 0x11, 0xff, SIM_EV_BTB, IO },		/* BRANCH_EVENT */
	{ 0, 0, 0, 0 }
};

/* plm: bit 0 the kernel's level (interrupts too), bit 3 the user's. PMC4 enables all (bit 23). */
static unsigned int plm_levels(uint64_t plm)
{
	unsigned int levels = 0;

	if (plm & 1)
		levels |= 1 << PFM_SIM_KERNEL | 1 << PFM_SIM_INTR;
	if (plm & 8)
		levels |= 1 << PFM_SIM_USER;
	return levels;
}

static bool decode(const uint64_t *pmcs, unsigned int pmd, uint64_t *code, unsigned int *levels)
{
	uint64_t pmc = pmcs[pmd];

	*code = (pmc >> 8 & 0xff) | (pmc >> 16 & 0xf) << 8;
	*levels = plm_levels(pmc);
	return pmcs[4] >> 23 & 1;
}

static uint64_t encode(unsigned int pmd, uint64_t code, unsigned int levels)
{
	uint64_t plm = (levels >> PFM_SIM_USER & 1) << 3 | !!(levels & ~(1U << PFM_SIM_USER));

	return plm | (code & 0xff) << 8 | (code >> 8 & 0xf) << 16 | (pmd == 4 ? 1 << 23 : 0);
}

/* --- what an event is restricted by --------------------------------------------------------- */

#define PAIRS		4
#define IBR		256
#define DBR		264
#define ADDR_BITS	0x00ffffffffffffffULL	/* of a mask register; its plm is in bits 56-59 */
#define RETIRED		0x08	/* its unit mask chooses the pair, and the matcher that goes with it */
#define PREFETCH(code)	((code) == 0x44 || (code) == 0x45 || (code) == 0x5f)
#define FINE(pmcs)	((pmcs)[14] >> 13 & 1)

/* Bits 63-56 of an address are compared always. */
static void add_pair(struct sim_ranges *ranges, const uint64_t *br)
{
	struct sim_range *r = &ranges->at[ranges->n++];

	r->addr = br[0];
	r->mask = br[1] | ~ADDR_BITS;
	r->levels = plm_levels(br[1] >> 56 & 0xf);
}

/*
 * Code addresses are those of bundles. Fine mode: pair 0 has the first one, pair 2 the last; 1 and 3 likewise.
 * PMC8, bit 1: what is outside of pair 0.
 */
static void add_code_pair(struct sim_ranges *ranges, const uint64_t *pmcs, unsigned int pair)
{
	struct sim_range *r = &ranges->at[ranges->n];

	add_pair(ranges, &pmcs[IBR + 2 * pair]);
	r->mask &= ~0xfULL;
	r->inverted = !pair && pmcs[8] >> 1 & 1;
	r->fine = FINE(pmcs);
	if (r->fine)
		r->last = pmcs[IBR + 2 * (pair + 2)];
}

/* The pairs that PMC14 puts in force (a 0 each), of those that matter to the event; PMC8, bit 0: not pair 0. */
static void by_code(const uint64_t *pmcs, unsigned int pairs, struct sim_ranges *ranges)
{
	if (FINE(pmcs))
		pairs &= 3;
	if (pmcs[8] & 1)
		pairs &= ~1U;
	for (unsigned int p = 0; p < PAIRS; p++) {
		if (!(pairs >> p & 1) || pmcs[14] >> (1 + 3 * p) & 1)
			continue;
		ranges->used = true;
		add_code_pair(ranges, pmcs, p);
	}
}

/* PMC8 goes with pairs 0 and 2, PMC9 with 1 and 3; bit n of PMC15 frees pair n of its matcher. */
static void by_opcode(const uint64_t *pmcs, unsigned int pair, struct sim_filter *f)
{
	uint64_t pmc = pmcs[8 + (pair & 1)], mask = ~pmc >> 3 & 0x7ffffff, match = pmc >> 33 & 0x7ffffff;

	if (pmcs[15] >> pair & 1 || (!mask && pmc >> 60 == 0xf))
		return;
	f->opcodes = true;	/* 27 bits: 40-27 and 12-0 of the instruction */
	f->op_mask = (mask & 0x1fff) | mask >> 13 << 27;
	f->op_match = (match & 0x1fff) | match >> 13 << 27;
	for (unsigned int u = 0; u < 4; u++)	/* b f i m, from bit 60 */
		f->op_units |= (pmc >> (60 + u) & 1) << (PFM_SIM_UNIT_B - u);
	f->op_units |= pmc >> 60 == 0xf ? 1 << PFM_SIM_UNIT_ANY : 0;
}

/* PMC13, for each pair: bit 45 + n, it constrains; by what: 0 all, 1 code and opcode, 2 data, 3 nothing. */
static unsigned int memory_by(const uint64_t *pmcs, struct sim_ranges *data)
{
	static const unsigned int by[] = { IOD, IO, SIM_BY_DATA, 0 };
	unsigned int all = 0;

	for (unsigned int p = 0; p < PAIRS; p++) {
		unsigned int one = pmcs[13] >> (45 + p) & 1 ? by[pmcs[13] >> (3 + 8 * p) & 3] : 0;

		all |= one;
		if (!(one & SIM_BY_DATA))
			continue;
		data->used = true;
		add_pair(data, &pmcs[DBR + 2 * p]);
	}
	return all;
}

static unsigned int restricted_by(uint64_t code)
{
	const struct sim_encoding *e = encodings;

	while (e->mask && (code & e->mask) != e->code)
		e++;
	return e->mask ? e->by : IO;
}

static void filter(const uint64_t *pmcs, uint64_t pmc, uint64_t code, struct sim_filter *f)
{
	unsigned int by = restricted_by(code), es = code & 0xff, pairs = 0xf, pair = 0;

	f->at_least = pmc >> 20 & 7 ? (pmc >> 20 & 7) + 1 : 0;	/* more events than that */
	if (es == RETIRED)
		pairs = 1U << (pair = code >> 8 & 3);
	else if (PREFETCH(es))
		pairs = 1U << (pair = 1);
	if (by & SIM_BY_DATA)
		by = memory_by(pmcs, &f->data);
	if (by & SIM_BY_CODE)
		by_code(pmcs, pairs, &f->code);
	if (by & SIM_BY_OPCODE)
		by_opcode(pmcs, pair, f);
}

/*
 * A Madison with 3 MB of L3: the L1D answers loads in one cycle, L2 in 5, L3 in 12; stores go to the L2 past it. Its
 * pages have 16 KB.
 */
static const struct cache_shapes madison = {
	.part = {
		[CACHE_L1I] = { .size = 16 << 10, .assoc = 4, .line = 64 },
		[CACHE_L1D] = { .size = 16 << 10, .assoc = 4, .line = 64 },
		[CACHE_L2] = { .size = 256 << 10, .assoc = 8, .line = 128, .latency = 4 },
		[CACHE_L3] = { .size = 3 << 20, .assoc = 12, .line = 128, .latency = 11 },
		[CACHE_ITLB] = { .size = 128 * 16384, .assoc = 128, .line = 16384, .latency = 25 },
		[CACHE_DTLB] = { .size = 128 * 16384, .assoc = 128, .line = 16384, .latency = 25 },
	},
	.memory = 200, .mispredicted = 6, .predictor = CACHE_GSHARE, .write_around = true,
};

const struct sim_codes sim_codes_itanium2 = {
	.caches = &madison,
	.encodings = encodings,
	.mask = 0xff,
	.decode = decode,
	.encode = encode,
	.filter = filter,
	.ctx_flags = PFM_ITA_FL_INSECURE | PFM_ITA_FL_PRIV_MONITORS,
	.set_flags = PFM_ITA_SETFL_EXCL_INTR | PFM_ITA_SETFL_INTR_ONLY | PFM_ITA_SETFL_IDLE_EXCL,
	.itanium = true,
	.wanted = sim_trace_wanted,
};
