// SPDX-License-Identifier: MIT
/* errors.c - messages for the kernel's errors, with the reason and a remedy. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "perf.h"

/* Returns the value of a setting in /proc/sys/kernel, or dfl if it cannot be read. */
static int setting(const char *name, int dfl)
{
	long value = dfl;
	char path[64];

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	pfm_os_read_number(path, &value);
	return (int)value;
}

int perf_paranoid(void)
{
	return setting("perf_event_paranoid", 2);
}

static int refuse_level(const char *what, int is, int wanted)
{
	return pfm_refuse(-EPERM, "%s needs kernel.perf_event_paranoid <= %d (it is %d; sysctl -w "
			  "kernel.perf_event_paranoid=%d) or CAP_PERFMON", what, wanted, is, wanted);
}

int perf_refuse_foreign(pid_t tid)
{
	return pfm_refuse(-EPERM, "thread %d belongs to another user or is protected: monitor it as "
			  "that user, or with CAP_PERFMON or CAP_SYS_PTRACE", tid);
}

/*
 * Returns true if the process belongs to another user: then perf_event_paranoid is not the reason
 * for a refusal. A process that /proc hides is another user's.
 */
static bool is_foreign(int pid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return stat(path, &st) ? perf_exists(pid) : st.st_uid != geteuid();
}

/*
 * Explains a refusal by the rules of perf_event_open(2). The reasons that are certain are tried
 * first. Values of perf_event_paranoid above 2 are additions of distributions.
 */
static int refuse_access(const struct perf_context *p, const char *what,
			 const struct perf_event_attr *attr, int err)
{
	int is = perf_paranoid();
	char text[128];

	if (p->pid < 0 && is > 0) {
		snprintf(text, sizeof(text), "monitoring CPU %d as a whole", p->cpu);
		return refuse_level(text, is, 0);
	}
	if (p->pid > 0 && is_foreign(p->pid))
		return perf_refuse_foreign(p->pid);
	if (!attr->exclude_kernel && is > 1) {
		snprintf(text, sizeof(text), "%s: counting at kernel level too", what);
		return refuse_level(text, is, 1);
	}
	if (is > 2 && err == EACCES)
		return refuse_level("perf_event_open(2): Permission denied: measuring anything", is, 2);
	if (err == EPERM || p->pid <= 0)
		return pfm_refuse(-EPERM, "perf_event_open(2): %s: a seccomp filter or security module forbids it: "
				  "run the container with a profile that allows it, or with CAP_PERFMON",
				  strerror(err));
	return perf_refuse_foreign(p->pid);
}

/* Refuses for EMFILE or ENFILE, and says which limit of descriptors has been reached. */
int perf_refuse_files(const char *what, int err)
{
	struct rlimit limit = { 0, 0 };

	if (err == ENFILE)
		return pfm_refuse(-ENFILE, "%s: the system has no descriptor left (fs.file-max)", what);
	getrlimit(RLIMIT_NOFILE, &limit);
	return pfm_refuse(-EMFILE, "%s: all %llu descriptors are in use: raise RLIMIT_NOFILE (ulimit -n)",
			  what, (unsigned long long)limit.rlim_cur);
}

#define CAPS	"/sys/bus/event_source/devices/cpu/caps"

/*
 * Returns the largest precise_ip that the cores' PMU supports, -1 if the PMU does not say so or
 * there is none.
 */
static int most_precise(void)
{
	long most = -1;

	pfm_os_read_number(CAPS "/max_precise", &most);
	return (int)most;
}

/*
 * Refuses a precise event. The kernel's error does not say whether it rejects precise_ip or the
 * event itself.
 */
static int refuse_precise(const char *what, const struct perf_event_attr *attr)
{
	int most = most_precise();
	char why[80] = "it has no PMU with precise samples";

	if (most >= (int)attr->precise_ip)
		snprintf(why, sizeof(why), "this event has none, or not so precise");
	else if (most >= 0)
		snprintf(why, sizeof(why), "its PMU goes to %d (max_precise of " CAPS ")", most);
	return pfm_refuse(-EINVAL, "%s: no precise samples (precise_ip %u) of event %#llx on this machine: %s", what,
			  attr->precise_ip, (unsigned long long)attr->config, why);
}

