/* SPDX-License-Identifier: MIT */
/* table.c - a sorted table of functions: from address to name. */
#include <stdlib.h>
#include <string.h>

#include "symbols/table.h"

int symtab_add(struct symtab *t, uint64_t addr, uint64_t size, uint64_t most, const char *name, int rank)
{
	if (t->n == t->room) {
		size_t room = t->room ? t->room * 2 : 256;
		struct symtab_entry *v = realloc(t->v, room * sizeof(*v));

		if (!v)
			return -1;
		t->v = v;
		t->room = room;
	}
	t->unsorted |= t->n && t->v[t->n - 1].addr > addr;
	t->v[t->n++] = (struct symtab_entry){ .addr = addr, .size = size ? size : most, .name = name, .rank = rank,
					      .sized = size > 0 };
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct symtab_entry *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/*
 * Returns true if x is the better one of two entries with the same address: one with a size rather
 * than one without, then a function rather than an entry that is only an end, then the higher rank.
 */
static bool is_better(const struct symtab_entry *x, const struct symtab_entry *y)
{
	if (x->sized != y->sized)
		return x->sized;
	if (!x->name != !y->name)
		return x->name;
	return x->rank > y->rank;
}

/* Keeps the best entry for each address, and drops those without a size inside a sized function. */
static void keep_functions(struct symtab *t)
{
	uint64_t reach = 0;
	size_t kept = 0;

	for (size_t i = 0; i < t->n;) {
		const struct symtab_entry *e = &t->v[i];

		for (i++; i < t->n && t->v[i].addr == e->addr; i++)
			if (is_better(&t->v[i], e))
				e = &t->v[i];
		if (!e->sized && e->addr < reach)
			continue;
		if (e->sized && e->addr + e->size > reach)
			reach = e->addr + e->size;
		t->v[kept++] = *e;
	}
	t->n = kept;
}

void symtab_sort(struct symtab *t)
{
	uint64_t reach = 0;

	if (t->unsorted)
		qsort(t->v, t->n, sizeof(*t->v), compare);
	keep_functions(t);
	for (size_t i = 0; i < t->n; i++) {
		struct symtab_entry *e = &t->v[i];

		if (!e->sized && i + 1 < t->n &&
		    (e[1].addr - e->addr < e->size || (e->group && e->group == e[1].group && e[1].name)))
			e->size = e[1].addr - e->addr;
		if (e->addr + e->size > reach)
			reach = e->addr + e->size;
		e->reach = reach;
		t->names += e->name != NULL;
	}
}

const struct symtab_entry *symtab_find(const struct symtab *t, uint64_t addr)
{
	size_t lo = 0, hi = t->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->v[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo && t->v[lo - 1].reach > addr; lo--) {
		const struct symtab_entry *e = &t->v[lo - 1];

		if (addr - e->addr < e->size)
			return e->name ? e : NULL;
	}
	return NULL;
}

void symtab_free(struct symtab *t)
{
	free(t->v);
	*t = (struct symtab){ 0 };
}
