// SPDX-License-Identifier: MIT
/*
 * old_kinds.c - one program of each kind that there was for perfmon2 2.x with libpfm 3:
 *
 *   old_kinds KIND
 *
 * Each counts page faults, which every machine can, and prints "counted N" or what it saw.
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <perfmon/perfmon.h>
#include <perfmon/perfmon_dfl_smpl.h>
#include <perfmon/pfmlib.h>
#include "../pages.h"
#include "../parts.h"

#define PAGES 1000
#define PERIOD 100

static pfmlib_output_param_t out;

static void die(const char *what)
{
	fprintf(stderr, "%s: %s; %s\n", what, pfm_explain(), pfm_dispatch_explain());
	exit(1);
}

/* Begins as all these programs do: dispatches events, here one. */
static void dispatch(const char *event)
{
	pfmlib_input_param_t in;
	unsigned int counters;

	if (pfm_initialize() != PFMLIB_SUCCESS)
		die("pfm_initialize");
	if (pfm_get_num_counters(&counters) != PFMLIB_SUCCESS || counters < 1)
		die("max=0 events");
	memset(&in, 0, sizeof(in));
	memset(&out, 0, sizeof(out));
	if (pfm_find_event(event, &in.pfp_events[0].event) != PFMLIB_SUCCESS)
		die("pfm_find_event");
	in.pfp_event_count = 1;
	in.pfp_dfl_plm = PFM_PLM0 | PFM_PLM3;
	if (pfm_dispatch_events(&in, NULL, &out, NULL) != PFMLIB_SUCCESS)
		die("pfm_dispatch_events");
}

static int create(uint32_t flags, char *format, void *arg, size_t size)
{
	pfarg_ctx_t ctx;
	int fd;

	memset(&ctx, 0, sizeof(ctx));
	ctx.ctx_flags = flags;
	fd = pfm_create_context(&ctx, format, arg, size);
	if (fd < 0)
		die("pfm_create_context");
	return fd;
}

/* Programs the counter of a set; period 0: it counts from 0. */
static void program(int fd, uint16_t set, uint64_t period, uint32_t flags)
{
	pfarg_pmc_t pc[4];
	pfarg_pmd_t pd[1];

	memset(pc, 0, sizeof(pc));
	memset(pd, 0, sizeof(pd));
	for (unsigned int i = 0; i < out.pfp_pmc_count; i++) {
		pc[i].reg_num = (uint16_t)out.pfp_pmcs[i].reg_num;
		pc[i].reg_value = out.pfp_pmcs[i].reg_value;
		pc[i].reg_set = set;
	}
	pd[0].reg_num = (uint16_t)out.pfp_pmds[0].reg_num;
	pd[0].reg_set = set;
	pd[0].reg_flags = flags;
	pd[0].reg_value = pd[0].reg_long_reset = pd[0].reg_short_reset = -period;
	if (pfm_write_pmcs(fd, pc, (int)out.pfp_pmc_count))
		die("pfm_write_pmcs");
	if (pfm_write_pmds(fd, pd, 1))
		die("pfm_write_pmds");
}

static void load(int fd, uint32_t pid)
{
	pfarg_load_t arg;

	memset(&arg, 0, sizeof(arg));
	arg.load_pid = pid;
	if (pfm_load_context(fd, &arg))
		die("pfm_load_context");
}

static void start(int fd)
{
	if (pfm_start(fd, NULL))
		die("pfm_start");
}

static unsigned long long value(int fd, uint16_t set)
{
	pfarg_pmd_t pd;

	memset(&pd, 0, sizeof(pd));
	pd.reg_num = (uint16_t)out.pfp_pmds[0].reg_num;
	pd.reg_set = set;
	if (pfm_read_pmds(fd, &pd, 1))
		die("pfm_read_pmds");
	return pd.reg_value;
}

static uint32_t message(int fd)
{
	pfarg_msg_t msg;
	ssize_t n;

	do
		n = read(fd, &msg, sizeof(msg));
	while (n < 0 && errno == EINTR);
	if (n != sizeof(msg))
		die("read");
	return msg.type;
}

static void self(void)
{
	int fd;

	dispatch("PAGE_FAULTS");
	fd = create(0, NULL, NULL, 0);
	program(fd, 0, 0, 0);
	load(fd, (uint32_t)getpid());
	start(fd);
	touch(PAGES);
	if (pfm_stop(fd))
		die("pfm_stop");
	printf("counted %llu\n", value(fd, 0));
	close(fd);
}

/* Forks a child that waits for a byte, touches its pages and ends. */
static pid_t child(int *go)
{
	int ends[2];
	pid_t pid;
	char c;

	if (pipe(ends))
		die("pipe");
	pid = fork();
	if (!pid) {
		close(ends[1]);
		if (read(ends[0], &c, 1) == 1)
			touch(PAGES);
		_exit(0);
	}
	close(ends[0]);
	*go = ends[1];
	return pid;
}

static void task(void)
{
	int fd, go;
	pid_t pid = child(&go);

	dispatch("PAGE_FAULTS");
	fd = create(0, NULL, NULL, 0);
	program(fd, 0, 0, 0);
	load(fd, (uint32_t)pid);
	start(fd);
	if (write(go, "", 1) != 1 || message(fd) != PFM_MSG_END)
		die("no end");
	printf("counted %llu\n", value(fd, 0));
	waitpid(pid, NULL, 0);
	close(fd);
}

