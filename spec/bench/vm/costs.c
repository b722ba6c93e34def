// SPDX-License-Identifier: MIT
/*
 * costs.c - the costs of perfmon.ko and of perf_event for the same work in the same boot, in guest
 * instructions. Prints by operation: name, perfmon, perf_event, mark (perfmon may cost no more).
 *
 * In the emulated machine every instruction, user or kernel, takes 2 ns of the guest's clock, which
 * so counts instructions. Batches are timed as a whole; their median counts, less the empty loop.
 */
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include "../../../kernel/regions/file.h"
#include "check.h"
#include "perfmon/perfmon_fast.h"
#include "perfmon/perfmon_prog_smpl.h"
#include "perfmon/perfmon_stack_smpl.h"
#include "perfmon/regions.h"

#define BATCHES		101
#define FRAMES		10		/* most frames of a recorded stack */
#define LEAF		256		/* bytes of the stack that lpfm copies, to find the caller of a leaf */

/* The marks, limits of the costs, are those of arm64. */
#ifdef __aarch64__
#define TITLE		"guest instructions, arm64, one processor"
#define HAS_MARKS	true
#else
#define TITLE		"guest instructions, x86-64, one processor"
#define HAS_MARKS	false
#endif

static uint64_t ticks_per_million;	/* clock ticks in which a million instructions run */

static inline uint64_t ticks(void)
{
	uint64_t t;

#ifdef __aarch64__
	asm volatile("isb; mrs %0, cntvct_el0" : "=r"(t) : : "memory");
#else
	uint32_t low, high;

	asm volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
	t = (uint64_t)high << 32 | low;
#endif
	return t;
}

static void calibrate(void)
{
	uint64_t best = ~0ULL;

	for (int i = 0; i < 20; i++) {
		uint64_t t = ticks();

		spin(500000);
		t = ticks() - t;
		best = t < best ? t : best;
	}
	ticks_per_million = best;
}

static double instructions(double ticks_taken)
{
	return ticks_taken * 1e6 / ticks_per_million;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, int n)
{
	qsort(v, n, sizeof(*v), by_size);
	return v[n / 2];
}

#define MEASURE(result, times, statement) do { \
	double v_[BATCHES], e_[BATCHES]; \
	for (int b_ = 0; b_ < BATCHES; b_++) { \
		uint64_t t_ = ticks(); \
		for (int i_ = 0; i_ < (times); i_++) \
			asm volatile("" : : : "memory"); \
		e_[b_] = (double)(ticks() - t_); \
		t_ = ticks(); \
		for (int i_ = 0; i_ < (times); i_++) { \
			statement; \
			asm volatile("" : : : "memory"); \
		} \
		v_[b_] = (double)(ticks() - t_); \
	} \
	(result) = instructions(median(v_, BATCHES) - median(e_, BATCHES)) / (times); \
} while (0)

static void report(const char *what, double ours, double perfs, double mark)
{
	char theirs[32] = "-", ratio[32] = "-", limit[32] = "-";

	if (perfs > 0) {
		snprintf(theirs, sizeof(theirs), "%.0f", perfs);
		snprintf(ratio, sizeof(ratio), "%.2f", ours / perfs);
	}
	if (!HAS_MARKS)
		mark = 0, limit[0] = 0;
	if (mark > 0)
		snprintf(limit, sizeof(limit), "%.0f", mark);
	printf("  %-56s %8.0f %10s %6s %7s%s\n", what, ours, theirs, ratio, limit,
	       mark > 0 && ours > mark ? " missed" : "");
	fflush(stdout);
}

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	printf("costs: %s: %s (%s)\n", what, strerror(errno), pfm_explain());
	exit(1);
}

/* --- perf's side ------------------------------------------------------------------------------ */

static int perf_open(uint64_t event, int group, uint64_t read_format, uint64_t period, uint64_t type)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW, .config = event, .size = sizeof(attr), .exclude_kernel = 1,
		.read_format = read_format, .sample_period = period, .sample_type = type,
		.sample_max_stack = type & PERF_SAMPLE_CALLCHAIN ? FRAMES : 0,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, group, 0);

	must(fd >= 0, "perf_event_open");
	return fd;
}

