/* SPDX-License-Identifier: MIT */
/* table.c - a sorted table of functions: from address to name. */
#include <dlfcn.h>
#include <stdlib.h>

#include "symbols/rust.h"
#include "symbols/rust_v0.h"
#include "symbols/table.h"

int symtab_add(struct symtab *t, uint64_t addr, uint64_t size, const char *name, int rank)
{
	if (t->n == t->room) {
		size_t room = t->room ? t->room * 2 : 256;
		struct symtab_entry *v = realloc(t->v, room * sizeof(*v));

		if (!v)
			return -1;
		t->v = v;
		t->room = room;
	}
	t->v[t->n++] = (struct symtab_entry){ addr, size, name, rank };
	return 0;
}

/* By address; of equal ones the best first: sized, then ranked. */
static int compare(const void *a, const void *b)
{
	const struct symtab_entry *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (!x->size != !y->size)
		return x->size ? -1 : 1;
	return y->rank - x->rank;
}

void symtab_sort(struct symtab *t)
{
	size_t kept = 0;

	if (t->n)
		qsort(t->v, t->n, sizeof(*t->v), compare);
	for (size_t i = 0; i < t->n; i++)
		if (!kept || t->v[kept - 1].addr != t->v[i].addr)
			t->v[kept++] = t->v[i];
	t->n = kept;
	for (size_t i = 1; i < t->n; i++)
		if (!t->v[i - 1].size)
			t->v[i - 1].size = t->v[i].addr - t->v[i - 1].addr;
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
	if (!lo)
		return NULL;
	const struct symtab_entry *e = &t->v[lo - 1];

	return e->size && addr - e->addr >= e->size ? NULL : e;
}

void symtab_free(struct symtab *t)
{
	free(t->v);
	*t = (struct symtab){ NULL, 0, 0 };
}

typedef char *demangle_fn(const char *name, char *buf, size_t *len, int *status);

/* Looked up at run time: a C library's users need no C++ runtime. */
static demangle_fn *find_demangler(void)
{
	static demangle_fn *fn;
	static int tried;

	if (!tried) {
		void *lib = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);

		tried = 1;
		fn = lib ? (demangle_fn *)dlsym(lib, "__cxa_demangle") : NULL;
	}
	return fn;
}

char *symtab_demangle(const char *name)
{
	char *plain;
	int status;

	if (name[0] == '_' && name[1] == 'R')
		return symrust_v0(name);
	if (name[0] != '_' || name[1] != 'Z')
		return NULL;
	demangle_fn *fn = find_demangler();

	plain = fn ? fn(name, NULL, NULL, &status) : NULL;
	if (plain)
		symrust_tidy(plain);
	return plain;
}
