// SPDX-License-Identifier: MIT
/* harness_sets.c - rules for a context's sets that hold between any two calls, on any machine. */
#include "harness.h"

/* --- a set ---------------------------------------------------------------------------------- */

static bool within(const uint64_t *bits, const uint64_t *of)
{
	for (int i = 0; i < PFM_PMD_BV; i++)
		if (bits[i] & ~of[i])
			return false;
	return true;
}

static void registers(const struct pfm_set *s)
{
	CHECK(pfm_bits_rank(s->used_pmds, PFM_MAX_PMDS) == s->num_pmds, "set %u: used_pmds", s->id);
	CHECK(pfm_bits_rank(s->used_pmcs, PFM_MAX_PMCS) == s->num_pmcs, "set %u: used_pmcs", s->id);
	CHECK(s->num_pmds <= s->room_pmds && s->num_pmcs <= s->room_pmcs, "set %u: no room", s->id);
	CHECK(within(s->ovfl_pmds, s->used_pmds), "set %u: a PMD overflowed that is not used", s->id);
	CHECK(within(s->switch_pmds, s->used_pmds), "set %u: a PMD switched that is not used", s->id);
	for (unsigned int i = 0; i < s->num_pmds; i++) {
		const struct pfm_pmd *pmd = &s->pmds[i];

		CHECK(!i || pmd[-1].num < pmd->num, "set %u: PMDs are out of order", s->id);
		CHECK(pmd->switch_left <= pmd->switch_cnt, "set %u PMD%u: threshold %llu of %llu", s->id,
		      pmd->num, (unsigned long long)pmd->switch_left,
		      (unsigned long long)pmd->switch_cnt);
		CHECK(within(pmd->reset_pmds, s->used_pmds) && within(pmd->smpl_pmds, s->used_pmds),
		      "set %u PMD%u names PMDs that are not used", s->id, pmd->num);
	}
}

static void timeout(const struct pfm_set *s)
{
	if (s->flags & PFM_SETFL_TIME_SWITCH)
		CHECK(s->timeout && s->timeout_left <= s->timeout, "set %u: timeout %llu, left %llu",
		      s->id, (unsigned long long)s->timeout, (unsigned long long)s->timeout_left);
	else
		CHECK(!s->timeout, "set %u: a timeout without TIME_SWITCH", s->id);
}

/* --- all sets ------------------------------------------------------------------------------- */

void rules_sets(struct pfm_context *ctx)
{
	unsigned int n = 0;
	bool has_active = false;

	CHECK(!ctx->set0.id, "no set 0");
	for (struct pfm_set *s = &ctx->set0; s; s = s->next, n++) {
		CHECK(!s->next || s->next->id > s->id, "set %u is out of order", s->id);
		CHECK(pfm_set_find(ctx, s->id) == s, "set %u is not found", s->id);
		has_active |= s == ctx->active;
		registers(s);
		timeout(s);
	}
	CHECK(n == ctx->num_sets, "%u sets, not %u", n, ctx->num_sets);
	CHECK(has_active, "the active set is not among the sets");
}
