/* SPDX-License-Identifier: MIT */
/*
 * pfmlib_brute.c - compares assignments with an exhaustive search, on every model: for random
 * events, up to one more than counters, the library must find one exactly if the search does.
 * Single events dispatched with registers removed show what each can use; the search shares no code
 * with the solver. The fewest sets and the smallest conflicts of few events are compared, too.
 *
 *   pfmlib_brute TRIALS [MODEL]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perfmon/pfmlib.h"
#include "perfmon/pfmlib_itanium.h"
#include "perfmon/pfmlib_itanium2.h"
#include "perfmon/pfmlib_montecito.h"

#define MAX_ALTS	32
#define MAX_N		24
#define MAX_PMC		128

struct alt {
	unsigned int	pmd;
	unsigned char	uses[MAX_PMC];		/* exclusive PMCs that the event takes */
};

struct choice {
	pfmlib_event_t	e;
	unsigned int	nalts;
	struct alt	alts[MAX_ALTS];
	struct { unsigned int num; unsigned long long value; } shared[4];
	unsigned int	nshared;
	int		group, set, ita2;
	unsigned long	umask;
	int		code;
};

static pfmlib_pmu_info_t pmu;
static pfmlib_regmask_t impl_pmcs, counters;
static pfmlib_input_param_t in;
static pfmlib_output_param_t out;
static unsigned long long seed = 88172645463325252ULL;
static int failures;

static unsigned int rnd(unsigned int n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % n;
}

static int is_netburst(void)
{
	return strncmp(pmu.name, "netburst", 8) == 0;
}

/* On POWER5 all counters share all PMCs: none belongs to one event. */
static int is_power5(void)
{
	return strcmp(pmu.name, "power5") == 0;
}

/* PMC16 has a field for each fixed counter, PMD16 and up: events on different ones can share it. */
#define FIXED	16

/* Returns true for PMCs that only one event can use: those of counters; ESCRs of Pentium 4. */
static int is_exclusive(unsigned int pmc)
{
	if (is_power5())
		return 0;
	return is_netburst() ? pmc < 63 : pfm_regmask_isset(&counters, pmc) && pfm_regmask_isset(&impl_pmcs, pmc) &&
		(pmc <= FIXED || !pfm_regmask_isset(&impl_pmcs, FIXED));
}

/* --- what one event can use ----------------------------------------------------------------- */

/* Dispatches an event with no exclusive PMCs but the allowed ones; returns the PMD, or -1. */
static int try_with(const pfmlib_event_t *e, const unsigned char *allowed)
{
	memset(&in.pfp_unavail_pmcs, 0, sizeof(in.pfp_unavail_pmcs));
	for (unsigned int i = 0; i < MAX_PMC; i++)
		if (is_exclusive(i) && !allowed[i])
			pfm_regmask_set(&in.pfp_unavail_pmcs, i);
	in.pfp_event_count = 1;
	in.pfp_dfl_plm = PFM_PLM3;
	in.pfp_events[0] = *e;
	if (pfm_dispatch_events(&in, NULL, &out, NULL) != PFMLIB_SUCCESS)
		return -1;
	return (int)out.pfp_pmds[0].reg_num;
}

static void add_alt(struct choice *c, unsigned int pmd, const unsigned char *uses)
{
	for (unsigned int i = 0; i < c->nalts; i++)
		if (memcmp(c->alts[i].uses, uses, MAX_PMC) == 0)
			return;
	c->alts[c->nalts].pmd = pmd;
	memcpy(c->alts[c->nalts++].uses, uses, MAX_PMC);
}

/* On Pentium 4, allows a counter's CCCR and all ESCRs; the output has the ESCR that was taken. */
static void find_netburst_alts(struct choice *c)
{
	for (unsigned int cccr = 23; cccr < 63; cccr++) {
		unsigned char allowed[MAX_PMC] = { 0 }, uses[MAX_PMC] = { 0 };
		int pmd;

		if (cccr == 32)
			cccr = 54;
		for (unsigned int escr = 0; escr < 54; escr++)
			allowed[escr] = escr < 23 || escr >= 32;
		allowed[cccr] = 1;
		pmd = try_with(&c->e, allowed);
		if (pmd < 0)
			continue;
		uses[out.pfp_pmcs[0].reg_num] = uses[out.pfp_pmcs[1].reg_num] = 1;
		add_alt(c, pmd, uses);
	}
}

