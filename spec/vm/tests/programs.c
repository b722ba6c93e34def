// SPDX-License-Identifier: MIT
/*
 * programs.c - the format "program" in the kernel: the effects of its verdicts, and what it
 * refuses. verdicts.c tests random programs.
 */
#include <linux/filter.h>
#include <sys/resource.h>

#include "perfmon/perfmon_prog_smpl.h"
#include "users.h"

#define LD(field)	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(pfm_prog_record_t, field))
#define KEEP_ALL	BPF_STMT(BPF_RET | BPF_K, PFM_PROG_KEEP)
#define MINOR		67		/* PMD of minor faults, which is sampled */
#define ROUNDS		600
#define BUFFER		(1 << 17)

/* --- contexts --------------------------------------------------------------------------------- */

static int create(const struct sock_filter *insns, unsigned int n, uint32_t buckets, uint32_t base, size_t *size)
{
	pfm_prog_smpl_arg_t arg = {
		.insns = (uintptr_t)insns, .num_insns = n, .num_buckets = buckets, .base = base,
	};
	pfarg_ctx_t ctx = { 0 };
	int fd;

	if (base)
		arg.base_arg[0] = BUFFER;	/* for each base: the buffer's size, and flags 0 */
	if (base == PFM_PROG_SMPL_NWAY)
		arg.base_arg[1] = 2ULL << 32;	/* num_regions */
	fd = pfm_create_context_name(&ctx, PFM_PROG_SMPL_NAME, &arg, sizeof(arg));
	if (size)
		*size = ctx.ctx_smpl_buf_size;
	return fd;
}

/* Makes each page fault an overflow that samples the number of minor faults. */
static int program_faults(int fd)
{
	pfarg_pmd_t pmd = { .reg_num = FAULTS, .reg_flags = PFM_REGFL_OVFL_NOTIFY, .reg_value = -1ULL,
			    .reg_short_reset = -1ULL, .reg_long_reset = -1ULL,
			    .reg_smpl_pmds = { 0, 1 << (MINOR - 64) } };

	if (set_pmc(fd, 0, FAULTS, SW_USER) || set_pmc(fd, 0, MINOR, SW_USER) || set_pmd(fd, 0, MINOR, 0) ||
	    pfm_write_pmds(fd, &pmd, 1))
		return -1;
	return load(fd, my_tid()) || pfm_start(fd, NULL) ? -1 : 0;
}

static const pfm_prog_smpl_hdr_t *mapped(int fd, size_t size)
{
	const void *at = pfm_map_buffer(fd, size);

	return at == MAP_FAILED ? NULL : at;
}

static const uint64_t *buckets_of(const pfm_prog_smpl_hdr_t *h)
{
	return (const uint64_t *)(h + 1);
}

#define N(insns) (sizeof(insns) / sizeof((insns)[0]))

/* --- verdicts --------------------------------------------------------------------------------- */

static void counts_in_buckets(void)
{
	const struct sock_filter insns[] = {
		LD(values[0]),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 7),
		BPF_STMT(BPF_ALU | BPF_OR | BPF_K, PFM_PROG_BUCKET(0)),
		BPF_STMT(BPF_RET | BPF_A, 0),
	};
	const pfm_prog_smpl_hdr_t *h;
	uint64_t sum = 0;
	size_t size;
	int fd;

	fault(1);
	MUST(fd = create(insns, N(insns), 7, PFM_PROG_SMPL_NONE, &size));
	MUST(program_faults(fd));
	fault(ROUNDS * 8);
	MUST(pfm_stop(fd));
	TRUE((h = mapped(fd, size)) != NULL);
	for (int i = 0; h && i < 7; i++) {
		check(buckets_of(h)[i] >= ROUNDS && buckets_of(h)[i] <= ROUNDS + 1, "bucket %d has %llu", i,
		      (unsigned long long)buckets_of(h)[i]);
		sum += buckets_of(h)[i];
	}
	if (h) {
		TRUE(h->hdr_outside >= ROUNDS && h->hdr_outside <= ROUNDS + 1);
		EQUAL(h->hdr_runs, sum + h->hdr_outside);
		EQUAL(h->hdr_kept, 0);
	}
	close(fd);
}