static int perf_group(int *fds, int n)
{
	for (int i = 0; i < n; i++)
		fds[i] = perf_open(i ? INST : CYCLES, i ? fds[0] : -1, PERF_FORMAT_GROUP, 0, 0);
	return fds[0];
}

static void close_all(int *fds, int n)
{
	while (n-- > 0)
		close(fds[n]);
}

/* --- ours ------------------------------------------------------------------------------------ */

static int counting_as(int n, uint32_t flags)
{
	int fd = new_context(flags);

	must(fd >= 0, "create");
	must(!set_pmc(fd, 0, CYC, CYC_PMC(USER)), "PMC of cycles");
	for (int i = 0; i < n - 1; i++)
		must(!set_pmc(fd, 0, i, USER | INST), "PMC");
	must(!load(fd, my_tid()) && !pfm_start(fd, NULL), "load, start");
	return fd;
}

static int counting(int n)
{
	return counting_as(n, 0);
}

static int reg_of(int i)
{
	return i ? i - 1 : CYC;
}

static void on_nothing(int sig)
{
	(void)sig;
}

static void floors(void)
{
	int null = open("/dev/null", O_RDWR);
	double v;

	MEASURE(v, 100, syscall(SYS_getpid));
	report("getpid", v, 0, 0);
	MEASURE(v, 100, ioctl(null, PERF_EVENT_IOC_RESET, 0));
	report("an ioctl that does nothing", v, 0, 0);
	close(null);
	signal(SIGIO, on_nothing);
	MEASURE(v, 100, kill(getpid(), SIGIO));
	report("a signal to oneself, and its handler", v, 0, 0);
}

static void reads(int n, double mark, const char *what)
{
	int fds[4], fd = counting(n);
	uint64_t values[5];
	pfarg_pmd_t v[4] = { { 0 } };
	double ours, perfs;

	for (int i = 0; i < n; i++)
		v[i].reg_num = (uint16_t)reg_of(i);
	MEASURE(ours, 100, pfm_read_pmds(fd, v, n));
	close(fd);
	if (n == 1)
		fds[0] = perf_open(CYCLES, -1, 0, 0, 0);
	else
		perf_group(fds, n);
	MEASURE(perfs, 100, must(read(fds[0], values, sizeof(values)) > 0, "read"));
	close_all(fds, n);
	report(what, ours, perfs, mark);
}

/* --- at user level ---------------------------------------------------------------------------- */

static void allow_user_access(void)
{
	FILE *f = fopen("/proc/sys/kernel/perf_user_access", "w");

	if (f) {
		fputs("1", f);
		fclose(f);
	}
}

/* Reads a counter as the comment in struct perf_event_mmap_page says, without scaling. */
static inline uint64_t page_read(const volatile struct perf_event_mmap_page *page)
{
	uint32_t seq, index;
	uint64_t count;

	do {
		seq = page->lock;
		PFM_FAST_BARRIER();
		index = page->index;
		count = (uint64_t)page->offset;
		if (page->cap_user_rdpmc && index) {
			unsigned int unused = 64 - page->pmc_width;

			count += (uint64_t)((int64_t)(pfm_fast_register(index) << unused) >> unused);
		}
		PFM_FAST_BARRIER();
	} while (page->lock != seq);
	return count;
}

static int perf_mapped(uint64_t event, volatile struct perf_event_mmap_page **page)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_RAW, .config = event, .size = sizeof(attr),
					.exclude_kernel = 1 };
	int fd;

#ifdef __aarch64__
	attr.config1 = 2;
#endif
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	must(fd >= 0, "perf_event_open");
	*page = (mmap)(NULL, (size_t)getpagesize(), PROT_READ, MAP_SHARED, fd, 0);
	must(*page != MAP_FAILED && (*page)->index, "perf's page");
	return fd;
}

