// SPDX-License-Identifier: MIT
/*
 * limits.c - limits of contexts: rates and sessions; and contexts on CPUs that go offline, in pid
 * namespaces, and with descriptors that are passed to other processes.
 */
#include <pthread.h>

#include "users.h"
#include "perfmon/perfmon_stack_smpl.h"

static int new_sampling(size_t size)
{
	pfm_dfl_smpl_arg_t arg = { .buf_size = size };
	pfarg_ctx_t ctx = { 0 };

	return pfm_create_context(&ctx, "default", &arg, sizeof(arg));
}

/* Runs fn in a child, and returns its result, 0 to 255. */
static int in_child(int (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(fn());
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 254;
}

/* 3.3.3: a message is read as a whole; until then it stays in the queue. */
static void short_reads_are_refused(void)
{
	void *volatile nowhere = (void *)8;
	pfarg_msg_t msg[2];
	int fd;

	MUST(fd = new_context(0));
	MUST(set_pmc(fd, 0, CYC, CYC_PMC(USER)));
	MUST(set_period(fd, 0, CYC, 100000, PFM_REGFL_OVFL_NOTIFY));
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	spin(100000);
	TRUE(has_message(fd));
	FAILS(read(fd, msg, 0), EINVAL);
	FAILS(read(fd, msg, 1), EINVAL);
	FAILS(read(fd, msg, sizeof(*msg) - 1), EINVAL);
	FAILS(read(fd, msg, sizeof(*msg) + 1), EINVAL);
	FAILS(read(fd, nowhere, sizeof(*msg)), EFAULT);
	TRUE(has_message(fd));
	TRUE(!pfm_restart(fd));
	spin(100000);
	MUST(fcntl(fd, F_SETFL, O_NONBLOCK));
	EQUAL(read(fd, msg, sizeof(msg)), sizeof(*msg));
	EQUAL(msg->type, PFM_MSG_OVFL);
	FAILS(read(fd, msg, sizeof(*msg)), EAGAIN);
	close(fd);
}

/* --- memory: 4.4.2, 4.4.3 --------------------------------------------------------------------- */

static void vectors_are_limited(void)
{
	static pfarg_pmd_t pmds[64];
	pfarg_config_t old, cfg;
	int fd, most;

	MUST(pfm_get_config(&old));
	cfg = old;
	cfg.cf_arg_size_max = 4096;
	MUST(pfm_set_config(&cfg));
	most = 4096 / (int)sizeof(pmds[0]);
	MUST(fd = new_context(0));
	EQUAL(pfm_read_pmds(fd, pmds, most), 0);
	FAILS(pfm_read_pmds(fd, pmds, most + 1), E2BIG);
	FAILS(pfm_write_pmds(fd, pmds, most + 1), E2BIG);
	cfg.cf_arg_size_max = 4095;
	FAILS(pfm_set_config(&cfg), EINVAL);
	MUST(pfm_set_config(&old));
	close(fd);
}

/*
 * The kernel copies long vectors in parts: the first bad element is found and marked in any part.
 */
static void long_vectors_are_whole(void)
{
	enum { N = 300, BAD = 200 };
	static pfarg_pmd_t pmds[N];
	pfarg_config_t old, cfg;
	int fd;

	MUST(pfm_get_config(&old));
	cfg = old;
	cfg.cf_arg_size_max = sizeof(pmds);
	MUST(pfm_set_config(&cfg));
	MUST(fd = new_context(0));
	for (int i = 0; i < N; i++)
		pmds[i] = (pfarg_pmd_t){ .reg_num = FAULTS, .reg_value = i };
	MUST(pfm_write_pmds(fd, pmds, N));
	EQUAL(get_pmd(fd, 0, FAULTS), N - 1);
	pmds[BAD].reg_num = PFM_MAX_PMDS - 1;
	FAILS(pfm_write_pmds(fd, pmds, N), EINVAL);
	EQUAL(get_pmd(fd, 0, FAULTS), BAD - 1);
	TRUE(pmds[BAD].reg_flags & PFM_REG_RETFL_NOTAVAIL);
	FAILS(pfm_read_pmds(fd, pmds, N), EINVAL);
	for (int i = 0; i < N; i++)
		EQUAL(pmds[i].reg_value, i < BAD ? BAD - 1 : i);
	MUST(pfm_set_config(&old));
	close(fd);
}

static ssize_t write_setting(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY);
	ssize_t n = write(fd, value, strlen(value));
	int err = errno;

	close(fd);
	errno = err;
	return n;
}

