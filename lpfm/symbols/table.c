/* SPDX-License-Identifier: MIT */
/* table.c - a sorted table of functions: from address to name. */
#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demangle/dlang.h"
#include "demangle/rust.h"
#include "demangle/rust_v0.h"
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
	t->v[t->n++] = (struct symtab_entry){ .addr = addr, .size = size ? size : most, .name = name, .rank = rank,
					      .sized = size > 0 };
	return 0;
}

/*
 * Sorts by address. Of entries with the same address the best comes first: one with a size, then
 * the higher rank, then a name before an end.
 */
static int compare(const void *a, const void *b)
{
	const struct symtab_entry *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->sized != y->sized)
		return x->sized ? -1 : 1;
	if (!x->name != !y->name)
		return x->name ? -1 : 1;
	return y->rank - x->rank;
}

/* Keeps one function for each address. A label with a size inside a function is dropped. */
static void keep_functions(struct symtab *t)
{
	uint64_t reach = 0;
	size_t kept = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct symtab_entry *e = &t->v[i];

		if ((kept && t->v[kept - 1].addr == e->addr) || (!e->sized && e->addr < reach))
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

	if (t->n)
		qsort(t->v, t->n, sizeof(*t->v), compare);
	keep_functions(t);
	for (size_t i = 0; i < t->n; i++) {
		struct symtab_entry *e = &t->v[i];

		if (!e->sized && i + 1 < t->n && e[1].addr - e->addr < e->size)
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

typedef char *demangle_fn(const char *name, char *buf, size_t *len, int *status);

/* Looks the demangler up at run time, so that users of C need no C++ runtime. */
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

/*
 * Demangles OCaml's names: "camlModule__function_12" becomes Module.function_12; "$" and two
 * hexadecimal digits stand for a character.
 */
static char *demangle_ocaml(const char *name)
{
	char *plain = malloc(strlen(name) + 1), *to = plain;
	unsigned int byte;

	for (const char *at = name + strlen("caml"); plain && *at;) {
		if (at[0] == '_' && at[1] == '_') {
			*to++ = '.';
			at += 2;
		} else if (at[0] == '$' && isxdigit((unsigned char)at[1]) && sscanf(at + 1, "%2x", &byte) == 1 &&
			   isxdigit((unsigned char)at[2]) && byte) {
			*to++ = (char)byte;
			at += 3;
		} else {
			*to++ = *at++;
		}
	}
	if (plain)
		*to = '\0';
	return plain;
}

/*
 * Demangles names of C++, and of Rust in its older mangling, to which compilers add suffixes that
 * are not C++. LLVM's numbers are dropped.
 */
static char *demangle_cpp(const char *name)
{
	const char *end = symrust_end(name);
	char *mangled = end ? strndup(name, (size_t)(end - name)) : NULL, *plain, *whole;
	demangle_fn *fn = find_demangler();
	int status;

	plain = fn ? fn(mangled ? mangled : name, NULL, NULL, &status) : NULL;
	free(mangled);
	if (!plain || !end)
		return plain;
	symrust_tidy(plain);
	if (!*end || strncmp(end, ".llvm.", strlen(".llvm.")) == 0)
		return plain;
	if (asprintf(&whole, "%s%s", plain, end) < 0)
		whole = NULL;
	free(plain);
	return whole;
}

char *symtab_demangle(const char *name)
{
	if (strncmp(name, "caml", 4) == 0 && name[4] >= 'A' && name[4] <= 'Z')
		return demangle_ocaml(name);
	if (strncmp(name, "_R", 2) == 0)
		return symrust_v0(name);
	if (strncmp(name, "_D", 2) == 0)
		return symdlang(name);
	return strncmp(name, "_Z", 2) == 0 ? demangle_cpp(name) : NULL;
}
