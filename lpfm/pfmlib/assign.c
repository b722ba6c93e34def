// SPDX-License-Identifier: MIT
/*
 * assign.c - the exact assignment of events to counters.
 *
 * Events that have no register in common are solved separately (components). There is no assignment
 * without a bipartite matching of events and PMDs. The matching is the assignment if no alternative
 * claims more than one register, and the model has no rule on whole assignments (accept()).
 * Otherwise a search follows, which places the hardest events first.
 */
#include <string.h>

#include "model.h"

#define MAX_EVENTS	PFL_NUM_CLAIMS

struct problem {
	const struct pfl_model		*m;
	const struct pfl_demand *const	*d;
	unsigned int			*choice;
	unsigned int			ev[MAX_EVENTS];	/* indices of the events to place */
	unsigned int			n;
};

/* --- registers shared by value -------------------------------------------------------------- */

static bool shares_badly(const struct pfl_demand *a, const struct pfl_demand *b)
{
	for (unsigned int i = 0; i < a->nshared; i++)
		for (unsigned int k = 0; k < b->nshared; k++)
			if (a->shared[i].pmc == b->shared[k].pmc &&
			    a->shared[i].value != b->shared[k].value)
				return true;
	return false;
}

static bool shared_conflict(const struct pfl_demand *const *d, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int k = 0; d[i]->nshared && k < i; k++)
			if (shares_badly(d[i], d[k]))
				return true;
	return false;
}

/* --- matching ------------------------------------------------------------------------------- */

struct matching {
	const struct problem	*p;
	int			owner[PFL_NUM_CLAIMS];	/* by PMD: index into p->ev, or -1 */
	unsigned int		alt[MAX_EVENTS];	/* by event: its alternative */
	struct pfl_mask		seen;
};

static const struct pfl_demand *demand(const struct problem *p, unsigned int i)
{
	return p->d[p->ev[i]];
}

static void take(struct matching *mt, unsigned int i, unsigned int alt)
{
	mt->owner[demand(mt->p, i)->alts[alt].pmd] = (int)i;
	mt->alt[i] = alt;
}

static bool take_free(struct matching *mt, unsigned int i)
{
	const struct pfl_demand *d = demand(mt->p, i);

	for (unsigned int a = 0; a < d->nalts; a++)
		if (mt->owner[d->alts[a].pmd] < 0) {
			take(mt, i, a);
			return true;
		}
	return false;
}

/*
 * Finds a PMD for event i by an augmenting path (Kuhn's algorithm): the owner of a PMD moves to
 * another PMD if it can. Returns false if there is no such path.
 */
static bool augment(struct matching *mt, unsigned int i)
{
	const struct pfl_demand *d = demand(mt->p, i);

	if (take_free(mt, i))
		return true;
	for (unsigned int a = 0; a < d->nalts; a++) {
		unsigned int pmd = d->alts[a].pmd;

		if (pfl_mask_isset(&mt->seen, pmd))
			continue;
		pfl_mask_set(&mt->seen, pmd);
		if (augment(mt, mt->owner[pmd])) {
			take(mt, i, a);
			return true;
		}
	}
	return false;
}

static bool match(struct matching *mt, const struct problem *p)
{
	mt->p = p;
	memset(mt->owner, -1, sizeof(mt->owner));
	for (unsigned int i = 0; i < p->n; i++) {
		memset(&mt->seen, 0, sizeof(mt->seen));
		if (!augment(mt, i))
			return false;
	}
	return true;
}

static bool claims_one_each(const struct problem *p)
{
	for (unsigned int i = 0; i < p->n; i++)
		for (unsigned int a = 0; a < demand(p, i)->nalts; a++)
			if (pfl_mask_weight(&demand(p, i)->alts[a].claims) > 1)
				return false;
	return true;
}

/* --- search --------------------------------------------------------------------------------- */

static bool judged(const struct problem *p, unsigned int i)
{
	return p->m->ops->judged && p->m->ops->judged(demand(p, i));
}

/*
 * Returns true if event a is to be placed before event b. Events that ops->accept() checks are
 * placed first, so that accept() can be asked early; then those with fewer alternatives.
 */
static bool harder(const struct problem *p, unsigned int a, unsigned int b)
{
	if (judged(p, a) != judged(p, b))
		return judged(p, a);
	return demand(p, a)->nalts < demand(p, b)->nalts;
}

static void hardest_first(struct problem *p)
{
	for (unsigned int i = 1; i < p->n; i++)
		for (unsigned int k = i; k > 0 && harder(p, k, k - 1); k--) {
			unsigned int ev = p->ev[k];

			p->ev[k] = p->ev[k - 1];
			p->ev[k - 1] = ev;
		}
}

static bool has_room(const struct pfl_demand *d, const struct pfl_mask *used)
{
	for (unsigned int a = 0; a < d->nalts; a++)
		if (!pfl_mask_meets(&d->alts[a].claims, used))
			return true;
	return false;
}

