// SPDX-License-Identifier: MIT
/*
 * view.c - reads at user level (2.2, section 8) on perfmon.ko, and on perf_event: they return what
 * a call returns, whatever switches, moves or interrupts the thread during the read.
 */
#include <pthread.h>
#include <sys/ioctl.h>

#include "check.h"
#include "perfmon/perfmon_fast.h"

static uint16_t both[2] = { COUNTER };	/* the second is CYC; main() sets it */

static void allow(bool on)
{
#ifdef __aarch64__
	FILE *f = fopen("/proc/sys/kernel/perf_user_access", "w");
#else
	FILE *f = fopen("/sys/bus/event_source/devices/cpu/rdpmc", "w");
#endif

	if (!f || fprintf(f, "%d\n", on) < 0 || fclose(f)) {
		printf("not ok user access can be %s: %s\n", on ? "allowed" : "forbidden", strerror(errno));
		exit(1);
	}
}

/* Creates a context with two counters at user level, and maps its view. */
static int new_view(pfm_view_t *view, uint32_t flags)
{
	int fd = new_context(PFM_FL_MAP_SETS | flags);

	if (fd < 0 || set_pmc(fd, 0, COUNTER, PROGRAM) || set_pmc(fd, 0, CYC, CYC_PMC(USER)) ||
	    pfm_map_set(fd, 0, view)) {
		check(false, "new_view: %s (%s)", strerror(errno), pfm_explain());
		return -1;
	}
	return fd;
}

static int started(pfm_view_t *view, uint32_t flags)
{
	int fd = new_view(view, flags);

	if (fd >= 0 && (load(fd, my_tid()) || pfm_start(fd, NULL))) {
		check(false, "start: %s (%s)", strerror(errno), pfm_explain());
		return -1;
	}
	return fd;
}

static void end(int fd, pfm_view_t *view)
{
	pfm_unmap_set(view);
	close(fd);
}

static __attribute__((noinline)) int read_both(const pfm_view_t *view, uint64_t *v)
{
	return pfm_read_fast(view, both, v, 2);
}

static __attribute__((noinline)) void spin_for(uint64_t n)
{
	spin(n);
}

/*
 * "this enables a full 64-bit value to be reconstructed": two reads differ by what a loop between
 * them counts.
 */
static void a_read_is_exact(void)
{
	uint64_t a[2], b[2], counted[8];
	int fd, direct = 0;
	pfm_view_t view;

	MUST(fd = started(&view, 0));
	read_both(&view, a);
	for (int i = 0; i < 8; i++) {
		direct += read_both(&view, a);
		spin_for(10000ULL << i);
		direct += read_both(&view, b);
		counted[i] = b[0] - a[0];
		/* beside the loops, each round counts the same */
		if (percpu_exact())
			EQUAL(counted[i] - counted[0], 2 * ((10000ULL << i) - 10000));
	}
	EQUAL(direct, 16);
	read_both(&view, a);
	spin(500000);
	read_both(&view, b);
	TRUE(b[0] - a[0] >= 1000000 && (!percpu_exact() || b[0] - a[0] < 1001000));
	TRUE(view.page->set_status == (PFM_SETVFL_ACTIVE | PFM_SETVFL_DIRECT));
	EQUAL(view.page->set_runs, 1);
	end(fd, &view);
}

/* 2.2: a set may be mapped at any time; the first read may need a system call. */
static void a_set_that_is_running_is_mapped(void)
{
	pfm_view_t view;
	uint64_t v[2];
	int fd;

	MUST(fd = new_context(PFM_FL_MAP_SETS));
	MUST(set_pmc(fd, 0, COUNTER, PROGRAM));
	MUST(set_pmc(fd, 0, CYC, CYC_PMC(USER)));
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	MUST(pfm_map_set(fd, 0, &view));
	MUST(pfm_read_fast(&view, both, v, 2));
	EQUAL(pfm_read_fast(&view, both, v, 1), 1);
	EQUAL(pfm_read_fast(&view, both, v, 2), 1);
	end(fd, &view);
}

