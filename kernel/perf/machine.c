// SPDX-License-Identifier: MIT
/*
 * machine.c - the perf machine: the logical PMU, the table of operations, and the machine's
 * description. In the logical PMU the hardware's PMCs and PMDs come first, then software counters
 * and virtual PMDs, then the registers of named.c.
 */
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "perf.h"
#include "perfmon/perfmon_fast.h"
#include "software.h"

static const char limits[] =
	"An overflow is handled by a helper thread, some 10 us after the kernel recorded it. Without a "
	"sampling format the kernel itself stops the set at the overflow, so that masking is exact if one "
	"PMD of the set notifies; others of the same set stop it when the helper gets there.\n"
	"With a sampling format, masking takes effect when the helper gets there: overflows until then are "
	"kept, and replayed after pfm_restart(). Samples of fixed periods reach the buffer in batches; every "
	"command brings it up to date. If the target goes quiet as the buffer becomes full, the message of that "
	"comes with the next command.\n"
	"A randomized or changed period runs from the overflow, exactly, if the helper is there before it "
	"ends; otherwise its overflow comes late, and those that it overtakes are counted as lost. Randomized "
	"periods of a clock below some 300 us put samples into the kernel's timer code for that reason.\n"
	"A set switch happens in the helper: what the target does between the overflow, or timeout, and the switch "
	"is counted in no set; set_act_duration and set_gap of the set that was left include this time.\n"
	"MAP_SETS: counters of the PMU are read without a call by the thread that loaded the context onto itself, "
	"if they do not sample, and the system lets programs read them (arm64: sysctl kernel.perf_user_access=1).\n"
	"A sampling format written in Lua runs in the helper, one call at a time: overflows wait for it, and "
	"those that the kernel's buffer has no room for are counted as lost.\n"
	"NOTIFY_BLOCK stops the target from the helper, by ptrace(2), which no process may do to its own threads: "
	"those are refused with EPERM, and a signal handler that loads such a context starts a thread, which takes "
	"memory of malloc's. The target runs on for some 10 us after the overflow and cannot have a debugger besides. "
	"The monitoring program must not call waitpid(2) for it before END: that would take the stops away from the "
	"helper, and the target would hang until the context is unloaded.\n"
	"task-clock and cpu-clock count at all privilege levels and in the idle thread; only their overflows "
	"respect the PMC and EXCL_IDLE. Periods below 10000 ns are refused.\n"
	"INHERIT: the kernel tells the sum of a thread and its children. With OWN, or OVFL_NOTIFY, a PMD takes a "
	"second counter, on the thread alone. A mask holds the children too. END comes when the process has "
	"ended: children that outlive it are counted until then. TIME_SWITCH is refused, and a read with ENDED.\n"
	"INHERIT with a sampling format: a PMD samples with one fixed period, or FREQUENCY, for the thread and all "
	"its children; RANDOM, OVFL_SWITCH, and samples with the values of other counters are refused, and a new "
	"period while the context is loaded. A child begins with a whole period. Full means masked for all of them.\n"
	"PMC96 to PMC127 take events of pfm_perf_event(). One with PFM_PERF_ALONE is started, stopped and read apart "
	"from the others of its set, within microseconds, and does not overflow. MAP_SETS reads these PMDs by a call.\n"
	"alignment-faults and emulation-faults stay 0 where the kernel does not handle such faults (x86).\n"
	"Counters have 64 bits: NO_EMUL64 is refused. On x86, USR or OS enables a counter without EN. While "
	"the kernel throttles a hardware counter it counts nothing; set_throttled tells how often it did. A call stops "
	"the counters of a context that samples or notifies: what the target does meanwhile is not counted.\n"
	"One context per thread and CPU, cf_smpl_buf_size_max and RLIMIT_MEMLOCK hold for all processes of a user that "
	"share a pid name space and /dev/shm (or /run/user/UID, or the folder LPFM_SHARED names), not across users; "
	"without such a folder, for each process. What pfm_set_config() sets holds for all users where root can "
	"write /run, else for the process.\n"
	"A read(2) or readv(2) that is no multiple of a message is EINVAL in programs linked with libperfmon; past "
	"it (by syscall(2), preadv2(2), fread(3), a read(2) that _FORTIFY_SOURCE checks, where the library was loaded "
	"by dlopen(3), or in a program that got the descriptor by exec(2) or SCM_RIGHTS and is not a child) it gets "
	"the beginning, and the next read the rest. What is written past it is never read. A descriptor that is "
	"closed past it goes on giving the values of running counters to pfm_read_pmds(), while a duplicate is open, "
	"until a command is tried under its number or that is another context's; and a thread that monitors itself "
	"keeps the context until no process has it open. A context is "
	"commanded by the process that created it. One that the first thread of a process has attached to itself "
	"stays attached if that thread ends before its process. END is also sent for a program that got the "
	"descriptor through exec(2). If a process is killed, or calls _exit(2), while another one has the "
	"descriptor of one of its contexts, the owner of O_ASYNC gets a signal without a message. close() leaves the "
	"sampling buffer mapped until munmap(). Of bad pointers only NULL is EFAULT.\n";

