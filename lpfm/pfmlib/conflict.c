// SPDX-License-Identifier: MIT
/*
 * conflict.c - a smallest set of events that cannot be counted together.
 *
 * Events with the same alternatives are of one kind, and interchangeable, so that only the number
 * of events of each kind matters. Sets are tried by size, from one event up.
 */
#include <stdlib.h>
#include <string.h>

#include "model.h"

#define MAX_KINDS PFL_NUM_CLAIMS

struct kinds {
	const struct pfl_model	*m;
	const struct pfl_demand	*d;
	unsigned int		n;			/* number of kinds */
	unsigned int		count[MAX_KINDS];	/* events of each kind */
	unsigned int		*member;		/* the events, kind by kind */
	unsigned int		first[MAX_KINDS];	/* where a kind's members start */
	unsigned int		chosen[MAX_KINDS];	/* how many events of a kind are tried */
};

static bool same_alt(const struct pfl_alt *a, const struct pfl_alt *b)
{
	return a->pmd == b->pmd && memcmp(&a->claims, &b->claims, sizeof(a->claims)) == 0;
}

/* Returns true if it makes no difference for the assignment which of the two is counted. */
bool pfl_same_kind(const struct pfl_demand *a, const struct pfl_demand *b)
{
	if (a->nalts != b->nalts || a->tag != b->tag || a->nshared != b->nshared)
		return false;
	for (unsigned int i = 0; i < a->nshared; i++)
		if (a->shared[i].pmc != b->shared[i].pmc || a->shared[i].value != b->shared[i].value)
			return false;
	for (unsigned int i = 0; i < a->nalts; i++)
		if (!same_alt(&a->alts[i], &b->alts[i]))
			return false;
	return true;
}

static bool make_kinds(struct kinds *k, unsigned int n)
{
	bool *done = calloc(n, sizeof(*done));
	unsigned int at = 0;

	k->member = calloc(n, sizeof(*k->member));
	for (unsigned int i = 0; done && k->member && i < n && k->n < MAX_KINDS; i++) {
		if (done[i])
			continue;
		k->first[k->n] = at;
		for (unsigned int j = i; j < n; j++)
			if (!done[j] && pfl_same_kind(&k->d[i], &k->d[j])) {
				done[j] = true;
				k->member[at++] = j;
				k->count[k->n]++;
			}
		k->n++;
	}
	free(done);
	return k->member && at == n;
}

static unsigned int list_chosen(const struct kinds *k, unsigned int *positions)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < k->n; i++)
		for (unsigned int j = 0; j < k->chosen[i]; j++)
			positions[n++] = k->member[k->first[i] + j];
	return n;
}

static bool chosen_conflict(const struct kinds *k)
{
	const struct pfl_demand *d[PFL_NUM_CLAIMS + 1];
	unsigned int choice[PFL_NUM_CLAIMS + 1], positions[PFL_NUM_CLAIMS + 1];
	unsigned int n = list_chosen(k, positions);

	for (unsigned int i = 0; i < n; i++)
		d[i] = &k->d[positions[i]];
	return pfl_assign(k->m, d, n, choice) != PFMLIB_SUCCESS;
}

/*
 * Tries all distributions of size events over the kinds from kind on. Returns true if one
 * conflicts, which is then in k->chosen.
 */
static bool try_size(struct kinds *k, unsigned int kind, unsigned int size)
{
	if (kind == k->n)
		return size == 0 && chosen_conflict(k);
	for (unsigned int c = size < k->count[kind] ? size : k->count[kind];; c--) {
		k->chosen[kind] = c;
		if (try_size(k, kind + 1, size - c))
			return true;
		if (c == 0)
			return false;
	}
}

unsigned int pfl_conflict(const struct pfl_model *m, const struct pfl_demand *d, unsigned int n,
			  unsigned int *positions)
{
	struct kinds k = { .m = m, .d = d };
	unsigned int found = 0;

	if (make_kinds(&k, n))
		for (unsigned int size = 1; !found && size <= n && size <= PFL_NUM_CLAIMS; size++)
			if (try_size(&k, 0, size))
				found = list_chosen(&k, positions);
	free(k.member);
	return found;
}