static void set_setting(const char *name, const char *value)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/kernel/perfmon/%s", name);
	TRUE(write_setting(path, value) == (ssize_t)strlen(value));
}

static void set_rates(uint64_t n)
{
	for (char value[24]; n; n--) {
		snprintf(value, sizeof(value), "%llu", (unsigned long long)n);
		set_setting("ovfl_rate_max", value);
	}
	set_setting("ovfl_rate_max", "0");
}

/* If two processes write different settings, neither undoes the setting of the other. */
static void settings_do_not_undo_each_other(void)
{
	int last = (int)sysconf(_SC_NPROCESSORS_ONLN) - 1;
	pfarg_config_t old, cfg;
	struct child c;

	MUST(pfm_get_config(&old));
	pin(last);
	c = child_new(set_rates, 20000);
	pin(0);
	child_go(&c);
	for (int i = 0; i < 20000 && !test_failed; i++) {
		set_setting("arg_mem_max", i % 2 ? "8192" : "16384");
		MUST(pfm_get_config(&cfg));
		EQUAL(cfg.cf_arg_size_max, i % 2 ? 8192 : 16384);
	}
	kill(c.pid, SIGKILL);
	child_end(&c);
	MUST(pfm_set_config(&old));
}

/* A group is a number of 32 bits, or -1 for every group (3.1.16). Others are EINVAL. */
static void groups_have_32_bits(void)
{
	static const char *const files[] = { "/sys/kernel/perfmon/sys_group", "/sys/kernel/perfmon/task_group" };
	static const char *const bad[] = { "-2", "4294967295", "4294967296", "-9223372036854775808",
					   "18446744073709551615", "99999999999999999999", "users" };
	pfarg_config_t old, cfg;
	char text[24];
	int fd;

	MUST(pfm_get_config(&old));
	for (int i = 0; i < 2; i++) {
		TRUE(write_setting(files[i], "4294967294\n") == 11);
		for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++)
			FAILS(write_setting(files[i], bad[k]), EINVAL);
		MUST(pfm_get_config(&cfg));
		EQUAL(i ? cfg.cf_thread_gid : cfg.cf_sys_gid, 4294967294U);
		MUST(fd = open(files[i], O_RDONLY));
		EQUAL(read(fd, text, sizeof(text)), 11);
		TRUE(!memcmp(text, "4294967294\n", 11));
		close(fd);
		TRUE(write_setting(files[i], "-1") == 2);
		MUST(pfm_get_config(&cfg));
		EQUAL(i ? cfg.cf_thread_gid : cfg.cf_sys_gid, PFM_GROUP_ANY);
	}
	FAILS(write_setting("/sys/kernel/perfmon/arg_mem_max", "18446744073709551616"), EINVAL);
	MUST(pfm_set_config(&old));
}

/* --- rates: 4.4.4 ----------------------------------------------------------------------------- */