int perf_refuse_open(const struct perf_context *p, const char *what, const struct perf_event_attr *attr,
		     int err)
{
	bool hw = attr->type == PERF_TYPE_RAW;

	if (p->cgroup >= 0 && err == EBADF)
		return pfm_refuse(-EINVAL, "%s: that folder is no cgroup, or perf_event is not among the "
				  "controllers of its hierarchy", what);
	if (attr->precise_ip && (err == EINVAL || err == ENOENT || err == ENXIO || err == EOPNOTSUPP))
		return refuse_precise(what, attr);
	switch (err) {
	case EACCES:
	case EPERM:
		return refuse_access(p, what, attr, err);
	case ESRCH:
		return pfm_refuse(-ESRCH, "there is no thread %d, or it has ended", p->pid);
	case EMFILE:
	case ENFILE:
		return perf_refuse_files(what, err);
	case ENOMEM:
		return pfm_refuse(-ENOMEM, "%s: the kernel has no memory for an event", what);
	case ENOSYS:
		return pfm_refuse(-ENOSYS, "perf_event_open(2): %s: the kernel is built without perf events "
				  "(CONFIG_PERF_EVENTS), or a seccomp filter hides it: run the container with a "
				  "profile that allows it", strerror(err));
	case EINVAL:
		if (attr->type > PERF_TYPE_BREAKPOINT)
			return pfm_refuse(-EINVAL, "%s: PMU %u cannot count event %#llx like that: it may know no "
					  "privilege levels, or count whole CPUs only", what, attr->type,
					  (unsigned long long)attr->config);
		if (hw)
			return pfm_refuse(-EINVAL, "%s: the PMU cannot count event %#llx, or not together "
					  "with the others of the set", what,
					  (unsigned long long)attr->config);
		break;
	case ENODEV:
		if (p->pid < 0)
			return pfm_refuse(-EINVAL, "CPU %d is not online", p->cpu);
		/* fall through */
	case ENOENT:
	case ENXIO:
	case EOPNOTSUPP:
		return pfm_refuse(-EINVAL, "%s: event %#llx %s on this machine (%s)", what,
				  (unsigned long long)attr->config,
				  attr->sample_period ? "cannot interrupt" : "does not exist",
				  strerror(err));
	case EBUSY:
		return pfm_refuse(-EBUSY, "%s: another perf event has exclusive use of the PMU", what);
	}
	return pfm_refuse(-err, "%s: perf_event_open(2): %s", what, strerror(err));
}

int perf_refuse_filter(const char *what, const char *filter, int err)
{
	if (err == EINVAL)
		return pfm_refuse(-EINVAL, "%s: the kernel does not understand the filter '%s', or the event has "
				  "no such field", what, filter);
	return pfm_refuse(-err, "%s: the filter '%s': %s", what, filter, strerror(err));
}

int perf_refuse_map(int err, size_t size)
{
	unsigned int kb = (unsigned int)(size / 1024);
	struct rlimit limit = { 0, 0 };

	getrlimit(RLIMIT_MEMLOCK, &limit);
	if (err == EPERM)
		return pfm_refuse(-ENOMEM, "no %u KiB of kernel buffer left: kernel.perf_event_mlock_kb (%d per "
				  "CPU and user) and RLIMIT_MEMLOCK (%llu KiB, ulimit -l) limit it", kb,
				  setting("perf_event_mlock_kb", 516),
				  (unsigned long long)limit.rlim_cur / 1024);
	return pfm_refuse(-err, "no kernel buffer of %u KiB: %s", kb, strerror(err));
}

int perf_refuse_trace(uint32_t tid, int err)
{
	if (err == ESRCH)
		return pfm_refuse(-ESRCH, "there is no thread %u, or it has ended", tid);
	if (err != EPERM && err != EACCES)
		return pfm_refuse(-err, "thread %u cannot be held: %s", tid, strerror(err));
	if (!syscall(SYS_tgkill, getpid(), tid, 0))
		return pfm_refuse(-EPERM, "NOTIFY_BLOCK cannot stop thread %u: a process cannot ptrace(2) "
				  "threads of its own", tid);
	if (setting("yama/ptrace_scope", 0) > 0)
		return pfm_refuse(-EPERM, "NOTIFY_BLOCK cannot stop thread %u: another debugger has it, or "
				  "kernel.yama.ptrace_scope is %d: it must be 0 without CAP_SYS_PTRACE", tid,
				  setting("yama/ptrace_scope", 0));
	return pfm_refuse(-EPERM, "NOTIFY_BLOCK may not hold thread %u: it is another user's, or has a debugger "
			  "already (CAP_SYS_PTRACE allows other users')", tid);
}

int perf_refuse_busy(void)
{
	return pfm_refuse(-EIO, "the hardware counters did not count all of the time: something else "
			  "holds them (the NMI watchdog: sysctl -w kernel.nmi_watchdog=0; another "
			  "profiler), or the thread ran on a core of another kind");
}
