// SPDX-License-Identifier: GPL-2.0
/*
 * permit.c - checks whether the caller may monitor a target. perf checks no permission for events
 * that the kernel makes. So perf's rules, which depend on CAP_PERFMON and
 * kernel.perf_event_paranoid, or stricter ones, are enforced here.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/mount.h>
#include <linux/sched/mm.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "linux.h"

/*
 * Checks the capability without an entry in the audit log, as unprivileged callers commonly lack
 * it.
 */
bool lx_capable(int cap)
{
	return ns_capable_noaudit(&init_user_ns, cap);
}

/* --- perf's settings, which modules can read only in /proc ------------------------------------ */

/*
 * A mount of procfs that only this module uses: the caller may have another file system at /proc,
 * and a kernel thread has no /proc.
 */
static struct vfsmount *proc;

int lx_permit_init(void)
{
	struct file_system_type *type = get_fs_type("proc");

	if (!type)
		return -ENODEV;
	proc = kern_mount(type);
	return PTR_ERR_OR_ZERO(proc);
}

void lx_permit_exit(void)
{
	kern_unmount(proc);
}

struct question {
	struct work_struct	work;
	const char		*path;		/* path below /proc */
	int			answer;
};

/* Reads the file in a kernel thread, because a security module may deny it to the caller. */
static void ask(struct work_struct *work)
{
	struct question *q = container_of(work, struct question, work);
	struct file *file = file_open_root_mnt(proc, q->path, O_RDONLY, 0);
	char text[16] = "";
	loff_t pos = 0;
	int answer;

	if (IS_ERR(file))
		return;
	if (kernel_read(file, text, sizeof(text) - 1, &pos) > 0 && !kstrtoint(strim(text), 10, &answer))
		q->answer = answer;
	filp_close(file, NULL);
}

/* Returns the number in the file below /proc, or "otherwise" if it cannot be read. */
static int setting(const char *path, int otherwise)
{
	struct question q = { .path = path, .answer = otherwise };

	INIT_WORK_ONSTACK(&q.work, ask);
	schedule_work(&q.work);
	flush_work(&q.work);
	destroy_work_on_stack(&q.work);
	return q.answer;
}

u64 lx_perf_mlock(void)
{
	int kib = setting("sys/kernel/perf_event_mlock_kb", 0);

	return kib > 0 ? (u64)kib * num_online_cpus() << 10 : 0;
}

/* --- rights of the caller --------------------------------------------------------------------- */

/*
 * A caller with CAP_SYS_ADMIN is privileged. A caller with CAP_PERFMON is privileged, too, but only
 * if perf_event_paranoid is at most 2 (Debian's kernels also know 3 and above).
 */
int lx_paranoid(void)
{
	int level;

	if (lx_capable(CAP_SYS_ADMIN))
		return LX_PARANOID_NOT;
	level = setting("sys/kernel/perf_event_paranoid", LX_PARANOID_ALL);
	return level < LX_PARANOID_ALL && lx_capable(CAP_PERFMON) ? LX_PARANOID_NOT : level;
}

int lx_check_monitor(int paranoid)
{
	if (paranoid < LX_PARANOID_ALL)
		return 0;
	return pfm_refuse(-EPERM, "perf_event_paranoid is %d: only CAP_SYS_ADMIN may monitor", paranoid);
}

/* --- rights to monitor a thread --------------------------------------------------------------- */

static bool same_user(const struct cred *of)
{
	kuid_t uid = current_uid();
	kgid_t gid = current_gid();

	return uid_eq(uid, of->euid) && uid_eq(uid, of->suid) && uid_eq(uid, of->uid) &&
	       gid_eq(gid, of->egid) && gid_eq(gid, of->sgid) && gid_eq(gid, of->gid);
}

/*
 * Returns true if the task is dumpable: it runs no set-uid program, and prctl(2) has not made it
 * undumpable.
 */
static bool dumpable(struct task_struct *task)
{
	struct mm_struct *mm = get_task_mm(task);
	bool ok;

	if (!mm)
		return false;
	ok = pfm_dumpable(task, mm) || pfm_capable_over(task, mm, CAP_SYS_PTRACE);
	mmput(mm);
	return ok;
}

/* Returns true if the task has no capability that the caller lacks. */
static bool no_more_capable(const struct cred *of)
{
	return of->user_ns == current_user_ns() && cap_issubset(of->cap_permitted, current_cred()->cap_permitted);
}

/*
 * Applies the rules of ptrace_may_access(PTRACE_MODE_READ), which modules cannot call, but not the
 * security modules' hook ptrace_access_check.
 */
static bool may_trace(struct task_struct *task)
{
	const struct cred *cred;
	bool ok;

	rcu_read_lock();
	cred = __task_cred(task);
	ok = (same_user(cred) && no_more_capable(cred)) || ns_capable_noaudit(cred->user_ns, CAP_SYS_PTRACE);
	rcu_read_unlock();
	return ok && dumpable(task);
}

/* CAP_PERFMON allows the caller to monitor any thread, but not to stop it. */
bool lx_may_attach(struct task_struct *task, bool blocks)
{
	if (same_thread_group(task, current) || may_trace(task))
		return true;
	return !blocks && (lx_capable(CAP_PERFMON) || lx_capable(CAP_SYS_ADMIN));
}