/* Values with more bits than a hardware counter are read whole. */
static void upper_bits_are_there(void)
{
	static const uint64_t from[] = { 0, 0xfffffff0, 0x7fffffff0, 1ULL << 63, -(1ULL << 40), 0xffffffff80000000 };
	uint64_t v[2];
	pfm_view_t view;
	int fd;

	MUST(fd = started(&view, 0));
	for (unsigned int i = 0; i < sizeof(from) / sizeof(from[0]); i++) {
		MUST(set_pmd(fd, 0, COUNTER, from[i]));
		spin(1000);
		EQUAL(pfm_read_fast(&view, both, v, 2), 1);
		TRUE(v[0] - from[i] >= 2000 && (!percpu_exact() || v[0] - from[i] < 5000));
	}
	end(fd, &view);
}

/*
 * "For non-active sets, the re-mapped value is the up-to-date full 64-bit value", and so it is when
 * nothing counts.
 */
static void what_stands_still_is_read(void)
{
	uint64_t v[2], w[2];
	pfm_view_t view;
	int fd;

	MUST(fd = new_view(&view, 0));
	MUST(set_pmd(fd, 0, COUNTER, 77));
	EQUAL(pfm_read_fast(&view, both, v, 2), 1);
	EQUAL(v[0], 77);
	MUST(load(fd, my_tid()));
	EQUAL(pfm_read_fast(&view, both, v, 2), 1);
	EQUAL(v[0], 77);
	MUST(pfm_start(fd, NULL));
	spin(1000);
	MUST(pfm_stop(fd));
	for (int i = 0; i < 3; i++) {
		EQUAL(pfm_read_fast(&view, both, v, 2), 1);
		EQUAL(v[0], get_pmd(fd, 0, COUNTER));
		EQUAL(v[1], get_pmd(fd, 0, CYC));
		TRUE(v[0] >= 2077);
		if (i == 1)
			MUST(pfm_unload_context(fd));
	}
	MUST(set_pmd(fd, 0, COUNTER, 5));
	EQUAL(pfm_read_fast(&view, both, w, 2), 1);
	EQUAL(w[0], 5);
	EQUAL(w[1], v[1]);
	end(fd, &view);
}

static void what_is_not_in_a_register_takes_a_call(void)
{
	static const uint16_t faults[2] = { COUNTER, FAULTS }, unused[1] = { 3 };
	uint64_t v[2];
	pfm_view_t view;
	int fd;

	MUST(fd = new_view(&view, 0));
	MUST(set_pmc(fd, 0, FAULTS, SW_USER));
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	fault(100);
	EQUAL(pfm_read_fast(&view, faults, v, 2), 0);
	TRUE(v[1] >= 100 && v[1] < 110);
	EQUAL(pfm_read_fast(&view, faults, v, 1), 1);
	TRUE(!(view.page->set_status & PFM_SETVFL_DIRECT));
	EQUAL(pfm_read_fast(&view, unused, v, 1), 0);
	EQUAL(v[0], 0);
	MUST(pfm_stop(fd));
	EQUAL(pfm_read_fast(&view, faults, v, 2), 1);
	end(fd, &view);
}

static void where_it_is_forbidden_it_takes_a_call(void)
{
	uint64_t v[2], w[2];
	pfm_view_t view;
	int fd;

	allow(false);
	MUST(fd = started(&view, 0));
	EQUAL(pfm_read_fast(&view, both, v, 2), 0);
	spin(1000);
	EQUAL(pfm_read_fast(&view, both, w, 2), 0);
	TRUE(w[0] - v[0] >= 2000);
	TRUE(!(view.page->set_status & PFM_SETVFL_DIRECT));
	end(fd, &view);
	allow(true);
}

