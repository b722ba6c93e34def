// SPDX-License-Identifier: MIT
/* counting.c - counts of known loops, of this thread and others, are exact to the instruction. */
#include "check.h"

/* The count of a longer loop is larger by exactly the instructions that the loop has more. */
static void self_is_exact(void)
{
	uint64_t fixed = 0, before = 0;
	int fd;

	MUST(fd = new_context(0));
	MUST(set_pmc(fd, 0, 0, USER | INST));
	MUST(set_pmd(fd, 0, 0, 0));
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));	/* the first calls also bind symbols */
	MUST(pfm_stop(fd));
	before = get_pmd(fd, 0, 0);
	for (int i = 0; i < 10; i++) {
		uint64_t n = i ? 1000 + 77777 * i : 1, count;

		MUST(pfm_start(fd, NULL));
		spin(n);
		MUST(pfm_stop(fd));
		count = get_pmd(fd, 0, 0) - before;
		before += count;
		if (!i)
			fixed = count - 2 * n;
		else if (exact())
			EQUAL(count, 2 * n + fixed);
		else
			TRUE(count >= 2 * n);
	}
	EQUAL(close(fd), 0);
}

static void all_counters_agree(void)
{
	uint64_t first;
	int fd;

	MUST(fd = new_context(0));
	for (int i = 0; i < PLAIN; i++)
		MUST(set_pmc(fd, 0, i, USER | (i & 1 ? CYCLES : INST)));
	MUST(set_pmc(fd, 0, CYC, CYC_PMC(USER)));
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	spin(100000);
	MUST(pfm_stop(fd));
	first = get_pmd(fd, 0, 0);
	TRUE(first > 200000);
	if (!exact()) {
		close(fd);
		return;
	}
	TRUE(first < 201000);
	/* all counters start and stop together, and so count the same */
	for (int i = 1; i < PLAIN; i++) {
		uint64_t v = get_pmd(fd, 0, i);

		EQUAL(v, i & 1 ? 2 * first : first);
	}
	EQUAL(get_pmd(fd, 0, CYC), 2 * first);
	close(fd);
}

/* Returns the instructions of a child that runs beside so many others on the same CPU. */
static uint64_t child_count(int neighbours, bool leave)
{
	struct child busy[3], c = child_new(child_spin, 5000000);
	int fd = new_context(0);
	uint64_t count = 0;
	pfarg_msg_t msg;

	for (int i = 0; i < neighbours; i++) {
		busy[i] = child_new(child_spin, 100000000);
		child_go(&busy[i]);
	}
	check(!set_pmc(fd, 0, 2, USER | INST) && !load(fd, c.pid) && !pfm_start(fd, NULL), "setup: %s",
	      pfm_explain());
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	child_go(&c);
	if (leave) {
		check(read(fd, &msg, sizeof(msg)) == sizeof(msg) && msg.type == PFM_MSG_END, "no END");
		check(pfm_unload_context(fd) == -1 && errno == EINVAL, "END, but loaded");
	}
	child_end(&c);
	count = get_pmd(fd, 0, 2);
	close(fd);
	for (int i = 0; i < neighbours; i++) {
		kill(busy[i].pid, SIGKILL);
		child_end(&busy[i]);
	}
	return count;
}

static void child_counts_what_it_counts_alone(void)
{
	uint64_t alone = child_count(0, true);

	TRUE(alone > 10000000);
	if (!exact())
		return;
	TRUE(alone < 10010000);
	EQUAL(child_count(0, true), alone);
	EQUAL(child_count(3, true), alone);
}

static void spin_elsewhere(uint64_t n)
{
	pin((int)sysconf(_SC_NPROCESSORS_ONLN) - 1);
	spin(n);
}

