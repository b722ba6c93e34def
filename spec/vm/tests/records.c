// SPDX-License-Identifier: MIT
/*
 * records.c - the format stack records what programs do: MAP, EXEC, RENAME, FORK, EXIT.
 */
#include <sys/stat.h>

#include "users.h"
#include "perfmon/perfmon_stack_smpl.h"

#define CPUS		64
#define LIBRARY		"/w/build/libpfmlib.so"
#define LEAVES		300

/* --- contexts --------------------------------------------------------------------------------- */

/* bytes of a listener's buffer: users without rights may have no more */
static size_t size = 4u << 20;

/*
 * Creates a context that samples page faults of a thread or, if tid is 0, of this CPU, and starts
 * it.
 */
static int listener(uint64_t period, pid_t tid)
{
	pfm_stack_smpl_arg_t arg = { .buf_size = size, .buf_flags = PFM_STACK_SMPL_RECORDS };
	pfarg_ctx_t ctx = { .ctx_flags = tid ? 0 : PFM_FL_SYSTEM_WIDE | PFM_FL_ANY_CPU };
	int fd = pfm_create_context_name(&ctx, PFM_STACK_SMPL_NAME, &arg, sizeof(arg));

	check(fd >= 0 && !set_pmc(fd, 0, FAULTS, SW_USER) &&
	      !set_period(fd, 0, FAULTS, period, PFM_REGFL_OVFL_NOTIFY) &&
	      !load(fd, tid ? tid : my_tid()) && !pfm_start(fd, NULL), "setup: %s", pfm_explain());
	return fd;
}

static const pfm_stack_smpl_hdr_t *stopped(int fd)
{
	check(!pfm_stop(fd), "stop: %s", pfm_explain());
	return pfm_map_buffer(fd, size);
}

/* Unmaps and closes a listener. */
static void end(int fd, const pfm_stack_smpl_hdr_t *h)
{
	if (h != MAP_FAILED)
		munmap((void *)(uintptr_t)h, size);
	close(fd);
}

/* --- records ---------------------------------------------------------------------------------- */

static const pfm_stack_smpl_event_t *next_of(const pfm_stack_smpl_hdr_t *h, const pfm_stack_smpl_event_t *e)
{
	size_t at = e ? (size_t)((const char *)e - (const char *)h) + e->rec.rec_size : sizeof(*h);

	return at < h->hdr_cur_offs ? (const void *)((const char *)h + at) : NULL;
}

#define for_each(e, h) for ((e) = next_of(h, NULL); (e); (e) = next_of(h, e))

/* Returns the number of records of a type about a thread, or about all if tid is 0. */
static int count(const pfm_stack_smpl_hdr_t *h, uint32_t type, pid_t tid)
{
	const pfm_stack_smpl_event_t *e;
	int n = 0;

	for_each(e, h)
		n += e->rec.rec_type == type && (e->tid == (uint32_t)tid || !tid);
	return n;
}

/*
 * Returns how many mappings of a process were recorded that have this path or, without one, hold
 * this address.
 */
static int count_maps(const pfm_stack_smpl_hdr_t *h, pid_t pid, const char *path, uint64_t at)
{
	const pfm_stack_smpl_event_t *e;
	int n = 0;

	for_each(e, h) {
		const pfm_stack_smpl_map_t *map = (const void *)e;

		if (e->rec.rec_type != PFM_STACK_SMPL_MAP || e->pid != (uint32_t)pid)
			continue;
		n += path ? !strcmp((const char *)(map + 1), path) : at >= map->addr && at - map->addr < map->len;
	}
	return n;
}

static char self[256];

