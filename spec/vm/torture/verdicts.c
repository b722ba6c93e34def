// SPDX-License-Identifier: MIT
/*
 * verdicts.c - the kernel's compiled BPF in perfmon.ko decides as pfm_bpf_run() does: random
 * programs run at hundreds of overflows each, on records that are random and known. For these, PMDs
 * that count nothing are sampled, and reset at each overflow to a base plus a number of Carta's
 * generator (3.4.2), which this program draws, too.
 *
 *   verdicts [RECORDS [SEED]]
 */
#include "bpf_random.h"
#include "check.h"
#include "perfmon/perfmon_prog_smpl.h"

#define RECORDS		500		/* overflows of a program */
#define BUCKETS		256		/* verdicts are folded into so many */
#define LAST_PMD	128
#define MODULUS		0x7fffffffU	/* of Carta's generator */

static uint64_t seed = 1, records = 100000;
static uint64_t judged, divided;
static unsigned int undecided;		/* programs with a verdict that depends on the record */
static uint16_t plain[LAST_PMD];	/* PMDs that hold what is written to them */
static unsigned int num_plain;

/* --- records ---------------------------------------------------------------------------------- */

/* A PMD that is sampled, and the state of its random numbers. */
struct series {
	uint16_t	pmd;
	uint64_t	value, base, mask;
	uint32_t	state;
};

static uint32_t draw(uint32_t *state)
{
	uint32_t drawn = *state;

	*state = (uint32_t)((uint64_t)drawn * 16807 % MODULUS);
	return drawn;
}

/* Resets a PMD as the core does: a mask of more than 32 bits takes two random numbers. */
static void reset(struct series *s)
{
	uint64_t r = draw(&s->state);

	if (s->mask >> 32)
		r |= (uint64_t)draw(&s->state) << 32;
	s->value = s->base + (r & s->mask);
}

static uint64_t number(void)
{
	uint32_t words[2];

	bpf_random_record(&seed, words, sizeof(words));
	return (uint64_t)words[0] << 32 | words[1];
}

static struct series a_series(uint16_t pmd)
{
	static const uint64_t masks[] = { 0, 1, 3, 63, 0xffffffff, 0x300000003, ~0ULL };

	return (struct series){
		.pmd = pmd, .value = number(), .base = number(), .mask = masks[bpf_random(&seed, 7)],
		.state = 1 + bpf_random(&seed, MODULUS - 1),
	};
}

/* Chooses some of the PMDs that hold what is written to them, in ascending order. */
static unsigned int choose(struct series *s)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < num_plain && n < PFM_PROG_SMPL_VALUES; i++)
		if (bpf_random(&seed, 8))
			s[n++] = a_series(plain[i]);
	return n;
}

static pfm_prog_record_t next_record(struct series *s, unsigned int n)
{
	pfm_prog_record_t r = {
		.pid = (uint32_t)getpid(), .tid = (uint32_t)my_tid(), .last_reset_val = -1ULL, .ovfl_pmd = FAULTS,
		.num_values = n,
	};

	for (unsigned int i = 0; i < n; i++) {
		r.values[i] = s[i].value;
		reset(&s[i]);
	}
	return r;
}

/*
 * Returns the offsets of the words of the record that are known beforehand: all but address and
 * time. Of the values, these are all that may be sampled, one more, and the last.
 */
static unsigned int known_words(uint32_t *words)
{
	uint32_t end = (uint32_t)offsetof(pfm_prog_record_t, values[num_plain + 1]);
	unsigned int n = 0;

	for (uint32_t at = offsetof(pfm_prog_record_t, pid); at < end; at += sizeof(*words))
		words[n++] = at;
	words[n++] = offsetof(pfm_prog_record_t, values[PFM_PROG_SMPL_VALUES - 1]);
	return n;
}

/* --- the kernel's verdicts -------------------------------------------------------------------- */

static const uint32_t bucket_bits = PFM_PROG_BUCKET(0);

static uint32_t bucket_verdict(uint32_t verdict)
{
	return bucket_bits | bpf_fold(verdict);
}

/* Changes a program so that each verdict is a bucket; a division by 0 remains a drop. */
static unsigned int to_bucket(const struct pfm_bpf_insn *insns, unsigned int n, struct pfm_bpf_insn *to)
{
	memcpy(to, insns, n * sizeof(*to));
	bpf_redirect(to, n, n, bucket_verdict);
	n += bpf_fold_insns(to + n);
	to[n++] = (struct pfm_bpf_insn){ .code = PFM_BPF_ALU | PFM_BPF_OR, .k = bucket_bits };
	to[n++] = (struct pfm_bpf_insn){ .code = PFM_BPF_RET | PFM_BPF_A };
	return n;
}

static void mark(uint64_t *bits, uint16_t pmd)
{
	bits[pmd / 64] |= 1ULL << pmd % 64;
}