/* "a status bit indicating whether the set is the active set", and its runs. */
static void sets_tell_which_is_active(void)
{
	pfarg_setdesc_t set = { .set_id = 1 };
	pfarg_start_t second = { .start_set = 1 };
	pfm_view_t view[2];
	uint64_t a[2], b[2], c[2];
	int fd;

	MUST(fd = new_view(&view[0], 0));
	MUST(pfm_create_evtsets(fd, &set, 1));
	TRUE(pfm_set_mmap_offset(&set));
	MUST(set_pmc(fd, 1, COUNTER, PROGRAM));
	MUST(pfm_map_set(fd, 1, &view[1]));
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	TRUE(view[0].page->set_status & PFM_SETVFL_ACTIVE);
	TRUE(!(view[1].page->set_status & PFM_SETVFL_ACTIVE));
	EQUAL(view[1].page->set_runs, 0);
	spin(1000);
	MUST(pfm_start(fd, &second));
	TRUE(!(view[0].page->set_status & PFM_SETVFL_ACTIVE));
	TRUE(view[1].page->set_status & PFM_SETVFL_ACTIVE);
	EQUAL(view[1].page->set_runs, 1);
	EQUAL(pfm_read_fast(&view[0], both, a, 2), 1);
	EQUAL(a[0], get_pmd(fd, 0, COUNTER));
	EQUAL(pfm_read_fast(&view[1], both, b, 1), 1);
	spin(1000);
	EQUAL(pfm_read_fast(&view[0], both, c, 2), 1);
	EQUAL(c[0], a[0]);
	EQUAL(pfm_read_fast(&view[1], both, c, 1), 1);
	TRUE(c[0] - b[0] >= 2000);
	end(fd, &view[0]);
}

/* While interrupts switch two sets, neither count decreases, and together they count all. */
static void sets_that_switch_lose_nothing(void)
{
	pfm_view_t view[2];
	uint64_t last[2] = { 0 }, v, w, all, before = 0;
	pfarg_pmd_t pmd = { .reg_num = COUNTER, .reg_ovfl_switch_cnt = 1, .reg_value = -3000, .reg_short_reset = -3000,
			    .reg_long_reset = -3000 };
	int fd, wrong = 0, direct = 0;

	MUST(fd = new_context(PFM_FL_MAP_SETS));
	for (int i = 0; i < 2; i++) {
		pfarg_setdesc_t set = { .set_id = i, .set_flags = PFM_SETFL_OVFL_SWITCH };

		pmd.reg_set = i;
		MUST(pfm_create_evtsets(fd, &set, 1));
		MUST(set_pmc(fd, i, COUNTER, USER | CYCLES));
		MUST(set_pmc(fd, i, COUNTER + 1, PROGRAM));
		MUST(pfm_write_pmds(fd, &pmd, 1));
		MUST(pfm_map_set(fd, i, &view[i]));
	}
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	for (int i = 0; i < 20000; i++) {
		static const uint16_t num[1] = { COUNTER + 1 };

		direct += pfm_read_fast(&view[0], num, &v, 1);
		direct += pfm_read_fast(&view[1], num, &w, 1);
		wrong += v < last[0] || w < last[1];
		last[0] = v, last[1] = w;
		spin(40);
	}
	MUST(pfm_stop(fd));
	all = get_pmd(fd, 0, COUNTER + 1) + get_pmd(fd, 1, COUNTER + 1);
	before = last[0] + last[1];
	EQUAL(wrong, 0);
	TRUE(before <= all && (!percpu_exact() || all - before < 3000));
	EQUAL(direct, 40000);
	TRUE(view[0].page->set_runs > 100 && view[1].page->set_runs > 100);
	end(fd, &view[0]);
}

/* --- rights ---------------------------------------------------------------------------------- */

/*
 * One set is active in the views, not two and not none. If the kernel is counted, too, an NMI of
 * x86 can switch sets while a command updates the view of the set that is left.
 */
