// SPDX-License-Identifier: MIT
/* sets.c - event sets: switched by time and by overflows, cascades, timeouts (3.7). */
#include "check.h"

static int new_set(int fd, int id, uint32_t flags, uint64_t timeout)
{
	pfarg_setdesc_t d = { .set_id = id, .set_flags = flags, .set_timeout = timeout };

	return pfm_create_evtsets(fd, &d, 1);
}

static pfarg_setinfo_t info_of(int fd, int id)
{
	pfarg_setinfo_t info = { .set_id = id };

	check(!pfm_getinfo_evtsets(fd, &info, 1), "pfm_getinfo_evtsets: %s", pfm_explain());
	return info;
}

static bool near(double is, double want, double percent)
{
	return is > want * (1 - percent / 100) && is < want * (1 + percent / 100);
}

/* 10 events in 2 sets of 1 ms: scaled by the sets' durations, all counts are right. */
static void time_switched_sets_scale(void)
{
	uint64_t ms = 1000000, run, sum = 0;
	pfarg_setinfo_t info[2];
	/* the kernel's percentage of the time, which need not be equal in both sets */
	double kernels;
	int fd;

	MUST(fd = new_context(0));
	for (int set = 0; set < 2; set++) {
		MUST(new_set(fd, set, PFM_SETFL_TIME_SWITCH, ms));
		for (int i = 0; i < 5; i++)
			MUST(set_pmc(fd, set, i, USER | ((i + set) & 1 ? INST : CYCLES)));
	}
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	spin(20000000);
	MUST(pfm_stop(fd));
	info[0] = info_of(fd, 0);
	info[1] = info_of(fd, 1);
	run = info[0].set_act_duration + info[1].set_act_duration;
	/* the kernel adds time */
	TRUE(run >= 80 * ms && near(info[0].set_runs, run / (2.0 * ms), 10));
	TRUE(info[0].set_runs - info[1].set_runs <= 1);
	kernels = (run - 80.0 * ms) / run * 100;
	for (int set = 0; set < 2; set++)
		for (int i = 0; i < 5; i++) {
			double scaled = (double)get_pmd(fd, set, i) * run / info[set].set_act_duration;
			bool is_inst = (i + set) & 1;

			if (exact())
				check(near(scaled, is_inst ? 4e7 : 8e7, 1 + kernels),
				      "set %d PMD%d: %.0f, %.1f %%", set, i, scaled, kernels);
			/* all counters of a set saw the same */
			if (exact())
				check(near(get_pmd(fd, set, i) * (is_inst ? 2.0 : 1.0), get_pmd(fd, set, set), 0.1),
				      "set %d PMD%d: %llu", set, i, (unsigned long long)get_pmd(fd, set, i));
		}
	/* a switch loses only the instructions of the switch itself */
	for (int set = 0; set < 2; set++)
		sum += get_pmd(fd, set, set);
	if (exact())
		check(near(sum, 8e7, 0.5), "%llu cycles", (unsigned long long)sum);
	close(fd);
}

/* 3.7.6: a timeout runs only while the thread does. */
static void timeouts_run_with_the_thread(void)
{
	struct child c = child_new(child_spin, 10000000), busy = child_new(child_spin, 1ULL << 50);
	pfarg_setinfo_t info[2];
	pfarg_msg_t msg;
	uint64_t sum;
	int fd;

	MUST(fd = new_context(0));
	MUST(fcntl(fd, F_SETFD, FD_CLOEXEC));
	for (int set = 0; set < 2; set++) {
		MUST(new_set(fd, set, PFM_SETFL_TIME_SWITCH, 2000000));
		MUST(set_pmc(fd, set, 0, USER | (set ? CYCLES : INST)));
	}
	MUST(load(fd, c.pid));
	MUST(pfm_start(fd, NULL));
	usleep(10000);
	EQUAL(info_of(fd, 0).set_runs, 1);	/* the child sleeps */
	child_go(&busy);
	child_go(&c);
	EQUAL(read(fd, &msg, sizeof(msg)), sizeof(msg));
	EQUAL(msg.type, PFM_MSG_END);
	child_end(&c);
	kill(busy.pid, SIGKILL);
	child_end(&busy);
	info[0] = info_of(fd, 0);
	info[1] = info_of(fd, 1);
	sum = info[0].set_runs + info[1].set_runs;
	if (exact()) {	/* 20 turns of 2 ms in the child's 40 ms, some more with interrupts */
		TRUE(sum >= 20 && sum <= 26);
		check(near(2.0 * get_pmd(fd, 0, 0) + get_pmd(fd, 1, 0), 4e7, 1), "%llu + %llu",
		      (unsigned long long)get_pmd(fd, 0, 0), (unsigned long long)get_pmd(fd, 1, 0));
	}
	close(fd);
}