/* Inlining makes n and nums constants, as they are in programs. */
static inline __attribute__((always_inline)) double ours_at_user_level(int n)
{
	static const uint16_t nums[4] = { 0, 1, 2, 3 };
	int fd = new_context(PFM_FL_MAP_SETS);
	uint64_t values[4];
	pfm_view_t view;
	double cost;

	must(fd >= 0, "create");
	for (int i = 0; i < n; i++)
		must(!set_pmc(fd, 0, i, USER | (i ? INST : CYCLES)), "PMC");
	must(!load(fd, my_tid()) && !pfm_start(fd, NULL), "load, start");
	must(!pfm_map_set(fd, 0, &view), "map_set");
	pfm_read_fast(&view, nums, values, n);	/* on x86 the first read enables rdpmc */
	must(pfm_read_fast(&view, nums, values, n) == 1, "a read without a call");
	MEASURE(cost, 100, pfm_read_fast(&view, nums, values, n));
	close(fd);
	return cost;
}

static inline __attribute__((always_inline)) double perfs_at_user_level(int n)
{
	volatile struct perf_event_mmap_page *pages[4];
	int fds[4];
	double cost;

	for (int i = 0; i < n; i++)
		fds[i] = perf_mapped(i ? INST : CYCLES, &pages[i]);
	MEASURE(cost, 100, {
		for (int i = 0; i < n; i++)
			page_read(pages[i]);
	});
	close_all(fds, n);
	for (int i = 0; i < n; i++)
		(munmap)((void *)pages[i], (size_t)getpagesize());
	return cost;
}

static void reads_at_user_level(void)
{
	allow_user_access();
	report("read one running counter at user level", ours_at_user_level(1), perfs_at_user_level(1), 31);
	report("read two, in one sequence", ours_at_user_level(2), perfs_at_user_level(2), 62);
	report("read four, in one sequence", ours_at_user_level(4), perfs_at_user_level(4), 124);
}

/*
 * Returns the cost of a region's start and stop. If no file is in use, the region is not measured.
 */
static double region_cost(void)
{
	double cost;

	MEASURE(cost, 100, {
		PFM_REGION_START("cost");
		PFM_REGION_STOP("cost");
	});
	return cost;
}

static void regions(void)
{
	char plan[256], path[64];

	report("a region's start and stop, not measured", region_cost(), 0, 10);
	snprintf(plan, sizeof(plan), "pmc 0 %llu\npmc 1 %llu\npmd 0\npmd 1\n", (unsigned long long)(USER | CYCLES),
		 (unsigned long long)(USER | INST));
	must(!pfm_regions_create(plan, path, sizeof(path)) && !pfm_regions_use(path), "a file of regions");
	report("a region's start and stop, two counters", region_cost(), 0, 150);
	unlink(path);
}

static void starts(int n, double mark, const char *what)
{
	int fds[4], fd = counting(n);
	double ours, perfs;

	MEASURE(ours, 100, (pfm_stop(fd), pfm_start(fd, NULL)));
	close(fd);
	perf_group(fds, n);
	MEASURE(perfs, 100, (ioctl(fds[0], PERF_EVENT_IOC_DISABLE, 0), ioctl(fds[0], PERF_EVENT_IOC_ENABLE, 0)));
	close_all(fds, n);
	report(what, ours, perfs, mark);
}

static void lives(void)
{
	double ours, perfs;
	pid_t self = my_tid();

	MEASURE(ours, 4, {
		int fd = new_context(0);

		set_pmc(fd, 0, CYC, CYC_PMC(USER));
		load(fd, self);
		pfm_unload_context(fd);
		close(fd);
	});
	MEASURE(perfs, 4, close(perf_open(CYCLES, -1, 0, 0, 0)));
	report("create + write_pmcs + load + unload + close, one counter", ours, perfs, 16000);
}

/* --- overflows: a fixed loop with them, less the same without --------------------------------- */

#define LOOP		5000000ULL	/* 10 million instructions, 20 million cycles */
#define PERIOD		10000ULL
#define OVERFLOWS	(4 * LOOP / PERIOD)

/* Makes a function have a frame pointer, whatever the compiler's flags are. */
#define HAS_FRAME()	asm volatile("" : : "r"(__builtin_frame_address(0)) : "memory")

