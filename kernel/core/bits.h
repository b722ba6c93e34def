/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* bits.h - bit-vectors over register numbers: arrays of PFM_PMD_BV 64-bit words. */
#ifndef PFM_CORE_BITS_H
#define PFM_CORE_BITS_H

#include "os.h"
#include "perfmon/perfmon.h"

static inline bool pfm_bit(const uint64_t *bv, unsigned int n)
{
	return n < PFM_MAX_PMDS && (bv[n / 64] >> (n % 64) & 1);
}

static inline void pfm_bit_set(uint64_t *bv, unsigned int n)
{
	bv[n / 64] |= 1ULL << (n % 64);
}

static inline void pfm_bit_clear(uint64_t *bv, unsigned int n)
{
	bv[n / 64] &= ~(1ULL << (n % 64));
}

static inline bool pfm_bits_empty(const uint64_t *bv)
{
	uint64_t all = 0;

	for (int i = 0; i < PFM_PMD_BV; i++)
		all |= bv[i];
	return !all;
}

static inline void pfm_bits_or(uint64_t *to, const uint64_t *from)
{
	for (int i = 0; i < PFM_PMD_BV; i++)
		to[i] |= from[i];
}

/* Returns the population count. The core may not use a library function for it. */
static inline unsigned int pfm_popcount(uint64_t w)
{
	w -= w >> 1 & 0x5555555555555555ULL;
	w = (w & 0x3333333333333333ULL) + (w >> 2 & 0x3333333333333333ULL);
	w = (w + (w >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return w * 0x0101010101010101ULL >> 56;
}

/* Returns how many bits below n are set. */
static inline unsigned int pfm_bits_rank(const uint64_t *bv, unsigned int n)
{
	unsigned int rank = 0, i;

	for (i = 0; i < n / 64; i++)
		rank += pfm_popcount(bv[i]);
	if (n % 64)
		rank += pfm_popcount(bv[i] & ((1ULL << (n % 64)) - 1));
	return rank;
}

/*
 * Returns true if all bytes are 0. It is inlined, so that the compiler knows the size at each call.
 */
static inline bool pfm_zeros(const void *p, size_t size)
{
	const unsigned char *c = p;
	uint64_t all = 0, word;
	uint32_t half;

	for (; size >= sizeof(word); size -= sizeof(word), c += sizeof(word)) {
		memcpy(&word, c, sizeof(word));
		all |= word;
	}
	if (size >= sizeof(half)) {
		memcpy(&half, c, sizeof(half));
		all |= half;
		size -= sizeof(half), c += sizeof(half);
	}
	while (size--)
		all |= *c++;
	return !all;
}

/* An iterator over the set bits, in ascending order. */
struct pfm_bits {
	uint64_t	rest;	/* the bits of the current word that are still to be visited */
	unsigned int	word;
};

static inline bool pfm_bits_step(struct pfm_bits *at, const uint64_t *bv, unsigned int words, unsigned int *n)
{
	while (!at->rest) {
		if (++at->word >= words) {
			*n = PFM_MAX_PMDS;
			return false;
		}
		at->rest = bv[at->word];
	}
	*n = at->word * 64 + (unsigned int)__builtin_ctzll(at->rest);
	at->rest &= at->rest - 1;
	return true;
}

/*
 * Loops over the set bits; n is the number of the bit. A bit that changes during the loop may be
 * visited or not. After the loop n is PFM_MAX_PMDS, unless the loop ended with a break.
 */
#define pfm_for_each_bit(n, bv)	pfm_for_each_bit_of(n, bv, PFM_PMD_BV)

/* Does the same if only the first "words" words can have bits set. */
#define pfm_for_each_bit_of(n, bv, words) \
	for (struct pfm_bits at_ = { (bv)[0], 0 }; pfm_bits_step(&at_, bv, words, &(n)); )

#endif