/* Keeps every third of the values 0, 1, ...: FAULTS overflows before MINOR counts the fault. */
static void keeps_what_it_is_told(void)
{
	const struct sock_filter insns[] = {
		LD(values[0]),
		BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, 3),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
		KEEP_ALL,
		BPF_STMT(BPF_RET | BPF_K, PFM_PROG_DROP),
	};
	const pfm_prog_smpl_hdr_t *h;
	const pfm_dfl_smpl_hdr_t *samples;
	const pfm_dfl_smpl_entry_t *e;
	size_t size;
	int fd;

	MUST(fd = create(insns, N(insns), 0, PFM_PROG_SMPL_DEFAULT, &size));
	MUST(program_faults(fd));
	fault(ROUNDS);
	MUST(pfm_stop(fd));
	h = mapped(fd, size);
	TRUE(h != NULL);
	if (!h)
		return;
	samples = (const void *)((const char *)h + h->hdr_base_offs);
	EQUAL(h->hdr_kept, samples->hdr_count);
	TRUE(h->hdr_runs >= ROUNDS && h->hdr_kept == (h->hdr_runs + 2) / 3);
	e = (const void *)(samples + 1);
	for (uint64_t i = 0; i < samples->hdr_count; i++) {
		EQUAL(*(const uint64_t *)(e + 1), 3 * i);
		EQUAL(e->pid, my_tid());
		e = (const void *)((const char *)(e + 1) + sizeof(uint64_t));
	}
	close(fd);
}

static void has_each_base(void)
{
	const struct sock_filter insns[] = { KEEP_ALL };

	for (uint32_t base = PFM_PROG_SMPL_DEFAULT; base <= PFM_PROG_SMPL_STACK; base++) {
		const pfm_prog_smpl_hdr_t *h;
		size_t size;
		int fd;

		MUST(fd = create(insns, N(insns), 3, base, &size));
		MUST(program_faults(fd));
		fault(20);
		MUST(pfm_stop(fd));
		TRUE((h = mapped(fd, size)) && h->hdr_kept >= 20 && h->hdr_base == base);
		close(fd);
	}
}

static void masks_stops_and_notifies(void)
{
	struct sock_filter insns[] = { BPF_STMT(BPF_RET | BPF_K, PFM_PROG_MASK | PFM_PROG_NOTIFY) };
	const pfm_prog_smpl_hdr_t *h;
	pfarg_msg_t msg;
	size_t size;
	int fd;

	MUST(fd = create(insns, 1, 0, PFM_PROG_SMPL_NONE, &size));
	MUST(program_faults(fd));
	fault(50);
	TRUE((h = mapped(fd, size)) && h->hdr_runs == 1);
	EQUAL(read(fd, &msg, sizeof(msg)), sizeof(msg));
	EQUAL(msg.type, PFM_MSG_OVFL);
	MUST(pfm_restart(fd));
	fault(50);
	EQUAL(h->hdr_runs, 2);
	close(fd);
	insns[0].k = PFM_PROG_STOP;
	MUST(fd = create(insns, 1, 0, PFM_PROG_SMPL_NONE, &size));
	MUST(program_faults(fd));
	fault(50);
	TRUE((h = mapped(fd, size)) && h->hdr_stopped);
	MUST(pfm_restart(fd));
	fault(50);
	EQUAL(h->hdr_runs, 1);
	close(fd);
}

/* Programs also run at overflows of the PMU, on x86 in NMIs. */
static void judges_the_pmus_overflows(void)
{
	const struct sock_filter insns[] = {
		LD(tid),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)my_tid(), 0, 1),
		BPF_STMT(BPF_RET | BPF_K, PFM_PROG_BUCKET(1)),
		BPF_STMT(BPF_RET | BPF_K, PFM_PROG_BUCKET(0)),
	};
	const pfm_prog_smpl_hdr_t *h;
	size_t size;
	int fd;

	MUST(fd = create(insns, N(insns), 2, PFM_PROG_SMPL_NONE, &size));
	MUST(set_pmc(fd, 0, CYC, CYC_PMC(USER)));
	MUST(set_period(fd, 0, CYC, 20000, PFM_REGFL_OVFL_NOTIFY));
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	spin(5000000);
	MUST(pfm_stop(fd));
	TRUE((h = mapped(fd, size)) && h->hdr_runs > 10 && buckets_of(h)[1] == h->hdr_runs && !buckets_of(h)[0]);
	close(fd);
}

