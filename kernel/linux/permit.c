// SPDX-License-Identifier: GPL-2.0
/*
 * permit.c - what the caller may monitor. perf checks nothing for the kernel's own events: the same
 * rules, by CAP_PERFMON and kernel.perf_event_paranoid, are kept here.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/sched/coredump.h>
#include <linux/sched/mm.h>
#include <linux/workqueue.h>

#include "linux.h"

struct question {
	struct work_struct	work;
	int			paranoid;
};

/* In a kernel thread: what the caller may have mounted over /proc means nothing there. */
static void ask(struct work_struct *work)
{
	struct question *q = container_of(work, struct question, work);
	struct file *file = filp_open("/proc/sys/kernel/perf_event_paranoid", O_RDONLY, 0);
	char text[16] = "";
	loff_t pos = 0;

	q->paranoid = 3;
	if (IS_ERR(file))
		return;
	if (kernel_read(file, text, sizeof(text) - 1, &pos) > 0 &&
	    kstrtoint(strim(text), 10, &q->paranoid))
		q->paranoid = 3;
	filp_close(file, NULL);
}

static int paranoid(void)
{
	struct question q;

	INIT_WORK_ONSTACK(&q.work, ask);
	schedule_work(&q.work);
	flush_work(&q.work);
	destroy_work_on_stack(&q.work);
	return q.paranoid;
}

bool lx_may_count_kernel(void)
{
	return perfmon_capable() || paranoid() <= 1;
}

bool lx_may_count_cpu(void)
{
	return perfmon_capable() || paranoid() <= 0;
}

static bool same_user(const struct cred *of)
{
	kuid_t uid = current_uid();
	kgid_t gid = current_gid();

	return uid_eq(uid, of->euid) && uid_eq(uid, of->suid) && uid_eq(uid, of->uid) &&
	       gid_eq(gid, of->egid) && gid_eq(gid, of->sgid) && gid_eq(gid, of->gid);
}

/* Its memory is its user's own: it has run no set-uid program, and hides nothing. */
static bool dumpable(struct task_struct *task)
{
	struct mm_struct *mm = get_task_mm(task);
	bool ok;

	if (!mm)
		return false;
	ok = get_dumpable(mm) == SUID_DUMP_USER || ns_capable(mm->user_ns, CAP_SYS_PTRACE);
	mmput(mm);
	return ok;
}

/* As ptrace has it for reading, which modules cannot ask. */
bool lx_may_attach(struct task_struct *task)
{
	const struct cred *cred;
	bool ok;

	if (same_thread_group(task, current) || perfmon_capable())
		return true;
	rcu_read_lock();
	cred = __task_cred(task);
	ok = same_user(cred) || ns_capable(cred->user_ns, CAP_SYS_PTRACE);
	rcu_read_unlock();
	return ok && dumpable(task);
}
