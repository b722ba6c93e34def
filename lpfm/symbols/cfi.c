/* SPDX-License-Identifier: MIT */
/* cfi.c - rows of call frame information, read by elfutils' libdw. */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/cfi.h"
#include "symbols/expression.h"
#include "symbols/table.h"

/* most ranges of code that calls main(), and of code with which threads begin */
enum { STARTS = 4 };
enum { UNSIZED_MAX = 1 << 16 };	/* most bytes of a function, if its symbol has no size */
/* most bytes of code at a program's entry point, if no symbol says its size */
enum { ENTRY_SIZE = 256 };
enum { RECENT = 256 };	/* a power of two */

/* A segment of the file that is loaded as code. */
struct segment {
	uint64_t	offset, size, align, addr;
};

struct symcfi {
	int		fd;
	Elf		*elf;
	Dwarf		*dwarf;		/* NULL: not opened yet, or there is none */
	Dwarf_CFI	*eh, *debug;
	bool		has_asked;	/* .debug_frame has been searched */
	bool		is_32bit;
	uint64_t	entry;		/* address at which programs begin */
	bool		has_starts, has_functions;
	struct symcfi_range	starts[STARTS];
	struct symtab	functions;
	struct segment	*segments;
	size_t		num_segments;
	void		*rows;		/* tree of the rows that were read, by their addresses */
	const struct symcfi_row *recent[RECENT];	/* rows that were returned, by address; or NULL */
};

/* --- files ---------------------------------------------------------------------------------- */

static bool read_segments(struct symcfi *c)
{
	size_t n = 0;

	if (elf_getphdrnum(c->elf, &n))
		return false;
	c->segments = calloc(n + 1, sizeof(*c->segments));
	for (size_t i = 0; c->segments && i < n; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(c->elf, (int)i, &ph) || ph.p_type != PT_LOAD || !(ph.p_flags & PF_X))
			continue;
		c->segments[c->num_segments++] = (struct segment){ ph.p_offset, ph.p_filesz,
			ph.p_align ? ph.p_align : 1, ph.p_vaddr };
	}
	return c->num_segments;
}

struct symcfi *symcfi_open(int fd)
{
	struct symcfi *c = calloc(1, sizeof(*c));
	GElf_Ehdr eh;

	if (!c) {
		close(fd);
		return NULL;
	}
	elf_version(EV_CURRENT);
	c->fd = fd;
	c->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!c->elf || elf_kind(c->elf) != ELF_K_ELF || !gelf_getehdr(c->elf, &eh) ||
	    !read_segments(c)) {
		symcfi_close(c);
		return NULL;
	}
	c->entry = eh.e_entry;
	c->is_32bit = gelf_getclass(c->elf) == ELFCLASS32;
	c->eh = dwarf_getcfi_elf(c->elf);
	return c;
}

static void free_row(void *from)
{
	struct symcfi_row *row = from;

	for (unsigned int i = 0; i < row->num_expressions; i++)
		free(row->expressions[i].ops);
	free(row->expressions);
	free(row);
}

void symcfi_close(struct symcfi *c)
{
	if (!c)
		return;
	tdestroy(c->rows, free_row);
	if (c->eh)
		dwarf_cfi_end(c->eh);
	dwarf_end(c->dwarf);
	elf_end(c->elf);
	close(c->fd);
	symtab_free(&c->functions);
	free(c->segments);
	free(c);
}

bool symcfi_has_id(const struct symcfi *c, const char *id)
{
	const void *bits;
	ssize_t n = dwelf_elf_gnu_build_id(c->elf, &bits);

	for (ssize_t i = 0; i < n; i++) {
		char digits[3];

		snprintf(digits, sizeof(digits), "%02x", ((const unsigned char *)bits)[i]);
		if (strncmp(id + 2 * i, digits, 2))
			return false;
	}
	return n > 0 && strlen(id) == 2 * (size_t)n;
}

bool symcfi_is_32bit(const struct symcfi *c)
{
	return c->is_32bit;
}

