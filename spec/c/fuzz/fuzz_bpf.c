// SPDX-License-Identifier: MIT
/*
 * fuzz_bpf.c - one input is a program. The verifier must accept it if it breaks none of the rules;
 * then it runs over records. Program, records and the verifier's memory have exact sizes, so that
 * ASan reports accesses outside.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bpf_random.h"
#include "bpf_rules.h"
#include "perfmon/perfmon_prog_smpl.h"

_Static_assert(sizeof(struct sock_filter) == sizeof(struct pfm_bpf_insn), "both are instructions");

/* each program runs on so many random records, and on a record of zeros and a record of ones */
enum { RECORDS = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void broken(const struct pfm_bpf_insn *insns, unsigned int n, const char *what)
{
	bpf_dump(insns, n);
	printf("%s\n", what);
	fflush(stdout);
	abort();
}

/*
 * Runs the program over a record, which must not change, and over a copy of only the bytes that
 * pfm_bpf_reach() says it reads. Both verdicts must be equal.
 */
static void run_over(const struct pfm_bpf_insn *insns, unsigned int n, const pfm_prog_record_t *from)
{
	size_t reach = pfm_bpf_reach(insns, n);
	uint8_t *record = malloc(sizeof(*from)), *part;
	uint32_t verdict;

	if (reach > sizeof(*from))
		broken(insns, n, "reaches beyond the record");
	memcpy(record, from, sizeof(*from));
	verdict = pfm_bpf_run(insns, record, sizeof(*from));
	if (memcmp(record, from, sizeof(*from)))
		broken(insns, n, "writes to the record");
	part = malloc(reach);
	memcpy(part, from, reach);
	if (pfm_bpf_run(insns, part, sizeof(*from)) != verdict)
		broken(insns, n, "its verdict depends on more than the record");
	free(part);
	free(record);
}

static void run(const struct pfm_bpf_insn *insns, unsigned int n)
{
	uint64_t seed = insns[n - 1].k | 1;
	pfm_prog_record_t record;

	memset(&record, 0, sizeof(record));
	run_over(insns, n, &record);
	memset(&record, 0xff, sizeof(record));
	run_over(insns, n, &record);
	for (int i = 0; i < RECORDS; i++) {
		bpf_random_record(&seed, &record, sizeof(record));
		run_over(insns, n, &record);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int n = (unsigned int)(size / sizeof(struct pfm_bpf_insn));
	struct pfm_bpf_insn *insns;
	const char *rule;
	uint16_t *room;
	int taken;

	if (!n || n > PFM_PROG_SMPL_MAX_INSNS)
		return -1;
	insns = malloc(n * sizeof(*insns));
	room = malloc(n * sizeof(*room));
	memcpy(insns, data, n * sizeof(*insns));
	taken = !pfm_bpf_check(insns, n, sizeof(pfm_prog_record_t), room);
	rule = bpf_broken_rule((const struct sock_filter *)insns, n);
	if (taken && rule)
		broken(insns, n, rule);
	if (!taken && !rule)
		broken(insns, n, "is refused, and breaks no rule");
	if (taken)
		run(insns, n);
	free(room);
	free(insns);
	return taken - 1;	/* -1: libFuzzer does not keep refused programs */
}
