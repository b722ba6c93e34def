// SPDX-License-Identifier: MIT
/* bpf_random.c - programs and records at random. */
#include <stdio.h>

#include "bpf_random.h"
#include "perfmon/perfmon_prog_smpl.h"

#define COUNT(a)	(sizeof(a) / sizeof(*(a)))
#define GOLDEN		0x9e3779b1U

/* core/os.h, as far as the verifier needs it. */
int pfm_refuse(int err, const char *fmt, ...)
{
	(void)fmt;
	return err;
}

uint32_t bpf_random(uint64_t *state, uint32_t below)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (uint32_t)((*state >> 16 & 0xffffffff) * below >> 32);
}

/* Draws a number that is at an edge, small, or any. */
static uint32_t number(uint64_t *s)
{
	static const uint32_t edges[] = {
		0, 1, 2, 31, 32, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff, 0xffff, 0x10000,
	};

	switch (bpf_random(s, 3)) {
	case 0:
		return edges[bpf_random(s, COUNT(edges))];
	case 1:
		return bpf_random(s, 64);
	default:
		return bpf_random(s, 0xffffffff);
	}
}

static uint16_t code(uint64_t *s)
{
	static const uint8_t alu[] = {
		PFM_BPF_ADD, PFM_BPF_SUB, PFM_BPF_MUL, PFM_BPF_DIV, PFM_BPF_OR, PFM_BPF_AND, PFM_BPF_LSH, PFM_BPF_RSH,
		PFM_BPF_NEG, PFM_BPF_MOD, PFM_BPF_XOR,
	};
	static const uint8_t jumps[] = { PFM_BPF_JA, PFM_BPF_JEQ, PFM_BPF_JGT, PFM_BPF_JGE, PFM_BPF_JSET };
	static const uint8_t loads[] = { PFM_BPF_IMM, PFM_BPF_ABS, PFM_BPF_ABS, PFM_BPF_MEM, PFM_BPF_LEN };
	static const uint8_t others[] = {
		PFM_BPF_ST, PFM_BPF_STX, PFM_BPF_MISC, PFM_BPF_MISC | PFM_BPF_TXA, PFM_BPF_RET, PFM_BPF_RET | PFM_BPF_A,
	};
	uint8_t op, x = bpf_random(s, 2) ? PFM_BPF_X : 0;

	switch (bpf_random(s, 8)) {
	case 0:
	case 1:
		return PFM_BPF_LD | loads[bpf_random(s, COUNT(loads))];
	case 2:
		op = loads[bpf_random(s, COUNT(loads))];
		return PFM_BPF_LDX | (op == PFM_BPF_ABS ? PFM_BPF_IMM : op);
	case 3:
		op = jumps[bpf_random(s, COUNT(jumps))];
		return PFM_BPF_JMP | op | (op == PFM_BPF_JA ? 0 : x);
	case 4:
		return others[bpf_random(s, COUNT(others))];
	default:
		op = alu[bpf_random(s, COUNT(alu))];
		return PFM_BPF_ALU | op | (op == PFM_BPF_NEG ? 0 : x);
	}
}

/* Draws the operand of an instruction that `left` others follow. words: the offsets for LD ABS. */
static void operand(uint64_t *s, struct pfm_bpf_insn *i, const uint32_t *words, unsigned int num, unsigned int left)
{
	i->k = number(s);
	i->jt = (uint8_t)bpf_random(s, left < 255 ? left : 255);
	i->jf = (uint8_t)bpf_random(s, left < 8 ? left : 8);
	switch (i->code) {
	case PFM_BPF_LD | PFM_BPF_ABS:
		i->k = words[bpf_random(s, num)];
		break;
	case PFM_BPF_LD | PFM_BPF_MEM:
	case PFM_BPF_LDX | PFM_BPF_MEM:
	case PFM_BPF_ST:
	case PFM_BPF_STX:
		i->k %= PFM_BPF_WORDS;
		break;
	case PFM_BPF_ALU | PFM_BPF_DIV:
	case PFM_BPF_ALU | PFM_BPF_MOD:
		i->k |= !i->k;
		break;
	case PFM_BPF_ALU | PFM_BPF_LSH:
	case PFM_BPF_ALU | PFM_BPF_RSH:
		i->k %= 32;
		break;
	case PFM_BPF_JMP | PFM_BPF_JA:
		i->k = bpf_random(s, left < 8 ? left : 8);
	}
}