static const char no_hw[] =
	"no hardware PMU (a virtual machine or container?): cycles, instructions, cache misses cannot be "
	"counted here; software counters (clocks, faults, switches), sampling by time and virtual PMDs "
	"work.\n";

/* --- operations of the machine -------------------------------------------------------------- */

static int check_set(struct pfm_context *ctx, uint32_t flags)
{
	if ((flags & PFM_SETFL_TIME_SWITCH) && pfm_inherits(ctx))
		return pfm_refuse(-EINVAL, "TIME_SWITCH does not go with INHERIT: perf_event cannot switch "
				  "the event sets of children");
	if ((flags & PFM_SETFL_OVFL_SWITCH) && pfm_inherits(ctx))
		return pfm_refuse(-EINVAL, "OVFL_SWITCH does not go with INHERIT: perf_event cannot switch the event "
				  "sets of children");
	if (flags & PFM_SETFL_EXCL_KERNEL_ONLY_THREADS)
		return pfm_refuse(-EINVAL, "EXCL_KERNEL_ONLY_THREADS: perf_event cannot leave kernel threads "
				  "out");
	return 0;
}

/*
 * Fills in the rights of the caller, which the core checks for buffers and changes of the
 * configuration.
 */
static void caller(struct pfm_machine *m, struct pfm_caller *who)
{
	pfm_user_caller(m, who);
	if (!who->admin)
		who->memlock = pfm_user_lockable(m);
}

static int attach(struct pfm_context *ctx, uint32_t load_pid)
{
	int ret = perf_attach(ctx, load_pid);

	if (ret)
		return ret;
	perf_of(ctx)->rings.ready = perf_records_came;
	perf_of(ctx)->self = ctx->self ? pfm_fast_thread() : 0;
	if (ctx->format_needs.records && !perf_samples_family(ctx))
		ret = perf_ring_need(ctx);
	if (ret)
		perf_detach(ctx);
	return ret;
}

static const struct pfm_machine_ops ops = {
	.name = "perf",
	.attach = attach,
	.detach = perf_detach,
	.access = perf_access,
	.install = perf_install,
	.collect = perf_collect,
	.write_pmc = perf_write_pmc,
	.write_pmd = perf_write_pmd,
	.fits = perf_fits,
	.resume = perf_resume,
	.freeze = perf_freeze,
	.arm = perf_arm,
	.disarm = perf_disarm,
	.left = perf_left,
	.timer_ns = perf_timer_ns,
	.ran = perf_ran,
	.block = perf_block,
	.unblock = perf_unblock,
	.where = perf_where,
	.post = pfm_user_post,
	.flush = pfm_user_flush,
	.signal = pfm_user_signal,
	.caller = caller,
	.in_group = pfm_user_in_group,
	.has_fd = perf_has_fd,
	.now = pfm_user_now,
	.page_size = pfm_user_page_size,
	.alloc_buffer = pfm_user_alloc_buffer,
	.free_buffer = pfm_user_free_buffer,
	.sharing = &pfm_user_sharing,
	.open_view = pfm_user_open_view,
	.close_view = perf_close_view,
	.live_view = perf_live_view,
	.check_set = check_set,
	.inherits = true,
	.fast_read = perf_fast_read,
	.stack = &perf_stack_ops,
	.records = true,
	.switches = true,
	.ctx_flags = PFM_FL_PROCESS | PFM_FL_ON_EXEC,
	.coexist = true,
};

/* --- the logical PMU ------------------------------------------------------------------------ */

#define MAX_REGS (PERF_MAX_COUNTERS + PFM_NUM_SW + PFM_NUM_VIRT + PERF_NUM_NAMED)

static struct pfm_reg pmcs[MAX_REGS], pmds[MAX_REGS];
static char pmu_name[64];
static unsigned int num_hw;

/*
 * Returns the real time or, if "where" is given, the real time of that overflow. The overflow has a
 * monotonic time stamp: so its real time is the present one less the time since the stamp.
 */
static uint64_t read_realtime(struct pfm_context *ctx, const struct pfm_where *where)
{
	struct timespec t;
	uint64_t now;

	clock_gettime(CLOCK_REALTIME, &t);
	now = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	return where ? now - (pfm_user_now(ctx->machine) - where->tstamp) : now;
}

static int check_pmc(struct pfm_context *ctx, struct pfm_set *set, uint16_t num, uint64_t *value)
{
	(void)set;
	if (perf_is_named(num))
		return perf_named_check_pmc(ctx, num, *value);
	return pfm_software_check_pmc(num, *value);
}

static struct pfm_pmu pmu = {
	.name = pmu_name,
	.counter_width = 64,
	.pmcs = pmcs,
	.pmds = pmds,
	.check_pmc = check_pmc,
};