static double timed_loop(void)
{
	double v[5];

	for (int i = 0; i < 5; i++) {
		uint64_t t = ticks();

		HAS_FRAME();
		spin(LOOP);
		v[i] = (double)(ticks() - t);
	}
	return instructions(median(v, 5));
}

static __attribute__((noinline)) double timed_loop_below(int frames)
{
	double took;

	HAS_FRAME();
	took = frames ? timed_loop_below(frames - 1) : timed_loop();
	HAS_FRAME();
	return took;
}

/* Times the loop under a stack of more frames than an overflow records. */
static double timed_deep_loop(void)
{
	return timed_loop_below(2 * FRAMES);
}

static double perf_overflow(double alone, uint64_t type, int members, bool ring)
{
	struct perf_event_mmap_page *map = NULL;
	uint64_t stack = (type & PERF_SAMPLE_CALLCHAIN) ? (2 + FRAMES) * sizeof(uint64_t) : 0;
	int fds[4];
	double cost;

	fds[0] = perf_open(CYCLES, -1, type & PERF_SAMPLE_READ ? PERF_FORMAT_GROUP : 0, PERIOD, type);
	for (int i = 1; i <= members; i++)
		fds[i] = perf_open(INST, fds[0], PERF_FORMAT_GROUP, 0, 0);
	if (ring) {
		map = (mmap)(NULL, 4096 * 513, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
		must(map != MAP_FAILED, "mmap");
	}
	cost = (timed_deep_loop() - alone) / OVERFLOWS;
	must(!stack || map->data_head > 5 * OVERFLOWS * stack, "stacks");
	if (map)
		(munmap)(map, 4096 * 513);
	close_all(fds, members + 1);
	return cost;
}

static double our_samples(double alone, int others)
{
	pfm_dfl_smpl_arg_t arg = { .buf_size = 4 << 20 };
	pfarg_pmd_t pmd = { .reg_num = CYC, .reg_value = -PERIOD, .reg_long_reset = -PERIOD,
			    .reg_short_reset = -PERIOD };
	pfarg_ctx_t ctx = { 0 };
	int fd = pfm_create_context(&ctx, "default", &arg, sizeof(arg));
	pfm_dfl_smpl_hdr_t *hdr;
	double cost;

	must(fd >= 0, "create");
	hdr = mmap(NULL, ctx.ctx_smpl_buf_size, PROT_READ, MAP_SHARED, fd, 0);
	must(hdr != MAP_FAILED, "mmap");
	must(!set_pmc(fd, 0, CYC, CYC_PMC(USER)), "PMC of cycles");
	for (int i = 0; i < others; i++) {
		must(!set_pmc(fd, 0, i, USER | INST), "PMC");
		pmd.reg_smpl_pmds[0] |= 1ULL << i;
	}
	must(!pfm_write_pmds(fd, &pmd, 1) && !load(fd, my_tid()) && !pfm_start(fd, NULL), "start");
	cost = (timed_loop() - alone) / OVERFLOWS;
	must(hdr->hdr_count >= 5 * OVERFLOWS, "samples");
	munmap(hdr, ctx.ctx_smpl_buf_size);
	close(fd);
	return cost;
}

/* Returns the cost of a sample with a call stack. leaf: also registers and the top of the stack. */
static double our_stacks(double alone, bool leaf)
{
	pfm_stack_smpl_arg_t arg = { .buf_size = 8 << 20, .max_frames = FRAMES,
				     .buf_flags = leaf ? PFM_STACK_SMPL_COPY : 0, .max_stack = leaf ? LEAF : 0 };
	size_t size = sizeof(pfm_stack_smpl_sample_t) + FRAMES * sizeof(uint64_t);
	pfarg_ctx_t ctx = { 0 };
	int fd = pfm_create_context_name(&ctx, PFM_STACK_SMPL_NAME, &arg, sizeof(arg));
	const pfm_stack_smpl_hdr_t *hdr;
	const pfm_stack_smpl_sample_t *first;
	double cost;

	must(fd >= 0, "create");
	hdr = pfm_map_buffer(fd, ctx.ctx_smpl_buf_size);
	must(hdr != MAP_FAILED, "map");
	must(!set_pmc(fd, 0, CYC, CYC_PMC(USER)) && !set_period(fd, 0, CYC, PERIOD, 0), "registers");
	must(!load(fd, my_tid()) && !pfm_start(fd, NULL), "start");
	cost = (timed_deep_loop() - alone) / OVERFLOWS;
	must(hdr->hdr_count >= 5 * OVERFLOWS, "samples");
	first = (const void *)(hdr + 1);
	must(!leaf == !first->num_regs && first->stack_size == (leaf ? LEAF : 0), "the leaf's bytes");
	size += first->num_regs * sizeof(uint64_t) + first->stack_size;
	must(hdr->hdr_cur_offs - sizeof(*hdr) == hdr->hdr_count * size, "stacks");
	close(fd);
	return cost;
}

/* Returns the cost of an overflow of which the format keeps no sample. */
static double our_judged(double alone, const char *format, void *arg, size_t size)
{
	pfarg_ctx_t ctx = { 0 };
	int fd = pfm_create_context_name(&ctx, format, arg, size);
	const uint64_t *counts;
	double cost;

	must(fd >= 0, "create");
	counts = pfm_map_buffer(fd, ctx.ctx_smpl_buf_size);
	must(counts != MAP_FAILED, "map");
	must(!set_pmc(fd, 0, CYC, CYC_PMC(USER)) && !set_period(fd, 0, CYC, PERIOD, 0), "registers");
	must(!load(fd, my_tid()) && !pfm_start(fd, NULL), "start");
	cost = (timed_loop() - alone) / OVERFLOWS;
	/* The buffer begins with a program's hdr_runs, or is tally's array of overflows by PMD. */
	must(counts[size ? 0 : CYC] >= 5 * OVERFLOWS, "overflows");
	close(fd);
	return cost;
}

/* The most that a BPF program may cost beyond a format that only counts overflows. */
#define MORE_BY_PROGRAM	60

static void judged(double alone)
{
	struct sock_filter filter[] = {		/* ip == 0x1000 */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(pfm_prog_record_t, ip) + 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(pfm_prog_record_t, ip)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x1000, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, PFM_PROG_KEEP),
		BPF_STMT(BPF_RET | BPF_K, PFM_PROG_DROP),
	};
	struct sock_filter bucket[] = {		/* tid & 63 */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(pfm_prog_record_t, tid)),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 63),
		BPF_STMT(BPF_ALU | BPF_OR | BPF_K, PFM_PROG_BUCKET(0)),
		BPF_STMT(BPF_RET | BPF_A, 0),
	};
	pfm_prog_smpl_arg_t dropping = { .insns = (uintptr_t)filter, .num_insns = 6 };
	pfm_prog_smpl_arg_t tallying = { .insns = (uintptr_t)bucket, .num_insns = 4, .num_buckets = 64 };
	double nothing = our_judged(alone, "tally", NULL, 0);

	report("an overflow for a format that counts it", nothing, 0, 0);
	report("one that a program drops", our_judged(alone, PFM_PROG_SMPL_NAME, &dropping, sizeof(dropping)), 0,
	       nothing + MORE_BY_PROGRAM);
	report("one that a program counts in a bucket",
	       our_judged(alone, PFM_PROG_SMPL_NAME, &tallying, sizeof(tallying)), 0, nothing + MORE_BY_PROGRAM);
}

