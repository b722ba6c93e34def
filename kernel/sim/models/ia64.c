// SPDX-License-Identifier: MIT
/*
 * ia64.c - functions that the Itanium models share: the PMC of a counter, and the restrictions of
 * an event (5.6): code ranges (the IBRs), data ranges (the DBRs) and opcode matchers.
 */
#include "pmu/ia64.h"
#include "sim/models/ia64.h"

/* plm: bit 0 is the kernel's level, which includes interrupts, bit 3 the user's. */
static unsigned int plm_levels(uint64_t plm)
{
	unsigned int levels = 0;

	if (plm & 1)
		levels |= 1 << PFM_SIM_KERNEL | 1 << PFM_SIM_INTR;
	if (plm & 8)
		levels |= 1 << PFM_SIM_USER;
	return levels;
}

bool sim_ia64_decode(const uint64_t *pmcs, unsigned int pmd, uint64_t *code, unsigned int *levels)
{
	uint64_t pmc = pmcs[pmd];

	*code = (pmc >> 8 & 0xff) | (pmc >> 16 & 0xf) << 8;
	*levels = plm_levels(pmc);
	return true;
}

uint64_t sim_ia64_encode(unsigned int pmd, uint64_t code, unsigned int levels)
{
	uint64_t plm = (levels >> PFM_SIM_USER & 1) << 3 | !!(levels & ~(1U << PFM_SIM_USER));

	(void)pmd;
	return plm | (code & 0xff) << 8 | (code >> 8 & 0xf) << 16;
}

/* --- restrictions of an event --------------------------------------------------------------- */

#define PAIRS		4
/* bits of a mask register; its plm is in bits 56-59 */
#define ADDR_BITS	0x00ffffffffffffffULL
/* the unit mask of this event chooses the pair, and the matcher that belongs to the pair */
#define RETIRED		0x08
#define PREFETCH(code)	((code) == 0x44 || (code) == 0x45 || (code) == 0x5f)
#define FINE(r)		((r)->code >> 13 & 1)

/* Reads a pair of debug registers. Bits 63-56 of an address are always compared. */
struct sim_range *sim_ia64_pair(struct sim_ranges *ranges, const uint64_t *br)
{
	struct sim_range *range = &ranges->at[ranges->n++];

	ranges->used = true;
	range->addr = br[0];
	range->mask = br[1] | ~ADDR_BITS;
	range->levels = plm_levels(br[1] >> 56 & 0xf);
	return range;
}

/*
 * Adds a code range. Code addresses are those of bundles. In fine mode pair 0 has the first bundle
 * of a range and pair 2 the last one; pair 1 and pair 3 have those of another range.
 */
static void add_code_pair(const struct sim_ia64_restriction *r, struct sim_ranges *ranges, const uint64_t *pmcs,
			  unsigned int pair)
{
	struct sim_range *range = sim_ia64_pair(ranges, &pmcs[PFM_ITA_IBR + 2 * pair]);

	range->mask &= ~0xfULL;
	range->inverted = !pair && r->inverted;
	range->fine = FINE(r);
	if (range->fine)
		range->last = pmcs[PFM_ITA_IBR + 2 * (pair + 2)];
}

/* Adds the code range of each pair in "pairs" that r->code enables; a bit of 0 enables its pair. */
static void by_code(const struct sim_ia64_restriction *r, const uint64_t *pmcs, unsigned int pairs,
		    struct sim_ranges *ranges)
{
	if (FINE(r))
		pairs &= 3;
	if (r->no_pair0)
		pairs &= ~1U;
	for (unsigned int p = 0; p < PAIRS; p++)
		if (pairs >> p & 1 && !(r->code >> (1 + 3 * p) & 1))
			add_code_pair(r, ranges, pmcs, p);
}

/* Adds a matcher. It matches everything if its mask is empty and it accepts all units. */
void sim_ia64_match(struct sim_ia64_matcher m, struct sim_filter *f)
{
	if (!m.mask && m.units == 0xf)
		return;
	f->opcodes = true;
	f->op_mask = m.mask;
	f->op_match = m.match;
	for (unsigned int u = 0; u < 4; u++)
		f->op_units |= (m.units >> u & 1) << (PFM_SIM_UNIT_B - u);
	f->op_units |= m.units == 0xf ? 1 << PFM_SIM_UNIT_ANY : 0;
}

/*
 * Adds the data ranges that r->data enables, and returns the SIM_BY_* of all pairs. Bit 45 + n
 * enables pair n, and bits 3 + 8 * n and up say by what: 0 all, 1 code and opcode, 2 data, 3
 * nothing.
 */
static unsigned int memory_by(const struct sim_ia64_restriction *r, const uint64_t *pmcs, struct sim_ranges *data)
{
	static const unsigned int by[] = { IOD, IO, SIM_BY_DATA, 0 };
	unsigned int all = 0;

	for (unsigned int p = 0; p < PAIRS; p++) {
		unsigned int one = r->data >> (45 + p) & 1 ? by[r->data >> (3 + 8 * p) & 3] : 0;

		all |= one;
		if (one & SIM_BY_DATA)
			sim_ia64_pair(data, &pmcs[PFM_ITA_DBR + 2 * p]);
	}
	return all;
}

unsigned int sim_ia64_restricted_by(const struct sim_encoding *encodings, uint64_t code)
{
	const struct sim_encoding *e = encodings;

	while (e->mask && (code & e->mask) != e->code)
		e++;
	return e->mask ? e->by : IO;
}

/* Counts cycles with more events than the threshold. */
void sim_ia64_threshold(uint64_t pmc, struct sim_filter *f)
{
	f->at_least = pmc >> 20 & 7 ? (pmc >> 20 & 7) + 1 : 0;
}

void sim_ia64_filter(const uint64_t *pmcs, const struct sim_ia64_restriction *r, unsigned int by, uint64_t pmc,
		     uint64_t code, struct sim_filter *f)
{
	unsigned int es = code & 0xff, pairs = 0xf, pair = 0;

	sim_ia64_threshold(pmc, f);
	if (es == RETIRED)
		pairs = 1U << (pair = code >> 8 & 3);
	else if (PREFETCH(es))
		pairs = 1U << (pair = 1);
	if (by & SIM_BY_DATA)
		by = memory_by(r, pmcs, &f->data);
	if (by & SIM_BY_CODE)
		by_code(r, pmcs, pairs, &f->code);
	if (by & SIM_BY_OPCODE && !(r->free >> pair & 1))
		sim_ia64_match(r->matcher(pmcs, pair), f);
}