bool symcfi_bias(const struct symcfi *c, uint64_t start, uint64_t offset, uint64_t *bias)
{
	for (size_t i = 0; i < c->num_segments; i++) {
		const struct segment *s = &c->segments[i];

		if (s->offset + s->size <= offset || (s->offset & ~(s->align - 1)) > offset)
			continue;
		*bias = start - offset + s->offset - s->addr;
		return true;
	}
	return false;
}

/* --- code that begins programs and threads ---------------------------------------------------- */

/*
 * The code of a C library that calls main(), and the code with which threads begin: a full symbol
 * table names both. A stripped library names only the functions that it exports. In
 * glibc, the internal functions that make those calls lie before __libc_start_main() and
 * pthread_create(), and no exported function lies between. So the ranges of these two functions are
 * extended down to the exported function before them. In musl the same is done even with a full
 * symbol table, because several of its functions are named like that with which threads begin.
 */
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
static bool find_function(const struct table *t, const char *name, struct symcfi_range *range)
{
	GElf_Sym sym;
	const char *found;

	for (int i = 1; (found = next_function(t, &i, &sym));) {
		if (strcmp(found, name))
			continue;
		*range = (struct symcfi_range){ sym.st_value, sym.st_value + sym.st_size };
		return true;
	}
	return false;
}

static bool is_exported(const GElf_Sym *sym)
{
	return GELF_ST_BIND(sym->st_info) != STB_LOCAL && GELF_ST_VISIBILITY(sym->st_other) != STV_HIDDEN;
}

/* Extends the range down to the end of the exported function before it. */
static void extend_down(const struct table *t, struct symcfi_range *range)
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

static void find_starts(Elf *elf, struct symcfi_range ranges[STARTS])
{
	struct table t;
	size_t n = 0;
	bool has_symbols = open_table(&t, elf, SHT_SYMTAB);

	memset(ranges, 0, STARTS * sizeof(*ranges));
	if (has_symbols && !find_function(&t, musl, ranges)) {
		for (size_t i = 0; i < NUM(own); i++)
			n += find_function(&t, own[i], &ranges[n]);
		return;
	}
	for (size_t i = 0; i < NUM(exported) && (has_symbols || open_table(&t, elf, SHT_DYNSYM)); i++) {
		if (!find_function(&t, exported[i], &ranges[n]))
			continue;
		extend_down(&t, &ranges[n++]);
	}
}

bool symcfi_is_start(struct symcfi *c, uint64_t addr)
{
	if (!c->has_starts)
		find_starts(c->elf, c->starts);
	c->has_starts = true;
	for (size_t i = 0; i < STARTS; i++)
		if (addr >= c->starts[i].from && addr < c->starts[i].to)
			return true;
	return false;
}

/*
 * Returns true if the bytes may end with a call. On x86 they may only look like one, because
 * instructions have no fixed length.
 */
#if defined(__x86_64__)
static bool ends_with_call(const unsigned char *code, size_t n)
{
	if (n >= 5 && code[n - 5] == 0xe8)	/* call rel32 */
		return true;
	for (size_t i = 2; i <= 7 && i <= n; i++)
		if (code[n - i] == 0xff && (code[n - i + 1] & 0x38) == 0x10)	/* call r/m */
			return true;
	return false;
}

static bool read_called(const unsigned char *code, size_t n, uint64_t end, uint64_t *function)
{
	int32_t offset;

	if (n < 5 || code[n - 5] != 0xe8)
		return false;
	memcpy(&offset, code + n - sizeof(offset), sizeof(offset));
	*function = end + (uint64_t)(int64_t)offset;
	return true;
}

/*
 * Returns true if the code contains mov %rsp,%rbp in one of its two encodings. The encodings of
 * mov %esp,%ebp in 32-bit code are the same without the first byte.
 */