static void one_set_is_active_whatever_interrupts(void)
{
	static const uint64_t periods[2] = { 7003, 9001 };
	pfm_view_t view[2];
	int fd, two = 0, none = 0, seen = 0;

	MUST(fd = new_context(PFM_FL_MAP_SETS));
	for (int i = 0; i < 2; i++) {
		pfarg_setdesc_t set = { .set_id = i, .set_flags = PFM_SETFL_OVFL_SWITCH };
		pfarg_pmd_t pmd = { .reg_num = COUNTER, .reg_set = i, .reg_ovfl_switch_cnt = 1 };

		pmd.reg_value = pmd.reg_short_reset = pmd.reg_long_reset = -periods[i];
		MUST(pfm_create_evtsets(fd, &set, 1));
		MUST(set_pmc(fd, i, COUNTER, BOTH | INST));
		MUST(pfm_write_pmds(fd, &pmd, 1));
		MUST(pfm_map_set(fd, i, &view[i]));
	}
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	for (int i = 0; i < 5000; i++) {
		const volatile pfm_set_view_t *a = (void *)view[0].page, *b = (void *)view[1].page;
		uint64_t runs;
		int active;

		get_pmd(fd, 0, COUNTER);
		spin(1 + i % 97);
		runs = a->set_runs + b->set_runs;
		active = !!(a->set_status & PFM_SETVFL_ACTIVE) + !!(b->set_status & PFM_SETVFL_ACTIVE);
		if (runs != a->set_runs + b->set_runs)
			continue;
		seen++;
		two += active == 2;
		none += !active;
	}
	check(seen > 1000 && !two && !none, "of %d times, both were active %d times, none %d", seen, two, none);
	for (int i = 0; i < 2; i++)
		pfm_unmap_set(&view[i]);
	close(fd);
}

static void writing_is_refused(void)
{
	pfarg_setinfo_t info = { .set_id = 0 };
	size_t page = (size_t)getpagesize();
	pfm_view_t view;
	int fd, plain;

	MUST(fd = new_view(&view, 0));
	MUST(pfm_getinfo_evtsets(fd, &info, 1));
	FAILS((mmap)(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, info.set_mmap_offset), EINVAL);
	FAILS((mmap)(NULL, 2 * page, PROT_READ, MAP_SHARED, fd, info.set_mmap_offset), EINVAL);
	FAILS((mmap)(NULL, page, PROT_READ, MAP_SHARED, fd, info.set_mmap_offset + page), EINVAL);
	FAILS(mprotect((void *)view.page, page, PROT_READ | PROT_WRITE), EACCES);
	TRUE((mmap)(NULL, page, PROT_READ, MAP_PRIVATE, fd, info.set_mmap_offset) != MAP_FAILED);
	end(fd, &view);
	MUST(plain = new_context(0));
	FAILS(pfm_map_set(plain, 0, &view), EINVAL);
	FAILS((mmap)(NULL, page, PROT_READ, MAP_SHARED, plain, info.set_mmap_offset), EINVAL);
	close(plain);
}

/*
 * A child has the mapping, the descriptor and the same thread pointer; it must read the parent's
 * values by calls.
 */
static void a_child_of_a_fork_reads_by_call(void)
{
	pfm_view_t view;
	uint64_t v[2], w[2];
	int fd, status;
	pid_t pid;

	MUST(fd = started(&view, 0));
	EQUAL(pfm_read_fast(&view, both, v, 2), 1);
	pid = fork();
	if (!pid) {
		int wrong = 0;

		for (int i = 0; i < 2000; i++)
			wrong += pfm_read_fast(&view, both, w, 2) != 0 || w[0] < v[0] || w[1] < v[1];
		_exit(wrong ? 1 : 0);
	}
	for (int i = 0; i < 200; i++)
		spin(10000);
	waitpid(pid, &status, 0);
	EQUAL(status, 0);
	EQUAL(pfm_read_fast(&view, both, w, 2), 1);
	TRUE(w[0] >= v[0]);
	end(fd, &view);
}

static void *read_as_another(void *arg)
{
	pfm_view_t *view = arg;
	uint64_t v[2], last = 0;
	long wrong = 0;

	for (int i = 0; i < 2000; i++) {
		wrong += pfm_read_fast(view, both, v, 2) != 0 || v[0] < last;
		last = v[0];
	}
	return (void *)wrong;
}

static void another_thread_reads_by_call(void)
{
	pfm_view_t view;
	pthread_t other;
	void *wrong;
	int fd;

	MUST(fd = started(&view, 0));
	pthread_create(&other, NULL, read_as_another, &view);
	for (int i = 0; i < 100; i++)
		spin(10000);
	pthread_join(other, &wrong);
	EQUAL((long)wrong, 0);
	end(fd, &view);
}

