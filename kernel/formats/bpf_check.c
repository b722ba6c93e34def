// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * bpf_check.c - checks a program: it must end, load only words of its record, and read no scratch
 * word that has not been written. The checks are the kernel's (bpf_check_classic()), but fewer
 * kinds of loads are allowed, as for seccomp(2).
 */
#include "bpf.h"

static bool is_known(uint16_t code)
{
	switch (code) {
	case PFM_BPF_LD | PFM_BPF_ABS:
	case PFM_BPF_LD | PFM_BPF_LEN:
	case PFM_BPF_LDX | PFM_BPF_LEN:
	case PFM_BPF_LD | PFM_BPF_IMM:
	case PFM_BPF_LDX | PFM_BPF_IMM:
	case PFM_BPF_LD | PFM_BPF_MEM:
	case PFM_BPF_LDX | PFM_BPF_MEM:
	case PFM_BPF_ST:
	case PFM_BPF_STX:
	case PFM_BPF_MISC:
	case PFM_BPF_MISC | PFM_BPF_TXA:
	case PFM_BPF_RET:
	case PFM_BPF_RET | PFM_BPF_A:
	case PFM_BPF_JMP | PFM_BPF_JA:
	case PFM_BPF_ALU | PFM_BPF_NEG:
		return true;
	}
	switch (code & ~PFM_BPF_X) {	/* the operand may be k or X */
	case PFM_BPF_ALU | PFM_BPF_ADD:
	case PFM_BPF_ALU | PFM_BPF_SUB:
	case PFM_BPF_ALU | PFM_BPF_MUL:
	case PFM_BPF_ALU | PFM_BPF_DIV:
	case PFM_BPF_ALU | PFM_BPF_MOD:
	case PFM_BPF_ALU | PFM_BPF_AND:
	case PFM_BPF_ALU | PFM_BPF_OR:
	case PFM_BPF_ALU | PFM_BPF_XOR:
	case PFM_BPF_ALU | PFM_BPF_LSH:
	case PFM_BPF_ALU | PFM_BPF_RSH:
	case PFM_BPF_JMP | PFM_BPF_JEQ:
	case PFM_BPF_JMP | PFM_BPF_JGT:
	case PFM_BPF_JMP | PFM_BPF_JGE:
	case PFM_BPF_JMP | PFM_BPF_JSET:
		return true;
	}
	return false;
}

static const char *bad_operand(const struct pfm_bpf_insn *i, uint32_t size)
{
	switch (i->code) {
	case PFM_BPF_LD | PFM_BPF_ABS:
		if (i->k % sizeof(uint32_t) || i->k >= size)
			return "loads what is no word of the record";
		break;
	case PFM_BPF_LD | PFM_BPF_MEM:
	case PFM_BPF_LDX | PFM_BPF_MEM:
	case PFM_BPF_ST:
	case PFM_BPF_STX:
		if (i->k >= PFM_BPF_WORDS)
			return "names a scratch word that is not there";
		break;
	case PFM_BPF_ALU | PFM_BPF_DIV:
	case PFM_BPF_ALU | PFM_BPF_MOD:
		if (!i->k)
			return "divides by 0";
		break;
	case PFM_BPF_ALU | PFM_BPF_LSH:
	case PFM_BPF_ALU | PFM_BPF_RSH:
		if (i->k > 31)
			return "shifts by more than 31";
		break;
	}
	return NULL;
}

static bool is_jump(const struct pfm_bpf_insn *i)
{
	return (i->code & 7) == PFM_BPF_JMP;
}

static bool always_jumps(const struct pfm_bpf_insn *i)
{
	return i->code == (PFM_BPF_JMP | PFM_BPF_JA);
}

static bool returns(const struct pfm_bpf_insn *i)
{
	return (i->code & 7) == PFM_BPF_RET;
}

/*
 * Returns true if the instruction jumps out of the program; left is the number of instructions that
 * follow it.
 */
static bool jumps_out(const struct pfm_bpf_insn *i, unsigned int left)
{
	if (!is_jump(i))
		return false;
	return always_jumps(i) ? i->k >= left : i->jt >= left || i->jf >= left;
}

static const char *bad_insn(const struct pfm_bpf_insn *i, unsigned int left, uint32_t size)
{
	const char *why;

	if (!is_known(i->code))
		return "is not known";
	why = bad_operand(i, size);
	if (why)
		return why;
	if (jumps_out(i, left))
		return "jumps out of the program";
	return left || returns(i) ? NULL : "is the last one, and does not return";
}

/* --- scratch memory ------------------------------------------------------------------------- */

/*
 * Adds the scratch word that the instruction writes, if any, to *written. Returns false if the
 * instruction reads a word that may not have been written.
 */
static bool follow_memory(const struct pfm_bpf_insn *i, uint16_t *written)
{
	switch (i->code) {
	case PFM_BPF_ST:
	case PFM_BPF_STX:
		*written |= (uint16_t)(1U << i->k);
		break;
	case PFM_BPF_LD | PFM_BPF_MEM:
	case PFM_BPF_LDX | PFM_BPF_MEM:
		return *written >> i->k & 1;
	}
	return true;
}

/*
 * Removes from at[], at the targets of the jump at pc, the scratch words that were not written on
 * this path: at[] has those that were written on all paths to an instruction.
 */
static void meet(const struct pfm_bpf_insn *i, unsigned int pc, uint16_t written, uint16_t *at)
{
	if (!is_jump(i))
		return;
	if (always_jumps(i)) {
		at[pc + 1 + i->k] &= written;
	} else {
		at[pc + 1 + i->jt] &= written;
		at[pc + 1 + i->jf] &= written;
	}
}

/*
 * Returns the number of the first instruction that reads a scratch word which may not have been
 * written, or n if there is none. One pass is enough, because all jumps are forward.
 */
static unsigned int reads_unwritten(const struct pfm_bpf_insn *insns, unsigned int n, uint16_t *at)
{
	uint16_t written = 0;

	memset(at, 0xff, n * sizeof(*at));
	for (unsigned int pc = 0; pc < n; pc++) {
		written &= at[pc];
		if (!follow_memory(&insns[pc], &written))
			return pc;
		meet(&insns[pc], pc, written, at);
		if (is_jump(&insns[pc]))
			/*
			 * the next instruction is reached only by jumps, for which meet() has
			 * updated at[]
			 */
			written = 0xffff;
	}
	return n;
}

int pfm_bpf_check(const struct pfm_bpf_insn *insns, unsigned int n, uint32_t size, uint16_t *room)
{
	unsigned int pc;

	for (pc = 0; pc < n; pc++) {
		const char *why = bad_insn(&insns[pc], n - pc - 1, size);

		if (why)
			return pfm_refuse(-EINVAL, "instruction %u of the program %s", pc, why);
	}
	pc = reads_unwritten(insns, n, room);
	if (pc < n)
		return pfm_refuse(-EINVAL, "instruction %u of the program reads a scratch word not written", pc);
	return 0;
}

uint32_t pfm_bpf_reach(const struct pfm_bpf_insn *insns, unsigned int n)
{
	uint32_t reach = 0;

	for (unsigned int i = 0; i < n; i++)
		if (insns[i].code == (PFM_BPF_LD | PFM_BPF_ABS) && insns[i].k >= reach)
			reach = insns[i].k + sizeof(uint32_t);
	return reach;
}
