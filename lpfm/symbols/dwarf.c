/* SPDX-License-Identifier: MIT */
/*
 * dwarf.c - source lines and inlined functions, by elfutils' libdw.
 *
 * The units are found by their own ranges: .debug_aranges, by which libdwfl finds them, is not written by clang.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/dwarf.h"

struct symdwarf_unit {
	uint64_t low, high;
	Dwarf_Die die;
};

/* --- units by address ----------------------------------------------------------------------- */

static int add_unit(struct symdwarf *d, uint64_t low, uint64_t high, const Dwarf_Die *die)
{
	if (d->n == d->room) {
		size_t room = d->room ? d->room * 2 : 64;
		struct symdwarf_unit *v = realloc(d->units, room * sizeof(*v));

		if (!v)
			return -1;
		d->units = v;
		d->room = room;
	}
	d->units[d->n++] = (struct symdwarf_unit){ low, high, *die };
	return 0;
}

static int add_ranges(struct symdwarf *d, Dwarf_Die *die)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0)
		if (low && low < high && add_unit(d, low, high, die)) /* 0: its section was dropped */
			return -1;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct symdwarf_unit *x = a, *y = b;

	return x->low < y->low ? -1 : x->low > y->low;
}

/* Once; without memory for all units some stay unknown. */
static void read_units(struct symdwarf *d, Dwfl_Module *mod)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;

	if (d->ready)
		return;
	d->ready = true;
	d->dw = dwfl_module_getdwarf(mod, &d->bias);
	while (d->dw && dwarf_get_units(d->dw, cu, &cu, NULL, NULL, &die, NULL) == 0)
		if (add_ranges(d, &die))
			break;
	if (d->n)
		qsort(d->units, d->n, sizeof(*d->units), compare);
}

static Dwarf_Die *unit_at(struct symdwarf *d, uint64_t addr)
{
	size_t lo = 0, hi = d->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (d->units[mid].low <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr < d->units[lo - 1].high ? &d->units[lo - 1].die : NULL;
}

void symdwarf_free(struct symdwarf *d)
{
	free(d->units);
	*d = (struct symdwarf){ 0 };
}

/* --- lines ---------------------------------------------------------------------------------- */

static const char *line_in(Dwarf_Die *unit, uint64_t addr, int *line)
{
	Dwarf_Line *l = dwarf_getsrc_die(unit, addr);

	return l && dwarf_lineno(l, line) == 0 ? dwarf_linesrc(l, NULL, NULL) : NULL;
}

const char *symdwarf_line(struct symdwarf *d, Dwfl_Module *mod, uint64_t addr, int *line)
{
	read_units(d, mod);
	Dwarf_Die *unit = unit_at(d, addr - d->bias);

	return unit ? line_in(unit, addr - d->bias, line) : NULL;
}

/* --- functions ------------------------------------------------------------------------------ */

static const char *name_of(Dwarf_Die *die)
{
	static const unsigned int names[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name };
	Dwarf_Attribute attr;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (dwarf_attr_integrate(die, names[i], &attr))
			return dwarf_formstring(&attr);
	return NULL;
}

static Dwarf_Word number_of(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	return dwarf_attr(die, name, &attr) && dwarf_formudata(&attr, &value) == 0 ? value : 0;
}

/* Where an inlined function is called from. */
static void read_call(Dwarf_Die *unit, Dwarf_Die *die, struct symdwarf_frame *caller)
{
	Dwarf_Files *files;
	size_t n;

	caller->file = NULL;
	caller->line = (int)number_of(die, DW_AT_call_line);
	if (dwarf_getsrcfiles(unit, &files, &n) == 0)
		caller->file = dwarf_filesrc(files, number_of(die, DW_AT_call_file), NULL, NULL);
}

/* The scopes around the innermost one as the code has them, not as the inlined function's definition has them. */
static int scopes_at(Dwarf_Die *unit, uint64_t addr, Dwarf_Die **scopes)
{
	Dwarf_Die *inner = NULL;
	int n = dwarf_getscopes(unit, addr, &inner);

	*scopes = NULL;
	n = n > 0 ? dwarf_getscopes_die(&inner[0], scopes) : 0;
	free(inner);
	return n;
}

/* With -gsplit-dwarf functions are in another file than lines. */
static Dwarf_Die whole_unit(const Dwarf_Die *unit)
{
	Dwarf_Die skeleton, split;
	uint8_t type;

	if (dwarf_cu_info(unit->cu, NULL, &type, &skeleton, &split, NULL, NULL, NULL) == 0 &&
	    type == DW_UT_skeleton && split.cu)
		return split;
	return *unit;
}

static int frames_in(Dwarf_Die *unit, Dwarf_Die *scopes, int n, struct symdwarf_frame frames[], int max)
{
	int found = 0;

	for (int i = 0; i < n && found < max; i++) {
		int tag = dwarf_tag(&scopes[i]);

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
			continue;
		frames[found].name = name_of(&scopes[i]);
		if (!frames[found].name)
			break;
		if (++found < max && tag == DW_TAG_inlined_subroutine)
			read_call(unit, &scopes[i], &frames[found]);
		if (tag == DW_TAG_subprogram)
			break;
	}
	return found;
}

int symdwarf_frames(struct symdwarf *d, Dwfl_Module *mod, uint64_t addr, struct symdwarf_frame frames[], int max)
{
	read_units(d, mod);
	addr -= d->bias;
	Dwarf_Die *unit = unit_at(d, addr);

	if (!unit || max < 1)
		return 0;
	Dwarf_Die whole = whole_unit(unit), *scopes;
	int n = scopes_at(&whole, addr, &scopes);

	frames[0].file = line_in(unit, addr, &frames[0].line);
	n = frames_in(&whole, scopes, n, frames, max);
	free(scopes);
	return n;
}
