/* SPDX-License-Identifier: MIT */
/*
 * bpf_random.h - random programs and records for tests of the format "program". Equal seeds give
 * equal ones.
 */
#ifndef LPFM_BPF_RANDOM_H
#define LPFM_BPF_RANDOM_H

#include "formats/bpf.h"

enum { BPF_RANDOM_MAX = 64 };	/* instructions */

/* Returns a number from 0 to below - 1; *state must not be 0. */
uint32_t bpf_random(uint64_t *state, uint32_t below);

/*
 * Makes a program; returns how many instructions it has. words: the num offsets that it may load.
 * One in `wild` instructions is arbitrary, and may be invalid; 0: none is.
 */
unsigned int bpf_random_program(uint64_t *state, struct pfm_bpf_insn *insns, const uint32_t *words, unsigned int num,
				unsigned int wild);

/* Makes a program that the verifier accepts; its verdict usually depends on the record. */
unsigned int bpf_random_judge(uint64_t *state, struct pfm_bpf_insn *insns, const uint32_t *words, unsigned int num);

/* Fills a record with random bytes, among them numbers that programs compare with. */
void bpf_random_record(uint64_t *state, void *record, size_t size);

/* Return eight bits of a verdict, and the number of instructions in `to` that make them of A. */
uint32_t bpf_fold(uint32_t verdict);
unsigned int bpf_fold_insns(struct pfm_bpf_insn *to);

/* Replaces returns of A by jumps to `end`, and returns of k by returns of fold(k). */
void bpf_redirect(struct pfm_bpf_insn *insns, unsigned int n, unsigned int end, uint32_t (*fold)(uint32_t));

/* Prints the instructions, one per line. */
void bpf_dump(const struct pfm_bpf_insn *insns, unsigned int n);

#endif