/* On other models an event needs one PMC or two. */
static void find_plain_alts(struct choice *c)
{
	for (unsigned int a = 0; a < 64; a++) {
		unsigned char allowed[MAX_PMC] = { 0 };
		int pmd;

		if (!is_exclusive(a))
			continue;
		allowed[a] = 1;
		pmd = try_with(&c->e, allowed);
		if (pmd >= FIXED && a == FIXED) {
			allowed[FIXED] = 0;
			allowed[pmd] = 1;
		}
		if (pmd >= 0)
			add_alt(c, pmd, allowed);
		for (unsigned int b = a + 1; pmd < 0 && b < 64; b++) {
			if (!is_exclusive(b))
				continue;
			allowed[b] = 1;
			/* if the event is on b's counter, b suffices without a */
			if (try_with(&c->e, allowed) == (int)a)
				add_alt(c, a, allowed);
			allowed[b] = 0;
		}
	}
}

/* On Itanium 2 and POWER5 an event's counters depend on other events: takes those of the table. */
static void find_listed_alts(struct choice *c)
{
	pfmlib_regmask_t mask;

	pfm_get_event_counters(c->e.event, &mask);
	for (unsigned int i = 0; i < 16; i++) {
		unsigned char uses[MAX_PMC] = { 0 };

		uses[i] = 1;
		if (pfm_regmask_isset(&mask, i))
			add_alt(c, i, uses);
	}
}

static void find_shared(struct choice *c)
{
	unsigned char all[MAX_PMC];

	memset(all, 1, sizeof(all));
	c->nshared = 0;
	if (try_with(&c->e, all) < 0)
		return;
	for (unsigned int i = 0; i < out.pfp_pmc_count; i++)
		if (!is_exclusive(out.pfp_pmcs[i].reg_num)) {
			c->shared[c->nshared].num = out.pfp_pmcs[i].reg_num;
			c->shared[c->nshared++].value = out.pfp_pmcs[i].reg_value;
		}
}

/* Returns true for an Itanium's event; *group: its group, which the first Itanium does not have. */
static int ia64_group(unsigned int event, int *group)
{
	unsigned int any;

	*group = PFMLIB_ITA2_EVT_NO_GRP;
	return pfm_ita_get_event_maxincr(event, &any) == PFMLIB_SUCCESS ||
		pfm_ita2_get_event_group(event, group) == PFMLIB_SUCCESS ||
		pfm_mont_get_event_group(event, group) == PFMLIB_SUCCESS;
}

static struct choice picky;	/* the model's event with the fewest alternatives so far */

/*
 * Chooses a random event with a random mask or, at times, the event in picky. Returns 0 if the
 * event cannot be encoded.
 */
static int random_choice(struct choice *c)
{
	unsigned int masks = 0;

	if (picky.nalts && rnd(4) == 0) {
		*c = picky;
		return 1;
	}
	memset(c, 0, sizeof(*c));
	c->e.event = pmu.first_event + rnd(pmu.num_hw_events);
	pfm_get_num_event_masks(c->e.event, &masks);
	if (masks && rnd(4)) {
		c->e.num_masks = 1;
		c->e.unit_masks[0] = rnd(masks);
	}
	c->ita2 = ia64_group(c->e.event, &c->group);
	if (is_netburst())
		find_netburst_alts(c);
	else if (c->ita2 || is_power5())
		find_listed_alts(c);
	else
		find_plain_alts(c);
	if (c->nalts == 0)
		return 0;
	find_shared(c);
	c->set = PFMLIB_ITA2_EVT_NO_SET;
	if (c->ita2) {
		if (pfm_ita2_get_event_set(c->e.event, &c->set) != PFMLIB_SUCCESS)
			pfm_mont_get_event_set(c->e.event, &c->set);
		if (pfm_ita2_get_event_umask(c->e.event, &c->umask) != PFMLIB_SUCCESS &&
		    pfm_mont_get_event_umask(c->e.event, &c->umask) != PFMLIB_SUCCESS)
			pfm_ita_get_event_umask(c->e.event, &c->umask);
		pfm_get_event_code(c->e.event, &c->code);
	}
	if (!picky.nalts || c->nalts < picky.nalts)
		picky = *c;
	return 1;
}

/* --- the search ----------------------------------------------------------------------------- */

struct search {
	struct choice	*const *c;
	unsigned int	n;
	unsigned int	at[MAX_N];	/* alternative of each event */
};

static int is_cancel(int code)
{
	return code == 0xa0 || code == 0xac || code == 0xa8;
}

static int pair_ok(const struct choice *a, const struct choice *b)
{
	for (unsigned int i = 0; i < a->nshared; i++)
		for (unsigned int k = 0; k < b->nshared; k++)
			if (a->shared[i].num == b->shared[k].num && a->shared[i].value != b->shared[k].value)
				return 0;
	if (a->group && a->group == b->group && a->set != b->set)
		return 0;
	return !(a->ita2 && b->ita2 && is_cancel(a->code) && is_cancel(b->code) && a->code != b->code);
}