static bool makes_frame(const unsigned char *code, size_t n, bool is_32bit)
{
	static const char store[] = { 0x48, (char)0x89, (char)0xe5 }, load[] = { 0x48, (char)0x8b, (char)0xec };
	size_t from = is_32bit;

	return memmem(code, n, &store[from], sizeof(store) - from) || memmem(code, n, &load[from], sizeof(load) - from);
}
#else
static bool ends_with_call(const unsigned char *code, size_t n)
{
	uint32_t word;

	if (n < sizeof(word))
		return false;
	memcpy(&word, code + n - sizeof(word), sizeof(word));
	return (word & 0xfc000000) == 0x94000000 || (word & 0xfffffc1f) == 0xd63f0000; /* bl, blr */
}

/* Returns false: on this machine the operand of a call is not decoded. */
static bool read_called(const unsigned char *code, size_t n, uint64_t end, uint64_t *function)
{
	(void)code, (void)n, (void)end, (void)function;
	return false;
}

static bool makes_frame(const unsigned char *code, size_t n, bool is_32bit)
{
	uint32_t word;

	(void)is_32bit;
	for (size_t i = 0; i + sizeof(word) <= n; i += sizeof(word)) {
		memcpy(&word, code + i, sizeof(word));
		if ((word & 0xffc003ff) == 0x910003fd)	/* add x29, sp, #n */
			return true;
	}
	return false;
}
#endif

/*
 * Returns the code of a segment up to an address in it, and the number of its bytes in *n. Returns
 * NULL if the address is in no segment of code.
 */
static const unsigned char *code_before(const struct symcfi *c, uint64_t addr, size_t *n)
{
	size_t size;
	const unsigned char *bytes = (const unsigned char *)elf_rawfile(c->elf, &size);

	for (size_t i = 0; bytes && i < c->num_segments; i++) {
		const struct segment *s = &c->segments[i];

		*n = addr - s->addr;
		if (addr >= s->addr && *n <= s->size && s->offset <= size && *n <= size - s->offset)
			return bytes + s->offset;
	}
	return NULL;
}

bool symcfi_is_after_call(const struct symcfi *c, uint64_t addr)
{
	size_t n;
	const unsigned char *code = code_before(c, addr, &n);

	return code && ends_with_call(code, n);
}

bool symcfi_called(const struct symcfi *c, uint64_t addr, uint64_t *function)
{
	size_t n;
	const unsigned char *code = code_before(c, addr, &n);

	return code && read_called(code, n, addr, function);
}

bool symcfi_makes_frame(const struct symcfi *c, uint64_t from, uint64_t to)
{
	size_t n;
	const unsigned char *code = code_before(c, to, &n);

	return code && to - from <= n && makes_frame(code + n - (to - from), to - from, c->is_32bit);
}

/*
 * Returns true if the symbol is that of a function. A symbol without a type counts as one if it is
 * not local: a local symbol without a type is a label within a function.
 */
static bool is_function(const GElf_Sym *sym)
{
	unsigned int type = GELF_ST_TYPE(sym->st_info);

	return sym->st_shndx != SHN_UNDEF &&
	       (type == STT_FUNC || (type == STT_NOTYPE && GELF_ST_BIND(sym->st_info) != STB_LOCAL));
}

static void read_functions(struct symcfi *c)
{
	GElf_Shdr sh;
	GElf_Sym sym;

	for (Elf_Scn *scn = elf_nextscn(c->elf, NULL); scn; scn = elf_nextscn(c->elf, scn)) {
		if (!gelf_getshdr(scn, &sh) || (sh.sh_type != SHT_SYMTAB && sh.sh_type != SHT_DYNSYM))
			continue;
		for (int i = 1; gelf_getsym(elf_getdata(scn, NULL), i, &sym); i++)
			if (is_function(&sym) &&
			    symtab_add(&c->functions, sym.st_value, sym.st_size, UNSIZED_MAX, "", 0))
				return;
	}
}

bool symcfi_function(struct symcfi *c, uint64_t addr, uint64_t *function)
{
	const struct symtab_entry *e;

	if (!c->has_functions) {
		read_functions(c);
		symtab_sort(&c->functions);
	}
	c->has_functions = true;
	e = symtab_find(&c->functions, addr);
	if (e)
		*function = e->addr;
	return e;
}

