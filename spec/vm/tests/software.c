// SPDX-License-Identifier: MIT
/*
 * software.c - perfmon.ko without a PMU. Since page faults are counted one by one, their counts,
 * overflows, samples and set switches are exact, on any number of processors.
 */
#include <time.h>

#include "check.h"
#include "perfmon/perfmon_nway_smpl.h"

#define CLOCK	64	/* task-clock */
#define SWITCHES 69	/* context switches */

/* Runs once, so that later runs have no page faults of the library's code and the stack. */
static void warm_up(int fd)
{
	check(!pfm_start(fd, NULL), "%s", pfm_explain());
	fault(1);
	check(!pfm_stop(fd), "%s", pfm_explain());
	get_pmd(fd, 0, FAULTS);
}

static void self_is_exact(void)
{
	int fd;

	MUST(fd = new_context(0));
	MUST(set_pmc(fd, 0, FAULTS, SW_USER));
	MUST(load(fd, my_tid()));
	warm_up(fd);
	for (uint64_t n = 0; n < 500; n += 99) {
		MUST(set_pmd(fd, 0, FAULTS, 7));
		MUST(pfm_start(fd, NULL));
		fault(n);
		MUST(pfm_stop(fd));
		fault(10);
		EQUAL(get_pmd(fd, 0, FAULTS), n + 7);
	}
	close(fd);
}

static uint64_t child_count(int neighbours)
{
	struct child busy[3], c = child_new(fault, 3000);
	int fd = new_context(0);
	pfarg_msg_t msg;
	uint64_t count;

	for (int i = 0; i < neighbours; i++) {
		busy[i] = child_new(fault, 1ULL << 40);
		child_go(&busy[i]);
	}
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	check(!set_pmc(fd, 0, FAULTS, SW_USER) && !load(fd, c.pid) && !pfm_start(fd, NULL), "setup: %s",
	      pfm_explain());
	child_go(&c);
	check(read(fd, &msg, sizeof(msg)) == sizeof(msg) && msg.type == PFM_MSG_END, "no END");
	child_end(&c);
	count = get_pmd(fd, 0, FAULTS);
	close(fd);
	for (int i = 0; i < neighbours; i++) {
		kill(busy[i].pid, SIGKILL);
		child_end(&busy[i]);
	}
	return count;
}