/* Itanium 2: one event of the L1 group is on counter 5, one of L2's on 4, with all others' mask. */
static int whole_ok(const struct search *s)
{
	const struct choice *key[3] = { NULL };
	int present[3] = { 0 };

	for (unsigned int i = 0; i < s->n; i++) {
		int g = s->c[i]->group;

		present[g] = 1;
		if (s->c[i]->alts[s->at[i]].pmd == (g == 1 ? 5U : 4U))
			key[g] = s->c[i];
	}
	if ((present[1] && !key[1]) || (present[2] && !key[2]))
		return 0;
	for (unsigned int i = 0; present[2] && key[2]->set != 1 && key[2]->set != 2 && i < s->n; i++)
		if (s->c[i]->group == 2 && s->c[i]->umask && s->c[i]->umask != key[2]->umask)
			return 0;
	return 1;
}

static int exhaust(struct search *s, unsigned int i, unsigned char *used)
{
	if (i == s->n)
		return whole_ok(s);
	for (unsigned int a = 0; a < s->c[i]->nalts; a++) {
		const unsigned char *uses = s->c[i]->alts[a].uses;
		int clash = 0, found;

		for (unsigned int p = 0; p < MAX_PMC; p++)
			clash |= uses[p] && used[p];
		if (clash)
			continue;
		for (unsigned int p = 0; p < MAX_PMC; p++)
			used[p] |= uses[p];
		s->at[i] = a;
		found = exhaust(s, i + 1, used);
		for (unsigned int p = 0; p < MAX_PMC; p++)
			used[p] &= ~uses[p];
		if (found)
			return 1;
	}
	return 0;
}

static int meet(const struct choice *a, const struct choice *b)
{
	for (unsigned int i = 0; i < a->nalts; i++)
		for (unsigned int k = 0; k < b->nalts; k++)
			for (unsigned int p = 0; p < MAX_PMC; p++)
				if (a->alts[i].uses[p] && b->alts[k].uses[p])
					return 1;
	return 0;
}

/* Searches events that share no registers apart; those of Itanium 2 always together. */
static int possible(struct choice *const *c, unsigned int n)
{
	unsigned int part[MAX_N];

	for (unsigned int i = 0; i < n; i++) {
		part[i] = i;
		for (unsigned int k = 0; k < i; k++) {
			if (!pair_ok(c[i], c[k]))
				return 0;
			if (part[k] == part[i] || !(c[i]->ita2 || meet(c[i], c[k])))
				continue;
			for (unsigned int j = 0, old = part[k]; j <= i; j++)
				if (part[j] == old)
					part[j] = part[i];
		}
	}
	for (unsigned int p = 0; p < n; p++) {
		struct choice *members[MAX_N];
		struct search s = { .c = members };
		unsigned char used[MAX_PMC] = { 0 };

		for (unsigned int i = 0; i < n; i++)
			if (part[i] == p)
				members[s.n++] = c[i];
		if (s.n > 9 && is_netburst())	/* more events than a group's counters */
			return 0;
		if (!exhaust(&s, 0, used))
			return 0;
	}
	return 1;
}

/* --- comparing ------------------------------------------------------------------------------ */

static void fail(const char *what, struct choice *const *c, unsigned int n)
{
	if (failures++ > 10)
		return;
	printf("%s: %s:", pmu.name, what);
	for (unsigned int i = 0; i < n; i++) {
		char name[256];

		pfm_get_full_event_name(&c[i]->e, name, sizeof(name));
		printf(" %s", name);
	}
	printf(" (%s)\n", pfm_dispatch_explain());
}

static void set_input(struct choice *const *c, unsigned int n)
{
	memset(&in.pfp_unavail_pmcs, 0, sizeof(in.pfp_unavail_pmcs));
	in.pfp_dfl_plm = PFM_PLM3;
	in.pfp_event_count = n;
	for (unsigned int i = 0; i < n; i++)
		in.pfp_events[i] = c[i]->e;
}

/* Returns true if the library's answer uses existing alternatives, and each register once. */
static int sound(struct choice *const *c, unsigned int n)
{
	unsigned char used[MAX_PMC] = { 0 };

	for (unsigned int i = 0; i < n; i++) {
		unsigned int a = 0;

		while (a < c[i]->nalts && (c[i]->alts[a].pmd != out.pfp_pmds[i].reg_num ||
		       (is_netburst() && !c[i]->alts[a].uses[out.pfp_pmcs[2 * i].reg_num])))
			a++;
		if (a == c[i]->nalts)
			return 0;
		for (unsigned int p = 0; p < MAX_PMC; p++) {
			if (c[i]->alts[a].uses[p] && used[p])
				return 0;
			used[p] |= c[i]->alts[a].uses[p];
		}
	}
	return 1;
}