static void rates_are_limited(void)
{
	pfarg_config_t old, cfg;
	pfarg_setinfo_t info = { 0 };
	pfarg_msg_t msg;
	int fd;

	MUST(pfm_get_config(&old));
	cfg = old;
	cfg.cf_ovfl_rate_max = 1000;
	MUST(pfm_set_config(&cfg));
	MUST(fd = new_sampling(1 << 20));
	MUST(set_pmc(fd, 0, CYC, CYC_PMC(USER)));
	MUST(set_period(fd, 0, CYC, 10000, 0));
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	spin(2000000);		/* 8 million cycles, 8 ms: 800 overflows, where 10 are allowed */
	EQUAL(read(fd, &msg, sizeof(msg)), sizeof(msg));
	EQUAL(msg.type, PFM_MSG_OVFL);
	MUST(pfm_getinfo_evtsets(fd, &info, 1));
	EQUAL(info.set_throttled, 1);
	MUST(pfm_restart(fd));		/* monitoring is masked until then */
	MUST(pfm_set_config(&old));
	close(fd);
}

static void set_sysctl(const char *name, const char *value)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	fd = open(path, O_WRONLY);
	check(fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value), "cannot write %s", path);
	close(fd);
}

/* perf's limits of interrupts and timers hold for perfmon's timers, too. */
static void timers_are_throttled(void)
{
	pfarg_setinfo_t info = { 0 };
	pfm_dfl_smpl_hdr_t *hdr;
	int fd;

	set_sysctl("perf_cpu_time_max_percent", "25");
	set_sysctl("perf_event_max_sample_rate", "1000");
	MUST(fd = new_sampling(1 << 20));
	MUST(set_pmc(fd, 0, 64, SW_USER));
	MUST(set_period(fd, 0, 64, 20000, 0));
	hdr = (mmap)(NULL, 1 << 20, PROT_READ, MAP_SHARED, fd, 0);
	TRUE(hdr != MAP_FAILED);
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	spin(20000000);		/* 80 ms and more: 4,000 overflows, where 80 are allowed */
	MUST(pfm_stop(fd));
	TRUE(hdr->hdr_count > 10 && hdr->hdr_count < 1000);
	MUST(pfm_getinfo_evtsets(fd, &info, 1));
	TRUE(info.set_throttled > 0);
	(munmap)(hdr, 1 << 20);
	close(fd);
	set_sysctl("perf_event_max_sample_rate", "1000000");
	set_sysctl("perf_cpu_time_max_percent", "0");
}

/* --- sessions: 3.1.7 -------------------------------------------------------------------------- */

/* Contexts of a thread and of its CPU may be loaded at once; the specification leaves this open. */
static void threads_and_cpus_go_together(void)
{
	pfarg_config_t cfg;
	int thread, cpu;

	MUST(thread = new_context(0));
	MUST(cpu = new_context(PFM_FL_SYSTEM_WIDE));
	MUST(set_pmc(thread, 0, 0, USER | INST));
	MUST(set_pmc(cpu, 0, 0, USER | INST));
	MUST(load(thread, my_tid()));
	MUST(load(cpu, my_tid()));
	MUST(pfm_start(cpu, NULL));
	MUST(pfm_start(thread, NULL));
	spin(100000);
	MUST(pfm_stop(thread));
	MUST(pfm_stop(cpu));
	MUST(pfm_get_config(&cfg));
	EQUAL(cfg.cf_thread_sessions, 1);
	EQUAL(cfg.cf_sys_sessions, 1);
	TRUE(get_pmd(thread, 0, 0) >= 200000);
	TRUE(get_pmd(cpu, 0, 0) >= get_pmd(thread, 0, 0) || !exact());
	close(cpu);
	close(thread);
}

static void each_cpu_has_its_context(void)
{
	int first, second, any, last = (int)sysconf(_SC_NPROCESSORS_ONLN) - 1;

	MUST(first = new_context(PFM_FL_SYSTEM_WIDE));
	MUST(second = new_context(PFM_FL_SYSTEM_WIDE));
	MUST(any = new_context(PFM_FL_SYSTEM_WIDE | PFM_FL_ANY_CPU));
	MUST(set_pmc(any, 0, 0, USER | INST));
	MUST(load(first, my_tid()));
	FAILS(load(second, my_tid()), EBUSY);
	pin(last);
	FAILS(pfm_start(first, NULL), EBUSY);	/* 4.3.2: from its own CPU */
	MUST(load(second, last));
	MUST(pfm_start(second, NULL));
	FAILS(pfm_unload_context(first), EBUSY);
	close(second);
	MUST(load(any, last));
	pin(0);
	MUST(pfm_start(first, NULL));
	MUST(pfm_start(any, NULL));
	MUST(pfm_stop(any));
	close(any);
	close(first);
}