/* Commands reach a thread wherever it is: running elsewhere, waiting for the CPU, or asleep. */
static void commands_reach_a_running_thread(void)
{
	struct child c = child_new(spin_elsewhere, 1ULL << 50);
	uint64_t last = 0;
	int fd;

	MUST(fd = new_context(0));
	MUST(set_pmc(fd, 0, 0, USER | INST));
	MUST(load(fd, c.pid));
	MUST(pfm_start(fd, NULL));
	EQUAL(get_pmd(fd, 0, 0), 0);
	child_go(&c);
	for (int i = 0; i < 50; i++) {
		uint64_t now = get_pmd(fd, 0, 0);

		TRUE(now >= last);
		last = now;
		MUST(pfm_stop(fd));
		now = get_pmd(fd, 0, 0);
		sched_yield();
		EQUAL(get_pmd(fd, 0, 0), now);
		last = now;
		MUST(set_pmc(fd, 0, 1 + i % 4, USER | CYCLES));
		MUST(pfm_start(fd, NULL));
		usleep(1000);
	}
	TRUE(last > 0);
	kill(c.pid, SIGKILL);
	child_end(&c);
	close(fd);
}

static void errors(void)
{
	pfarg_load_t bad = { .load_pid = 1, .load_set = 7 };
	pfarg_pmd_t pmd = { .reg_num = 99 };
	struct child c = child_new(child_spin, 1);
	int fd, other;

	FAILS(new_context(0x4000), EINVAL);
	FAILS(new_context(PFM_FL_NOTIFY_BLOCK | PFM_FL_SYSTEM_WIDE), EINVAL);
	MUST(fd = new_context(0));
	FAILS(pfm_start(fd, NULL), EINVAL);
	FAILS(pfm_restart(fd), EBUSY);
	FAILS(pfm_unload_context(fd), EINVAL);
	FAILS(load(fd, 999999), ESRCH);
	FAILS(load(fd, 2), EPERM);	/* kthreadd */
	FAILS(pfm_load_context(fd, &bad), EINVAL);
	FAILS(pfm_read_pmds(fd, &pmd, 1), EINVAL);
	TRUE(pmd.reg_flags & PFM_REG_RETFL_NOTAVAIL);
	FAILS(pfm_read_pmds(fd, &pmd, 0), EINVAL);
	FAILS(pfm_read_pmds(fd, &pmd, -3), EINVAL);
	FAILS(pfm_read_pmds(fd, &pmd, 100000), E2BIG);
	FAILS(pfm_read_pmds(fd, NULL, 1), EFAULT);
	FAILS(pfm_read_pmds(0, &pmd, 1), EBADF);
	FAILS(pfm_read_pmds(-1, &pmd, 1), EBADF);
	FAILS(write(fd, &pmd, 8), EINVAL);
	FAILS(read(fd, &pmd, 8), EINVAL);
	FAILS(lseek(fd, 0, SEEK_SET), ESPIPE);
	MUST(load(fd, my_tid()));
	FAILS(load(fd, my_tid()), EBUSY);
	MUST(other = new_context(0));
	FAILS(load(other, my_tid()), EBUSY);
	close(other);
	close(fd);
	MUST(fd = new_context(0));
	MUST(load(fd, c.pid));
	child_go(&c);
	child_end(&c);
	close(fd);
	MUST(fd = new_context(PFM_FL_NOTIFY_BLOCK));
	FAILS(load(fd, my_tid()), EINVAL);
	close(fd);
}

static void software_counters(void)
{
	static char pages[64 * 4096] __attribute__((aligned(4096)));
	uint64_t faults;
	int fd;

	MUST(fd = new_context(0));
	MUST(set_pmc(fd, 0, 66, 0x9));		/* page-faults */
	MUST(set_pmc(fd, 0, 64, 0x9));		/* task-clock */
	MUST(set_pmc(fd, 0, 69, 0x9));		/* context-switches */
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	for (int i = 0; i < 64; i++)
		((volatile char *)pages)[i * 4096] = 1;
	usleep(1000);
	MUST(pfm_stop(fd));
	faults = get_pmd(fd, 0, 66);
	TRUE(faults >= 64 && faults < 80);
	TRUE(get_pmd(fd, 0, 64) > 0);
	TRUE(get_pmd(fd, 0, 69) >= 1);
	close(fd);
}