static void child_counts_what_it_counts_alone(void)
{
	/*
	 * a child has a few faults more, on pages that it shares with its parent until it writes to
	 * them
	 */
	for (int neighbours = 0; neighbours <= 3; neighbours += 3) {
		uint64_t count = child_count(neighbours);

		check(count >= 3000 && count < 3030, "%llu beside %d", (unsigned long long)count, neighbours);
	}
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void clocks_run_with_the_thread(void)
{
	uint64_t ran, slept, from;
	int fd;

	MUST(fd = new_context(0));
	MUST(set_pmc(fd, 0, CLOCK, SW_USER | 1));
	MUST(set_pmc(fd, 0, SWITCHES, SW_USER | 1));
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	spin(3000000);
	MUST(pfm_stop(fd));
	ran = get_pmd(fd, 0, CLOCK);
	/* 2 instructions per round, 2 ns each; at least half must be counted */
	TRUE(ran > (exact() ? 3000000 : 0));
	from = now_ns();
	MUST(pfm_start(fd, NULL));
	for (int i = 0; i < 10; i++)
		usleep(20000);
	MUST(pfm_stop(fd));
	slept = get_pmd(fd, 0, CLOCK) - ran;
	TRUE(slept < (exact() ? 100000000 : now_ns() - from));
	TRUE(get_pmd(fd, 0, SWITCHES) >= 10);
	close(fd);
}

static void system_wide(void)
{
	struct child c = child_new(fault, 3000);
	uint64_t count;
	int fd;

	MUST(fd = new_context(PFM_FL_SYSTEM_WIDE));
	MUST(set_pmc(fd, 0, FAULTS, SW_USER));
	MUST(set_pmc(fd, 0, 65, SW_USER | 1));
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	child_go(&c);
	child_end(&c);
	MUST(pfm_stop(fd));
	count = get_pmd(fd, 0, FAULTS);
	TRUE(count >= 3000 && count < 3200);
	TRUE(get_pmd(fd, 0, 65) > 0);
	close(fd);
}

/* --- overflows -------------------------------------------------------------------------------- */

static void notification(void)
{
	pfarg_msg_t msg;
	int fd;

	MUST(fd = new_context(0));
	MUST(set_pmc(fd, 0, FAULTS, SW_USER));
	MUST(fcntl(fd, F_SETFL, O_NONBLOCK));
	MUST(load(fd, my_tid()));
	warm_up(fd);
	TRUE(!has_message(fd));
	MUST(set_period(fd, 0, FAULTS, 100, PFM_REGFL_OVFL_NOTIFY));
	MUST(pfm_start(fd, NULL));
	fault(99);
	TRUE(!has_message(fd));
	fault(1);
	TRUE(has_message(fd));
	fault(30);
	EQUAL(get_pmd(fd, 0, FAULTS), 0);	/* masked */
	EQUAL(read(fd, &msg, sizeof(msg)), sizeof(msg));
	EQUAL(msg.type, PFM_MSG_OVFL);
	EQUAL(msg.pfm_ovfl_msg.msg_ovfl_pmds[1], 1ULL << (FAULTS - 64));
	EQUAL(msg.pfm_ovfl_msg.msg_ovfl_tid, my_tid());
	MUST(pfm_restart(fd));
	fault(99);
	FAILS(read(fd, &msg, sizeof(msg)), EAGAIN);
	fault(1);
	EQUAL(read(fd, &msg, sizeof(msg)), sizeof(msg));
	close(fd);
}

static volatile int signals;

static void on_signal(int sig, siginfo_t *info, void *uc)
{
	pfarg_msg_t msg;
	int saved = errno;

	(void)sig;
	(void)uc;
	signals += read(info->si_fd, &msg, sizeof(msg)) == sizeof(msg) && !pfm_restart(info->si_fd);
	errno = saved;
}

static void notification_by_signal(void)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART };
	int fd;

	sigaction(SIGIO, &sa, NULL);
	MUST(fd = new_context(0));
	MUST(set_pmc(fd, 0, FAULTS, SW_USER));
	MUST(set_period(fd, 0, FAULTS, 50, PFM_REGFL_OVFL_NOTIFY));
	MUST(fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK));
	MUST(fcntl(fd, F_SETOWN, getpid()));
	MUST(fcntl(fd, F_SETSIG, SIGIO));
	MUST(load(fd, my_tid()));
	fault(1);
	signals = 0;
	MUST(pfm_start(fd, NULL));
	for (int i = 0; i < 100; i++)
		fault(10);
	MUST(pfm_stop(fd));
	/* the handler and the library may have faults of their own */
	TRUE(signals >= 19 && signals <= 21);
	close(fd);
}

static void blocking(void)
{
	struct child c = child_new(fault, 1050);
	pfarg_msg_t msg;
	int fd, n = 0;

	MUST(fd = new_context(PFM_FL_NOTIFY_BLOCK));
	MUST(fcntl(fd, F_SETFD, FD_CLOEXEC));
	MUST(set_pmc(fd, 0, FAULTS, SW_USER));
	MUST(set_period(fd, 0, FAULTS, 100, PFM_REGFL_OVFL_NOTIFY));
	MUST(load(fd, c.pid));
	MUST(pfm_start(fd, NULL));
	child_go(&c);
	while (read(fd, &msg, sizeof(msg)) == sizeof(msg) && msg.type == PFM_MSG_OVFL) {
		n++;
		await_sleep(c.pid);
		EQUAL(msg.pfm_ovfl_msg.msg_ovfl_pid, c.pid);
		MUST(pfm_restart(fd));
	}
	EQUAL(msg.type, PFM_MSG_END);
	TRUE(n == 10 || n == 11);	/* one more for faults as the child starts and ends */
	EQUAL(child_end(&c), 0);
	close(fd);
}

/* --- sampling --------------------------------------------------------------------------------- */

static int sampled_period(int fd, uint64_t period)
{
	pfarg_pmd_t pmd = { .reg_num = FAULTS, .reg_value = -period, .reg_long_reset = -period,
			    .reg_short_reset = -period };

	pmd.reg_smpl_pmds[1] = 1ULL << (CLOCK - 64);
	return pfm_write_pmds(fd, &pmd, 1);
}