/*
 * 3.1.4: "for any type of session and when monitoring is masked ..., this command must be
 * possible".
 */
static void masked_values_are_read_from_any_cpu(void)
{
	/* after the restart the next overflow is far away, whatever runs on that CPU */
	pfarg_pmd_t pmd = { .reg_num = 0, .reg_value = -10000ULL, .reg_long_reset = -(1ULL << 40),
			    .reg_flags = PFM_REGFL_OVFL_NOTIFY };
	int fd, last = (int)sysconf(_SC_NPROCESSORS_ONLN) - 1;
	pfarg_msg_t msg;
	uint64_t value;

	MUST(fd = new_context(PFM_FL_SYSTEM_WIDE));
	MUST(set_pmc(fd, 0, 0, USER | INST));
	MUST(pfm_write_pmds(fd, &pmd, 1));
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	spin(100000);
	EQUAL(read(fd, &msg, sizeof(msg)), sizeof(msg));
	value = get_pmd(fd, 0, 0);
	pin(last);
	EQUAL(get_pmd(fd, 0, 0), value);
	spin(100000);
	EQUAL(get_pmd(fd, 0, 0), value);
	FAILS(pfm_write_pmds(fd, &pmd, 1), EBUSY);
	FAILS(pfm_restart(fd), EBUSY);
	pin(0);
	MUST(pfm_restart(fd));
	pin(last);
	FAILS(pfm_read_pmds(fd, &pmd, 1), EBUSY);
	pin(0);
	close(fd);
}

static void set_online(int cpu, bool on)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	fd = open(path, O_WRONLY);
	TRUE(fd >= 0 && write(fd, on ? "1" : "0", 1) == 1);
	close(fd);
}

/* If a CPU goes offline, the kernel soon unloads its context, which keeps its counts. */
static void a_cpu_that_goes_takes_its_session(void)
{
	int fd, last = (int)sysconf(_SC_NPROCESSORS_ONLN) - 1;
	pfarg_config_t cfg;
	uint64_t count;

	MUST(fd = new_context(PFM_FL_SYSTEM_WIDE | PFM_FL_ANY_CPU));
	MUST(set_pmc(fd, 0, 0, USER | INST));
	pin(last);
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	spin(1000000);
	pin(0);
	set_online(last, false);
	do {
		MUST(pfm_get_config(&cfg));
		sched_yield();
	} while (cfg.cf_sys_sessions);
	FAILS(pfm_stop(fd), EINVAL);
	FAILS(load(fd, last), EINVAL);
	check(strstr(pfm_explain(), "online") != NULL, "it says %s", pfm_explain());
	count = get_pmd(fd, 0, 0);
	TRUE(count >= 2000000);
	set_online(last, true);
	pin(last);
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	spin(1000000);
	TRUE(get_pmd(fd, 0, 0) >= count + 2000000);
	pin(0);
	close(fd);
}

/*
 * Waits for a message until the CPU is offline: poll() returns with POLLHUP alone, and then read()
 * returns 0.
 */
static int wait_for_message(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	pfarg_msg_t msg;

	if (poll(&p, 1, -1) != 1 || p.revents != POLLHUP)
		return 1;
	return read(fd, &msg, sizeof(msg)) != 0;
}

static int read_message(int fd)
{
	pfarg_msg_t msg;

	return read(fd, &msg, sizeof(msg)) != 0;
}