static void a_childs_counters_are_read_by_call(void)
{
	struct child c = child_new(child_spin, 20000000);
	pfm_view_t view;
	uint64_t v[2], last = 0;
	int fd, wrong = 0;

	MUST(fd = new_view(&view, 0));
	MUST(load(fd, c.pid));
	MUST(pfm_start(fd, NULL));
	child_go(&c);
	for (int i = 0; i < 200; i++) {
		wrong += pfm_read_fast(&view, both, v, 2) < 0 || v[0] < last || v[0] > 50000000;
		last = v[0];
		sched_yield();
	}
	EQUAL(child_end(&c), 0);
	EQUAL(wrong, 0);
	EQUAL(pfm_read_fast(&view, both, v, 2), 1);
	TRUE(v[0] >= 40000000 && v[0] < 41000000);
	end(fd, &view);
}

static void another_users_mapping_is_refused(void)
{
	pfarg_setinfo_t info = { .set_id = 0 };
	pfm_view_t view;
	int fd, status;
	void *at;
	pid_t pid;

	MUST(fd = started(&view, 0));
	MUST(pfm_getinfo_evtsets(fd, &info, 1));
	pid = fork();
	if (!pid) {
		if (setuid(65534))
			_exit(3);
		at = (mmap)(NULL, (size_t)getpagesize(), PROT_READ, MAP_SHARED, fd, info.set_mmap_offset);
		_exit(at == MAP_FAILED && errno == EPERM ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	EQUAL(status, 0);
	end(fd, &view);
}

/*
 * A view is unmapped with the last descriptor; sets can be deleted and views unmapped in any order.
 */
static void ends_come_in_any_order(void)
{
	pfarg_setdesc_t set = { .set_id = 9 };
	pfm_view_t view, second;
	unsigned char there;
	uint64_t v[1];
	int fd, copy;

	MUST(fd = started(&view, 0));
	MUST(copy = dup(fd));
	close(fd);
	view.fd = copy;
	EQUAL(pfm_read_fast(&view, both, v, 1), 1);
	close(copy);
	FAILS(mincore((void *)view.page, 4096, &there), ENOMEM);
	MUST(fd = new_view(&view, 0));
	MUST(pfm_create_evtsets(fd, &set, 1));
	MUST(pfm_map_set(fd, 9, &second));
	MUST(set_pmc(fd, 9, COUNTER, PROGRAM));
	MUST(set_pmd(fd, 9, COUNTER, 3));
	EQUAL(pfm_read_fast(&second, both, v, 1), 1);
	EQUAL(v[0], 3);
	set = (pfarg_setdesc_t){ .set_id = 9 };
	MUST(pfm_delete_evtsets(fd, &set, 1));
	FAILS(pfm_read_fast(&second, both, v, 1), EINVAL);
	FAILS(pfm_map_set(fd, 9, &second), EINVAL);
	close(fd);
	for (int i = 0; i < 50; i++) {
		MUST(fd = started(&view, 0));
		if (i & 1)
			pfm_unmap_set(&view);
		if (i & 2)
			MUST(pfm_unload_context(fd));
		close(fd);
	}
}

static void an_exec_keeps_the_kernel_content(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		pfm_view_t view;

		if (started(&view, 0) < 0)
			_exit(1);
		execl("/bin/ls", "ls", "/proc/self/fd", NULL);
		_exit(2);
	}
	waitpid(pid, &status, 0);
	EQUAL(status, 0);
}

/* --- storms ----------------------------------------------------------------------------------- */

/*
 * A thread that checks reads: the value of a read by a call lies between those of two reads at user
 * level, and a loop between two reads counts at least its instructions and not absurdly more.
 */
struct reader {
	pthread_t	id;
	unsigned int	rounds, wrong, direct;
	bool		roams;
};

static volatile bool over;

static void *read_in_the_storm(void *arg)
{
	struct reader *r = arg;
	uint64_t a[2], b[2], m[2], last[2] = { 0 };
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN), got;
	pfm_view_t view;
	int fd = started(&view, 0);

	for (unsigned int i = 0; i < r->rounds && fd >= 0; i++) {
		got = pfm_read_fast(&view, both, a, 2);
		m[0] = get_pmd(fd, 0, COUNTER);
		m[1] = get_pmd(fd, 0, CYC);
		got += pfm_read_fast(&view, both, b, 2);
		r->direct += got == 2;
		for (int k = 0; k < 2; k++)
			r->wrong += a[k] < last[k] || m[k] < a[k] || b[k] < m[k] || b[k] - a[k] > 1ULL << 30;
		memcpy(last, b, sizeof(last));
		spin(500);
		if (pfm_read_fast(&view, both, a, 2) < 0 || a[0] - b[0] < 1000 || a[0] - b[0] > 1ULL << 30)
			r->wrong++;
		memcpy(last, a, sizeof(last));
		if (r->roams && i % 7 == 0)
			pin((int)(i / 7) % cpus);
		if (i % 31 == 0)
			sched_yield();
	}
	if (fd < 0)
		r->wrong++;
	end(fd, &view);
	return NULL;
}

