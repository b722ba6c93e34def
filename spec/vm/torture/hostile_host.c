// SPDX-License-Identifier: MIT
/*
 * hostile_host.c - misuse of the machine: clocks and PMU that overflow at the same time, thousands
 * of sets, processors and modules that come and go, other users of the counters, and a user that
 * takes all memory it gets.
 */
#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include "hostile.h"
#include "module_list.h"

/* --- timernmi: the thread's clock and the PMU overflow at the same time ----------------------- */

static void two_timed_sets(int fd)
{
	pfarg_setdesc_t sets[] = {
		{ .set_id = 0, .set_flags = PFM_SETFL_TIME_SWITCH, .set_timeout = 20000 },
		{ .set_id = 1, .set_flags = PFM_SETFL_TIME_SWITCH, .set_timeout = 20000 },
	};

	try(pfm_create_evtsets(fd, sets, 2));
}

static void timernmi(void)
{
	for (int turn = 0; !over(); turn++) {
		int fd, sets = 1 + turn % 2;

		MUST(fd = sampler(0, 16384));
		if (sets == 2)
			two_timed_sets(fd);
		for (int set = 0; set < sets; set++) {
			try(set_pmc(fd, set, 0, BOTH | CYCLES));
			try(set_period(fd, set, 0, 3000 + any(20000), 0));
			try(set_pmc(fd, set, CLOCK, SW_USER | SW_KERNEL));
			try(set_period(fd, set, CLOCK, 10000 + any(10000), 0));
		}
		load_and_start(fd, my_tid());
		for (int i = 0; i < 100; i++) {
			spin(20000);
			fault(5);
			try(pfm_restart(fd));
		}
		close(fd);
	}
}

/* --- sets: very many, switched as fast as can be, grown while they are switched --------------- */

static void any_pmd(int fd, uint16_t set)
{
	pfarg_pmd_t pmd = { .reg_num = (uint16_t)any(6), .reg_set = set, .reg_flags = any(40) == 0,
			    .reg_value = -(uint64_t)(1000 + any(10000)), .reg_ovfl_switch_cnt = any(3),
			    .reg_short_reset = -5000ULL, .reg_long_reset = -5000ULL };

	try(set_pmc(fd, set, (int)any(6), (any(2) ? USER : BOTH) | CYCLES));
	try(pfm_write_pmds(fd, &pmd, 1));
}

static int many_sets(int fd, int n)
{
	for (int i = 0; i < n && !over(); i++) {
		pfarg_setdesc_t set = { .set_id = (uint16_t)i, .set_timeout = 1 + any(1000),
					.set_flags = any(4) ? PFM_SETFL_TIME_SWITCH : PFM_SETFL_OVFL_SWITCH };

		if (try(pfm_create_evtsets(fd, &set, 1)))
			return i;
		any_pmd(fd, set.set_id);
	}
	return n;
}

static void sets(void)
{
	while (!over()) {
		pid_t pid = spawn(work_for_ever);
		int fd = any_context(0);
		uint32_t n = (uint32_t)many_sets(fd, 10 + (int)any(1000)) + 1;

		load_and_start(fd, pid);
		common_fd = fd;
		crew_starts(1, restarter);
		for (int i = 0; i < 200 && !over(); i++) {
			pfarg_setinfo_t info = { .set_id = (uint16_t)any(n) };
			pfarg_start_t from = { .start_set = (uint16_t)any(n) };

			try(pfm_getinfo_evtsets(fd, &info, 1));
			serve(fd);
			any_pmd(fd, (uint16_t)any(n));
			if (!any(5))
				try(pfm_start(fd, &from));
			if (!any(5))
				load_and_start(fd, pid);
			usleep(any(500));
		}
		common_fd = -1;
		crew_ends();
		close(fd);
		kill_and_reap(pid);
	}
}

/* --- hotplug: system-wide contexts on processors that come and go ----------------------------- */

static void online(int cpu, bool on)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	fd = open(path, O_WRONLY);
	if (fd >= 0)
		try(write(fd, on ? "1" : "0", 1));
	close(fd);
}

static int cpus(void)
{
	return (int)sysconf(_SC_NPROCESSORS_CONF);
}

static void any_set(int fd, uint16_t id)
{
	static const uint32_t flags[] = {
		0, PFM_SETFL_EXCL_IDLE, PFM_SETFL_EXCL_KERNEL_ONLY_THREADS, PFM_SETFL_TIME_SWITCH,
		PFM_SETFL_TIME_SWITCH | PFM_SETFL_EXCL_IDLE,
	};
	pfarg_setdesc_t set = { .set_id = id, .set_flags = flags[any(5)], .set_timeout = 1 + any(30000) };

	try(pfm_create_evtsets(fd, &set, 1));
	try(set_pmc(fd, id, 0, BOTH | CYCLES));
	try(set_period(fd, id, 0, 1500 + any(20000), any(2)));
	if (any(2)) {
		try(set_pmc(fd, id, SWITCHES, SW_KERNEL));
		try(set_period(fd, id, SWITCHES, 1 + any(5), 0));
	}
}

static void watch_cpu(int fd, int cpu)
{
	pin(cpu);
	if (!load_and_start(fd, my_tid()))
		return;
	for (int i = 10 + (int)any(60); i; i--) {
		if (!any(4))
			pin((int)any((uint32_t)cpus()));
		serve(fd);
		get_pmd(fd, 0, 0);
		if (!any(10)) {
			try(pfm_stop(fd));
			try(pfm_start(fd, NULL));
		}
		usleep(any(2000));
	}
}