static pid_t waiter(int (*fn)(int), int fd)
{
	pid_t pid = fork();

	if (!pid)
		_exit(fn(fd));
	await_sleep(pid);
	return pid;
}

static void who_waits_for_a_cpu_that_goes_is_told(void)
{
	int fd, other, last = (int)sysconf(_SC_NPROCESSORS_ONLN) - 1;
	struct pollfd p = { .events = POLLIN };
	pid_t polls, reads;

	MUST(fd = new_context(PFM_FL_SYSTEM_WIDE | PFM_FL_ANY_CPU));
	MUST(set_pmc(fd, 0, FAULTS, SW_USER));
	MUST(set_period(fd, 0, FAULTS, 1ULL << 40, PFM_REGFL_OVFL_NOTIFY));
	pin(last);
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	pin(0);
	polls = waiter(wait_for_message, fd);
	reads = waiter(read_message, fd);
	set_online(last, false);
	EQUAL(status_of(polls), 0);
	EQUAL(status_of(reads), 0);
	MUST(other = new_context(PFM_FL_SYSTEM_WIDE));
	MUST(load(other, my_tid()));
	FAILS(load(fd, 0), EBUSY);		/* a refused load does not end that */
	p.fd = fd;
	TRUE(poll(&p, 1, 0) == 1 && p.revents == POLLHUP);
	close(other);
	set_online(last, true);
	close(fd);
}

/* --- numbers of threads ----------------------------------------------------------------------- */

static int go[2];	/* children read what the test writes, and end when it closes the pipe */

static pid_t fork_and(void (*fn)(void))
{
	pid_t pid = fork();

	if (!pid) {
		close(go[1]);
		fn();
		_exit(0);
	}
	return pid;
}

static void await_end(void)
{
	char byte;

	while (read(go[0], &byte, 1) == 1)
		;
}

