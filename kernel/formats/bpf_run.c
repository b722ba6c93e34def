// SPDX-License-Identifier: GPL-2.0 OR MIT
/* bpf_run.c - the interpreter of programs in user space, where the kernel cannot run them. */
#include "bpf.h"

struct cpu {
	uint32_t	a, x;
	uint32_t	mem[PFM_BPF_WORDS];
};

static uint32_t word(const void *record, uint32_t at)
{
	uint32_t w;

	memcpy(&w, (const char *)record + at, sizeof(w));
	return w;
}

static void load(struct cpu *c, const struct pfm_bpf_insn *i, const void *record, uint32_t size)
{
	uint32_t *to = (i->code & 7) == PFM_BPF_LDX ? &c->x : &c->a;

	switch (i->code & 0xe0) {
	case PFM_BPF_ABS:
		*to = word(record, i->k);
		break;
	case PFM_BPF_MEM:
		*to = c->mem[i->k];
		break;
	case PFM_BPF_LEN:
		*to = size;
		break;
	default:
		*to = i->k;
	}
}

/* Returns false at a division by 0. */
static bool compute(struct cpu *c, uint16_t code, uint32_t by)
{
	switch (code & 0xf0) {
	case PFM_BPF_ADD:
		c->a += by;
		break;
	case PFM_BPF_SUB:
		c->a -= by;
		break;
	case PFM_BPF_MUL:
		c->a *= by;
		break;
	case PFM_BPF_DIV:
		if (!by)
			return false;
		c->a /= by;
		break;
	case PFM_BPF_MOD:
		if (!by)
			return false;
		c->a %= by;
		break;
	case PFM_BPF_AND:
		c->a &= by;
		break;
	case PFM_BPF_OR:
		c->a |= by;
		break;
	case PFM_BPF_XOR:
		c->a ^= by;
		break;
	case PFM_BPF_LSH:
		c->a <<= by & 31;
		break;
	case PFM_BPF_RSH:
		c->a >>= by & 31;
		break;
	case PFM_BPF_NEG:
		c->a = -c->a;
		break;
	}
	return true;
}

static uint32_t distance(const struct cpu *c, const struct pfm_bpf_insn *i, uint32_t with)
{
	switch (i->code & 0xf0) {
	case PFM_BPF_JEQ:
		return c->a == with ? i->jt : i->jf;
	case PFM_BPF_JGT:
		return c->a > with ? i->jt : i->jf;
	case PFM_BPF_JGE:
		return c->a >= with ? i->jt : i->jf;
	case PFM_BPF_JSET:
		return c->a & with ? i->jt : i->jf;
	default:
		return i->k;
	}
}

uint32_t pfm_bpf_run(const struct pfm_bpf_insn *i, const void *record, uint32_t size)
{
	struct cpu c = { 0 };

	for (;; i++) {
		uint32_t operand = i->code & PFM_BPF_X ? c.x : i->k;

		switch (i->code & 7) {
		case PFM_BPF_LD:
		case PFM_BPF_LDX:
			load(&c, i, record, size);
			break;
		case PFM_BPF_ST:
			c.mem[i->k] = c.a;
			break;
		case PFM_BPF_STX:
			c.mem[i->k] = c.x;
			break;
		case PFM_BPF_ALU:
			if (!compute(&c, i->code, operand))
				return 0;
			break;
		case PFM_BPF_JMP:
			i += distance(&c, i, operand);
			break;
		case PFM_BPF_RET:
			return i->code & PFM_BPF_A ? c.a : i->k;
		case PFM_BPF_MISC:
			if (i->code & PFM_BPF_TXA)
				c.a = c.x;
			else
				c.x = c.a;
		}
	}
}