static void system_wide(void)
{
	pfarg_load_t wrong = { .load_pid = 4242 };
	struct child c = child_new(child_spin, 3000000);
	uint64_t one;
	int fd;

	MUST(fd = new_context(PFM_FL_SYSTEM_WIDE));
	MUST(set_pmc(fd, 0, 0, USER | INST));
	MUST(set_pmc(fd, 0, 65, 0x9));
	FAILS(pfm_load_context(fd, &wrong), EINVAL);
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	child_go(&c);
	child_end(&c);
	MUST(pfm_stop(fd));
	one = get_pmd(fd, 0, 0);
	TRUE(one > 6000000);
	TRUE(!exact() || one < 6100000);
	/* an instruction takes 2 ns: at least half is counted */
	TRUE(get_pmd(fd, 0, 65) > 6000000);
	close(fd);
}

/* Counts the CPU's ns and user instructions, but for what flags exclude, in work and sleep. */
static bool work_and_nap(uint32_t flags, uint64_t *ns, uint64_t *instructions)
{
	pfarg_setdesc_t set = { .set_flags = flags };
	int fd = new_context(PFM_FL_SYSTEM_WIDE);

	if (fd < 0 || pfm_create_evtsets(fd, &set, 1) || set_pmc(fd, 0, 65, 0x9) || set_pmc(fd, 0, 0, USER | INST) ||
	    load(fd, my_tid()) || pfm_start(fd, NULL))
		return check(false, "setup: %s", pfm_explain());
	spin(1000000);
	usleep(100000);
	spin(1000000);
	pfm_stop(fd);
	*ns = get_pmd(fd, 0, 65);
	*instructions = get_pmd(fd, 0, 0);
	return !close(fd);
}

static void threads_can_be_left_out(void)
{
	static const uint32_t excluding[] = { PFM_SETFL_EXCL_IDLE, PFM_SETFL_EXCL_KERNEL_ONLY_THREADS };
	uint64_t ns, instructions;

	if (!work_and_nap(0, &ns, &instructions))
		return;
	TRUE(ns >= 100000000);
	for (int i = 0; i < 2; i++) {
		if (!work_and_nap(excluding[i], &ns, &instructions))
			return;
		check(ns >= 4000000 && ns < 50000000, "%llu ns", (unsigned long long)ns);
		TRUE(instructions >= 4000000);
		TRUE(!exact() || instructions < 4100000);
	}
}

/* PFM_SETFL_EXCL_IDLE excludes idle time in its own set alone. */
static void each_set_leaves_out_its_own(void)
{
	pfarg_setdesc_t set[2] = { { .set_flags = PFM_SETFL_EXCL_IDLE }, { .set_id = 1 } };
	pfarg_start_t second = { .start_set = 1 };
	int fd;

	MUST(fd = new_context(PFM_FL_SYSTEM_WIDE));
	MUST(pfm_create_evtsets(fd, set, 2));
	MUST(set_pmc(fd, 0, 65, 0x9));
	MUST(set_pmc(fd, 1, 65, 0x9));
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	usleep(50000);
	MUST(pfm_start(fd, &second));
	usleep(50000);
	MUST(pfm_stop(fd));
	TRUE(get_pmd(fd, 0, 65) < 25000000);
	TRUE(get_pmd(fd, 1, 65) >= 50000000);
	close(fd);
}

int main(void)
{
	pin(0);	/* children inherit it */
	TEST(self_is_exact);
	TEST(all_counters_agree);
	TEST(child_counts_what_it_counts_alone);
	TEST(commands_reach_a_running_thread);
	TEST(errors);
	TEST(software_counters);
	TEST(system_wide);
	TEST(threads_can_be_left_out);
	TEST(each_set_leaves_out_its_own);
	return tests_failed > 0;
}