static void leave_a_child(void)
{
	char byte;

	if (read(go[0], &byte, 1) == 1 && !fork())
		await_end();
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* The first thread of a family ends, and a process that is not monitored gets its number. */
static void a_number_is_anothers_after_its_thread(void)
{
	int family, fd;
	pid_t first, pid;

	write_to("/proc/sys/kernel/pid_max", "400");	/* pids below 300 are not used again */
	MUST(pipe(go));
	while ((first = fork_and(leave_a_child)) < 310)
		end_child(first);
	MUST(family = new_context(PFM_FL_INHERIT));
	MUST(set_pmc(family, 0, FAULTS, SW_USER));
	MUST(load(family, first));
	MUST(pfm_start(family, NULL));
	EQUAL(write(go[1], "", 1), 1);
	waitpid(first, NULL, 0);
	while ((pid = fork_and(await_end)) != first)
		end_child(pid);
	MUST(fd = new_context(0));
	MUST(set_pmc(fd, 0, FAULTS, SW_USER));
	MUST(load(fd, pid));
	end_child(pid);
	close(fd);
	close(go[0]);
	close(go[1]);
	close(family);
	write_to("/proc/sys/kernel/pid_max", "32768");
}

static char self[256];
static int to_second[2], from_second[2];

static void *execute_in_second(void *arg)
{
	pid_t tid = my_tid();

	if (write(from_second[1], &tid, sizeof(tid)) != sizeof(tid) || read(to_second[0], &tid, 1) != 1)
		_exit(3);
	execl(self, "faulter", (char *)NULL);
	return arg;
}

static void begin_second(void)
{
	pthread_t second;

	pthread_create(&second, NULL, execute_in_second, NULL);
	await_end();
}

/*
 * A thread that is not its process's first executes a program: it has the process's number from
 * then on.
 */
static void an_exec_gives_a_thread_another_number(void)
{
	pfm_dfl_smpl_arg_t arg = { .buf_size = 65536 };
	pfarg_ctx_t ctx = { 0 };
	const pfm_dfl_smpl_hdr_t *h;
	const pfm_dfl_smpl_entry_t *e;
	pid_t pid, tid;
	int fd;

	self[readlink("/proc/self/exe", self, sizeof(self) - 1)] = 0;
	MUST(pipe(to_second));
	MUST(pipe(from_second));
	MUST(pipe(go));
	pid = fork_and(begin_second);
	EQUAL(read(from_second[0], &tid, sizeof(tid)), sizeof(tid));
	MUST(fd = pfm_create_context(&ctx, "default", &arg, sizeof(arg)));
	MUST(set_pmc(fd, 0, FAULTS, SW_USER));
	MUST(set_period(fd, 0, FAULTS, 1, PFM_REGFL_OVFL_NOTIFY));
	MUST(load(fd, tid));
	MUST(pfm_start(fd, NULL));
	EQUAL(write(to_second[1], "", 1), 1);
	EQUAL(status_of(pid), 0);
	h = mmap(NULL, 65536, PROT_READ, MAP_PRIVATE, fd, 0);
	e = (const void *)(h + 1);
	TRUE(h->hdr_count > 1);
	if (h->hdr_count > 1)
		EQUAL(e[h->hdr_count - 1].pid, (uint32_t)pid);
	close(fd);
	close(go[0]);
	close(go[1]);
}

/* --- pid namespaces --------------------------------------------------------------------------- */

/*
 * A process that is number 1 in a namespace of its own monitors itself: messages have that number.
 */
static int monitor_in_namespace(void)
{
	pfarg_msg_t msg;
	int fd = new_context(0);

	if (getpid() != 1 || fd < 0 || set_pmc(fd, 0, CYC, CYC_PMC(USER)) || load(fd, 1) ||
	    set_period(fd, 0, CYC, 100000, PFM_REGFL_OVFL_NOTIFY) || pfm_start(fd, NULL))
		return 1;
	spin(100000);
	if (read(fd, &msg, sizeof(msg)) != sizeof(msg) || msg.type != PFM_MSG_OVFL)
		return 2;
	if (msg.pfm_ovfl_msg.msg_ovfl_pid != 1 || msg.pfm_ovfl_msg.msg_ovfl_tid != 1)
		return 3;
	close(fd);
	fd = new_context(0);
	/* the parent has no number in this namespace */
	return load(fd, 2) < 0 && errno == ESRCH ? 0 : 4;
}

static int enter_namespace(void)
{
	return unshare(CLONE_NEWPID) ? 10 : in_child(monitor_in_namespace);
}

static void ids_are_those_of_the_namespace(void)
{
	EQUAL(in_child(enter_namespace), 0);
}

/* --- descriptors ------------------------------------------------------------------------------ */

static int receive_fd(int from)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			    .msg_controllen = sizeof(control) };
	int fd = -1;

	if (recvmsg(from, &m, 0) == 1 && CMSG_FIRSTHDR(&m))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
	return fd;
}

static int sockets[2];

/*
 * A process that has received the descriptor reads the count, loads the context on itself, and
 * counts on.
 */
static int take_over(void)
{
	int fd = receive_fd(sockets[1]);

	if (fd < 0 || get_pmd(fd, 0, 0) < 200000)
		return 1;
	if (load(fd, my_tid()) || pfm_start(fd, NULL))
		return 2;
	spin(100000);
	return pfm_stop(fd) || get_pmd(fd, 0, 0) < 400000 ? 3 : 0;
}

static void a_context_goes_to_another_process(void)
{
	pfarg_config_t cfg;
	int fd;

	MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets));
	MUST(fd = new_context(0));
	MUST(set_pmc(fd, 0, 0, USER | INST));
	MUST(load(fd, my_tid()));
	MUST(pfm_start(fd, NULL));
	spin(100000);
	EQUAL(send_fd(sockets[0], fd, 0), 1);
	close(fd);
	MUST(pfm_get_config(&cfg));
	EQUAL(cfg.cf_thread_sessions, 0);	/* figure 3.10; the context lives in the socket */
	EQUAL(in_child(take_over), 0);
	MUST(pfm_get_config(&cfg));
	EQUAL(cfg.cf_thread_sessions, 0);
	close(sockets[0]);
	close(sockets[1]);
}