unsigned int bpf_random_program(uint64_t *s, struct pfm_bpf_insn *insns, const uint32_t *words, unsigned int num,
				unsigned int wild)
{
	unsigned int n = 2 + bpf_random(s, BPF_RANDOM_MAX - 2), pc = 0;

	/* the program begins by writing scratch words, which it can read later */
	for (; pc < n / 4 && pc < 4; pc++)
		insns[pc] = (struct pfm_bpf_insn){ .code = pc % 2 ? PFM_BPF_STX : PFM_BPF_ST, .k = pc };
	for (; pc < n - 1; pc++) {
		struct pfm_bpf_insn *i = &insns[pc];

		i->code = code(s);
		operand(s, i, words, num, n - pc - 1);
		if ((i->code & 0xe0) == PFM_BPF_MEM && (i->code & 7) <= PFM_BPF_LDX && bpf_random(s, 16))
			i->k %= n / 4 < 4 && n / 4 ? n / 4 : 4;
		if (wild && !bpf_random(s, wild))
			*i = (struct pfm_bpf_insn){
				.code = (uint16_t)bpf_random(s, bpf_random(s, 2) ? 0x100 : 0x10000),
				.jt = i->jt, .jf = (uint8_t)bpf_random(s, 256), .k = number(s),
			};
	}
	insns[pc] = (struct pfm_bpf_insn){ .code = PFM_BPF_RET | (bpf_random(s, 8) ? PFM_BPF_A : 0), .k = number(s) };
	return n;
}

void bpf_random_record(uint64_t *s, void *record, size_t size)
{
	for (size_t at = 0; at + sizeof(uint32_t) <= size; at += sizeof(uint32_t)) {
		uint32_t word = number(s);

		memcpy((char *)record + at, &word, sizeof(word));
	}
}

/* Returns true if the program has different verdicts on some records. */
static bool varies(uint64_t *s, const struct pfm_bpf_insn *insns)
{
	enum { SOME = 16 };
	pfm_prog_record_t record = { 0 };
	uint32_t verdict = pfm_bpf_run(insns, &record, sizeof(record));

	for (int i = 0; i < SOME; i++) {
		bpf_random_record(s, &record, sizeof(record));
		if (pfm_bpf_run(insns, &record, sizeof(record)) != verdict)
			return true;
	}
	return false;
}

unsigned int bpf_random_judge(uint64_t *s, struct pfm_bpf_insn *insns, const uint32_t *words, unsigned int num)
{
	uint16_t room[BPF_RANDOM_MAX];
	unsigned int n;

	do
		n = bpf_random_program(s, insns, words, num, 0);
	while (pfm_bpf_check(insns, n, sizeof(pfm_prog_record_t), room) || (!varies(s, insns) && bpf_random(s, 16)));
	return n;
}

uint32_t bpf_fold(uint32_t verdict)
{
	return verdict * GOLDEN >> 24;
}

unsigned int bpf_fold_insns(struct pfm_bpf_insn *to)
{
	to[0] = (struct pfm_bpf_insn){ .code = PFM_BPF_ALU | PFM_BPF_MUL, .k = GOLDEN };
	to[1] = (struct pfm_bpf_insn){ .code = PFM_BPF_ALU | PFM_BPF_RSH, .k = 24 };
	return 2;
}

void bpf_redirect(struct pfm_bpf_insn *insns, unsigned int n, unsigned int end, uint32_t (*fold)(uint32_t))
{
	for (unsigned int pc = 0; pc < n; pc++) {
		struct pfm_bpf_insn *i = &insns[pc];

		if (i->code == PFM_BPF_RET)
			i->k = fold(i->k);
		else if (i->code == (PFM_BPF_RET | PFM_BPF_A))
			*i = (struct pfm_bpf_insn){ .code = PFM_BPF_JMP | PFM_BPF_JA, .k = end - pc - 1 };
	}
}

void bpf_dump(const struct pfm_bpf_insn *insns, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		printf("%u: %#x %u %u %#x\n", i, insns[i].code, insns[i].jt, insns[i].jf, insns[i].k);
}
