/* SPDX-License-Identifier: MIT */
/*
 * bpf_random.h - programs and records at random, for what tries the format "program"; from the same seed the same.
 */
#ifndef LPFM_BPF_RANDOM_H
#define LPFM_BPF_RANDOM_H

#include "formats/bpf.h"

enum { BPF_RANDOM_MAX = 64 };	/* instructions */

/* From 0 to below - 1; *state is not 0. */
uint32_t bpf_random(uint64_t *state, uint32_t below);

/*
 * A program; returns how many instructions it has. words: offsets that it may load, num of them. wild: out of so
 * many instructions, one is anything at all; 0: all is in order.
 */
unsigned int bpf_random_program(uint64_t *state, struct pfm_bpf_insn *insns, const uint32_t *words, unsigned int num,
				unsigned int wild);

/* As that without wild ones, if the verifier takes it; most decide by the record. */
unsigned int bpf_random_judge(uint64_t *state, struct pfm_bpf_insn *insns, const uint32_t *words, unsigned int num);

/* Bytes, with numbers that programs compare with among them. */
void bpf_random_record(uint64_t *state, void *record, size_t size);

/* Eight bits of a verdict, and the code that makes them of A: returns how many instructions. */
uint32_t bpf_fold(uint32_t verdict);
unsigned int bpf_fold_insns(struct pfm_bpf_insn *to);

/* What returns A goes to the instruction at end instead, and what returns k returns fold(k). */
void bpf_redirect(struct pfm_bpf_insn *insns, unsigned int n, unsigned int end, uint32_t (*fold)(uint32_t));

/* Prints them, one to a line. */
void bpf_dump(const struct pfm_bpf_insn *insns, unsigned int n);

#endif