/* --- what is refused, and charged ------------------------------------------------------------- */

#define REFUSED(err, ...) do { \
	const struct sock_filter insns_[] = { __VA_ARGS__ }; \
	FAILS(create(insns_, N(insns_), 0, PFM_PROG_SMPL_NONE, NULL), err); \
} while (0)

static void refuses_other_loads(void)
{
	const struct sock_filter end = BPF_STMT(BPF_RET | BPF_K, 0);

	REFUSED(EINVAL, BPF_STMT(BPF_LD | BPF_W | BPF_ABS, sizeof(pfm_prog_record_t)), end);
	TRUE(strstr(pfm_explain(), "no word of the record"));
	REFUSED(EINVAL, BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 2), end);
	REFUSED(EINVAL, BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)-4), end);
	REFUSED(EINVAL, BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)SKF_NET_OFF), end);
	for (int at = 0; at < SKF_AD_MAX; at++)
		REFUSED(EINVAL, BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + at)), end);
	REFUSED(EINVAL, BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 0), end);
	REFUSED(EINVAL, BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0), end);
	REFUSED(EINVAL, BPF_STMT(BPF_LD | BPF_W | BPF_IND, 0), end);
	REFUSED(EINVAL, BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0), end);
	REFUSED(EINVAL, BPF_STMT(BPF_LDX | BPF_W | BPF_ABS, 0), end);
	REFUSED(EINVAL, BPF_STMT(BPF_LD | BPF_MEM, 0), end);
	REFUSED(EINVAL, BPF_STMT(BPF_LD | BPF_IMM, 0));
	FAILS(create(NULL, 1, 0, PFM_PROG_SMPL_NONE, NULL), EFAULT);
	FAILS(create((const void *)-4096, 1, 0, PFM_PROG_SMPL_NONE, NULL), EFAULT);
	FAILS(create(&end, 0, 0, PFM_PROG_SMPL_NONE, NULL), EINVAL);
	FAILS(create(&end, PFM_PROG_SMPL_MAX_INSNS + 1, 0, PFM_PROG_SMPL_NONE, NULL), EINVAL);
	FAILS(create(&end, 1, PFM_PROG_SMPL_MAX_BUCKETS + 1, PFM_PROG_SMPL_NONE, NULL), EINVAL);
	FAILS(create(&end, 1, 0, PFM_PROG_SMPL_STACK + 1, NULL), EINVAL);
}

enum { MOST = 128 };

/* Returns how many contexts with a program of n instructions can be created, at most MOST. */
static int room_for(unsigned int n)
{
	static struct sock_filter insns[PFM_PROG_SMPL_MAX_INSNS];
	int fds[MOST], i = 0;

	for (unsigned int k = 0; k < n; k++)
		insns[k] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, k);
	while (i < MOST && (fds[i] = create(insns, n, 0, PFM_PROG_SMPL_NONE, NULL)) >= 0)
		i++;
	for (int k = 0; k < i; k++)
		close(fds[k]);
	return i;
}

static int small_and_large(int unused)
{
	struct rlimit limit = { 512 << 10, 512 << 10 };
	int small, large;

	(void)unused;
	if (setrlimit(RLIMIT_MEMLOCK, &limit))
		return 2;
	small = room_for(1);
	large = room_for(PFM_PROG_SMPL_MAX_INSNS);
	return small < MOST && large > 0 && large < small ? 0 : 1;
}

static void programs_are_charged(void)
{
	write_to("/proc/sys/kernel/perf_event_paranoid", "2");
	write_to("/proc/sys/kernel/perf_event_mlock_kb", "0");
	EQUAL(as_user(NOBODY, 0, small_and_large, 0), 0);
	write_to("/proc/sys/kernel/perf_event_mlock_kb", "516");
}

int main(void)
{
	TEST(counts_in_buckets);
	TEST(keeps_what_it_is_told);
	TEST(has_each_base);
	TEST(masks_stops_and_notifies);
	TEST(judges_the_pmus_overflows);
	TEST(refuses_other_loads);
	TEST(programs_are_charged);
	return tests_failed > 0;
}
