// SPDX-License-Identifier: MIT
/*
 * split.c - splits events into the fewest sets of events that can be counted together.
 *
 * The number of sets k is tried from a lower bound up: the smallest k for which events can be
 * matched to PMDs that take k events each. For each k a search places the hardest events first.
 * Events of one kind go to sets in ascending order, and only the first of several empty sets is
 * tried.
 */
#include <stdlib.h>
#include <string.h>

#include "model.h"

struct splitting {
	const struct pfl_model		*m;
	const struct pfl_demand		*d;
	unsigned int			n;
	unsigned int			*order;		/* events, hardest first, kinds together */
	unsigned int			*set_of;
	unsigned int			k;
	/* scratch space for the events of one set */
	const struct pfl_demand		**members;
	unsigned int			*choice;
};

/* --- the lower bound of k ------------------------------------------------------------------- */

struct capacity {
	const struct splitting	*s;
	unsigned int		load[PFL_NUM_CLAIMS];
	unsigned int		*alt;		/* by event: its alternative */
	bool			seen[PFL_NUM_CLAIMS];
};

static bool place(struct capacity *c, unsigned int ev, unsigned int placed)
{
	const struct pfl_demand *d = &c->s->d[ev];

	for (unsigned int a = 0; a < d->nalts; a++) {
		unsigned int pmd = d->alts[a].pmd;

		if (c->seen[pmd])
			continue;
		c->seen[pmd] = true;
		if (c->load[pmd] < c->s->k) {
			c->load[pmd]++;
			c->alt[ev] = a;
			return true;
		}
		for (unsigned int other = 0; other < placed; other++) {
			if (c->s->d[other].alts[c->alt[other]].pmd != pmd || other == ev)
				continue;
			if (place(c, other, placed)) {
				c->alt[ev] = a;
				return true;
			}
		}
	}
	return false;
}

static bool k_is_possible(const struct splitting *s)
{
	struct capacity c = { .s = s, .alt = s->choice };

	for (unsigned int i = 0; i < s->n; i++) {
		memset(c.seen, 0, sizeof(c.seen));
		if (!place(&c, i, i))
			return false;
	}
	return true;
}

/* --- the search ----------------------------------------------------------------------------- */

static bool fits(struct splitting *s, unsigned int upto, unsigned int set)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i <= upto; i++)
		if (s->set_of[s->order[i]] == set)
			s->members[n++] = &s->d[s->order[i]];
	return pfl_assign(s->m, s->members, n, s->choice) == PFMLIB_SUCCESS;
}

static bool split_from(struct splitting *s, unsigned int i, unsigned int used)
{
	unsigned int ev, first = 0;

	if (i == s->n)
		return true;
	ev = s->order[i];
	if (i > 0 && pfl_same_kind(&s->d[ev], &s->d[s->order[i - 1]]))
		first = s->set_of[s->order[i - 1]];
	for (unsigned int set = first; set <= used && set < s->k; set++) {
		s->set_of[ev] = set;
		if (fits(s, i, set) && split_from(s, i + 1, set == used ? used + 1 : used))
			return true;
	}
	return false;
}

/* Returns true if a must be placed before b. */
static bool harder(const struct pfl_demand *a, const struct pfl_demand *b)
{
	return a->nalts != b->nalts ? a->nalts < b->nalts : a->nshared > b->nshared;
}

/* Orders events by difficulty; of equally difficult ones, those of one kind follow each other. */
static void make_order(struct splitting *s)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < s->n; i++) {
		unsigned int at = n++;

		while (at > 0 && harder(&s->d[i], &s->d[s->order[at - 1]])) {
			s->order[at] = s->order[at - 1];
			at--;
		}
		for (unsigned int k = at; k > 0 && !harder(&s->d[s->order[k - 1]], &s->d[i]); k--)
			if (pfl_same_kind(&s->d[s->order[k - 1]], &s->d[i])) {
				memmove(&s->order[k + 1], &s->order[k], (at - k) * sizeof(*s->order));
				at = k;
				break;
			}
		s->order[at] = i;
	}
}

static bool each_alone(struct splitting *s)
{
	for (unsigned int i = 0; i < s->n; i++) {
		s->members[0] = &s->d[i];
		if (pfl_assign(s->m, s->members, 1, s->choice) != PFMLIB_SUCCESS)
			return false;
	}
	return true;
}

static int run(struct splitting *s, unsigned int *nsets)
{
	if (!each_alone(s))
		return PFMLIB_ERR_NOASSIGN;
	make_order(s);
	for (s->k = 1; s->k <= s->n; s->k++)
		if (k_is_possible(s) && split_from(s, 0, 0))
			break;
	*nsets = s->k;
	return PFMLIB_SUCCESS;
}

int pfl_split(const struct pfl_model *m, const struct pfl_demand *d, unsigned int n,
	      unsigned int *set_of, unsigned int *nsets)
{
	struct splitting s = { .m = m, .d = d, .n = n, .set_of = set_of };
	int ret = PFMLIB_ERR_NOMEM;

	s.order = calloc(n + 1, sizeof(*s.order));
	s.members = calloc(n + 1, sizeof(*s.members));
	s.choice = calloc(n + 1, sizeof(*s.choice));
	if (s.order && s.members && s.choice)
		ret = run(&s, nsets);
	free(s.order);
	free(s.members);
	free(s.choice);
	return ret;
}