/*
 * Appends the registers with numbers below n, and also those of the cycle counter: their numbers
 * come after a gap and do not count towards n.
 */
static uint16_t append_hw(struct pfm_reg *to, const struct pfm_reg *from, unsigned int num, unsigned int n)
{
	uint16_t out = 0;

	for (unsigned int i = 0; i < num; i++) {
		bool contiguous = from[i].num == i;

		if (contiguous && from[i].num >= n)
			continue;
		to[out] = from[i];
		to[out++].kind &= ~(uint32_t)PFM_REG_NO64;
	}
	return out;
}

static void compose_pmu(void)
{
	const struct pfm_pmu *hw = perf_hw_pmu();

	num_hw = hw ? perf_hw_probe() : 0;
	if (num_hw) {
		pmu.num_pmcs = append_hw(pmcs, hw->pmcs, hw->num_pmcs, num_hw);
		pmu.num_pmds = append_hw(pmds, hw->pmds, hw->num_pmds, num_hw);
		num_hw = pmu.num_pmds;
	}
	pfm_software_append(pmcs, &pmu.num_pmcs, pmds, &pmu.num_pmds, read_realtime, perf_target_cpu);
	perf_named_append(pmcs, &pmu.num_pmcs, pmds, &pmu.num_pmds);
	snprintf(pmu_name, sizeof(pmu_name), "%s%s", num_hw ? hw->name : "", num_hw ? " + software" :
		 "software");
}

/* --- opening the machine -------------------------------------------------------------------- */

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static struct pfm_machine machine;
static bool is_open;
static char notes[512];

static int open_dummy(int *err)
{
	static const struct perf_context nobody = { .pid = 0, .cpu = -1, .cgroup = -1 };
	struct perf_event_attr attr;
	int fd;

	perf_attr_dummy(&attr);
	fd = perf_open(&attr, 0, -1, -1);
	*err = fd < 0 ? errno : 0;
	if (fd < 0)
		return perf_refuse_open(&nobody, "the perf machine", &attr, errno);
	perf_close(fd);
	return 0;
}

/* Kernels before 6.0 return EINVAL for PERF_FORMAT_LOST: it is not used there. */
static int probe_kernel(void)
{
	int err, ret;

	perf_format_lost = true;
	ret = open_dummy(&err);
	if (err != EINVAL)
		return ret;
	perf_format_lost = false;
	return open_dummy(&err);
}

/*
 * Returns true if an event with this pid and cpu can be opened; if "kernel" is set, one that counts
 * the kernel, too. This is tried, because capabilities may allow more than perf_event_paranoid
 * does.
 */
static bool may_measure(bool kernel, int pid, int cpu)
{
	struct perf_event_attr attr;
	int fd;

	perf_attr_dummy(&attr);
	attr.exclude_kernel = attr.exclude_hv = !kernel;
	fd = perf_open(&attr, pid, cpu, -1);
	if (fd >= 0)
		perf_close(fd);
	return fd >= 0;
}

static void write_notes(void)
{
	const char *why = "";
	char text[256] = "";

	if (!may_measure(true, 0, -1))
		why = "without CAP_PERFMON only user level can be measured, and no context-switches, "
		      "cpu-migrations or whole CPUs";
	else if (!may_measure(false, -1, 0))
		why = "without CAP_PERFMON no whole CPUs can be measured";
	if (*why)
		snprintf(text, sizeof(text), "kernel.perf_event_paranoid is %d: %s.\n", perf_paranoid(), why);
	snprintf(notes, sizeof(notes), "%s%s", num_hw ? "" : no_hw, text);
}

static int open_once(void)
{
	int ret;

	if (is_open)
		return 0;
	ret = probe_kernel();
	if (ret)
		return ret;
	compose_pmu();
	write_notes();
	pfm_user_want_inherited();
	pfm_machine_init(&machine, &ops, &pmu, NULL);
	is_open = true;
	return 0;
}

static struct pfm_machine *open_machine(const char *model, const char *options)
{
	int ret;

	if (*model || (options && *options)) {
		pfm_refuse(-EINVAL, "the perf machine has no %s, \"%s\" was given",
			   *model ? "models" : "options", *model ? model : options);
		errno = EINVAL;
		return NULL;
	}
	pthread_mutex_lock(&open_lock);
	ret = open_once();
	pthread_mutex_unlock(&open_lock);
	errno = -ret;
	return ret ? NULL : &machine;
}

static void describe(struct pfm_machine *m, pfm_machine_info_t *info)
{
	info->name = "perf";
	info->pmu = m->pmu->name;
	info->notes = notes;
	info->limits = limits;
	info->hw_counters = (int)num_hw;
}

static const struct pfm_user_machine perf_kind = {
	.name = "perf",
	.rank = 2,
	.open = open_machine,
	.describe = describe,
	.forget = perf_close_all,
	.event = perf_named_add,
};

PFM_REGISTER_MACHINE(perf_kind)