/* Makes each page fault an overflow that samples and resets the PMDs. */
static int program_faults(int fd, const struct series *s, unsigned int n)
{
	pfarg_pmd_t fault = { .reg_num = FAULTS, .reg_value = -1ULL, .reg_short_reset = -1ULL,
			      .reg_long_reset = -1ULL };

	for (unsigned int i = 0; i < n; i++) {
		pfarg_pmd_t pmd = {
			.reg_num = s[i].pmd, .reg_flags = PFM_REGFL_RANDOM, .reg_value = s[i].value,
			.reg_short_reset = s[i].base, .reg_random_mask = s[i].mask, .reg_random_seed = s[i].state,
		};

		mark(fault.reg_smpl_pmds, s[i].pmd);
		mark(fault.reg_reset_pmds, s[i].pmd);
		if (pfm_write_pmds(fd, &pmd, 1))
			return -1;
	}
	if (set_pmc(fd, 0, FAULTS, SW_USER) || pfm_write_pmds(fd, &fault, 1))
		return -1;
	return load(fd, my_tid()) || pfm_start(fd, NULL) ? -1 : 0;
}

static void compare(const struct pfm_bpf_insn *insns, unsigned int n, struct series *s, unsigned int num,
		    const pfm_prog_smpl_hdr_t *h)
{
	const uint64_t *buckets = (const uint64_t *)(h + 1);
	uint64_t expected[BUCKETS] = { 0 };
	unsigned int different = 0;

	TRUE(h->hdr_runs >= RECORDS && !h->hdr_outside);
	for (uint64_t i = 0; i < h->hdr_runs; i++) {
		pfm_prog_record_t record = next_record(s, num);
		uint32_t verdict = pfm_bpf_run(insns, &record, sizeof(record));

		if (verdict)
			expected[verdict & ~bucket_bits]++;
		else
			divided++;
	}
	for (unsigned int i = 0; i < BUCKETS; i++) {
		different += expected[i] > 0;
		if (!check(buckets[i] == expected[i], "bucket %u has %llu, not %llu", i, (unsigned long long)buckets[i],
			   (unsigned long long)expected[i])) {
			bpf_dump(insns, n);
			return;
		}
	}
	undecided += different > 1;
	judged += h->hdr_runs;
}

static void try_program(const struct pfm_bpf_insn *insns, unsigned int n)
{
	pfm_prog_smpl_arg_t arg = { .insns = (uintptr_t)insns, .num_insns = n, .num_buckets = BUCKETS };
	struct series s[PFM_PROG_SMPL_VALUES];
	unsigned int num = choose(s);
	pfarg_ctx_t ctx = { 0 };
	const void *buffer;
	int fd;

	MUST(fd = pfm_create_context_name(&ctx, PFM_PROG_SMPL_NAME, &arg, sizeof(arg)));
	buffer = pfm_map_buffer(fd, ctx.ctx_smpl_buf_size);
	TRUE(buffer != MAP_FAILED);
	MUST(program_faults(fd, s, num));
	fault(RECORDS);
	MUST(pfm_stop(fd));
	compare(insns, n, s, num, buffer);
	close(fd);
}

static void find_plain_pmds(void)
{
	int fd;

	MUST(fd = new_context(0));
	for (uint16_t i = 0; i < LAST_PMD; i++)
		if (i != FAULTS && !set_pmd(fd, 0, i, ~0ULL - i) && get_pmd(fd, 0, i) == ~0ULL - i)
			plain[num_plain++] = i;
	close(fd);
	TRUE(num_plain > 5);
}

static void the_kernel_decides_as_the_interpreter(void)
{
	struct pfm_bpf_insn insns[BPF_RANDOM_MAX], theirs[BPF_RANDOM_MAX + 4];
	uint32_t words[sizeof(pfm_prog_record_t) / sizeof(uint32_t)];
	unsigned int num, programs = 0;

	pin(0);		/* the CPU must not change, as it is a word of the record */
	find_plain_pmds();
	num = known_words(words);
	while (judged < records && !test_failed) {
		unsigned int n = bpf_random_judge(&seed, insns, words, num);

		n = to_bucket(insns, n, theirs);
		try_program(theirs, n);
		programs++;
	}
	printf("# %llu records of %u programs, %u of more than one verdict, %u PMDs; %llu divisions by 0\n",
	       (unsigned long long)judged, programs, undecided, num_plain, (unsigned long long)divided);
	TRUE(undecided > programs / 4);
}

int main(int argc, char **argv)
{
	records = argc > 1 ? (uint64_t)atoll(argv[1]) : records;
	seed = argc > 2 ? (uint64_t)atoll(argv[2]) | 1 : seed;
	printf("# verdicts: %llu records, seed %llu\n", (unsigned long long)records, (unsigned long long)seed);
	TEST(the_kernel_decides_as_the_interpreter);
	return tests_failed > 0;
}