/* Executes this program in a child, under the name "leaf". */
static pid_t run_leaf(void)
{
	pid_t pid = fork();

	if (!pid) {
		execl(self, "leaf", (char *)NULL);
		_exit(9);
	}
	return pid;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void a_process_is_told_from_fork_to_exit(void)
{
	const pfm_stack_smpl_event_t *e;
	const pfm_stack_smpl_hdr_t *h;
	int fd, order = 0;
	pid_t pid;

	pin(0);
	fd = listener(1 << 30, 0);
	pid = run_leaf();
	EQUAL(status_of(pid), 0);
	h = stopped(fd);
	EQUAL(count(h, PFM_STACK_SMPL_FORK, pid), 1);
	EQUAL(count(h, PFM_STACK_SMPL_EXEC, pid), 1);
	EQUAL(count(h, PFM_STACK_SMPL_EXIT, pid), 1);
	EQUAL(count_maps(h, pid, self, 0), 1);
	check(count(h, PFM_STACK_SMPL_MAP, pid) >= 4, "%d mappings", count(h, PFM_STACK_SMPL_MAP, pid));
	for_each(e, h) {
		static const uint32_t types[] = { PFM_STACK_SMPL_FORK, PFM_STACK_SMPL_EXEC, PFM_STACK_SMPL_MAP,
						  PFM_STACK_SMPL_EXIT };

		if (e->tid != (uint32_t)pid)	/* libperfmon starts threads, too */
			continue;
		order += order < 4 && e->rec.rec_type == types[order];
		TRUE(e->pid == (uint32_t)pid && e->tstamp);
		if (e->rec.rec_type == PFM_STACK_SMPL_FORK)
			EQUAL(((const pfm_stack_smpl_fork_t *)(const void *)e)->ppid, getpid());
		if (e->rec.rec_type == PFM_STACK_SMPL_EXEC)
			check(!strcmp(((const pfm_stack_smpl_exec_t *)(const void *)e)->comm, strrchr(self, '/') + 1),
			      "it is called otherwise");
	}
	EQUAL(order, 4);
	end(fd, h);
}

/* "RENAME: the thread has another name now": one record; the name after an exec is in EXEC. */
static void a_thread_that_names_itself_is_told(void)
{
	const pfm_stack_smpl_exec_t *name = NULL;
	const pfm_stack_smpl_event_t *e;
	const pfm_stack_smpl_hdr_t *h;
	char before[16];
	int fd;
	pid_t pid;

	pin(0);
	fd = listener(1 << 30, 0);
	check(!prctl(PR_GET_NAME, before) && !prctl(PR_SET_NAME, "another name") && !prctl(PR_SET_NAME, before),
	      "prctl");
	pid = run_leaf();
	EQUAL(status_of(pid), 0);
	h = stopped(fd);
	EQUAL(count(h, PFM_STACK_SMPL_RENAME, getpid()), 2);
	for_each(e, h)
		if (!name && e->rec.rec_type == PFM_STACK_SMPL_RENAME && e->pid == (uint32_t)getpid())
			name = (const void *)e;
	check(name && !strcmp(name->comm, "another name"), "it is called otherwise");
	EQUAL(name ? (int)name->event.tid : 0, my_tid());
	EQUAL(count(h, PFM_STACK_SMPL_RENAME, pid), 0);
	end(fd, h);
}

static char *page;

static void touch(uint64_t n)
{
	page = mmap(NULL, n * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (uint64_t i = 0; i < n; i++)
		page[i * 4096] = 1;
}

static void who_was_there_before_is_told_with_the_first_sample(void)
{
	struct child c = child_new(touch, 4);
	int fd = listener(1, c.pid);
	const pfm_stack_smpl_hdr_t *h;

	child_go(&c);
	child_end(&c);
	h = pfm_map_buffer(fd, size);
	TRUE(count_maps(h, c.pid, self, 0) >= 1);
	EQUAL(count_maps(h, c.pid, NULL, (uintptr_t)touch), 1);
	EQUAL(count(h, PFM_STACK_SMPL_EXEC, 0), 0);
	EQUAL(count(h, PFM_STACK_SMPL_EXIT, c.pid), 1);
	TRUE(h->hdr_count >= 4);
	end(fd, h);
}

static void map_library(uint64_t times)
{
	for (uint64_t i = 0; i < times; i++) {
		int fd = open(LIBRARY, O_RDONLY);

		mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		close(fd);
		touch(1);
	}
}

static void what_is_mapped_later_is_told_once(void)
{
	struct child c = child_new(map_library, 3);
	int fd = listener(1, c.pid);
	const pfm_stack_smpl_hdr_t *h;

	child_go(&c);
	child_end(&c);
	h = pfm_map_buffer(fd, size);
	EQUAL(count_maps(h, c.pid, LIBRARY, 0), 3);	/* mapped at three addresses */
	TRUE(count_maps(h, c.pid, self, 0) >= 1);
	end(fd, h);
}

static bool tells(const pfm_stack_smpl_hdr_t *h, const char *path)
{
	const pfm_stack_smpl_event_t *e;

	for_each(e, h)
		if (e->rec.rec_type == PFM_STACK_SMPL_MAP &&
		    !strcmp((const char *)((const pfm_stack_smpl_map_t *)(const void *)e + 1), path))
			return true;
	return false;
}

/* Reports that it watches, waits for another process's mapping, and then makes one of its own. */
static int watch(int up, int go)
{
	const pfm_stack_smpl_hdr_t *h;
	char byte;
	pid_t pid;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (become(NOBODY, 0))
		return 1;
	fd = listener(1, 0);
	if (test_failed || write(up, "", 1) != 1 || read(go, &byte, 1) != 1)
		return 2;
	pid = run_leaf();
	if (status_of(pid))
		return 3;
	h = stopped(fd);
	if (count(h, PFM_STACK_SMPL_EXEC, pid) != 1 || !count_maps(h, pid, self, 0))
		return 4;
	return tells(h, LIBRARY) ? 5 : 0;
}

/* A user that may monitor CPUs sees others' samples, but not their mappings. */
static void others_mappings_are_not_told(void)
{
	int up[2], go[2], paranoid = open("/proc/sys/kernel/perf_event_paranoid", O_RDWR);
	pid_t watcher, pid;
	char byte;

	pin(0);
	MUST(write(paranoid, "0", 1));
	MUST(pipe(up));
	MUST(pipe(go));
	watcher = fork();
	if (!watcher)
		_exit(watch(up[1], go[0]));
	close(up[1]);
	if (read(up[0], &byte, 1) == 1) {
		pid = fork();
		if (!pid) {
			map_library(1);
			_exit(0);
		}
		EQUAL(status_of(pid), 0);
		MUST(write(go[1], "", 1));
	}
	EQUAL(status_of(watcher), 0);
	MUST(write(paranoid, "2", 1));
	close(paranoid);
}

static void become_leaf(uint64_t unused)
{
	(void)unused;
	execl("/tmp/leaf", "leaf", (char *)NULL);
	_exit(9);
}

/* Returns 1 if the exec of a child and its mappings are recorded, and 2 if they are not. */
static int watch_exec(int unused)
{
	struct child c = child_new(become_leaf, 0);
	int fd = listener(1, c.pid), maps, execs;
	const pfm_stack_smpl_hdr_t *h;

	(void)unused;
	child_go(&c);
	if (test_failed || child_end(&c))
		return 100;
	h = pfm_map_buffer(fd, size);
	maps = count_maps(h, c.pid, "/tmp/leaf", 0);
	execs = count(h, PFM_STACK_SMPL_EXEC, c.pid);
	if (maps != execs || count(h, PFM_STACK_SMPL_EXIT, c.pid) != execs)
		return 101;
	return maps ? 1 : 2;
}

static void what_set_uid_programs_do_is_not_told(void)
{
	char command[512];

	snprintf(command, sizeof(command), "cp %s /tmp/leaf && chmod 755 /tmp/leaf", self);
	EQUAL(system(command), 0);
	EQUAL(as_user(NOBODY, 0, watch_exec, 0), 1);
	EQUAL(chmod("/tmp/leaf", 04755), 0);
	EQUAL(as_user(NOBODY, 0, watch_exec, 0), 2);
}

/* Makes mappings in a process that is not dumpable, as one that runs a set-uid program. */
static void hide_and_map(uint64_t times)
{
	prctl(PR_SET_DUMPABLE, 0);
	map_library(times);
}

/* A user monitors a process of its own, which then makes itself not dumpable. */
static int watch_hider(void)
{
	const pfm_stack_smpl_hdr_t *h;
	struct child c;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (become(NOBODY, 0))
		return 1;
	c = child_new(hide_and_map, 1);
	fd = listener(1, c.pid);
	child_go(&c);
	child_end(&c);
	h = test_failed ? MAP_FAILED : pfm_map_buffer(fd, size);
	if (h == MAP_FAILED || count(h, PFM_STACK_SMPL_EXIT, c.pid) != 1)
		return 2;
	return tells(h, LIBRARY) ? 3 : 0;
}

static void who_hides_is_not_told(void)
{
	pid_t watcher = fork();

	if (!watcher)
		_exit(watch_hider());
	EQUAL(status_of(watcher), 0);
}

/* --- many ------------------------------------------------------------------------------------- */

static const pfm_stack_smpl_hdr_t *all[CPUS];
static int num_cpus;

/*
 * Returns true if the address is in a recorded mapping of the process, or of this process, its
 * parent.
 */
static bool is_known(pid_t pid, uint64_t ip)
{
	for (int cpu = 0; cpu < num_cpus; cpu++)
		if (count_maps(all[cpu], pid, NULL, ip) || count_maps(all[cpu], getpid(), NULL, ip))
			return true;
	return false;
}

static bool is_leaf(pid_t pid)
{
	for (int cpu = 0; cpu < num_cpus; cpu++)
		if (count(all[cpu], PFM_STACK_SMPL_EXEC, pid))
			return true;
	return false;
}

static void check_samples(const pfm_stack_smpl_hdr_t *h, int *n)
{
	const pfm_stack_smpl_event_t *e;

	for_each(e, h) {
		const pfm_stack_smpl_sample_t *s = (const void *)e;

		if (e->rec.rec_type != PFM_STACK_SMPL_SAMPLE || !is_leaf((pid_t)s->entry.tgid))
			continue;
		++*n;
		check(is_known((pid_t)s->entry.tgid, s->entry.ip), "process %u has nothing at %#llx", s->entry.tgid,
		      (unsigned long long)s->entry.ip);
	}
}

/* Each short program is sampled until its end; all samples are in recorded mappings. */
static void all_samples_of_many_short_programs_are_known(void)
{
	int fds[CPUS], n = 0, leaves = 0;

	num_cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	for (int cpu = 0; cpu < num_cpus; cpu++) {
		pin(cpu);
		fds[cpu] = listener(7, 0);
	}
	for (int i = 0; i < LEAVES; i++) {
		pin(i % num_cpus);
		EQUAL(status_of(run_leaf()), 0);
	}
	touch(64);	/* this program's mappings are recorded, too */
	for (int cpu = 0; cpu < num_cpus; cpu++) {
		all[cpu] = stopped(fds[cpu]);
		leaves += count(all[cpu], PFM_STACK_SMPL_EXEC, 0);
		EQUAL(count(all[cpu], PFM_STACK_SMPL_LOST, 0), 0);
	}
	EQUAL(leaves, LEAVES);
	for (int cpu = 0; cpu < num_cpus; cpu++)
		check_samples(all[cpu], &n);
	check(n > LEAVES, "%d samples", n);
	for (int cpu = 0; cpu < num_cpus; cpu++)
		end(fds[cpu], all[cpu]);
}

/* Contexts are closed while threads are about to record their mappings for them. */
static void listeners_may_go_at_any_time(void)
{
	pid_t pid = fork();

	if (!pid) {
		for (;;)
			status_of(run_leaf());
	}
	for (int i = 0; i < 200; i++) {
		int fd = listener(1, 0);

		usleep(300);
		close(fd);
	}
	kill(pid, SIGKILL);
	status_of(pid);
}

/* --- what is not to be missed ----------------------------------------------------------------- */

#define OTHER_LIBRARY	"/w/build/libperfmon.so"

/* Maps a page of code, after a fault has recorded all mappings that existed before. */
static void replace_mapping(uint64_t pages)
{
	int old = open(LIBRARY, O_RDONLY), new = open(OTHER_LIBRARY, O_RDONLY);
	void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, old, 0);

	fault(1);
	munmap(at, 4096);
	mmap(NULL, pages * 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, new, 0);
	fault(10);
}

static int told_of_new(uint64_t pages)
{
	struct child c = child_new(replace_mapping, pages);
	const pfm_stack_smpl_event_t *e;
	const pfm_stack_smpl_hdr_t *h;
	int fd = listener(1, c.pid), n = 0;

	child_go(&c);
	child_end(&c);
	h = pfm_map_buffer(fd, size);
	for_each(e, h) {
		const pfm_stack_smpl_map_t *map = (const void *)e;

		n += e->rec.rec_type == PFM_STACK_SMPL_MAP && map->len == pages * 4096 && !map->offset &&
		     !strcmp((const char *)(map + 1), OTHER_LIBRARY);
	}
	end(fd, h);
	return n;
}

/* A mapping that replaces another is recorded, whether it is larger or of the same size. */
static void what_takes_anothers_place_is_told(void)
{
	EQUAL(told_of_new(2), 1);
	EQUAL(told_of_new(1), 1);
}

#define SLEEPERS	300		/* more than the walks over mappings that can be pending */
#define CPU_CLOCK	65

static char junk[1 << 18];
static int pipes[SLEEPERS][2];

/* Lets each sleeper go on with its write(), in which it is sampled, and then sleep again. */
static void wake_sleepers(void)
{
	for (int i = 0; i < SLEEPERS; i++)
		EQUAL(read(pipes[i][0], junk, 65536), 65536);
}

static void sleepers_leave_others_their_mappings(void)
{
	const pfm_stack_smpl_hdr_t *h;
	pid_t pids[SLEEPERS], pid;
	int fd;

	pin(0);
	for (int i = 0; i < SLEEPERS; i++) {
		MUST(pipe(pipes[i]));
		pids[i] = fork();
		if (!pids[i])
			_exit(write(pipes[i][1], junk, sizeof(junk)) < 0);
		await_sleep(pids[i]);
	}
	size = 16u << 20;	/* a kernel with KASAN is so slow that samples alone fill 4 MiB */
	fd = listener(1 << 30, 0);
	check(!set_pmc(fd, 0, CPU_CLOCK, 9) && !set_period(fd, 0, CPU_CLOCK, 50000, PFM_REGFL_OVFL_NOTIFY),
	      "a clock: %s", pfm_explain());
	wake_sleepers();
	for (int i = 0; i < SLEEPERS; i++)
		await_sleep(pids[i]);
	pid = run_leaf();
	EQUAL(status_of(pid), 0);
	h = stopped(fd);
	TRUE(count(h, PFM_STACK_SMPL_MAP, pid) >= 4);
	end(fd, h);
	for (int i = 0; i < SLEEPERS; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
		close(pipes[i][0]);
		close(pipes[i][1]);
	}
}

/*
 * Reads zeros into pages that are not there: each is a page fault in the kernel, within one system
 * call. No record has told the number of pages of code that there are then.
 */
static void fault_in_kernel(uint64_t pages)
{
	char *to = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int zero = open("/dev/zero", O_RDONLY), code = open(LIBRARY, O_RDONLY);
	char *at = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, code, 0);

	madvise(to, pages * 4096, MADV_NOHUGEPAGE);
	if (munmap(at, 4096) || read(zero, to, pages * 4096) != (ssize_t)(pages * 4096))
		_exit(3);
}