static void watch_cpus(void)
{
	for (;;) {
		int fd = any_context(PFM_FL_SYSTEM_WIDE | (any(2) ? PFM_FL_ANY_CPU : 0));

		any_set(fd, 0);
		if (any(2))
			any_set(fd, 1);
		watch_cpu(fd, (int)any((uint32_t)cpus()));
		close(fd);
	}
}

static void hotplug(void)
{
	pid_t watchers[8];

	for (int i = 0; i < 8; i++)
		watchers[i] = spawn(watch_cpus);
	while (!over()) {
		pid_t *one = &watchers[any(8)];

		if (cpus() > 1)
			online(1 + (int)any((uint32_t)cpus() - 1), any(2));
		usleep(any(30000));
		if (!any(10)) {
			kill_and_reap(*one);
			*one = spawn(watch_cpus);
		}
	}
	for (int cpu = 1; cpu < cpus(); cpu++)
		online(cpu, true);
	for (int i = 0; i < 8; i++)
		kill_and_reap(watchers[i]);
}

/* --- modules: formats and descriptions go while they are wanted ------------------------------- */

static void read_slowly(const char *path)
{
	char text[256];
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		return;
	try(read(fd, text, sizeof(text)));
	usleep(any(1000));
	try(pread(fd, text, sizeof(text), 0));
	close(fd);
}

static void want_modules(void)
{
	for (;;) {
		int fd = any_context(0);
		pfarg_pmcinfo_t info = { .reg_num = (uint16_t)any(70) };
		pfarg_fmtinfo_t formats[8];

		try(pfm_getinfo_pmcs(&info, 1));
		try(pfm_getinfo_fmts(formats, (int)any(8)));
		let_overflow(fd, 3000, 0);
		load_and_start(fd, my_tid());
		busy(50000);
		close(fd);
		if (!any(5))
			read_slowly(any(2) ? "/sys/kernel/perfmon/pmu_desc/pmc0/name" :
				    "/sys/kernel/perfmon/formats/default/uuid");
	}
}

static void modules(void)
{
	pid_t users[4];

	for (int i = 0; i < 4; i++)
		users[i] = spawn(want_modules);
	while (!over()) {
		try(unload_unused(any(2) ? FORMAT_MODULES : ""));
		usleep(any(1500));
	}
	for (int i = 0; i < 4; i++)
		kill_and_reap(users[i]);
}

/* --- beside_perf: perf_event's own users of the same thread's counters ------------------------ */

static int perf_event(pid_t pid, int leader)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .exclude_hv = 1, .inherit = any(2),
					.pinned = leader < 0 && any(2), .config = any(4),
					.type = any(2) ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
					.sample_period = any(2) ? 100000 : 0 };

	return (int)try(syscall(SYS_perf_event_open, &attr, pid, -1, leader, 0));
}

static void use_both(int fd, int *events, pid_t pid)
{
	int *event = &events[any(6)];

	serve(fd);
	if (*event >= 0)
		try(ioctl(*event, any(2) ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0));
	if (!any(4)) {
		close(*event);
		*event = perf_event(pid, any(2) ? events[any(6)] : -1);
	}
	if (!any(8)) {
		try(pfm_unload_context(fd));
		load_and_start(fd, pid);
	}
	usleep(any(1000));
}

static void beside_perf(void)
{
	while (!over()) {
		pid_t pid = spawn(work_for_ever);
		int events[6], fd = any_context(maybe_block());

		for (int i = 0; i < 6; i++)
			events[i] = perf_event(pid, -1);
		let_overflow(fd, 2000, any(2));
		load_and_start(fd, pid);
		for (int i = 0; i < 60 && !over(); i++)
			use_both(fd, events, pid);
		kill_and_reap(pid);
		for (int i = 0; i < 6; i++)
			close(events[i]);
		close(fd);
	}
}

/* --- setmem: event sets of an unprivileged user stay within its RLIMIT_MEMLOCK ---------------- */

enum { MIB = 1 << 20, SETS = 4096 / sizeof(pfarg_setdesc_t), ROUNDS = 65536 / SETS };

static long available_kib(void)
{
	char line[128];
	long kib = 0;
	FILE *f = fopen("/proc/meminfo", "r");

	while (f && fgets(line, sizeof(line), f) && sscanf(line, "MemAvailable: %ld", &kib) != 1)
		;
	if (f)
		fclose(f);
	return kib;
}

/*
 * Takes memory until it is refused or far too much: the user's limit and perf's share for each CPU
 * are a few MiB.
 */
static int take_memory(void)
{
	long before = available_kib();

	for (int contexts = 0; contexts < 64; contexts++) {
		int fd = new_context(0);

		for (int round = 0; fd >= 0 && round < ROUNDS; round++) {
			pfarg_setdesc_t more[SETS] = { { 0 } };

			for (int i = 0; i < SETS; i++)
				more[i].set_id = (uint16_t)(round * SETS + i);
			if (pfm_create_evtsets(fd, more, SETS))
				break;
			if (before - available_kib() > 64 * 1024)
				return 1;
		}
	}
	return 0;
}

static void setmem(void)
{
	struct rlimit locked = { MIB, MIB };
	int status;
	pid_t pid = fork();

	if (!pid) {
		setrlimit(RLIMIT_MEMLOCK, &locked);
		if (setgid(65534) || setuid(65534))
			_exit(2);
		_exit(take_memory());
	}
	waitpid(pid, &status, 0);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "nobody got more than 64 MiB for sets: status %x", status);
}

int main(int argc, char **argv)
{
	static const struct scenario all[] = {
		{ "timernmi", timernmi }, { "sets", sets }, { "hotplug", hotplug }, { "modules", modules },
		{ "beside_perf", beside_perf }, { "setmem", setmem }, { NULL, NULL },
	};

	return run_scenarios(all, argc, argv);
}
