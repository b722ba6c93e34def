/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * bpf.h - classic BPF, as far as the format "program" uses it. It is the same in the kernel and in
 * user space.
 */
#ifndef PFM_BPF_H
#define PFM_BPF_H

#include "os.h"

/* an instruction, as struct sock_filter in the kernel */
struct pfm_bpf_insn {
	uint16_t	code;
	/* how many instructions to skip if the condition holds, and if not */
	uint8_t		jt, jf;
	uint32_t	k;
};

/*
 * The parts of an instruction's code: first the class; then, by class, what it loads, computes or
 * compares.
 */
enum {
	PFM_BPF_LD = 0, PFM_BPF_LDX, PFM_BPF_ST, PFM_BPF_STX, PFM_BPF_ALU, PFM_BPF_JMP, PFM_BPF_RET, PFM_BPF_MISC,
};

enum {
	PFM_BPF_IMM = 0x00, PFM_BPF_ABS = 0x20, PFM_BPF_MEM = 0x60, PFM_BPF_LEN = 0x80,
};

enum {
	PFM_BPF_ADD = 0x00, PFM_BPF_SUB = 0x10, PFM_BPF_MUL = 0x20, PFM_BPF_DIV = 0x30, PFM_BPF_OR = 0x40,
	PFM_BPF_AND = 0x50, PFM_BPF_LSH = 0x60, PFM_BPF_RSH = 0x70, PFM_BPF_NEG = 0x80, PFM_BPF_MOD = 0x90,
	PFM_BPF_XOR = 0xa0,
};

enum {
	PFM_BPF_JA = 0x00, PFM_BPF_JEQ = 0x10, PFM_BPF_JGT = 0x20, PFM_BPF_JGE = 0x30, PFM_BPF_JSET = 0x40,
};

enum {
	PFM_BPF_X = 0x08,		/* the operand is the register X, not the constant k */
	PFM_BPF_A = 0x10,		/* in RET: the register A is returned */
	PFM_BPF_TXA = 0x80,		/* in MISC: A = X; without this bit: X = A */
};

#define PFM_BPF_WORDS	16		/* number of words of scratch memory */

/*
 * Checks whether the kernel would accept the program, and whether it loads only words of a record
 * of size bytes. room is scratch space for n elements. Returns 0, or -EINVAL with a reason.
 */
int pfm_bpf_check(const struct pfm_bpf_insn *insns, unsigned int n, uint32_t size, uint16_t *room);

/*
 * Returns how many bytes of the record the program can read: the end of the last word that it
 * loads.
 */
uint32_t pfm_bpf_reach(const struct pfm_bpf_insn *insns, unsigned int n);

/* Runs a program that pfm_bpf_check() has accepted, with the same result as the kernel's BPF. */
uint32_t pfm_bpf_run(const struct pfm_bpf_insn *insns, const void *record, uint32_t size);

#endif