static void storm(int n, unsigned int rounds, bool roams)
{
	struct reader r[8] = { 0 };

	for (int i = 0; i < n; i++) {
		r[i] = (struct reader){ .rounds = rounds, .roams = roams };
		pthread_create(&r[i].id, NULL, read_in_the_storm, &r[i]);
	}
	for (int i = 0; i < n; i++) {
		pthread_join(r[i].id, NULL);
		check(!r[i].wrong, "thread %d: %u of %u wrong", i, r[i].wrong, rounds);
		check(r[i].direct > rounds / 2, "thread %d: only %u of %u direct", i, r[i].direct, rounds);
	}
}

static void busy_threads_read_right(void)
{
	storm(5, 5000, false);
}

static void threads_that_migrate_read_right(void)
{
	storm(4, 3000, true);
	pin(0);
}

static int perf_on_cpu(int cpu, bool pinned)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_RAW, .size = sizeof(attr), .config = INST, .pinned = pinned };

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/*
 * Opens and closes perf events on CPUs, pinned and not, which moves the counters of a running
 * thread.
 */
static void *move_counters(void *arg)
{
	int fds[6], cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);

	(void)arg;
	for (unsigned int i = 0; !over; i++) {
		int n = (int)(i % 6) + 1;

		for (int k = 0; k < n; k++)
			fds[k] = perf_on_cpu((int)(i + (unsigned int)k) % cpus, (i + (unsigned int)k) % 3 > 0);
		usleep(50 + i % 7 * 100);
		for (int k = n; k-- > 0;)
			if (fds[k] >= 0)
				close(fds[k]);
	}
	return NULL;
}

static void counters_of_others_move_ours_and_all_is_right(void)
{
	pthread_t mover;

	over = false;
	pthread_create(&mover, NULL, move_counters, NULL);
	storm(3, 4000, true);
	over = true;
	pthread_join(mover, NULL);
	pin(0);
}

/* The thread itself moves its counters, and reads them before any context switch. */
static void a_move_is_seen_at_once(void)
{
	uint64_t a[2], b[2], m;
	unsigned int moved = 0;
	pfm_view_t view;
	int fd, others[4];

	pin(0);
	MUST(fd = started(&view, 0));
	for (int i = 0; i < 300; i++) {
		unsigned int before = view.page->set_index[COUNTER], n = (unsigned int)i % 4 + 1;

		EQUAL(pfm_read_fast(&view, both, a, 2), 1);
		for (unsigned int k = 0; k < n; k++)
			others[k] = perf_on_cpu(0, true);
		moved += view.page->set_index[COUNTER] != before;
		TRUE(pfm_read_fast(&view, both, b, 2) >= 0);
		m = get_pmd(fd, 0, COUNTER);
		TRUE(a[0] <= b[0] && b[0] <= m && m - a[0] < 10000000);
		while (n-- > 0)
			close(others[n]);
		TRUE(pfm_read_fast(&view, both, a, 2) >= 0);
		TRUE(a[0] >= m && a[0] - m < 10000000);
	}
#ifdef __aarch64__
	TRUE(moved > 100);
#endif
	end(fd, &view);
}