/*
 * Returns the cost of an overflow that resets its counter or, if switching is true, switches sets.
 */
static double our_overflows(double alone, int counters, bool switching)
{
	pfarg_pmd_t pmd = { .reg_num = CYC, .reg_value = -PERIOD, .reg_long_reset = -PERIOD,
			    .reg_short_reset = -PERIOD, .reg_ovfl_switch_cnt = switching };
	pfarg_setdesc_t set = { .set_flags = PFM_SETFL_OVFL_SWITCH };
	int fd = new_context(0);
	double cost;

	must(fd >= 0, "create");
	for (int i = 0; i < 1 + switching; i++) {
		pmd.reg_set = set.set_id = (uint16_t)i;
		must(!pfm_create_evtsets(fd, &set, 1), "create_evtsets");
		must(!set_pmc(fd, i, CYC, CYC_PMC(USER)), "PMC of cycles");
		must(counters == 1 || !set_pmc(fd, i, 0, USER | (i ? CYCLES : INST)), "PMC");
		pmd.reg_ovfl_switch_cnt = switching ? 1 : ~0ULL;
		must(!pfm_write_pmds(fd, &pmd, 1), "PMD");
	}
	must(!load(fd, my_tid()) && !pfm_start(fd, NULL), "start");
	cost = (timed_loop() - alone) / OVERFLOWS;
	close(fd);
	return cost;
}

