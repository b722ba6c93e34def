// SPDX-License-Identifier: GPL-2.0 OR MIT
/* reset.c - loading PMDs with their reset values, randomized where asked (3.4.1, 3.4.2). */
#include "core.h"

/*
 * Carta's generator, the specification's reference [1]: state * 16807 mod 2^31-1. 0 and multiples
 * of the modulus would never change. As any seed is allowed, they continue as 1 does.
 */
static uint32_t carta_next(uint32_t state)
{
	uint32_t lo, hi;

	if (!(state % 0x7fffffff))
		state = 1;
	lo = 16807 * (state & 0xffff);
	hi = 16807 * (state >> 16);
	lo += (hi & 0x7fff) << 16;
	lo += hi >> 15;
	if (lo > 0x7fffffff)
		lo -= 0x7fffffff;
	return lo;
}

/*
 * Returns the next random value, the first of which is the seed itself. If the mask has more than
 * 32 bits, two values of the generator are combined.
 */
uint64_t pfm_draw(struct pfm_pmd *pmd)
{
	uint64_t r = pmd->random_state;

	pmd->random_state = carta_next(pmd->random_state);
	if (pmd->random_mask >> 32) {
		r |= (uint64_t)pmd->random_state << 32;
		pmd->random_state = carta_next(pmd->random_state);
	}
	return r;
}

#ifdef PFM_RESETS_ARE_CALLS
void pfm_reset_pmd(struct pfm_context *ctx, struct pfm_set *set, struct pfm_pmd *pmd, enum pfm_reset kind)
{
	pfm_reset_pmd_now(ctx, set, pmd, kind);
}
#endif

/* Resets the PMDs in bits, in ascending order. */
void pfm_reset_these(struct pfm_context *ctx, struct pfm_set *set, const uint64_t *bits, enum pfm_reset kind)
{
	unsigned int num;

	pfm_for_each_bit_of(num, bits, set->pmd_words)
		pfm_reset_pmd(ctx, set, &set->pmds[set->pmd_at[num]], kind);
}

/*
 * Not inlined, so that its caller has no array: compilers for kernels add code to a function with
 * an array, to clear the array and guard the stack frame.
 */
static __attribute__((__noinline__))
void reset_with_others(struct pfm_context *ctx, struct pfm_set *set, const uint64_t *bits,
		       enum pfm_reset kind)
{
	uint64_t all[PFM_PMD_BV];
	unsigned int num;

	memcpy(all, bits, sizeof(all));
	pfm_for_each_bit(num, bits)
		pfm_bits_or(all, pfm_set_pmd(set, num)->reset_pmds);
	pfm_reset_these(ctx, set, all, kind);
}

/* Resets the PMDs in bits, and those in their reset_pmds, once each and in ascending order. */
void pfm_reset_pmds(struct pfm_context *ctx, struct pfm_set *set, const uint64_t *bits,
		    enum pfm_reset kind)
{
	struct pfm_pmd *only = pfm_only_pmd(set, bits);

	if (set->resets_others)
		reset_with_others(ctx, set, bits, kind);
	else if (only)
		pfm_reset_pmd(ctx, set, only, kind);
	else
		pfm_reset_these(ctx, set, bits, kind);
}