static void samples(void)
{
	pfm_dfl_smpl_arg_t arg = { .buf_size = 65536 };
	const pfm_dfl_smpl_entry_t *e;
	const pfm_dfl_smpl_hdr_t *hdr;
	pfarg_ctx_t ctx = { 0 };
	uint64_t ran = 0;
	int fd;

	MUST(fd = pfm_create_context(&ctx, "default", &arg, sizeof(arg)));
	hdr = mmap(NULL, arg.buf_size, PROT_READ, MAP_SHARED, fd, 0);
	TRUE(hdr != MAP_FAILED && hdr->hdr_count == 0);
	MUST(set_pmc(fd, 0, FAULTS, SW_USER));
	MUST(set_pmc(fd, 0, CLOCK, SW_USER | 1));
	MUST(load(fd, my_tid()));
	warm_up(fd);
	MUST(sampled_period(fd, 10));
	MUST(pfm_start(fd, NULL));
	fault(1234);
	MUST(pfm_stop(fd));
	EQUAL(hdr->hdr_count, 123);
	EQUAL(get_pmd(fd, 0, FAULTS), -6ULL);
	e = (const void *)(hdr + 1);
	for (uint64_t i = 0; i < hdr->hdr_count; i++) {
		uint64_t now = *(const uint64_t *)(e + 1);

		EQUAL(e->pid, my_tid());
		EQUAL(e->ovfl_pmd, FAULTS);
		EQUAL(e->last_reset_val, -10ULL);
		check(e->ip > (uint64_t)fault && e->ip < (uint64_t)fault + 1024, "ip %#llx", (unsigned long long)e->ip);
		TRUE(now > ran);
		ran = now;
		e = (const void *)((const char *)(e + 1) + 8);
	}
	munmap((void *)hdr, arg.buf_size);
	close(fd);
}

/*
 * Regions fill one after the other; a region that the tool has not given back is not filled again.
 */
static void regions(void)
{
	pfm_nway_smpl_arg_t arg = { .buf_size = 65536, .num_regions = 4 };
	const pfm_nway_smpl_hdr_t *hdr;
	pfarg_ctx_t ctx = { 0 };
	pfarg_msg_t msg;
	uint64_t first;
	int fd;

	MUST(fd = pfm_create_context(&ctx, PFM_NWAY_SMPL_NAME, &arg, sizeof(arg)));
	hdr = mmap(NULL, arg.buf_size, PROT_READ, MAP_SHARED, fd, 0);
	TRUE(hdr != MAP_FAILED);
	MUST(set_pmc(fd, 0, FAULTS, SW_USER));
	MUST(fcntl(fd, F_SETFL, O_NONBLOCK));
	MUST(load(fd, my_tid()));
	MUST(set_period(fd, 0, FAULTS, 5, PFM_REGFL_OVFL_NOTIFY));
	MUST(pfm_start(fd, NULL));
	while (!has_message(fd))
		fault(5);
	EQUAL(read(fd, &msg, sizeof(msg)), sizeof(msg));
	first = hdr->hdr_regions[0].count;
	TRUE(hdr->hdr_regions[0].full && first > 100);
	EQUAL(hdr->hdr_cur, 1);
	while (!has_message(fd))
		fault(5);
	EQUAL(hdr->hdr_regions[1].count, first);
	EQUAL(hdr->hdr_lost, 0);
	MUST(pfm_restart(fd));
	EQUAL(hdr->hdr_regions[0].count, 0);
	munmap((void *)hdr, arg.buf_size);
	close(fd);
}

#define WORK(name) __attribute__((noinline, aligned(16))) static void name(uint64_t n) { spin(n); asm volatile(""); }
WORK(hot)
WORK(cold)

/* A profile by the clock shows the ratio 3 : 1. */
static void profile_by_the_clock(void)
{
	pfm_dfl_smpl_arg_t arg = { .buf_size = 1 << 20 };
	const pfm_dfl_smpl_entry_t *e;
	const volatile pfm_dfl_smpl_hdr_t *hdr;
	pfarg_ctx_t ctx = { 0 };
	double in_hot = 0, in_cold = 0, slack;
	/* samples, for which a slow host needs more rounds */
	const uint64_t wanted = exact() ? 0 : 400;
	const int rounds = 3000;
	int fd;

	MUST(fd = pfm_create_context(&ctx, "default", &arg, sizeof(arg)));
	hdr = mmap(NULL, arg.buf_size, PROT_READ, MAP_SHARED, fd, 0);
	TRUE(hdr != MAP_FAILED);
	MUST(set_pmc(fd, 0, CLOCK, SW_USER | 1));
	MUST(set_period(fd, 0, CLOCK, 99991, 0));
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	for (int i = 0; i < rounds || (i < 100 * rounds && hdr->hdr_count < wanted); i++) {
		hot(15000);
		cold(5000);
	}
	MUST(pfm_stop(fd));
	e = (const void *)(hdr + 1);
	for (uint64_t i = 0; i < hdr->hdr_count; i++) {
		in_hot += e[i].ip >= (uint64_t)hot && e[i].ip < (uint64_t)hot + 16;
		in_cold += e[i].ip >= (uint64_t)cold && e[i].ip < (uint64_t)cold + 16;
	}
	check(hdr->hdr_count > (exact() ? 1000 : 200), "%llu samples", (unsigned long long)hdr->hdr_count);
	check(in_hot + in_cold > (exact() ? 0.9 : 0.5) * hdr->hdr_count, "%.0f of %llu samples in the program",
	      in_hot + in_cold, (unsigned long long)hdr->hdr_count);
	in_hot = 100 * in_hot / (in_hot + in_cold);
	slack = exact() ? 2 : 12;	/* samples are few where the processor is shared */
	check(in_hot > 75 - slack && in_hot < 75 + slack, "%.1f %%, not 75", in_hot);
	munmap((void *)hdr, arg.buf_size);
	close(fd);
}