/* 3.7.6: "the timeout restarts from where it was stopped, i.e., it is not reinitialized". */
static void a_start_continues_a_timeout(void)
{
	const uint64_t whole = 500000000;
	uint64_t left;
	int fd;

	MUST(fd = new_context(0));
	MUST(new_set(fd, 0, PFM_SETFL_TIME_SWITCH, whole));
	MUST(set_pmc(fd, 0, 0, USER | INST));
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	spin(100000);
	MUST(pfm_stop(fd));
	left = info_of(fd, 0).set_timeout;
	TRUE(left && left < whole);
	MUST(pfm_start(fd, NULL));
	TRUE(info_of(fd, 0).set_timeout <= left);
	close(fd);
}

/*
 * A trigger of threshold n leaves its set at the n-th overflow, whether it counts alone or beside
 * another counter.
 */
static void leave_after(int n, bool alone)
{
	pfarg_pmd_t trigger = { .reg_num = 0, .reg_value = -100000ULL, .reg_short_reset = -100000ULL,
				.reg_long_reset = -100000ULL, .reg_ovfl_switch_cnt = n };
	int fd;

	MUST(fd = new_context(0));
	MUST(new_set(fd, 0, PFM_SETFL_OVFL_SWITCH, 0));
	MUST(new_set(fd, 1, 0, 0));
	MUST(set_pmc(fd, 0, 0, USER | CYCLES));
	if (!alone)
		MUST(set_pmc(fd, 0, 1, USER | INST));
	MUST(pfm_write_pmds(fd, &trigger, 1));
	MUST(set_pmc(fd, 1, 0, USER | INST));
	MUST(set_pmc(fd, 1, CYC, CYC_PMC(USER)));
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	spin(150000);		/* 600000 cycles */
	MUST(pfm_stop(fd));
	EQUAL(info_of(fd, 0).set_runs, 1);
	EQUAL(info_of(fd, 1).set_runs, 1);
	EQUAL(info_of(fd, 0).set_ovfl_pmds[0], 1);
	if (exact()) {
		uint64_t first = alone ? 50000ULL * n : get_pmd(fd, 0, 1), second = get_pmd(fd, 1, CYC);

		check(first >= 50000ULL * n && first <= 50000ULL * n + 20, "switch after %llu",
		      (unsigned long long)first);
		TRUE(second >= 600000ULL - 100000 * n && second < 600000ULL - 100000 * n + 400);
		EQUAL(get_pmd(fd, 1, 0), second / 2);
	}
	close(fd);
}

static void overflow_switches_after_n(void)
{
	for (int n = 1; n <= 4; n++) {
		leave_after(n, false);
		leave_after(n, true);
	}
}

/*
 * Cascading: the second set starts at the n-th event, or never. Faults are the trigger if cycles
 * are not exact.
 */
static void cascade(void)
{
	bool cycles = percpu_exact();
	uint64_t limit = cycles ? 400000 : 4000;
	int fd;

	fault(1);
	for (int reach = 0; reach < 2; reach++) {
		pfarg_pmd_t trigger = { .reg_num = cycles ? CYC : FAULTS, .reg_value = -limit,
					.reg_ovfl_switch_cnt = 1 };

		MUST(fd = new_context(0));
		MUST(new_set(fd, 0, PFM_SETFL_OVFL_SWITCH, 0));
		MUST(new_set(fd, 5, 0, 0));
		MUST(set_pmc(fd, 0, trigger.reg_num, cycles ? CYC_PMC(USER) : SW_USER));
		MUST(pfm_write_pmds(fd, &trigger, 1));
		MUST(set_pmc(fd, 5, 2, USER | INST));
		MUST(load(fd, my_tid()));
		MUST(pfm_start(fd, NULL));
		if (cycles)
			spin(reach ? 150000 : 90000);
		else
			fault(reach ? 6000 : 3600);
		MUST(pfm_stop(fd));
		EQUAL(info_of(fd, 5).set_runs, reach);
		if (!reach)
			EQUAL(get_pmd(fd, 5, 2), 0);
		else if (exact())
			TRUE(get_pmd(fd, 5, 2) > 100000 && get_pmd(fd, 5, 2) < 100200);
		close(fd);
	}
}

