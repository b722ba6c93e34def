// SPDX-License-Identifier: MIT
/*
 * ibs.c - instruction-based sampling of AMD's family 10h, for programs with events of the caches.
 * In each period one fetch or operation is tagged, and its history is put into registers. PMD4 (for
 * fetches) and PMD7 (for operations) are the control registers as the processor changes them: a
 * sample sets the PMD's valid bit, and the PMD overflows. The next sample is taken after a reset of
 * the PMD to 0 has cleared that bit. Layouts: AMD's BIOS and Kernel Developer's Guide for family
 * 10h (31116). Here, physical addresses are the linear ones, an instruction is one operation, and
 * periods are not randomized.
 */
#include "sim/sim.h"

#define FETCH_PMC	4
#define FETCH_PMD	4
#define OP_PMC		5
#define OP_PMD		7

#define FETCH_ON	(1ULL << 48)
#define FETCH_VALID	(1ULL << 49)
#define OP_ON		(1ULL << 17)
#define OP_VALID	(1ULL << 18)
#define OP_COUNTS_OPS	(1ULL << 19)
#define PERIOD(pmc)	(((pmc) & 0xffff) << 4)

bool sim_ibs_on(const struct sim_cpu *cpu)
{
	return cpu->sim->model->codes->ibs && ((cpu->pmcs[FETCH_PMC] & FETCH_ON) || (cpu->pmcs[OP_PMC] & OP_ON));
}

/* Counts n more. Returns true if they complete a period. */
static bool is_due(uint64_t *passed, uint64_t n, uint64_t period)
{
	*passed += n;
	if (!period || *passed < period)
		return false;
	*passed %= period;
	return true;
}

static uint64_t at_most_16_bits(uint64_t n)
{
	return n < 0xffff ? n : 0xffff;
}

/* --- fetches ---------------------------------------------------------------------------------- */

/*
 * Composes a fetch's registers: latency in bits 47-32; complete in 50, missed the L1I in 51, both
 * TLBs in 55, 56; the address.
 */
static void tag_fetch(struct sim_cpu *cpu, const struct sim_executed *done)
{
	uint64_t walked = done->walks & SIM_WALK_FETCH ? 3 : 0;

	cpu->pmds[FETCH_PMD] = cpu->pmcs[FETCH_PMC] | FETCH_VALID | at_most_16_bits(done->fetch_wait) << 32 |
			       1ULL << 50 | (uint64_t)done->fetch_missed << 51 | walked << 55;
	cpu->pmds[5] = cpu->pmds[6] = done->ip;
	cpu->ibs_taken |= 1ULL << FETCH_PMD;
}

/* --- operations ------------------------------------------------------------------------------- */

/*
 * Composes IBS_OP_DATA: cycles from tag to retirement in bits 31-16; for a branch: taken in 35,
 * mispredicted in 36, retired in 37.
 */
static uint64_t op_data(const struct sim_executed *done, uint64_t cycles)
{
	uint64_t data = at_most_16_bits(cycles) << 16;

	if (!done->branched)
		return data;
	return data | 1ULL << 37 | (done->branch & SIM_WRONG ? 1ULL << 36 : 0) |
	       (done->branch & SIM_TAKEN ? 1ULL << 35 : 0);
}

/* Returns which level beyond the L2 answered a load: 1 is the L3, 3 is memory, 0 is none. */
static uint64_t op_data2(const struct sim_cpu *cpu, const struct sim_executed *done)
{
	const struct cache_shape *part = cpu->sim->shapes.part;
	uint32_t wait = done->data_wait - (done->walks & SIM_WALK_DATA ? part[CACHE_DTLB].latency : 0);

	if (!done->load || !done->missed || wait == part[CACHE_L2].latency)
		return 0;
	return wait == part[CACHE_L3].latency ? 1 : 3;
}

/*
 * Composes IBS_OP_DATA3: load in bit 0, store in 1; missed both TLBs in 2, 3, the L1D in 7;
 * addresses valid in 17, 18; the latency of a load that missed in 47-32.
 */
static uint64_t op_data3(const struct sim_executed *done)
{
	uint64_t data = done->load ? 1 : 2;

	if (!done->data)
		return 0;
	data |= (done->walks & SIM_WALK_DATA ? 3 << 2 : 0) | (uint64_t)done->missed << 7 | 3 << 17;
	return done->load && done->missed ? data | at_most_16_bits(done->data_wait) << 32 : data;
}

static void tag_op(struct sim_cpu *cpu, const struct sim_executed *done, uint64_t cycles)
{
	cpu->pmds[OP_PMD] = cpu->pmcs[OP_PMC] | OP_VALID;
	cpu->pmds[8] = done->ip;
	cpu->pmds[9] = op_data(done, cycles);
	cpu->pmds[10] = op_data2(cpu, done);
	cpu->pmds[11] = op_data3(done);
	cpu->pmds[12] = cpu->pmds[13] = done->data ? done->data_addr : 0;
	cpu->ibs_taken |= 1ULL << OP_PMD;
}

bool sim_ibs_sample(struct sim_cpu *cpu, const struct sim_executed *done, uint64_t cycles)
{
	uint64_t fetch = cpu->pmcs[FETCH_PMC], op = cpu->pmcs[OP_PMC];

	if ((fetch & FETCH_ON) && !(cpu->pmds[FETCH_PMD] & FETCH_VALID) &&
	    is_due(&cpu->ibs_fetches, 1, PERIOD(fetch)))
		tag_fetch(cpu, done);
	if ((op & OP_ON) && !(cpu->pmds[OP_PMD] & OP_VALID) &&
	    is_due(&cpu->ibs_ops, op & OP_COUNTS_OPS ? 1 : cycles, PERIOD(op)))
		tag_op(cpu, done, cycles);
	return cpu->ibs_taken;
}