/* Returns the contents of .debug_frame; NULL if the file has none, as most files do not. */
static Dwarf_CFI *debug_of(struct symcfi *c)
{
	if (c->has_asked)
		return c->debug;
	c->has_asked = true;
	c->dwarf = dwarf_begin_elf(c->elf, DWARF_C_READ, NULL);
	c->debug = c->dwarf ? dwarf_getcfi(c->dwarf) : NULL;
	return c->debug;
}

/* --- rows ----------------------------------------------------------------------------------- */

static bool fits(int64_t offset)
{
	return offset == (int32_t)offset;
}

static bool keep_expression(struct symcfi_row *row, const Dwarf_Op *ops, size_t n, int32_t *index)
{
	struct symexpr *more = realloc(row->expressions, (row->num_expressions + 1U) * sizeof(*more));
	Dwarf_Op *copy = malloc(n * sizeof(*copy));

	if (more)
		row->expressions = more;
	if (!more || !copy) {
		free(copy);
		return false;
	}
	memcpy(copy, ops, n * sizeof(*copy));
	*index = row->num_expressions;
	row->expressions[row->num_expressions++] = (struct symexpr){ copy, n };
	return true;
}

static bool read_cfa(Dwarf_Frame *frame, unsigned int num, struct symcfi_row *row)
{
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_frame_cfa(frame, &ops, &n) || !n)
		return false;
	unsigned int atom = ops[0].atom, reg = atom - DW_OP_breg0;
	int64_t offset = (int64_t)ops[0].number;

	if (atom == DW_OP_bregx) {
		reg = (unsigned int)ops[0].number;
		offset = (int64_t)ops[0].number2;
	}
	if (n == 1 && (atom == DW_OP_bregx || (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)) && fits(offset)) {
		row->cfa_reg = (uint8_t)reg;
		row->cfa_offset = (int32_t)offset;
		return reg < num;
	}
	row->cfa_reg = SYMCFI_BY_EXPRESSION;
	return keep_expression(row, ops, n, &row->cfa_offset);
}

/* Returns true if the expression consists of a register alone, and fills in *change. */
static bool read_moved(const Dwarf_Op *ops, size_t n, unsigned int num, struct symcfi_change *change)
{
	unsigned int atom = ops[0].atom;

	change->how = SYMCFI_MOVED;
	change->offset = atom == DW_OP_regx ? (int32_t)ops[0].number : (int32_t)(atom - DW_OP_reg0);
	return n == 1 && (atom == DW_OP_regx || (atom >= DW_OP_reg0 && atom <= DW_OP_reg31)) &&
	       (unsigned int)change->offset < num;
}

/*
 * Returns true if the expression is call_frame_cfa [plus_uconst OFFSET] [stack_value], and fills in
 * *change.
 */
static bool read_offset(const Dwarf_Op *ops, size_t n, bool is_value, struct symcfi_change *change)
{
	int64_t offset = n == 2 ? (int64_t)ops[1].number : 0;

	if (ops[0].atom != DW_OP_call_frame_cfa || n > 2 || (n == 2 && ops[1].atom != DW_OP_plus_uconst))
		return false;
	change->how = is_value ? SYMCFI_VALUE : SYMCFI_SAVED;
	change->offset = (int32_t)offset;
	return fits(offset);
}

static bool read_register(Dwarf_Frame *frame, unsigned int reg, unsigned int num, struct symcfi_row *row)
{
	struct symcfi_change *change = &row->changes[row->num];
	Dwarf_Op own[3], *ops;
	size_t n;

	if (dwarf_frame_register(frame, (int)reg, own, &ops, &n))
		return false;
	if (!n) {
		if (ops)
			row->lost |= 1ULL << reg;
		return true;
	}
	bool is_value = n > 1 && ops[n - 1].atom == DW_OP_stack_value;

	row->num++;
	change->reg = (uint8_t)reg;
	n -= is_value;
	if (read_moved(ops, n, num, change) || read_offset(ops, n, is_value, change))
		return true;
	change->how = is_value ? SYMCFI_VALUE_BY : SYMCFI_SAVED_BY;
	return keep_expression(row, ops, n, &change->offset);
}