/*
 * While monitoring is masked, counts and timeouts stand still; the restart makes a switch that was
 * due.
 */
static void masked_sets_wait(void)
{
	pfarg_pmd_t trigger = { .reg_num = 0, .reg_value = -100000ULL, .reg_short_reset = -100000ULL,
				.reg_long_reset = -50000ULL, .reg_ovfl_switch_cnt = 1,
				.reg_flags = PFM_REGFL_OVFL_NOTIFY };
	pfarg_msg_t msg;
	uint64_t left;
	int fd;

	MUST(fd = new_context(0));
	MUST(new_set(fd, 0, PFM_SETFL_OVFL_SWITCH, 0));
	MUST(new_set(fd, 1, PFM_SETFL_TIME_SWITCH, 500000000));
	MUST(set_pmc(fd, 0, 0, USER | CYCLES));
	MUST(pfm_write_pmds(fd, &trigger, 1));
	MUST(set_pmc(fd, 1, 0, USER | CYCLES));
	MUST(set_period(fd, 1, 0, 300000, PFM_REGFL_OVFL_NOTIFY));
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	spin(100000);
	EQUAL(info_of(fd, 1).set_runs, 0);
	EQUAL(read(fd, &msg, sizeof(msg)), sizeof(msg));
	EQUAL(msg.pfm_ovfl_msg.msg_active_set, 0);
	MUST(pfm_restart(fd));
	EQUAL(info_of(fd, 1).set_runs, 1);
	spin(100000);
	EQUAL(read(fd, &msg, sizeof(msg)), sizeof(msg));
	EQUAL(msg.pfm_ovfl_msg.msg_active_set, 1);
	left = info_of(fd, 1).set_timeout;
	TRUE(left > 490000000 && left < 500000000);
	spin(100000);
	EQUAL(info_of(fd, 1).set_timeout, left);
	MUST(pfm_restart(fd));
	spin(100000);
	TRUE(info_of(fd, 1).set_timeout < left);
	close(fd);
}

#ifdef __x86_64__
/*
 * Sandy Bridge counts these events on one counter each: precisely distributed retired instructions
 * on counter 1, and cycles without an outstanding L1D miss, here all cycles, on counter 2.
 */
#define ON_1	(USER | 0x01c0)
#define ON_2	(USER | 0x0148 | 1ULL << 23 | 1ULL << 24)

enum { SETS = 4, EVENTS = 3, TURNS = 1000 };

/* Returns an event; from set to set, the events move on by one PMD. */
static uint64_t event_of(int set, int pmd)
{
	const uint64_t events[SETS] = { ON_1, ON_2, USER | INST, USER | CYCLES };

	return events[(set + pmd) % SETS];
}

static int rotating_sets(uint32_t flags, uint64_t period)
{
	int fd = new_context(0);

	for (int set = 0; fd >= 0 && set < SETS; set++) {
		check(!new_set(fd, set, flags, 0), "new_set: %s", pfm_explain());
		for (int i = 0; i < EVENTS; i++)
			check(!set_pmc(fd, set, i, event_of(set, i)), "set_pmc: %s", pfm_explain());
		if (period) {
			pfarg_pmd_t trigger = { .reg_num = 3, .reg_set = set, .reg_value = -period,
						.reg_short_reset = -period, .reg_long_reset = -period,
						.reg_ovfl_switch_cnt = 1 };

			check(!set_pmc(fd, set, 3, USER | BRANCHES) && !pfm_write_pmds(fd, &trigger, 1), "trigger: %s",
			      pfm_explain());
		}
	}
	return fd;
}

/*
 * Returns the instructions that a set counted, after checking that all PMDs agree, each by its own
 * event.
 */
