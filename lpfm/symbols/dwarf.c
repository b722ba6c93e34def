/* SPDX-License-Identifier: MIT */
/*
 * dwarf.c - source lines and inlined functions, read by elfutils' libdw. The units are found by
 * their own ranges, because clang does not write .debug_aranges, which libdwfl would use.
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
		/* an address of 0 means that the section was dropped */
		if (low && low < high && add_unit(d, low, high, die))
			return -1;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct symdwarf_unit *x = a, *y = b;

	return x->low < y->low ? -1 : x->low > y->low;
}

/* Reads all units once. If there is no memory for all of them, some remain unknown. */
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

/* Reads the place from which an inlined function is called. */
static void read_call(Dwarf_Die *unit, Dwarf_Die *die, struct symdwarf_frame *caller)
{
	Dwarf_Files *files;
	size_t n;

	caller->file = NULL;
	caller->line = (int)number_of(die, DW_AT_call_line);
	if (dwarf_getsrcfiles(unit, &files, &n) == 0)
		caller->file = dwarf_filesrc(files, number_of(die, DW_AT_call_file), NULL, NULL);
}

enum { DEEPEST = 64 };

/* The scopes around an address, from the outermost one. */
struct scopes {
	uint64_t addr;
	Dwarf_Die die[DEEPEST];
	int n;
	bool nested;	/* functions within other functions and within types are searched, too */
};

static bool has_ranges(Dwarf_Die *die)
{
	return dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges);
}

static bool find_scopes(Dwarf_Die *parent, struct scopes *s, int depth);

/*
 * Returns true if the address is in a function that is this entry, or that this entry contains. The
 * functions that contain the address are added to s.
 */
static bool enter(Dwarf_Die *die, struct scopes *s, int depth)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
		if (dwarf_haspc(die, s->addr) <= 0)
			return s->nested && dwarf_haschildren(die) && find_scopes(die, s, depth);
		break;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		if (!has_ranges(die) || dwarf_haspc(die, s->addr) > 0)
			return find_scopes(die, s, depth);
		return false;
	case DW_TAG_namespace:
	case DW_TAG_module:
		return find_scopes(die, s, depth);
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
		return s->nested && find_scopes(die, s, depth);
	default:
		return false;
	}
	if (s->n == DEEPEST)
		return false;
	s->die[s->n++] = *die;
	find_scopes(die, s, depth);
	return true;
}

/*
 * Searches the children of an entry for functions that contain the address; returns true if there
 * is one. The tree is followed as the code is nested, and not by the definitions of inlined
 * functions: with LTO, a definition may be in another unit.
 */
static bool find_scopes(Dwarf_Die *parent, struct scopes *s, int depth)
{
	Dwarf_Die die;

	if (depth == DEEPEST || dwarf_child(parent, &die))
		return false;
	do {
		if (enter(&die, s, depth + 1))
			return true;
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

/*
 * Returns the unit that contains the functions. With -gsplit-dwarf it is in another file than the
 * lines; otherwise it is the given unit.
 */
static Dwarf_Die whole_unit(const Dwarf_Die *unit)
{
	Dwarf_Die skeleton, split;
	uint8_t type;

	if (dwarf_cu_info(unit->cu, NULL, &type, &skeleton, &split, NULL, NULL, NULL) == 0 &&
	    type == DW_UT_skeleton && split.cu)
		return split;
	return *unit;
}

static int frames_in(Dwarf_Die *unit, struct scopes *s, struct symdwarf_frame frames[], int max)
{
	int found = 0;

	for (int i = s->n - 1; i >= 0 && found < max; i--) {
		frames[found].name = name_of(&s->die[i]);
		if (!frames[found].name)
			break;
		bool is_inlined = dwarf_tag(&s->die[i]) == DW_TAG_inlined_subroutine;

		if (++found < max && is_inlined)
			read_call(unit, &s->die[i], &frames[found]);
		if (!is_inlined)
			break;
	}
	return found;
}

/*
 * Finds the scopes around the address in a unit. Addresses come sorted, so that most of them are in
 * the function of the one before, and the unit's other functions need not be looked at.
 */
static void find_function(struct symdwarf *d, Dwarf_Die *unit, struct scopes *s)
{
	if (d->function.cu == unit->cu && dwarf_haspc(&d->function, s->addr) > 0) {
		s->die[s->n++] = d->function;
		find_scopes(&d->function, s, 0);
		return;
	}
	if (!find_scopes(unit, s, 0)) {
		s->nested = true;
		if (!find_scopes(unit, s, 0))
			return;
	}
	d->function = s->die[0];
}

int symdwarf_frames(struct symdwarf *d, Dwfl_Module *mod, uint64_t addr, struct symdwarf_frame frames[], int max)
{
	struct scopes s = { .n = 0 };

	read_units(d, mod);
	s.addr = addr - d->bias;
	Dwarf_Die *unit = unit_at(d, s.addr);

	if (!unit || max < 1)
		return 0;
	Dwarf_Die whole = whole_unit(unit);

	find_function(d, &whole, &s);
	frames[0].file = line_in(unit, s.addr, &frames[0].line);
	return frames_in(&whole, &s, frames, max);
}
