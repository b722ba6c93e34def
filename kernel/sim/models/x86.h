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