/* Runs after the module was loaded with exclusive=1. */
static void threads_and_cpus_exclude_each_other(void)
{
	int thread, cpu;

	MUST(thread = new_context(0));
	MUST(cpu = new_context(PFM_FL_SYSTEM_WIDE));
	MUST(load(thread, my_tid()));
	FAILS(load(cpu, my_tid()), EBUSY);
	MUST(pfm_unload_context(thread));
	MUST(load(cpu, my_tid()));
	FAILS(load(thread, my_tid()), EBUSY);
	close(cpu);
	MUST(load(thread, my_tid()));
	close(thread);
}

/*
 * Runs after the module was loaded with task_work=0, as on a kernel that does not export
 * task_work_add(): calls that need work in the monitored thread are refused.
 */
static void what_needs_the_threads_help_is_refused(void)
{
	pfm_stack_smpl_arg_t arg = { .buf_size = 65536, .buf_flags = PFM_STACK_SMPL_RECORDS };
	pfarg_ctx_t ctx = { 0 };

	FAILS(new_context(PFM_FL_NOTIFY_BLOCK), EOPNOTSUPP);
	check(strstr(pfm_explain(), "task_work_add") != NULL, "it says %s", pfm_explain());
	FAILS(new_context(PFM_FL_INHERIT), EOPNOTSUPP);
	FAILS(pfm_create_context_name(&ctx, PFM_STACK_SMPL_NAME, &arg, sizeof(arg)), EOPNOTSUPP);
}

static void ends_are_noticed_without_it(void)
{
	for (uint64_t n = 1000; n < 1020; n++) {
		struct child c = child_new(child_spin, n);
		pfarg_msg_t msg;
		int fd;

		MUST(fd = new_context(0));
		MUST(set_pmc(fd, 0, 0, USER | INST));
		MUST(load(fd, c.pid));
		MUST(pfm_start(fd, NULL));
		child_go(&c);
		EQUAL(read(fd, &msg, sizeof(msg)), sizeof(msg));
		EQUAL(msg.type, PFM_MSG_END);
		child_end(&c);
		TRUE(get_pmd(fd, 0, 0) >= 2 * n);
		FAILS(pfm_stop(fd), EINVAL);
		close(fd);
	}
}

int main(int argc, char **argv)
{
	if (!strcmp(argv[0], "faulter"))
		return 0;
	pin(0);
	if (argc > 1 && !strcmp(argv[1], "exclusive")) {
		TEST(threads_and_cpus_exclude_each_other);
		return tests_failed > 0;
	}
	if (argc > 1 && !strcmp(argv[1], "task_work")) {
		TEST(what_needs_the_threads_help_is_refused);
		TEST(ends_are_noticed_without_it);
		return tests_failed > 0;
	}
	TEST(short_reads_are_refused);
	TEST(vectors_are_limited);
	TEST(long_vectors_are_whole);
	TEST(groups_have_32_bits);
	TEST(rates_are_limited);
	TEST(timers_are_throttled);
	TEST(threads_and_cpus_go_together);
	TEST(ids_are_those_of_the_namespace);
	TEST(a_context_goes_to_another_process);
	TEST(an_exec_gives_a_thread_another_number);
	TEST(a_number_is_anothers_after_its_thread);
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1) {
		TEST(settings_do_not_undo_each_other);
		TEST(each_cpu_has_its_context);
		if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
			TEST(masked_values_are_read_from_any_cpu);
		TEST(a_cpu_that_goes_takes_its_session);
		TEST(who_waits_for_a_cpu_that_goes_is_told);
	}
	return tests_failed > 0;
}