/* --- sets ------------------------------------------------------------------------------------- */

static int new_set(int fd, int id, uint32_t flags, uint64_t timeout)
{
	pfarg_setdesc_t d = { .set_id = id, .set_flags = flags, .set_timeout = timeout };

	return pfm_create_evtsets(fd, &d, 1);
}

static uint64_t runs_of(int fd, int id)
{
	pfarg_setinfo_t info = { .set_id = id };

	check(!pfm_getinfo_evtsets(fd, &info, 1), "pfm_getinfo_evtsets: %s", pfm_explain());
	return info.set_runs;
}

/* The second set counts from the event after the n-th overflow. */
static void overflow_switches_after_n(void)
{
	for (uint64_t n = 1; n <= 4; n++) {
		pfarg_pmd_t trigger = { .reg_num = FAULTS, .reg_value = -50ULL, .reg_short_reset = -50ULL,
					.reg_long_reset = -50ULL, .reg_ovfl_switch_cnt = n };
		int fd;

		MUST(fd = new_context(0));
		MUST(new_set(fd, 0, PFM_SETFL_OVFL_SWITCH, 0));
		MUST(new_set(fd, 1, 0, 0));
		MUST(set_pmc(fd, 0, FAULTS, SW_USER));
		MUST(set_pmc(fd, 1, FAULTS, SW_USER));
		MUST(load(fd, my_tid()));
		warm_up(fd);
		MUST(pfm_write_pmds(fd, &trigger, 1));
		MUST(pfm_start(fd, NULL));
		fault(50 * n - 1);
		EQUAL(runs_of(fd, 1), 0);
		fault(124);
		MUST(pfm_stop(fd));
		EQUAL(runs_of(fd, 1), 1);
		EQUAL(get_pmd(fd, 1, FAULTS), 123);
		close(fd);
	}
}

/* Two sets of 1 ms each together count all faults. */
static void time_switched_sets_share(void)
{
	uint64_t sum;
	int fd;

	MUST(fd = new_context(0));
	for (int set = 0; set < 2; set++) {
		MUST(new_set(fd, set, PFM_SETFL_TIME_SWITCH, 1000000));
		MUST(set_pmc(fd, set, FAULTS, SW_USER));
	}
	MUST(load(fd, my_tid()));
	warm_up(fd);
	sum = get_pmd(fd, 0, FAULTS) + get_pmd(fd, 1, FAULTS);
	MUST(pfm_start(fd, NULL));
	while (runs_of(fd, 1) < 10)
		fault(50), sum += 50;
	MUST(pfm_stop(fd));
	TRUE(runs_of(fd, 0) >= 10);
	EQUAL(get_pmd(fd, 0, FAULTS) + get_pmd(fd, 1, FAULTS), sum);
	TRUE(get_pmd(fd, 0, FAULTS) > 10 && get_pmd(fd, 1, FAULTS) > 10);
	close(fd);
}

int main(void)
{
	pin(0);	/* children inherit it */
	fault(1);
	TEST(self_is_exact);
	TEST(child_counts_what_it_counts_alone);
	TEST(clocks_run_with_the_thread);
	TEST(system_wide);
	TEST(notification);
	TEST(notification_by_signal);
	TEST(blocking);
	TEST(samples);
	TEST(regions);
	TEST(profile_by_the_clock);
	TEST(overflow_switches_after_n);
	TEST(time_switched_sets_share);
	return tests_failed > 0;
}