static bool rest_has_room(const struct problem *p, unsigned int from, const struct pfl_mask *used)
{
	for (unsigned int i = from; i < p->n; i++)
		if (!has_room(demand(p, i), used))
			return false;
	return true;
}

/* Asks the model whether it accepts the assignment of the first n events. */
static bool accepted(const struct problem *p, unsigned int n)
{
	const struct pfl_demand *d[MAX_EVENTS];
	unsigned int pmds[MAX_EVENTS];

	if (!p->m->ops->accept)
		return true;
	for (unsigned int i = 0; i < n; i++) {
		d[i] = demand(p, i);
		pmds[i] = d[i]->alts[p->choice[p->ev[i]]].pmd;
	}
	return p->m->ops->accept(d, pmds, n);
}

static bool search(const struct problem *p, unsigned int i, struct pfl_mask used)
{
	const struct pfl_demand *d;

	if (i > 0 && judged(p, i - 1) && (i == p->n || !judged(p, i)) && !accepted(p, i))
		return false;
	if (i == p->n)
		return true;
	if (!rest_has_room(p, i, &used))
		return false;
	d = demand(p, i);
	for (unsigned int a = 0; a < d->nalts; a++) {
		struct pfl_mask next = used;

		if (pfl_mask_meets(&d->alts[a].claims, &used))
			continue;
		pfl_mask_add(&next, &d->alts[a].claims);
		p->choice[p->ev[i]] = a;
		if (search(p, i + 1, next))
			return true;
	}
	return false;
}

static bool solve(struct problem *p)
{
	struct matching mt;

	if (!match(&mt, p))
		return false;
	if (!p->m->ops->accept && claims_one_each(p)) {
		for (unsigned int i = 0; i < p->n; i++)
			p->choice[p->ev[i]] = mt.alt[i];
		return true;
	}
	hardest_first(p);
	return search(p, 0, (struct pfl_mask) { { 0, 0 } });
}

/* --- components ----------------------------------------------------------------------------- */

static struct pfl_mask reach(const struct pfl_demand *d)
{
	struct pfl_mask all = { { 0, 0 } };

	for (unsigned int a = 0; a < d->nalts; a++)
		pfl_mask_add(&all, &d->alts[a].claims);
	return all;
}

/*
 * Returns the registers with which a component begins: those that the event may claim. If the model
 * checks whole assignments (accept()), all of its own registers belong to one component.
 */
static struct pfl_mask first_reach(const struct pfl_model *m, const struct pfl_demand *d)
{
	struct pfl_mask r = reach(d);

	if (m->ops->accept && r.w[0])
		r.w[0] = ~0ULL;
	return r;
}

/* Moves the first event in left, and those connected with it, to p; the others stay in left. */
static void next_component(struct problem *p, unsigned int *left, unsigned int *nleft)
{
	struct pfl_mask all = first_reach(p->m, p->d[left[0]]);
	bool grown = true;

	p->n = 0;
	while (grown) {
		unsigned int kept = 0;

		grown = false;
		for (unsigned int i = 0; i < *nleft; i++) {
			struct pfl_mask r = reach(p->d[left[i]]);

			if (!pfl_mask_meets(&r, &all)) {
				left[kept++] = left[i];
				continue;
			}
			pfl_mask_add(&all, &r);
			p->ev[p->n++] = left[i];
			grown = true;
		}
		*nleft = kept;
	}
}

static void sort_events(struct problem *p)
{
	for (unsigned int i = 1; i < p->n; i++)
		for (unsigned int k = i; k > 0 && p->ev[k] < p->ev[k - 1]; k--) {
			unsigned int ev = p->ev[k];

			p->ev[k] = p->ev[k - 1];
			p->ev[k - 1] = ev;
		}
}

int pfl_assign(const struct pfl_model *m, const struct pfl_demand *const *d, unsigned int n,
	       unsigned int *choice)
{
	struct problem p = { .m = m, .d = d, .choice = choice };
	unsigned int left[MAX_EVENTS], nleft = n;
	int ret = PFMLIB_SUCCESS;

	if (n > MAX_EVENTS)
		return PFMLIB_ERR_NOASSIGN;
	if (m->ops->check)
		ret = m->ops->check(d, n);
	if (ret == PFMLIB_SUCCESS && shared_conflict(d, n))
		ret = PFMLIB_ERR_NOASSIGN;
	for (unsigned int i = 0; i < n; i++) {
		left[i] = i;
		if (d[i]->nalts == 0)
			return PFMLIB_ERR_NOASSIGN;
	}
	while (ret == PFMLIB_SUCCESS && nleft) {
		next_component(&p, left, &nleft);
		sort_events(&p);
		if (!solve(&p))
			ret = PFMLIB_ERR_NOASSIGN;
	}
	return ret;
}