/* A thread that is sampled often in one system call loses no record. */
static void many_samples_in_a_call_lose_nothing(void)
{
	struct child c = child_new(fault_in_kernel, 1000);
	const pfm_stack_smpl_hdr_t *h;
	int fd = listener(1, c.pid);

	check(!pfm_stop(fd) && !set_pmc(fd, 0, FAULTS, 1) && !pfm_start(fd, NULL),
	      "faults in the kernel alone: %s", pfm_explain());
	child_go(&c);
	EQUAL(child_end(&c), 0);
	h = pfm_map_buffer(fd, size);
	TRUE(count(h, PFM_STACK_SMPL_SAMPLE, 0) >= 1000);
	EQUAL(count(h, PFM_STACK_SMPL_LOST, 0), 0);
	TRUE(count_maps(h, c.pid, self, 0) >= 1);
	end(fd, h);
}

int main(int argc, char **argv)
{
	(void)argc;
	if (!strcmp(argv[0], "leaf")) {
		touch(8);
		return 0;
	}
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 1;
	TEST(a_process_is_told_from_fork_to_exit);
	TEST(a_thread_that_names_itself_is_told);
	TEST(who_was_there_before_is_told_with_the_first_sample);
	TEST(what_is_mapped_later_is_told_once);
	TEST(others_mappings_are_not_told);
	TEST(what_set_uid_programs_do_is_not_told);
	TEST(who_hides_is_not_told);
	TEST(all_samples_of_many_short_programs_are_known);
	TEST(listeners_may_go_at_any_time);
	TEST(what_takes_anothers_place_is_told);
	TEST(sleepers_leave_others_their_mappings);
	TEST(many_samples_in_a_call_lose_nothing);
	return !!tests_failed;
}