/* Returns the fewest sets, by trying every partition. */
static unsigned int fewest(struct choice *const *c, unsigned int n, unsigned int i, unsigned int *set_of,
			   unsigned int used, unsigned int best)
{
	if (used >= best)
		return best;
	if (i == n)
		return used;
	for (unsigned int set = 0; set <= used; set++) {
		struct choice *members[MAX_N];
		unsigned int m = 0;

		set_of[i] = set;
		for (unsigned int k = 0; k <= i; k++)
			if (set_of[k] == set)
				members[m++] = c[k];
		if (possible(members, m))
			best = fewest(c, n, i + 1, set_of, set == used ? used + 1 : used, best);
	}
	return best;
}

static unsigned int smallest_conflict(struct choice *const *c, unsigned int n)
{
	unsigned int best = n;

	for (unsigned int bits = 1; bits < 1U << n; bits++) {
		struct choice *members[MAX_N];
		unsigned int m = 0;

		for (unsigned int i = 0; i < n; i++)
			if (bits >> i & 1)
				members[m++] = c[i];
		if (m < best && !possible(members, m))
			best = m;
	}
	return best;
}

static void compare_small(struct choice *const *c, unsigned int n, int fits)
{
	unsigned int set_of[MAX_N], positions[MAX_N], sets = 0, k = MAX_N;

	if (n > 7)
		return;
	if (pfm_split_events(&in, set_of, &sets) != PFMLIB_SUCCESS ||
	    sets != fewest(c, n, 0, set_of, 0, n + 1))
		fail("not the fewest sets", c, n);
	if (fits)
		return;
	if (pfm_find_conflict(&in, positions, &k) != PFMLIB_SUCCESS || k != smallest_conflict(c, n))
		fail("not the smallest conflict", c, n);
}

/* Returns the most events of a trial: few if many counters are always searched together. */
static unsigned int most_events(void)
{
	int group;

	return pmu.num_counters > 8 && ia64_group(pmu.first_event, &group) ? 5 :
		pmu.num_counters + 1;
}

static void trial(unsigned int *fit, unsigned int *unfit)
{
	static struct choice pool[MAX_N];
	struct choice *c[MAX_N];
	unsigned int n = 1 + rnd(most_events()), tries = 0;
	int fits, ret;

	/* few distinct events make conflicts likely */
	for (unsigned int i = 0; i < n; i++) {
		if (i && rnd(3) == 0) {
			c[i] = c[rnd(i)];
			continue;
		}
		while (!random_choice(&pool[i]))
			if (++tries > 1000)
				return;
		c[i] = &pool[i];
	}
	fits = possible(c, n);
	set_input(c, n);
	ret = pfm_dispatch_events(&in, NULL, &out, NULL);
	if (fits != (ret == PFMLIB_SUCCESS))
		fail(fits ? "an assignment exists" : "no assignment exists", c, n);
	else if (fits && !sound(c, n))
		fail("not an assignment", c, n);
	*(fits ? fit : unfit) += 1;
	compare_small(c, n, fits);
}

static void test_model(unsigned int trials)
{
	unsigned int fit = 0, unfit = 0;

	memset(&picky, 0, sizeof(picky));
	pfm_force_pmu_byname(pmu.name);
	pfm_initialize();
	pfm_get_impl_pmcs(&impl_pmcs);
	pfm_get_impl_counters(&counters);
	for (unsigned int i = 0; i < trials; i++)
		trial(&fit, &unfit);
	printf("%s: %u counters, %u sets fit, %u do not\n", pmu.name, pmu.num_counters, fit, unfit);
	if (fit == 0 || unfit == 0) {
		printf("%s: the trials say nothing\n", pmu.name);
		failures++;
	}
}

int main(int argc, char **argv)
{
	unsigned int trials = argc > 1 ? atoi(argv[1]) : 100;

	if (pfm_initialize() != PFMLIB_SUCCESS)
		return 2;
	for (unsigned int i = 0; pfm_get_pmu_info_at(i, &pmu) == PFMLIB_SUCCESS; i++)
		if (pmu.num_counters && (argc < 3 || strcmp(argv[2], pmu.name) == 0))
			test_model(trials);
	printf("%d failures\n", failures);
	return failures != 0;
}