static void *command_it(void *arg)
{
	int fd = *(int *)arg;

	for (unsigned int i = 0; !over; i++) {
		get_pmd(fd, 0, COUNTER);
		if (i % 3 == 0)
			set_pmd(fd, 0, 1, i);
		if (i % 5 == 0) {
			pfm_stop(fd);
			pfm_start(fd, NULL);
		}
		usleep(20);
	}
	return NULL;
}

/* Reads are right while another thread makes commands. */
static void commands_of_others_come_in_between(void)
{
	uint64_t v[2], last[2] = { 0 };
	pthread_t other;
	pfm_view_t view;
	int fd, wrong = 0;

	over = false;
	MUST(fd = started(&view, 0));
	pthread_create(&other, NULL, command_it, &fd);
	for (int i = 0; i < 30000; i++) {
		wrong += pfm_read_fast(&view, both, v, 2) < 0 || v[0] < last[0] || v[1] < last[1] ||
			 v[0] - last[0] > 1ULL << 30;
		memcpy(last, v, sizeof(v));
		if (i % 50 == 0)
			sched_yield();
	}
	over = true;
	pthread_join(other, NULL);
	EQUAL(wrong, 0);
	end(fd, &view);
}

/* Reads are right while a counter samples, and each overflow resets it. */
static void counters_that_overflow_are_read_right(void)
{
	uint64_t v[2], last = 0, wrong = 0;
	pfm_dfl_smpl_arg_t arg = { .buf_size = 1 << 20 };
	pfarg_ctx_t ctx = { .ctx_flags = PFM_FL_MAP_SETS };
	pfm_view_t view;
	int fd;

	MUST(fd = pfm_create_context(&ctx, "default", &arg, sizeof(arg)));
	MUST(set_pmc(fd, 0, COUNTER, PROGRAM));
	MUST(set_pmc(fd, 0, CYC, CYC_PMC(USER)));
	MUST(set_period(fd, 0, CYC, 5000, 0));
	MUST(pfm_map_set(fd, 0, &view));
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	for (int i = 0; i < 20000; i++) {
		wrong += pfm_read_fast(&view, both, v, 2) != 1 || v[0] < last;
		wrong += (int64_t)v[1] < -5000 || (int64_t)v[1] > 1000000;
		last = v[0];
		spin(100);
	}
	EQUAL(wrong, 0);
	end(fd, &view);
}

/* --- on perf_event ---------------------------------------------------------------------------- */

static void the_same_on_perf_event(void)
{
	MUST(pfm_set_machine("perf", NULL));
	a_read_is_exact();
	what_stands_still_is_read();
	what_is_not_in_a_register_takes_a_call();
	where_it_is_forbidden_it_takes_a_call();
	another_thread_reads_by_call();
	sets_tell_which_is_active();
	storm(3, 2000, true);
	pin(0);
	MUST(pfm_set_machine("linux", NULL));
}

int main(void)
{
	both[1] = CYC;
	pin(0);
	allow(true);
	TEST(a_read_is_exact);
	TEST(a_set_that_is_running_is_mapped);
	TEST(upper_bits_are_there);
	TEST(what_stands_still_is_read);
	TEST(what_is_not_in_a_register_takes_a_call);
	TEST(where_it_is_forbidden_it_takes_a_call);
	TEST(sets_tell_which_is_active);
	TEST(sets_that_switch_lose_nothing);
	TEST(one_set_is_active_whatever_interrupts);
	TEST(writing_is_refused);
	TEST(a_child_of_a_fork_reads_by_call);
	TEST(another_thread_reads_by_call);
	TEST(a_childs_counters_are_read_by_call);
	TEST(another_users_mapping_is_refused);
	TEST(ends_come_in_any_order);
	TEST(an_exec_keeps_the_kernel_content);
	TEST(busy_threads_read_right);
	TEST(threads_that_migrate_read_right);
	TEST(a_move_is_seen_at_once);
	TEST(counters_of_others_move_ours_and_all_is_right);
	TEST(commands_of_others_come_in_between);
	TEST(counters_that_overflow_are_read_right);
	TEST(the_same_on_perf_event);
	return tests_failed > 0;
}
