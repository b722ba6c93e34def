// SPDX-License-Identifier: MIT
/*
 * branch.c - branch predictors. Conditional branches are predicted by two-bit counters, which rise
 * when a branch is taken, fall when it is not, and predict "taken" from 2 on; all start at 0. The
 * index of the counter consists of 14 bits of the branch's address (bimodal), of the XOR of these
 * bits and the last 14 outcomes (gshare), or of the last 7 outcomes and 7 bits of the address
 * (two-level, which is cachegrind's predictor). An indirect branch is predicted to go to the last
 * target of the branches with the same low 9 bits of the address. Returns and direct jumps are
 * always predicted correctly.
 */
#include "sim/cache/cache.h"

static uint8_t *counter(struct cache_branches *b, uint64_t ip)
{
	uint32_t index = ip & (CACHE_COUNTERS - 1);

	if (b->kind == CACHE_TWO_LEVEL)
		index = (b->history & 0x7f) << 7 | (ip & 0x7f);
	else if (b->kind == CACHE_GSHARE)
		index ^= b->history & (CACHE_COUNTERS - 1);
	return &b->counters[index];
}

bool cache_branch(struct cache_branches *b, uint64_t ip, bool taken)
{
	uint8_t *c = counter(b, ip);
	bool wrong = (*c >= 2) != taken;

	if (taken && *c < 3)
		++*c;
	else if (!taken && *c)
		--*c;
	b->history = b->history << 1 | taken;
	return wrong;
}

bool cache_jump(struct cache_branches *b, uint64_t ip, uint64_t target)
{
	uint64_t *last = &b->targets[ip & (CACHE_TARGETS - 1)];
	bool wrong = *last != target;

	*last = target;
	return wrong;
}