static void sampling(void)
{
	pfm_dfl_smpl_arg_t arg;
	const pfm_dfl_smpl_hdr_t *hdr;
	const pfm_dfl_smpl_entry_t *e;
	int fd, go;
	pid_t pid = child(&go);

	memset(&arg, 0, sizeof(arg));
	arg.buf_size = 3 * 4096 + 512;
	dispatch("PAGE_FAULTS");
	fd = create(0, "default", &arg, sizeof(arg));
	hdr = mmap(NULL, arg.buf_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (hdr == MAP_FAILED)
		die("mmap");
	program(fd, 0, PERIOD, PFM_REGFL_OVFL_NOTIFY);
	load(fd, (uint32_t)pid);
	start(fd);
	if (write(go, "", 1) != 1 || message(fd) != PFM_MSG_END)
		die("no end");
	e = (const void *)(hdr + 1);
	for (uint64_t i = 0; i < hdr->hdr_count; i++, e++)
		if (e->pid != (uint32_t)pid || e->ovfl_pmd != out.pfp_pmds[0].reg_num)
			die("a sample of another");
	printf("samples %llu\n", (unsigned long long)hdr->hdr_count);
	waitpid(pid, NULL, 0);
	munmap((void *)hdr, arg.buf_size);
	close(fd);
}

/* Timeouts switch two sets; both have run when the second becomes active for the third time. */
static void multiplexing(void)
{
	pfarg_setdesc_t sets[2];
	pfarg_setinfo_t info;
	int fd;

	dispatch("PAGE_FAULTS");
	fd = create(0, NULL, NULL, 0);
	memset(sets, 0, sizeof(sets));
	for (int i = 0; i < 2; i++) {
		sets[i].set_id = (uint16_t)i;
		sets[i].set_flags = PFM_SETFL_TIME_SWITCH;
		sets[i].set_timeout = 2000000;
	}
	if (pfm_create_evtsets(fd, sets, 2))
		die("pfm_create_evtsets");
	program(fd, 0, 0, 0);
	program(fd, 1, 0, 0);
	load(fd, (uint32_t)getpid());
	start(fd);
	memset(&info, 0, sizeof(info));
	info.set_id = 1;
	do {
		touch(10);
		if (pfm_getinfo_evtsets(fd, &info, 1))
			die("pfm_getinfo_evtsets");
	} while (info.set_runs < 3);
	if (pfm_stop(fd))
		die("pfm_stop");
	printf("sets %d %d\n", value(fd, 0) > 0, value(fd, 1) > 0);
	if (pfm_delete_evtsets(fd, sets + 1, 1) && errno != EBUSY)
		die("pfm_delete_evtsets");
	close(fd);
}

/* Monitors every CPU, whichever this thread runs on. */
static void system_wide(void)
{
	unsigned long long sum = 0;
	cpu_set_t cpus;
	int fds[CPU_SETSIZE], n = 0;

	dispatch("PAGE_FAULTS");
	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		die("sched_getaffinity");
	for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &cpus))
			continue;
		fds[n] = create(PFM_FL_SYSTEM_WIDE, NULL, NULL, 0);
		program(fds[n], 0, 0, 0);
		load(fds[n], cpu);
		start(fds[n++]);
	}
	touch(PAGES);
	while (n--) {
		if (pfm_stop(fds[n]))
			die("pfm_stop");
		sum += value(fds[n], 0);
		close(fds[n]);
	}
	printf("at least %d\n", sum >= PAGES ? PAGES : (int)sum);
}

static volatile int notified;

static void on_io(int sig, siginfo_t *info, void *context)
{
	int fd = info->si_fd;

	(void)sig, (void)context;
	if (message(fd) != PFM_MSG_OVFL || pfm_restart(fd))
		_exit(2);
	notified++;
}

static void sigio(void)
{
	struct sigaction act = { .sa_sigaction = on_io, .sa_flags = SA_SIGINFO | SA_RESTART };
	int fd;

	dispatch("PAGE_FAULTS");
	fd = create(0, NULL, NULL, 0);
	if (sigaction(SIGIO, &act, NULL) || fcntl(fd, F_SETSIG, SIGIO) || fcntl(fd, F_SETOWN, getpid()) ||
	    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC))
		die("fcntl");
	program(fd, 0, PERIOD, PFM_REGFL_OVFL_NOTIFY);
	load(fd, (uint32_t)getpid());
	start(fd);
	while (notified < 3)
		touch(10);
	if (pfm_stop(fd))
		die("pfm_stop");
	printf("notified\n");
	close(fd);
}

/* polling: makes calls all the time, so that a live machine looks at the task while it works. */
static uint32_t next_message(int fd, bool polling)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (polling && poll(&p, 1, 0) == 0)
		value(fd, 0);
	return message(fd);
}

static void blocked(bool polling)
{
	int fd, go, n = 0;
	pid_t pid = child(&go);

	dispatch("PAGE_FAULTS");
	fd = create(PFM_FL_NOTIFY_BLOCK, NULL, NULL, 0);
	program(fd, 0, PERIOD, PFM_REGFL_OVFL_NOTIFY);
	load(fd, (uint32_t)pid);
	start(fd);
	if (write(go, "", 1) != 1)
		die("write");
	while (next_message(fd, polling) == PFM_MSG_OVFL) {
		n++;
		/* if the task ends while it is being stopped (on perf), the message is END */
		if (!pfm_restart(fd))
			continue;
		if (message(fd) != PFM_MSG_END)
			die("pfm_restart");
		break;
	}
	printf("blocked %d\n", n);
	waitpid(pid, NULL, 0);
	close(fd);
}

static void blocking(void)
{
	blocked(false);
}

static void blocking_polled(void)
{
	blocked(true);
}

static const struct part kinds[] = {
	{ "self", self }, { "task", task }, { "sampling", sampling }, { "multiplexing", multiplexing },
	{ "system_wide", system_wide }, { "sigio", sigio }, { "blocking", blocking },
	{ "blocking_polled", blocking_polled }, { NULL, NULL }
};

int main(int argc, char **argv)
{
	return run_part(kinds, argc, argv);
}