static void overflows(void)
{
	uint64_t words = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
	double alone = timed_loop();
	double still, moving, stacks;

	report("an overflow whose handler does (next to) nothing", our_overflows(alone, 1, false),
	       perf_overflow(alone, 0, 0, false), 1221);
	report("a sample: ip, pid, tid, time, cpu, last reset", our_samples(alone, 0),
	       perf_overflow(alone, words, 0, true), 1700);
	report("the same with two more counters", our_samples(alone, 2),
	       perf_overflow(alone, words | PERF_SAMPLE_READ, 2, true), 1850);
	stacks = perf_overflow(alone, words | PERF_SAMPLE_CALLCHAIN, 0, true);
	report("one with ten user frames, by frame pointers", our_stacks(alone, false), stacks, 2700);
	report("the same with the leaf's bytes (perf: without)", our_stacks(alone, true), stacks, 2900);
	judged(alone);
	still = our_overflows(alone, 2, false);
	moving = our_overflows(alone, 2, true);
	report("a switch of sets, 2 counters for 2, over the interrupt", moving - still, 0, 1500);
}

/* --- notification ----------------------------------------------------------------------------- */

static volatile int notified;
static int notify_fd;

static void on_ours(int sig)
{
	(void)sig;
	notified++;
	pfm_restart(notify_fd);
}

static void on_perfs(int sig)
{
	(void)sig;
	notified++;
	ioctl(notify_fd, PERF_EVENT_IOC_REFRESH, 1);
}

static double notify_cost(double alone, void (*handler)(int))
{
	double cost;

	signal(SIGIO, handler);
	fcntl(notify_fd, F_SETFL, O_ASYNC);
	fcntl(notify_fd, F_SETOWN, getpid());
	notified = 0;
	if (handler == on_ours)
		pfm_start(notify_fd, NULL);
	else
		ioctl(notify_fd, PERF_EVENT_IOC_REFRESH, 1);
	cost = timed_loop() - alone;
	must(notified > 0, "no notification");
	cost = cost * 5 / notified;
	close(notify_fd);
	return cost;
}

static void notifications(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_RAW, .config = CYCLES, .size = sizeof(attr),
					.exclude_kernel = 1, .disabled = 1, .sample_period = 100000 };
	double alone = timed_loop(), ours;

	notify_fd = new_context(PFM_FL_OVFL_NO_MSG);
	must(!set_pmc(notify_fd, 0, CYC, CYC_PMC(USER)) &&
	     !set_period(notify_fd, 0, CYC, 100000, PFM_REGFL_OVFL_NOTIFY) && !load(notify_fd, my_tid()), "setup");
	ours = notify_cost(alone, on_ours);
	notify_fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	must(notify_fd >= 0, "perf_event_open");
	report("an overflow by SIGIO, handler, restart", ours, notify_cost(alone, on_perfs), 8400);
}

/* --- context switches ------------------------------------------------------------------------- */

static void exchange(int from, int to, int n)
{
	char byte = 0;

	for (int i = 0; i < n; i++)
		if (read(from, &byte, 1) != 1 || write(to, &byte, 1) != 1)
			_exit(1);
}

/*
 * Returns the cost of a context switch between two processes that send each other a byte. In both,
 * open_counters() has opened counters of the calling thread.
 */
