/* SPDX-License-Identifier: MIT */
/*
 * expression.c - the stack machine of DWARF expressions, without branches: call frame information
 * has none.
 */
#include <dwarf.h>

#include "symbols/expression.h"

enum { DEPTH = 16 };

struct machine {
	uint64_t	stack[DEPTH];
	size_t		n;
	bool		failed;
};

static void push(struct machine *m, uint64_t value)
{
	if (m->n == DEPTH)
		m->failed = true;
	else
		m->stack[m->n++] = value;
}

static uint64_t pop(struct machine *m)
{
	if (m->n)
		return m->stack[--m->n];
	m->failed = true;
	return 0;
}

static void push_register(struct machine *m, const struct symexpr_place *p, unsigned int num, uint64_t offset)
{
	uint64_t value = 0;

	if (!p->reg(p->from, num, &value))
		m->failed = true;
	push(m, value + offset);
}

static void dereference(struct machine *m, const struct symexpr_place *p)
{
	uint64_t value = 0;

	if (!p->read(p->from, pop(m), &value))
		m->failed = true;
	push(m, value);
}

/*
 * Applies an operation with two operands; y is the one on top of the stack. Returns false if the
 * operation is not one of these, or if there are fewer operands.
 */
static bool combine(struct machine *m, unsigned int atom)
{
	uint64_t y, x, value;

	if (m->n < 2)
		return false;
	y = m->stack[m->n - 1];
	x = m->stack[m->n - 2];
	switch (atom) {
	case DW_OP_and:		value = x & y; break;
	case DW_OP_or:		value = x | y; break;
	case DW_OP_xor:		value = x ^ y; break;
	case DW_OP_plus:	value = x + y; break;
	case DW_OP_minus:	value = x - y; break;
	case DW_OP_mul:		value = x * y; break;
	case DW_OP_shl:		value = y < 64 ? x << y : 0; break;
	case DW_OP_shr:		value = y < 64 ? x >> y : 0; break;
	case DW_OP_eq:		value = x == y; break;
	case DW_OP_ne:		value = x != y; break;
	case DW_OP_ge:		value = (int64_t)x >= (int64_t)y; break;
	case DW_OP_gt:		value = (int64_t)x > (int64_t)y; break;
	case DW_OP_le:		value = (int64_t)x <= (int64_t)y; break;
	case DW_OP_lt:		value = (int64_t)x < (int64_t)y; break;
	default:		return false;
	}
	m->n--;
	m->stack[m->n - 1] = value;
	return true;
}

static bool is_constant(unsigned int atom)
{
	return (atom >= DW_OP_const1u && atom <= DW_OP_consts) || atom == DW_OP_addr;
}

static void step(struct machine *m, const struct symexpr_place *p, const Dwarf_Op *op)
{
	unsigned int atom = op->atom;

	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
		push(m, atom - DW_OP_lit0);
	else if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
		push_register(m, p, atom - DW_OP_breg0, op->number);
	else if (atom == DW_OP_bregx)
		push_register(m, p, (unsigned int)op->number, op->number2);
	else if (is_constant(atom))
		push(m, op->number);
	else if (atom == DW_OP_call_frame_cfa)
		push(m, p->cfa);
	else if (atom == DW_OP_plus_uconst)
		push(m, pop(m) + op->number);
	else if (atom == DW_OP_deref)
		dereference(m, p);
	else if (!combine(m, atom))
		m->failed = true;
}

bool symexpr_evaluate(const struct symexpr *e, const struct symexpr_place *place, uint64_t *value)
{
	struct machine m = { .n = 0 };

	for (size_t i = 0; i < e->n && !m.failed; i++)
		step(&m, place, &e->ops[i]);
	*value = pop(&m);
	return !m.failed;
}

bool symexpr_is_register(const struct symexpr *e, unsigned int reg)
{
	const Dwarf_Op *last = &e->ops[e->n - 1];

	return last->atom == DW_OP_breg0 + reg && !last->number;
}
