/* SPDX-License-Identifier: MIT */
/*
 * start.c - finds the code of a C library that calls main(), and the code with which threads begin.
 * A full symbol table names both. A stripped library names only the functions that it exports. In
 * glibc, the internal functions that make those calls lie before __libc_start_main() and
 * pthread_create(), and no exported function lies between. So the ranges of these two functions are
 * extended down to the exported function before them. In musl the same is done even with a full
 * symbol table, because several of its functions are named like that with which threads begin.
 */
#include <stdbool.h>
#include <string.h>

#include "symbols/start.h"

static const char *const own[] = {
	"__libc_start_call_main", "start_thread", "__libc_start_main", "__libc_start_main_impl"
};
static const char musl[] = "libc_start_main_stage2";
static const char *const exported[] = { "__libc_start_main", "pthread_create" };

#define NUM(list)	(sizeof(list) / sizeof((list)[0]))

struct table {
	Elf_Data	*data;
	Elf		*elf;
	GElf_Word	names;
};

static bool open_table(struct table *t, Elf *elf, GElf_Word type)
{
	GElf_Shdr sh;

	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != type)
			continue;
		*t = (struct table){ elf_getdata(scn, NULL), elf, sh.sh_link };
		return t->data;
	}
	return false;
}

/*
 * Returns the name of the first function that is defined, from symbol *i on, and moves *i past it.
 * Returns NULL if there is none.
 */
static const char *next_function(const struct table *t, int *i, GElf_Sym *sym)
{
	while (gelf_getsym(t->data, (*i)++, sym)) {
		unsigned int type = GELF_ST_TYPE(sym->st_info);
		const char *name;

		if (sym->st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC))
			continue;
		name = elf_strptr(t->elf, t->names, sym->st_name);
		if (name)
			return name;
	}
	return NULL;
}

/* Finds the function with that name. Returns false if there is none. */
static bool find(const struct table *t, const char *name, struct symstart *range)
{
	GElf_Sym sym;
	const char *found;

	for (int i = 1; (found = next_function(t, &i, &sym));) {
		if (strcmp(found, name))
			continue;
		*range = (struct symstart){ sym.st_value, sym.st_value + sym.st_size };
		return true;
	}
	return false;
}

static bool is_exported(const GElf_Sym *sym)
{
	return GELF_ST_BIND(sym->st_info) != STB_LOCAL && GELF_ST_VISIBILITY(sym->st_other) != STV_HIDDEN;
}

/* Extends the range down to the end of the exported function before it. */
static void extend(const struct table *t, struct symstart *range)
{
	uint64_t end = 0;
	GElf_Sym sym;

	for (int i = 1; next_function(t, &i, &sym);) {
		uint64_t to = sym.st_value + sym.st_size;

		if (is_exported(&sym) && sym.st_value < range->from && to > end)
			end = to;
	}
	if (end && end < range->from)
		range->from = end;
}

void symstart_find(Elf *elf, struct symstart ranges[SYMSTART_RANGES])
{
	struct table t;
	size_t n = 0;
	bool has_symbols = open_table(&t, elf, SHT_SYMTAB);

	memset(ranges, 0, SYMSTART_RANGES * sizeof(*ranges));
	if (has_symbols && !find(&t, musl, ranges)) {
		for (size_t i = 0; i < NUM(own); i++)
			n += find(&t, own[i], &ranges[n]);
		return;
	}
	for (size_t i = 0; i < NUM(exported) && (has_symbols || open_table(&t, elf, SHT_DYNSYM)); i++) {
		if (!find(&t, exported[i], &ranges[n]))
			continue;
		extend(&t, &ranges[n++]);
	}
}
