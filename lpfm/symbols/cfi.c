/* SPDX-License-Identifier: MIT */
/* cfi.c - unwinding by rows of call frame information, each made once by elfutils' libdw and kept. */
#include <dwarf.h>
#include <stdlib.h>

#include "symbols/cfi.h"

enum { SLOTS = 4096 };		/* a power of two */
enum kind { NO_ROW, COMMON, OUTERMOST, OTHER };
enum how { SAVED, VALUE };

struct change {
	uint8_t reg;
	uint8_t how;
	int32_t offset;		/* from the canonical frame address */
};

/* How the caller's registers are found from pc: lost ones are not to be had, those of no change are as they were. */
struct row {
	uint64_t	pc;
	uint64_t	lost;
	int32_t		cfa_offset;
	uint8_t		kind;
	uint8_t		cfa_reg;
	uint8_t		return_reg;
	uint8_t		num;
	struct change	changes[SYMCFI_REGS];
};

struct symcfi {
	unsigned int	num;
	struct row	rows[SLOTS];
};

struct symcfi *symcfi_new(unsigned int num)
{
	struct symcfi *c = calloc(1, sizeof(*c));

	if (c)
		c->num = num;
	return c;
}

void symcfi_free(struct symcfi *c)
{
	free(c);
}

/* --- rows ----------------------------------------------------------------------------------- */

static bool fits(int64_t offset)
{
	return offset == (int32_t)offset;
}

static bool read_cfa(Dwarf_Frame *frame, unsigned int num, struct row *row)
{
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_frame_cfa(frame, &ops, &n) || n != 1)
		return false;
	int64_t offset = (int64_t)ops[0].number;

	row->cfa_reg = (uint8_t)(ops[0].atom - DW_OP_breg0);
	if (ops[0].atom == DW_OP_bregx) {
		row->cfa_reg = (uint8_t)ops[0].number;
		offset = (int64_t)ops[0].number2;
	} else if (ops[0].atom < DW_OP_breg0 || ops[0].atom > DW_OP_breg31) {
		return false;
	}
	row->cfa_offset = (int32_t)offset;
	return fits(offset) && row->cfa_reg < num;
}

/* call_frame_cfa [plus_uconst OFFSET] [stack_value] */
static bool read_change(const Dwarf_Op *ops, size_t n, struct change *change)
{
	int64_t offset = 0;
	size_t i = 1;

	if (ops[0].atom != DW_OP_call_frame_cfa)
		return false;
	if (i < n && ops[i].atom == DW_OP_plus_uconst)
		offset = (int64_t)ops[i++].number;
	change->how = SAVED;
	if (i < n && ops[i].atom == DW_OP_stack_value) {
		change->how = VALUE;
		i++;
	}
	change->offset = (int32_t)offset;
	return i == n && fits(offset);
}

static bool read_register(Dwarf_Frame *frame, unsigned int reg, struct row *row)
{
	Dwarf_Op own[3], *ops;
	size_t n;

	if (dwarf_frame_register(frame, (int)reg, own, &ops, &n))
		return false;
	if (!n) {
		if (ops)
			row->lost |= 1ULL << reg;
		return true;
	}
	row->changes[row->num].reg = (uint8_t)reg;
	return read_change(ops, n, &row->changes[row->num++]);
}

static enum kind read_row(Dwarf_Frame *frame, unsigned int num, struct row *row)
{
	bool is_signal = false;
	int reg = dwarf_frame_info(frame, NULL, NULL, &is_signal);

	if (reg < 0 || (unsigned int)reg >= num || is_signal || !read_cfa(frame, num, row))
		return OTHER;
	row->return_reg = (uint8_t)reg;
	for (unsigned int i = 0; i < num; i++)
		if (!read_register(frame, i, row))
			return OTHER;
	return row->lost >> reg & 1 ? OUTERMOST : COMMON;
}

static enum kind find_row(Dwfl *dwfl, uint64_t pc, unsigned int num, struct row *row)
{
	Dwfl_Module *mod = dwfl_addrmodule(dwfl, pc);
	enum kind kind;
	Dwarf_Frame *frame;
	Dwarf_Addr bias;
	Dwarf_CFI *cfi;

	cfi = mod ? dwfl_module_eh_cfi(mod, &bias) : NULL;
	if (!cfi || dwarf_cfi_addrframe(cfi, pc - bias, &frame)) {
		cfi = mod ? dwfl_module_dwarf_cfi(mod, &bias) : NULL;
		if (!cfi || dwarf_cfi_addrframe(cfi, pc - bias, &frame))
			return OTHER;
	}
	kind = read_row(frame, num, row);
	free(frame);
	return kind;
}

static const struct row *row_of(struct symcfi *c, Dwfl *dwfl, uint64_t pc)
{
	struct row *row = &c->rows[(pc * 0x9e3779b97f4a7c15ULL) >> 52 & (SLOTS - 1)];

	if (row->kind == NO_ROW || row->pc != pc) {
		row->pc = pc;
		row->lost = 0;
		row->num = 0;
		row->kind = (uint8_t)find_row(dwfl, pc, c->num, row);
	}
	return row;
}

/* --- a step --------------------------------------------------------------------------------- */

enum symcfi_step symcfi_step(struct symcfi *c, Dwfl *dwfl, struct symcfi_state *s, symcfi_read_fn *read,
			     const void *from)
{
	const struct row *row = row_of(c, dwfl, s->called ? s->pc - 1 : s->pc);

	if (row->kind == OTHER)
		return SYMCFI_CANNOT;
	if (row->kind == OUTERMOST || !(s->known >> row->cfa_reg & 1))
		return SYMCFI_END;
	uint64_t cfa = s->regs[row->cfa_reg] + (uint64_t)row->cfa_offset;

	s->known &= ~row->lost;
	for (unsigned int i = 0; i < row->num; i++) {
		const struct change *change = &row->changes[i];
		uint64_t value = cfa + (uint64_t)change->offset;

		if (change->how == VALUE || read(from, value, &value)) {
			s->regs[change->reg] = value;
			s->known |= 1ULL << change->reg;
		} else {
			s->known &= ~(1ULL << change->reg);
		}
	}
	s->pc = s->regs[row->return_reg];
	s->called = true;
	return s->known >> row->return_reg & 1 ? SYMCFI_DONE : SYMCFI_END;
}
