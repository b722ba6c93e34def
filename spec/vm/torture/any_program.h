/* SPDX-License-Identifier: MIT */
/*
 * any_program.h - creates random contexts with the format "program" for the torture: with valid and
 * perhaps invalid programs, with each base format and its argument, with histograms.
 */
#ifndef SPEC_VM_ANY_PROGRAM_H
#define SPEC_VM_ANY_PROGRAM_H

#include "bpf_random.h"
#include "perfmon/perfmon_nway_smpl.h"
#include "perfmon/perfmon_prog_smpl.h"
#include "perfmon/perfmon_stack_smpl.h"

enum { ANY_BUCKETS = 300, ANY_WORDS = sizeof(pfm_prog_record_t) / sizeof(uint32_t) };

/* Makes a verdict of a random number: a bucket, or any combination of actions. */
static inline uint32_t any_verdict(uint32_t number)
{
	return number % 4 ? PFM_PROG_BUCKET(number >> 8 & 0x1ff) : number & 0x1f000000;
}

static inline unsigned int any_insns(uint64_t *seed, struct pfm_bpf_insn *insns)
{
	uint32_t offsets[ANY_WORDS];
	unsigned int n;

	for (uint32_t i = 0; i < ANY_WORDS; i++)
		offsets[i] = i * sizeof(uint32_t);
	n = bpf_random_program(seed, insns, offsets, ANY_WORDS, bpf_random(seed, 4) ? 0 : 1 + bpf_random(seed, 64));
	bpf_redirect(insns, n, n, any_verdict);
	insns[n++] = (struct pfm_bpf_insn){ .code = PFM_BPF_ALU | PFM_BPF_AND,
					    .k = bpf_random(seed, 4) ? 0xff : 0x1f0000ff };
	insns[n++] = (struct pfm_bpf_insn){ .code = PFM_BPF_ALU | PFM_BPF_OR,
					    .k = any_verdict(bpf_random(seed, 0xffffffff)) };
	insns[n++] = (struct pfm_bpf_insn){ .code = PFM_BPF_RET | PFM_BPF_A };
	return n;
}

static inline void any_base(uint64_t *seed, pfm_prog_smpl_arg_t *arg)
{
	pfm_dfl_smpl_arg_t samples = { .buf_size = 4096u << bpf_random(seed, 4) };
	pfm_nway_smpl_arg_t regions = { .buf_size = 4096u << bpf_random(seed, 4),
					.num_regions = 2 + bpf_random(seed, 3) };
	pfm_stack_smpl_arg_t stacks = {
		.buf_size = 4096u << bpf_random(seed, 6), .buf_flags = bpf_random(seed, 16) << 12,
		.max_frames = (uint16_t)bpf_random(seed, 200), .max_stack = (uint16_t)(8 * bpf_random(seed, 1025)),
	};

	if (!(stacks.buf_flags & PFM_STACK_SMPL_COPY))
		stacks.max_stack = 0;
	arg->base = bpf_random(seed, 5);
	switch (arg->base) {
	case PFM_PROG_SMPL_DEFAULT:
		memcpy(arg->base_arg, &samples, sizeof(samples));
		break;
	case PFM_PROG_SMPL_NWAY:
		memcpy(arg->base_arg, &regions, sizeof(regions));
		break;
	case PFM_PROG_SMPL_STACK:
		memcpy(arg->base_arg, &stacks, sizeof(stacks));
	}
}

/* Creates a context with the flags in ctx. Returns its descriptor, or -1. */
static inline int any_program(uint64_t seed, pfarg_ctx_t *ctx)
{
	struct pfm_bpf_insn insns[BPF_RANDOM_MAX + 3];
	pfm_prog_smpl_arg_t arg = { .insns = (uintptr_t)insns, .num_insns = any_insns(&seed, insns),
				    .num_buckets = bpf_random(&seed, ANY_BUCKETS) };

	any_base(&seed, &arg);
	if (!bpf_random(&seed, 16))
		/* claims more instructions than there are */
		arg.num_insns += bpf_random(&seed, PFM_PROG_SMPL_MAX_INSNS);
	if (!bpf_random(&seed, 16))
		arg.num_buckets = bpf_random(&seed, PFM_PROG_SMPL_MAX_BUCKETS + 2);
	return pfm_create_context_name(ctx, PFM_PROG_SMPL_NAME, &arg, sizeof(arg));
}

#endif