static double switch_cost(void (*open_counters)(void))
{
	int there[2], back[2];
	char byte = 0;
	double cost;
	pid_t child;

	must(!pipe(there) && !pipe(back), "pipe");
	child = fork();
	if (!child) {
		if (open_counters)
			open_counters();
		exchange(there[0], back[1], 10 + BATCHES * 50);
		_exit(0);
	}
	if (open_counters)
		open_counters();
	for (int i = 0; i < 10; i++)
		must(write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1, "pipe");
	MEASURE(cost, 50, must(write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1, "pipe"));
	waitpid(child, NULL, 0);
	close(there[0]), close(there[1]), close(back[0]), close(back[1]);
	return cost / 2;
}

static int opened[8];
static int num_opened;

static void open_ours(void)
{
	opened[num_opened++] = counting(4);
}

static void open_viewed(void)
{
	pfm_view_t view;

	opened[num_opened] = counting_as(4, PFM_FL_MAP_SETS);
	must(!pfm_map_set(opened[num_opened++], 0, &view), "map_set");
}

static void open_perfs(void)
{
	for (int i = 0; i < 4; i++)
		opened[num_opened++] = perf_open(i ? INST : CYCLES, -1, 0, 0, 0);
}

static void open_perf_group(void)
{
	perf_group(opened, 4);
	num_opened = 4;
}

static double with(void (*open_counters)(void))
{
	double cost = switch_cost(open_counters);

	close_all(opened, num_opened);
	num_opened = 0;
	return cost;
}

static void switches(void)
{
	struct sched_param p = { 0 };
	double none, ours;

	sched_setscheduler(0, SCHED_BATCH, &p);	/* no preemption at a wakeup */
	none = with(NULL);
	ours = with(open_ours) - none;
	report("context switch, 4 counters on both sides (perf: separate)", ours, with(open_perfs) - none, 5600);
	report("context switch, 4 counters on both sides (perf: a group)", ours, with(open_perf_group) - none, 5600);
	report("what views add to that", with(open_viewed) - none - ours, 0, 1800);
}

/* --- children that are counted too ------------------------------------------------------------ */

static void have_child(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
}

static double child_cost(void)
{
	double cost;

	MEASURE(cost, 2, have_child());
	return cost;
}

static int inheriting(int n)
{
	int fd = new_context(PFM_FL_INHERIT);

	must(fd >= 0, "create");
	for (int i = 0; i < n; i++)
		must(!set_pmc(fd, 0, i, USER | INST), "PMC");
	must(!load(fd, my_tid()) && !pfm_start(fd, NULL), "load, start");
	return fd;
}

/* Opens n inherited perf events of the calling thread as one group. */
static void inheriting_perf(int *fds, int n)
{
	for (int i = 0; i < n; i++) {
		struct perf_event_attr attr = { .type = PERF_TYPE_RAW, .config = INST, .size = sizeof(attr),
						.exclude_kernel = 1, .inherit = 1 };

		fds[i] = (int)syscall(SYS_perf_event_open, &attr, 0, -1, i ? fds[0] : -1, 0);
		must(fds[i] >= 0, "perf_event_open");
	}
}

static void births(int n, const char *what)
{
	double none = child_cost(), ours;
	int fds[4], fd = inheriting(n);

	ours = child_cost() - none;
	close(fd);
	inheriting_perf(fds, n);
	report(what, ours, child_cost() - none, 0);
	close_all(fds, n);
}

int main(void)
{
	pin(0);
	calibrate();
	printf("%-58s %8s %10s %6s %7s\n", TITLE, "perfmon", "perf_event", "ratio", HAS_MARKS ? "mark" : "");
	floors();
	reads(1, 1200, "read one running counter");
	reads(4, 1700, "read four");
	reads_at_user_level();
	starts(1, 2600, "stop + start, one counter");
	starts(4, 4000, "stop + start, four");
	lives();
	overflows();
	notifications();
	switches();
	births(1, "an inherited fork and exit, one counter");
	births(4, "an inherited fork and exit, four");
	regions();	/* comes last, since the thread stays monitored */
	return 0;
}
