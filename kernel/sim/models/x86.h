/* SPDX-License-Identifier: MIT */
/* x86.h - PerfEvtSel, which all x86 models have in common. */
#ifndef PFM_SIM_MODELS_X86_H
#define PFM_SIM_MODELS_X86_H

#include "sim/sim.h"

#define X86_USR	(1ULL << 16)
#define X86_OS	(1ULL << 17)
#define X86_EN	(1ULL << 22)

/* Splits a PerfEvtSel into its code (event select and unit mask) and its privilege levels. */
void sim_x86_fields(uint64_t sel, uint64_t *code, unsigned int *levels);
/*
 * Implements decode() of struct sim_codes for models where PMC n is the PerfEvtSel of PMD n, with
 * its own enable bit.
 */
bool sim_x86_decode(const uint64_t *pmcs, unsigned int pmd, uint64_t *code, unsigned int *levels);
uint64_t sim_x86_encode(unsigned int pmd, uint64_t code, unsigned int levels);
void sim_x86_filter(const uint64_t *pmcs, uint64_t pmc, uint64_t code, struct sim_filter *f);

/* The events of AMD's K8, which family 10h has, too. */
#define SIM_AMD_ENCODINGS(mask) \
	{ 0x76, mask, SIM_EV_CYCLES, 0 },	/* CPU_CLK_UNHALTED */ \
	{ 0xc0, mask, SIM_EV_INSTRUCTIONS, 0 },	/* RETIRED_INSTRUCTIONS */ \
	{ 0xc1, mask, SIM_EV_UOPS, 0 },		/* RETIRED_UOPS */ \
	{ 0xc2, mask, SIM_EV_BRANCHES, 0 },	/* RETIRED_BRANCH_INSTRUCTIONS */ \
	{ 0xc3, mask, SIM_EV_BRANCH_MISSES, 0 },	/* RETIRED_MISPREDICTED_BRANCH_INSTRUCTIONS */ \
	{ 0xc4, mask, SIM_EV_BRANCHES_TAKEN, 0 },	/* RETIRED_TAKEN_BRANCH_INSTRUCTIONS */ \
	{ 0x00, mask, SIM_EV_FP_OPS, 0 },	/* DISPATCHED_FPU */ \
	{ 0xd1, mask, SIM_EV_STALLS, 0 },	/* DISPATCH_STALLS */ \
	{ 0x40, mask, SIM_EV_L1D_ACCESSES, 0 },	/* DATA_CACHE_ACCESSES */ \
	{ 0x41, mask, SIM_EV_L1D_MISSES, 0 },	/* DATA_CACHE_MISSES */ \
	{ 0x80, mask, SIM_EV_L1I_ACCESSES, 0 },	/* INSTRUCTION_CACHE_FETCHES */ \
	{ 0x81, mask, SIM_EV_L1I_MISSES, 0 },	/* INSTRUCTION_CACHE_MISSES */ \
	{ 0x7d, mask, SIM_EV_L2_ACCESSES, 0 },	/* REQUESTS_TO_L2 */ \
	{ 0x7e, mask, SIM_EV_L2_MISSES, 0 },	/* L2_CACHE_MISS */ \
	{ 0x46, mask, SIM_EV_DTLB_MISSES, 0 },	/* L1_DTLB_MISS_AND_L2_DTLB_MISS */ \
	{ 0x85, mask, SIM_EV_ITLB_MISSES, 0 },	/* L1_ITLB_MISS_AND_L2_ITLB_MISS */ \
	{ 0x6c, mask, SIM_EV_BUS_ACCESSES, 0 },	/* SYSTEM_READ_RESPONSES */ \
	{ 0xcf, mask, SIM_EV_INTERRUPTS, 0 },	/* INTERRUPTS_TAKEN */ \
	{ 0x267, (mask) | 0x200, SIM_EV_PREFETCHES, 0 }	/* DATA_PREFETCHES:ATTEMPTED */

/*
 * Intel's fixed-function counters, PMD16-18, with four bits each in PMC16 (IA32_FIXED_CTR_CTRL).
 * They count instructions, cycles, and cycles of a constant clock, which is that of the CPU here.
 */
#define X86_FIXED	16
#define X86_REF_CYCLES	0x300
bool sim_x86_fixed_decode(const uint64_t *pmcs, unsigned int pmd, uint64_t *code, unsigned int *levels);
uint64_t sim_x86_fixed_encode(unsigned int pmd, uint64_t code, unsigned int levels);
void sim_x86_fixed_filter(const uint64_t *pmcs, uint64_t pmc, uint64_t code, struct sim_filter *f);
bool sim_x86_fixed_takes(unsigned int pmd, uint64_t code);

#endif
