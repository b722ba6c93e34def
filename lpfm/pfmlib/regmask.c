// SPDX-License-Identifier: MIT
/* regmask.c - register masks. */
#include <string.h>

#include "model.h"

static pfmlib_regmask_bits_t bit(unsigned int b)
{
	return 1UL << b % PFMLIB_REG_BV_BITS;
}

int pfm_regmask_isset(const pfmlib_regmask_t *h, unsigned int b)
{
	return h && b < PFMLIB_REG_MAX && (h->bits[b / PFMLIB_REG_BV_BITS] & bit(b)) != 0;
}

int pfm_regmask_set(pfmlib_regmask_t *h, unsigned int b)
{
	if (!h || b >= PFMLIB_REG_MAX)
		return PFMLIB_ERR_INVAL;
	h->bits[b / PFMLIB_REG_BV_BITS] |= bit(b);
	return PFMLIB_SUCCESS;
}

int pfm_regmask_clr(pfmlib_regmask_t *h, unsigned int b)
{
	if (!h || b >= PFMLIB_REG_MAX)
		return PFMLIB_ERR_INVAL;
	h->bits[b / PFMLIB_REG_BV_BITS] &= ~bit(b);
	return PFMLIB_SUCCESS;
}

int pfm_regmask_weight(const pfmlib_regmask_t *h, unsigned int *weight)
{
	if (!h || !weight)
		return PFMLIB_ERR_INVAL;
	*weight = 0;
	for (unsigned int i = 0; i < PFMLIB_REG_BV; i++)
		*weight += __builtin_popcountl(h->bits[i]);
	return PFMLIB_SUCCESS;
}

int pfm_regmask_eq(const pfmlib_regmask_t *h1, const pfmlib_regmask_t *h2)
{
	return h1 && h2 && memcmp(h1->bits, h2->bits, sizeof(h1->bits)) == 0;
}

#define BINARY(name, expression) \
	int name(pfmlib_regmask_t *dst, const pfmlib_regmask_t *h1, const pfmlib_regmask_t *h2) \
	{ \
		if (!dst || !h1 || !h2) \
			return PFMLIB_ERR_INVAL; \
		for (unsigned int i = 0; i < PFMLIB_REG_BV; i++) \
			dst->bits[i] = expression; \
		return PFMLIB_SUCCESS; \
	}

BINARY(pfm_regmask_and, h1->bits[i] & h2->bits[i])
BINARY(pfm_regmask_andnot, h1->bits[i] & ~h2->bits[i])
BINARY(pfm_regmask_or, h1->bits[i] | h2->bits[i])

int pfm_regmask_copy(pfmlib_regmask_t *dst, const pfmlib_regmask_t *src)
{
	if (!dst || !src)
		return PFMLIB_ERR_INVAL;
	*dst = *src;
	return PFMLIB_SUCCESS;
}

int pfm_regmask_not(pfmlib_regmask_t *dst)
{
	if (!dst)
		return PFMLIB_ERR_INVAL;
	for (unsigned int i = 0; i < PFMLIB_REG_BV; i++)
		dst->bits[i] = ~dst->bits[i];
	return PFMLIB_SUCCESS;
}
