// SPDX-License-Identifier: MIT
/*
 * netburst.c - the events that the ESCRs and CCCRs of the Pentium 4 select (Intel's Software
 * Developer's Manual, volume 3, events of processors based on the NetBurst microarchitecture). A
 * code in this file has the ESCR's event select in bits 0-5, the CCCR's ESCR select in bits 6-8,
 * the group of counters in bits 9-10, and the ESCR's event mask from bit 11 on.
 *
 * Without the option ht, a CPU has one logical processor, 0; bits for the other one have no effect.
 *
 * With it (HyperThreading), CPUs 2k and 2k + 1 are two logical processors. Each has one half of the
 * registers, as in perfmon2 2.x (pmu/netburst.c), and counts its own executions. Either half is
 * described here as the even side with levels of logical processor 0. Two threads contend for the
 * core's caches, TLBs and branch predictor. The real processor ("there") differs:
 *   - page_walk_type and x87_FP_uop count for both logical processors there; here each counts its
 *     own, as the wrap of a counter is predicted from the one program that its CPU runs;
 *   - each logical processor has an ITLB and a history of branches of its own there;
 *   - two that run at once share execution units there; here they slow each other only by misses;
 *   - the odd side has no SSU_ESCR there; here it has one, which no named event needs.
 *
 * No micro-operation is tagged, and none that is executed is bogus.
 */
#include "perfmon/perfmon_pebs_smpl.h"
#include "sim/sim.h"

enum { BPU, MS, FLAME, IQ };	/* the groups of counters */

#define CODE(group, select, event, mask) ((mask) << 11 | (group) << 9 | (select) << 6 | (event))
#define ALL	CODE(3, 7, 0x3f, 0)
#define EVENT(group, select, event, mask, of) CODE(group, select, event, mask), ALL | CODE(0, 0, 0, of)

static const struct sim_encoding encodings[] = {
	{ EVENT(BPU, 6, 0x13, 1, 1), SIM_EV_CYCLES, 0 },	/* global_power_events:RUNNING */
	{ EVENT(IQ, 4, 0x02, 1, 1), SIM_EV_INSTRUCTIONS, 0 },	/* instr_retired:NBOGUSNTAG */
	{ EVENT(IQ, 4, 0x01, 1, 1), SIM_EV_UOPS, 0 },		/* uops_retired:NBOGUS */
	/* branch_retired:MMNP:MMNM:MMTP:MMTM */
	{ EVENT(IQ, 5, 0x06, 0xf, 0xf), SIM_EV_BRANCHES, 0 },
	{ EVENT(IQ, 5, 0x06, 0xc, 0xf), SIM_EV_BRANCHES_TAKEN, 0 }, /* branch_retired:MMTP:MMTM */
	{ EVENT(IQ, 5, 0x06, 0xa, 0xf), SIM_EV_BRANCH_MISSES, 0 }, /* branch_retired:MMNM:MMTM */
	{ EVENT(IQ, 4, 0x03, 1, 1), SIM_EV_BRANCH_MISSES, 0 },	/* mispred_branch_retired */
	{ EVENT(FLAME, 1, 0x04, 0x8000, 0x8000), SIM_EV_FP_OPS, 0 },	/* x87_FP_uop:ALL */
	{ EVENT(IQ, 1, 0x01, 0x20, 0x20), SIM_EV_STALLS, 0 },	/* resource_stall:SBFULL */
	{ EVENT(BPU, 0, 0x03, 1, 1), SIM_EV_L1I_MISSES, 0 },	/* BPU_fetch_request:TCMISS */
	/* BSQ_cache_reference: RD_2ndL_* */
	{ EVENT(BPU, 7, 0x0c, 0x107, 0x107), SIM_EV_L2_ACCESSES, 0 },
	/* BSQ_cache_reference:RD_2ndL_MISS */
	{ EVENT(BPU, 7, 0x0c, 0x100, 0x107), SIM_EV_L2_MISSES, 0 },
	{ EVENT(BPU, 4, 0x01, 1, 3), SIM_EV_DTLB_MISSES, 0 },	/* page_walk_type:DTMISS */
	{ EVENT(BPU, 4, 0x01, 2, 3), SIM_EV_ITLB_MISSES, 0 },	/* page_walk_type:ITMISS */
	{ EVENT(BPU, 3, 0x18, 2, 3), SIM_EV_ITLB_MISSES, 0 },	/* ITLB_reference:MISS */
	{ 0, 0, 0, 0 }
};

#define NO_ESCR	0xff
#define FIRST_ODD 9	/* number of the first PMD of the odd side */

/*
 * Numbers of the PMCs that are the even side's ESCRs, by group and ESCR select. Those of the odd
 * side follow from them.
 */
static const uint8_t escrs[4][8] = {
	[BPU] = { 0, 1, 2, 3, 4, 5, 6, 7 },
	[MS] = { 8, 9, 10, NO_ESCR, NO_ESCR, NO_ESCR, NO_ESCR, NO_ESCR },
	[FLAME] = { 11, 12, 13, 14, NO_ESCR, 15, NO_ESCR, NO_ESCR },
	[IQ] = { 16, 17, 18, 19, 20, 21, 22, NO_ESCR },
};

#define SSU	19	/* number of SSU_ESCR, which exists only on the even side */

static unsigned int group_of(unsigned int pmd)
{
	unsigned int n = pmd % FIRST_ODD;

	return n < 6 ? n / 2 : IQ;
}

static unsigned int escr_of(unsigned int pmd, unsigned int select)
{
	unsigned int escr = escrs[group_of(pmd)][select];

	if (pmd < FIRST_ODD || escr == NO_ESCR)
		return escr;
	return escr == SSU ? NO_ESCR : escr < SSU ? escr + 32 : escr + 31;
}

