// SPDX-License-Identifier: MIT
/*
 * costs.c - what perfmon.ko costs, in guest instructions, beside perf_event doing the same work in the same
 * boot. One line for each operation: name, perfmon, perf_event, mark.
 *
 * In the emulated machine every instruction takes 2 ns of its clock, user and kernel alike, so clock
 * differences count them all. Batches are timed as a whole; the median of them counts, less the empty loop.
 */
#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include "../../vm/check.h"

#define BATCHES		101

/* The marks are set for arm64. */
#ifdef __aarch64__
#define TITLE		"guest instructions, arm64, one processor"
#define HAS_MARKS	true
#else
#define TITLE		"guest instructions, x86-64, one processor"
#define HAS_MARKS	false
#endif

static uint64_t ticks_per_million;	/* clock ticks of a million instructions */

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

static int counting(int n)
{
	int fd = new_context(0);

	must(fd >= 0, "create");
	must(!set_pmc(fd, 0, CYC, CYC_PMC(USER)), "PMC of cycles");
	for (int i = 0; i < n - 1; i++)
		must(!set_pmc(fd, 0, i, USER | INST), "PMC");
	must(!load(fd, my_tid()) && !pfm_start(fd, NULL), "load, start");
	return fd;
}

static const int regs[4] = { CYC, 0, 1, 2 };

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
		v[i].reg_num = (uint16_t)regs[i];
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

	MEASURE(ours, 4, {
		int fd = new_context(0);

		set_pmc(fd, 0, CYC, CYC_PMC(USER));
		load(fd, my_tid());
		pfm_unload_context(fd);
		close(fd);
	});
	MEASURE(perfs, 4, close(perf_open(CYCLES, -1, 0, 0, 0)));
	report("create + write_pmcs + load + unload + close, one counter", ours, perfs, 12000);
}

/* --- overflows: a fixed loop with them, less the same without ----------------------------------- */

#define LOOP		5000000ULL	/* 10 million instructions, 20 million cycles */
#define PERIOD		10000ULL
#define OVERFLOWS	(4 * LOOP / PERIOD)

static double timed_loop(void)
{
	double v[5];

	for (int i = 0; i < 5; i++) {
		uint64_t t = ticks();

		spin(LOOP);
		v[i] = (double)(ticks() - t);
	}
	return instructions(median(v, 5));
}

static double perf_overflow(double alone, uint64_t type, int members, bool ring)
{
	int fds[4];
	void *map = NULL;
	double cost;

	fds[0] = perf_open(CYCLES, -1, type & PERF_SAMPLE_READ ? PERF_FORMAT_GROUP : 0, PERIOD, type);
	for (int i = 1; i <= members; i++)
		fds[i] = perf_open(INST, fds[0], PERF_FORMAT_GROUP, 0, 0);
	if (ring) {
		map = (mmap)(NULL, 4096 * 513, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
		must(map != MAP_FAILED, "mmap");
	}
	cost = (timed_loop() - alone) / OVERFLOWS;
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

/* Two sets of two counters that hand over to each other at each overflow of the first's; or one alone. */
static double our_switches(double alone, bool switching)
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
		must(!set_pmc(fd, i, CYC, CYC_PMC(USER)) && !set_pmc(fd, i, 0, USER | (i ? CYCLES : INST)), "PMC");
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
	double still, moving;

	report("an overflow whose handler does (next to) nothing", our_switches(alone, false),
	       perf_overflow(alone, 0, 0, false), 0);
	report("a sample: ip, pid, tid, time, cpu, last reset", our_samples(alone, 0),
	       perf_overflow(alone, words, 0, true), 1700);
	report("the same with two more counters", our_samples(alone, 2),
	       perf_overflow(alone, words | PERF_SAMPLE_READ, 2, true), 1850);
	still = our_switches(alone, false);
	moving = our_switches(alone, true);
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
	report("an overflow by SIGIO, handler, restart", ours, notify_cost(alone, on_perfs), 8000);
}

/* --- context switches -------------------------------------------------------------------------- */

static void exchange(int from, int to, int n)
{
	char byte = 0;

	for (int i = 0; i < n; i++)
		if (read(from, &byte, 1) != 1 || write(to, &byte, 1) != 1)
			_exit(1);
}

/* open(): counters of the calling thread; on both sides of a byte going to and fro. */
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
}

int main(void)
{
	pin(0);
	calibrate();
	printf("%-58s %8s %10s %6s %7s\n", TITLE, "perfmon", "perf_event", "ratio", HAS_MARKS ? "mark" : "");
	floors();
	reads(1, 1200, "read one running counter");
	reads(4, 1700, "read four");
	starts(1, 2600, "stop + start, one counter");
	starts(4, 4000, "stop + start, four");
	lives();
	overflows();
	notifications();
	switches();
	return 0;
}