static uint64_t instructions_of(int fd, int set)
{
	uint64_t first = 0;

	for (int i = 0; i < EVENTS; i++) {
		uint64_t event = event_of(set, i), n = get_pmd(fd, set, i);

		n /= event == ON_2 || event == (USER | CYCLES) ? 2 : 1;
		first = i ? first : n;
		check(n == first, "set %d: PMD%d, event %#llx, saw %llu, PMD0 %llu", set, i, (unsigned long long)event,
		      (unsigned long long)n, (unsigned long long)first);
	}
	return first;
}

static void each_set_has_counters_that_count_its_events(void)
{
	int fd;

	MUST(fd = rotating_sets(0, 0));
	MUST(load(fd, my_tid()));
	for (int turn = 0; turn < 3 * SETS; turn++) {
		pfarg_start_t start = { .start_set = turn % SETS };

		MUST(pfm_start(fd, &start));
		spin(10000);
		MUST(pfm_stop(fd));
		spin(1000);
	}
	for (int set = 0; set < SETS; set++) {
		uint64_t n = instructions_of(fd, set);

		check(n >= 60000 && n < 60600, "set %d: %llu instructions", set, (unsigned long long)n);
	}
	close(fd);
}

/*
 * Overflows switch sets, in NMIs; a few instructions run between an NMI and the interrupt that
 * moves the events.
 */
static void overflows_switch_to_such_counters(void)
{
	uint64_t sum = 0;
	int fd;

	MUST(fd = rotating_sets(PFM_SETFL_OVFL_SWITCH, 1000));
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	spin(TURNS * 1000);
	MUST(pfm_stop(fd));
	TRUE(info_of(fd, 0).set_runs >= TURNS / SETS - 1);
	for (int set = 0; set < SETS; set++)
		sum += instructions_of(fd, set);
	check(sum >= 2 * TURNS * 1000 && sum < 2 * TURNS * 1000 + 1000, "%llu instructions", (unsigned long long)sum);
	close(fd);
}

/* A write changes the event of a running counter, and so the counter that can count it. */
static void a_write_moves_an_event(void)
{
	int fd;

	MUST(fd = new_context(0));
	MUST(set_pmc(fd, 0, 0, USER | INST));
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	for (int i = 0; i < 6; i++) {
		uint64_t before, n;

		MUST(set_pmc(fd, 0, 0, i & 1 ? ON_2 : ON_1));
		before = get_pmd(fd, 0, 0);
		spin(10000);
		n = get_pmd(fd, 0, 0) - before;
		n /= i & 1 ? 2 : 1;
		check(n >= 20000 && n < 20200, "turn %d: %llu", i, (unsigned long long)n);
	}
	close(fd);
}

/*
 * Two events that only one counter can count are refused when their set becomes active; the set
 * before goes on.
 */
static void two_events_for_one_counter_are_refused(void)
{
	pfarg_start_t start = { .start_set = 1 }, back = { .start_set = 0 };
	uint64_t n;
	int fd;

	MUST(fd = new_context(0));
	MUST(set_pmc(fd, 0, 0, ON_1));
	MUST(set_pmc(fd, 0, 1, ON_1));
	FAILS(load(fd, my_tid()), EBUSY);
	check(strstr(pfm_explain(), "PMC"), "the reason is %s", pfm_explain());
	close(fd);
	MUST(fd = rotating_sets(0, 0));
	MUST(set_pmc(fd, 1, 0, ON_1));
	MUST(set_pmc(fd, 1, 1, ON_1));
	MUST(load(fd, my_tid()));
	FAILS(pfm_start(fd, &start), EBUSY);
	MUST(pfm_start(fd, &back));
	spin(10000);
	MUST(pfm_stop(fd));
	n = instructions_of(fd, 0);
	check(n >= 20000 && n < 20200, "%llu instructions", (unsigned long long)n);
	close(fd);
}
#endif

int main(void)
{
	pin(0);
	TEST(time_switched_sets_scale);
	TEST(timeouts_run_with_the_thread);
	TEST(a_start_continues_a_timeout);
	TEST(overflow_switches_after_n);
	TEST(cascade);
	TEST(masked_sets_wait);
#ifdef __x86_64__
	if (!is_amd()) {
		TEST(each_set_has_counters_that_count_its_events);
		TEST(overflows_switch_to_such_counters);
		TEST(a_write_moves_an_event);
		TEST(two_events_for_one_counter_are_refused);
	}
#endif
	return tests_failed > 0;
}