static unsigned int cccr_of(unsigned int pmd)
{
	return pmd < FIRST_ODD ? 23 + pmd : 54 + pmd - FIRST_ODD;
}

#define CCCR_ENABLE	(1ULL << 12)
#define CCCR_THREADS	(3ULL << 16)
#define CCCR_COMPARE	(1ULL << 18)
#define CCCR_COMPLEMENT	(1ULL << 19)
#define CCCR_EDGE	(1ULL << 24)
#define CCCR_INT	(1ULL << 26)
#define ESCR_USR	(1ULL << 2)	/* the bit for logical processor 0 */
#define ESCR_OS		(1ULL << 3)

static bool decode(const uint64_t *pmcs, unsigned int pmd, uint64_t *code, unsigned int *levels)
{
	uint64_t cccr = pmcs[cccr_of(pmd)], escr;
	unsigned int select = cccr >> 13 & 7, num = escr_of(pmd, select);

	if (!(cccr & CCCR_ENABLE) || num == NO_ESCR)
		return false;
	escr = pmcs[num];
	*code = CODE(group_of(pmd), select, escr >> 25 & 0x3f, escr >> 9 & 0xffff);
	*levels = 0;
	if (escr & ESCR_USR)
		*levels |= 1 << PFM_SIM_USER;
	if (escr & ESCR_OS)
		*levels |= 1 << PFM_SIM_KERNEL | 1 << PFM_SIM_INTR;
	return true;
}

static bool takes(unsigned int pmd, uint64_t code)
{
	return (code >> 9 & 3) == group_of(pmd) && escr_of(pmd, code >> 6 & 7) != NO_ESCR;
}

static uint64_t encode(unsigned int pmd, uint64_t code, unsigned int levels)
{
	(void)pmd, (void)levels;
	return CCCR_ENABLE | CCCR_THREADS | CCCR_INT | (code >> 6 & 7) << 13;
}

static unsigned int others(unsigned int pmd, uint64_t code, unsigned int levels, struct pfm_sim_pmc *to)
{
	to->num = escr_of(pmd, code >> 6 & 7);
	to->value = (code & 0x3f) << 25 | (code >> 11 & 0xffff) << 9;
	if (levels >> PFM_SIM_USER & 1)
		to->value |= ESCR_USR;
	if (levels & ~(1U << PFM_SIM_USER))
		to->value |= ESCR_OS;
	return 1;
}

/*
 * If CCCR_COMPARE is set, the counter counts cycles with more events than the threshold, or, with
 * CCCR_COMPLEMENT, cycles with at most as many. With CCCR_EDGE it counts only the first of a run of
 * such cycles.
 */
static void filter(const uint64_t *pmcs, uint64_t cccr, uint64_t code, struct sim_filter *f)
{
	(void)pmcs, (void)code;
	if (!(cccr & CCCR_COMPARE))
		return;
	f->at_least = (cccr >> 20 & 0xf) + 1;
	f->inverted = cccr & CCCR_COMPLEMENT;
	f->edge = cccr & CCCR_EDGE;
}

/*
 * A Northwood with 512 KB of L2. Its trace cache holds 12000 micro-operations, the equivalent of
 * about 16 KB of code.
 */
static const struct cache_shapes northwood = {
	.part = {
		[CACHE_L1I] = { .size = 16 << 10, .assoc = 8, .line = 64 },
		[CACHE_L1D] = { .size = 8 << 10, .assoc = 4, .line = 64, .policy = CACHE_PLRU },
		[CACHE_L2] = { .size = 512 << 10, .assoc = 8, .line = 64, .policy = CACHE_PLRU, .latency = 16 },
		[CACHE_ITLB] = { .size = 64 * 4096, .assoc = 64, .line = 4096, .latency = 30 },
		[CACHE_DTLB] = { .size = 64 * 4096, .assoc = 64, .line = 4096, .latency = 30 },
	},
	.memory = 300, .mispredicted = 20, .predictor = CACHE_GSHARE,
};

/* A Nocona with 1 MB of L2. */
static const struct cache_shapes nocona = {
	.part = {
		[CACHE_L1I] = { .size = 16 << 10, .assoc = 8, .line = 64 },
		[CACHE_L1D] = { .size = 16 << 10, .assoc = 8, .line = 64, .policy = CACHE_PLRU },
		[CACHE_L2] = { .size = 1 << 20, .assoc = 8, .line = 64, .policy = CACHE_PLRU, .latency = 23 },
		[CACHE_ITLB] = { .size = 64 * 4096, .assoc = 64, .line = 4096, .latency = 30 },
		[CACHE_DTLB] = { .size = 64 * 4096, .assoc = 64, .line = 4096, .latency = 30 },
	},
	.memory = 380, .mispredicted = 31, .predictor = CACHE_GSHARE,
};

/* Only IQ_COUNTER4 takes precise samples, if bit 24 of PEBS_ENABLE is set. */
#define CODES(shapes, half, pebs_record) { \
	.caches = &(shapes), .ht = &(half), .encodings = encodings, .mask = ALL, .decode = decode, .encode = encode, \
	.takes = takes, .others = others, .filter = filter, .skid = 113, \
	.pebs = { .enable = 96, .bit = 24, .first = 8, .num = 1, .record = sizeof(pebs_record) } }

const struct sim_codes sim_codes_netburst = CODES(northwood, pfm_pmu_netburst_ht, pfm_pebs32_record_t);
const struct sim_codes sim_codes_em64t = CODES(nocona, pfm_pmu_em64t_ht, pfm_pebs_record_t);
