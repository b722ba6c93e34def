// SPDX-License-Identifier: MIT
/*
 * bpf_rules.c - checks the rules for BPF programs one by one, each in the simplest way and without
 * what the check of another rule has found.
 */
#include <stdbool.h>
#include <stddef.h>

#include "bpf_rules.h"
#include "perfmon/perfmon_prog_smpl.h"

static bool is_jump(const struct sock_filter *i)
{
	return BPF_CLASS(i->code) == BPF_JMP;
}

static bool is_always(const struct sock_filter *i)
{
	return i->code == (BPF_JMP | BPF_JA);
}

static bool computes(uint16_t code)
{
	uint16_t op = BPF_OP(code);

	if (op == BPF_NEG)
		return code == (BPF_ALU | BPF_NEG);
	return op <= BPF_XOR && code == (BPF_ALU | op | BPF_SRC(code));
}

static bool branches(uint16_t code)
{
	uint16_t op = BPF_OP(code);

	if (op == BPF_JA)
		return code == (BPF_JMP | BPF_JA);
	return op <= BPF_JSET && code == (BPF_JMP | op | BPF_SRC(code));
}

/* Returns true for Linux' instructions; of loads from a record, only for those of words. */
static bool exists(uint16_t code)
{
	switch (code) {
	case BPF_LD | BPF_IMM:
	case BPF_LD | BPF_MEM:
	case BPF_LD | BPF_W | BPF_ABS:
	case BPF_LD | BPF_W | BPF_LEN:
	case BPF_LDX | BPF_IMM:
	case BPF_LDX | BPF_MEM:
	case BPF_LDX | BPF_W | BPF_LEN:
	case BPF_ST:
	case BPF_STX:
	case BPF_RET | BPF_K:
	case BPF_RET | BPF_A:
	case BPF_MISC | BPF_TAX:
	case BPF_MISC | BPF_TXA:
		return true;
	}
	return (BPF_CLASS(code) == BPF_ALU && computes(code)) || (BPF_CLASS(code) == BPF_JMP && branches(code));
}

static bool has_word(uint32_t offset)
{
	return offset % 4 == 0 && offset < sizeof(pfm_prog_record_t);
}

static bool loads_scratch(const struct sock_filter *i)
{
	return i->code == (BPF_LD | BPF_MEM) || i->code == (BPF_LDX | BPF_MEM);
}

static bool stores_scratch(const struct sock_filter *i)
{
	return i->code == BPF_ST || i->code == BPF_STX;
}

static bool divides_by_zero(const struct sock_filter *i)
{
	return (i->code == (BPF_ALU | BPF_DIV | BPF_K) || i->code == (BPF_ALU | BPF_MOD | BPF_K)) && !i->k;
}

static bool shifts_too_far(const struct sock_filter *i)
{
	return (i->code == (BPF_ALU | BPF_LSH | BPF_K) || i->code == (BPF_ALU | BPF_RSH | BPF_K)) && i->k > 31;
}

/* Returns how many instructions may follow the one at pc: as in Linux, also after a return. */
static unsigned int successors(const struct sock_filter *insns, unsigned int pc, uint64_t to[2])
{
	const struct sock_filter *i = &insns[pc];

	to[0] = pc + 1ULL + (is_always(i) ? i->k : is_jump(i) ? i->jt : 0);
	to[1] = pc + 1ULL + i->jf;
	return is_jump(i) && !is_always(i) ? 2 : 1;
}

static bool leaves_the_program(const struct sock_filter *insns, unsigned int n, unsigned int pc)
{
	uint64_t to[2];
	unsigned int ways = successors(insns, pc, to);

	return is_jump(&insns[pc]) && (to[0] >= n || (ways == 2 && to[1] >= n));
}

/* Returns true if a path leads to a load of a scratch word without a store; jumps go forwards. */
static bool loads_unstored(const struct sock_filter *insns, unsigned int n, unsigned int word)
{
	bool reached[PFM_PROG_SMPL_MAX_INSNS + 1] = { true };

	for (unsigned int pc = 0; pc < n; pc++) {
		uint64_t to[2];
		unsigned int ways = successors(insns, pc, to);

		if (!reached[pc])
			continue;
		if (loads_scratch(&insns[pc]) && insns[pc].k == word)
			return true;
		if (stores_scratch(&insns[pc]) && insns[pc].k == word)
			continue;
		while (ways--)
			reached[to[ways]] = true;
	}
	return false;
}

static const char *broken_at(const struct sock_filter *insns, unsigned int n, unsigned int pc)
{
	const struct sock_filter *i = &insns[pc];

	if (!exists(i->code))
		return "an instruction that there is not";
	if (i->code == (BPF_LD | BPF_W | BPF_ABS) && !has_word(i->k))
		return "a load of no word of the record";
	if ((loads_scratch(i) || stores_scratch(i)) && i->k >= BPF_MEMWORDS)
		return "no word of the scratch memory";
	if (divides_by_zero(i))
		return "a division by the constant 0";
	if (shifts_too_far(i))
		return "a shift by the constant 32 or more";
	if (leaves_the_program(insns, n, pc))
		return "a jump out of the program";
	return NULL;
}

const char *bpf_broken_rule(const struct sock_filter *insns, unsigned int n)
{
	if (!n || n > PFM_PROG_SMPL_MAX_INSNS)
		return "the number of instructions";
	for (unsigned int pc = 0; pc < n; pc++) {
		const char *broken = broken_at(insns, n, pc);

		if (broken)
			return broken;
	}
	if (BPF_CLASS(insns[n - 1].code) != BPF_RET)
		return "an end without a return";
	for (unsigned int word = 0; word < BPF_MEMWORDS; word++)
		if (loads_unstored(insns, n, word))
			return "a load of scratch memory that was not stored to";
	return NULL;
}
