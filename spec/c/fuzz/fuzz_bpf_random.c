// SPDX-License-Identifier: MIT
/*
 * fuzz_bpf_random.c - fuzz_bpf.c without libFuzzer: random programs, alone and in rows; accepted
 * ones are tried again with small changes.
 *
 *   fuzz_bpf_random SEED PROGRAMS
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bpf_random.h"
#include "perfmon/perfmon_prog_smpl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	/* offsets of loads: some between words, some beyond the record */
	OFFSETS = sizeof(pfm_prog_record_t) / 4 + 8,
	MUTANTS = 4,		/* mutants of an accepted program */
	CHANGES = 3,		/* most changes in a mutant */
	ENDLESS = 600,		/* s that a thousand programs may take */
};

static uint64_t seed, judged, taken;
static uint32_t offsets[OFFSETS];

static bool try(const struct pfm_bpf_insn *insns, unsigned int n)
{
	bool took = !LLVMFuzzerTestOneInput((const uint8_t *)insns, n * sizeof(*insns));

	judged++;
	taken += took;
	return took;
}

/* Makes a program, or seldom a row of programs in which only the last returns at its end. */
static unsigned int generate(struct pfm_bpf_insn *insns)
{
	const uint32_t most = PFM_PROG_SMPL_MAX_INSNS / BPF_RANDOM_MAX;
	unsigned int parts = bpf_random(&seed, 16) ? 1 : 1 + bpf_random(&seed, most);
	unsigned int n = 0, wild = parts > 1 ? bpf_random(&seed, 2) << 10 : bpf_random(&seed, 64);

	for (;;) {
		n += bpf_random_program(&seed, insns + n, offsets, OFFSETS, wild);
		if (!--parts)
			return n;
		insns[n - 1] = (struct pfm_bpf_insn){ .code = PFM_BPF_MISC };
	}
}

static void misplace_an_offset(void)
{
	unsigned int at = bpf_random(&seed, OFFSETS);

	offsets[at] = at * 4 + (bpf_random(&seed, 8) ? 0 : bpf_random(&seed, 4));
}

/* Changes a bit, replaces an instruction by another of the program, or removes one. */
static unsigned int change(struct pfm_bpf_insn *insns, unsigned int n)
{
	unsigned int pc = bpf_random(&seed, n);

	switch (bpf_random(&seed, 4)) {
	case 0:
		insns[pc] = insns[bpf_random(&seed, n)];
		return n;
	case 1:
		memmove(&insns[pc], &insns[pc + 1], (n - pc - 1) * sizeof(*insns));
		return n > 1 ? n - 1 : n;
	default:
		((uint8_t *)&insns[pc])[bpf_random(&seed, sizeof(*insns))] ^= 1 << bpf_random(&seed, 8);
		return n;
	}
}

static void try_mutants(const struct pfm_bpf_insn *insns, unsigned int n)
{
	struct pfm_bpf_insn mutant[PFM_PROG_SMPL_MAX_INSNS];

	for (int i = 0; i < MUTANTS; i++) {
		unsigned int m = n;

		memcpy(mutant, insns, n * sizeof(*insns));
		for (uint32_t changes = 1 + bpf_random(&seed, CHANGES); changes--; )
			m = change(mutant, m);
		try(mutant, m);
	}
}

int main(int argc, char **argv)
{
	struct pfm_bpf_insn insns[PFM_PROG_SMPL_MAX_INSNS];
	uint64_t programs;

	if (argc < 3)
		return 2;
	seed = strtoull(argv[1], NULL, 0) | 1;
	programs = strtoull(argv[2], NULL, 0);
	printf("seed %llu\n", (unsigned long long)seed);
	fflush(stdout);
	for (unsigned int i = 0; i < OFFSETS; i++)
		offsets[i] = i * 4;
	for (uint64_t i = 0; i < programs; i++) {
		unsigned int n;

		if (i % 1000 == 0)
			alarm(ENDLESS);
		misplace_an_offset();
		n = generate(insns);
		if (try(insns, n))
			try_mutants(insns, n);
	}
	printf("%llu programs and mutants judged, %llu taken\n", (unsigned long long)judged, (unsigned long long)taken);
	return 0;
}