static enum symcfi_kind read_row(Dwarf_Frame *frame, unsigned int num, struct symcfi_row *row)
{
	int reg = dwarf_frame_info(frame, &row->range.from, &row->range.to, &row->is_signal);

	if (reg < 0 || (unsigned int)reg >= num || !read_cfa(frame, num, row))
		return SYMCFI_NONE;
	row->return_reg = (uint8_t)reg;
	for (unsigned int i = 0; i < num; i++)
		if (!read_register(frame, i, num, row))
			return SYMCFI_NONE;
	return row->lost >> reg & 1 ? SYMCFI_OUTERMOST : SYMCFI_COMMON;
}

/*
 * Returns the frame at an address, which the caller frees; NULL if there is no information about
 * the address.
 */
static Dwarf_Frame *frame_at(struct symcfi *c, uint64_t addr)
{
	Dwarf_Frame *frame;

	if (c->eh && !dwarf_cfi_addrframe(c->eh, addr, &frame))
		return frame;
	return debug_of(c) && !dwarf_cfi_addrframe(c->debug, addr, &frame) ? frame : NULL;
}

/*
 * Returns true if the address is in the code at which a program or its loader begins, and this code
 * has no call frame information, as is common. Nothing has called that code, so a stack ends there.
 */
static bool is_entry(struct symcfi *c, uint64_t addr)
{
	Dwarf_Frame *frame;
	uint64_t function;

	if (!c->entry || addr < c->entry || addr - c->entry >= ENTRY_SIZE)
		return false;
	if (symcfi_function(c, addr, &function) && function != c->entry)
		return false;
	frame = frame_at(c, c->entry);
	free(frame);
	return !frame;
}

/* Compares ranges, with which rows begin; two that have an address in common are equal. */
static int compare_ranges(const void *a, const void *b)
{
	const struct symcfi_range *x = a, *y = b;

	return x->to <= y->from ? -1 : x->from >= y->to;
}

/*
 * Adds the row for an address that no row in the tree has. In a damaged file, the row's addresses
 * may overlap those of another row: then it is kept for this address alone. Returns false if there
 * is no memory.
 */
static bool keep_row(struct symcfi *c, struct symcfi_row *row, uint64_t addr)
{
	struct symcfi_row **at = tsearch(row, &c->rows, compare_ranges);

	if (at && *at != row) {
		row->range = (struct symcfi_range){ addr, addr + 1 };
		at = tsearch(row, &c->rows, compare_ranges);
	}
	return at && *at == row;
}

/* Reads the row for an address that no row in the tree has. Returns NULL if there is none. */
static const struct symcfi_row *add_row(struct symcfi *c, uint64_t addr, unsigned int num)
{
	Dwarf_Frame *frame = frame_at(c, addr);
	struct symcfi_row *row = frame ? calloc(1, sizeof(*row)) : NULL;

	if (row)
		row->kind = (uint8_t)read_row(frame, num, row);
	free(frame);
	if (!row || (row->kind != SYMCFI_NONE && keep_row(c, row, addr)))
		return row;
	free_row(row);
	return NULL;
}

const struct symcfi_row *symcfi_row(struct symcfi *c, uint64_t addr, unsigned int num)
{
	static const struct symcfi_row none = { .kind = SYMCFI_NONE }, outermost = { .kind = SYMCFI_OUTERMOST };
	const struct symcfi_range key = { addr, addr + 1 };
	const struct symcfi_row **recent = &c->recent[addr / 16 & (RECENT - 1)];
	struct symcfi_row **found;

	if (*recent && !compare_ranges(&key, *recent))
		return *recent;
	found = tfind(&key, &c->rows, compare_ranges);
	*recent = found ? *found : add_row(c, addr, num);
	if (*recent)
		return *recent;
	return is_entry(c, addr) ? &outermost : &none;
}

const struct symcfi_change *symcfi_change(const struct symcfi_row *row, unsigned int reg)
{
	for (unsigned int i = 0; i < row->num; i++)
		if (row->changes[i].reg == reg)
			return &row->changes[i];
	return NULL;
}
