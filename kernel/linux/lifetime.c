// SPDX-License-Identifier: GPL-2.0
/*
 * lifetime.c - the end of what is monitored: threads that exit, threads whose events perf takes away
 * because they run a set-uid program, CPUs that go offline. The context is then unloaded (3.3.6).
 */
#include <linux/cpuhotplug.h>
#include <linux/fdtable.h>
#include <linux/hashtable.h>
#include <linux/rculist.h>
#include <linux/task_work.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "linux.h"

static DEFINE_HASHTABLE(watched, 8);		/* by task; read under RCU */
static DEFINE_SPINLOCK(watched_lock);

static struct lx_context *find(const struct task_struct *task)
{
	struct lx_context *lx;

	hash_for_each_possible_rcu(watched, lx, by_task, (unsigned long)task)
		if (lx->task == task)
			return lx;
	return NULL;
}

int lx_watch_task(struct lx_context *lx)
{
	bool taken;

	spin_lock(&watched_lock);
	taken = find(lx->task);
	if (!taken)
		hash_add_rcu(watched, &lx->by_task, (unsigned long)lx->task);
	spin_unlock(&watched_lock);
	if (taken)
		return pfm_refuse(-EBUSY, "the thread has a context already");
	smp_mb();	/* the probe below looks into the table after PF_EXITING was set */
	if (!(READ_ONCE(lx->task->flags) & PF_EXITING))
		return 0;
	lx_unwatch(lx);
	return pfm_refuse(-ESRCH, "the thread is ending");
}

void lx_unwatch(struct lx_context *lx)
{
	spin_lock(&watched_lock);
	hash_del_rcu(&lx->by_task);
	spin_unlock(&watched_lock);
}

/* --- threads -------------------------------------------------------------------------------- */

static int is_file_of(const void *lx, struct file *file, unsigned int fd)
{
	return file->f_op == &lx_context_fops && file->private_data == lx;
}

static bool has_fd(struct lx_context *lx, struct task_struct *task)
{
	return task->files && iterate_fd(task->files, 0, is_file_of, lx);
}

/* In the target. */
static void target_is_gone(struct callback_head *work)
{
	struct lx_context *lx = container_of(work, struct lx_context, exit_work);

	mutex_lock(&lx->lock);
	clear_bit(0, &lx->exit_queued);
	if (lx->ctx && lx->task == current) {
		pfm_do_stop(lx->ctx);
		pfm_target_exit(lx->ctx);
	}
	lx_wake(lx);
	mutex_unlock(&lx->lock);
	lx_context_put(lx);
}

/* Probes cannot sleep: the work is done on the way out of the kernel, or of this life. */
static void queue_end(struct lx_context *lx, enum task_work_notify_mode mode)
{
	if (test_and_set_bit(0, &lx->exit_queued))
		return;
	if (!kref_get_unless_zero(&lx->ref))
		return;
	lx->target_has_fd = has_fd(lx, current);
	init_task_work(&lx->exit_work, target_is_gone);
	if (task_work_add(current, &lx->exit_work, mode))
		WARN_ON_ONCE(1);	/* exit_task_work() comes after this tracepoint */
}

static void on_exit(PFM_PROBE_EXIT_ARGS)
{
	struct lx_context *lx;

	rcu_read_lock();
	lx = find(task);
	if (lx && task == current)
		queue_end(lx, TWA_NONE);
	rcu_read_unlock();
}

/* perf has taken its events off a thread that is now somebody else. */
static void on_exec(void *data, struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm)
{
	struct lx_context *lx;

	rcu_read_lock();
	lx = find(task);
	if (lx && lx->witness->state == PERF_EVENT_STATE_EXIT)
		queue_end(lx, TWA_RESUME);
	rcu_read_unlock();
}

/* Asked by the core: at the end, as it was while there still were descriptors; else as it is now. */
bool lx_task_has_fd(struct lx_context *lx)
{
	return lx->target_has_fd;
}

/* --- CPUs ----------------------------------------------------------------------------------- */

static HLIST_HEAD(on_cpus);		/* system-wide ones; under watched_lock */

void lx_watch_cpu(struct lx_context *lx)
{
	lx->cpu_left = false;
	spin_lock(&watched_lock);
	hlist_add_head(&lx->by_task, &on_cpus);
	spin_unlock(&watched_lock);
}

/*
 * Hotplug holds a lock that the making of perf events wants: the contexts are unloaded by others, soon. Until
 * then they just do not count: perf has taken their events off.
 */
static struct workqueue_struct *unloaders;

static void cpu_is_gone(struct work_struct *work)
{
	struct lx_context *lx = container_of(work, struct lx_context, cpu_work);

	mutex_lock(&lx->lock);
	if (lx->ctx && pfm_loaded(lx->ctx) && !lx->task && READ_ONCE(lx->cpu_left))
		pfm_target_exit(lx->ctx);
	lx_wake(lx);
	mutex_unlock(&lx->lock);
	lx_context_put(lx);
}

static int cpu_leaves(unsigned int cpu)
{
	struct lx_context *lx;

	spin_lock(&watched_lock);
	hlist_for_each_entry(lx, &on_cpus, by_task)
		if (lx->ctx->cpu == cpu && kref_get_unless_zero(&lx->ref)) {
			WRITE_ONCE(lx->cpu_left, true);
			if (!queue_work(unloaders, &lx->cpu_work))
				lx_context_put(lx);	/* the work in the queue holds another */
		}
	spin_unlock(&watched_lock);
	return 0;
}

void lx_lifetime_init_context(struct lx_context *lx)
{
	INIT_WORK(&lx->cpu_work, cpu_is_gone);
}

/* --- tracepoints, which modules have to look for ---------------------------------------------- */

struct search {
	const char		*name;
	struct tracepoint	*found;
};

static void match(struct tracepoint *tp, void *arg)
{
	struct search *search = arg;

	if (!strcmp(tp->name, search->name))
		search->found = tp;
}

struct tracepoint *lx_tracepoint(const char *name)
{
	struct search search = { name };

	for_each_kernel_tracepoint(match, &search);
	return search.found;
}

struct probe {
	const char		*name;
	void			*fn;
	struct tracepoint	*tp;
};

static struct probe probes[] = {
	{ "sched_process_exit", on_exit },
	{ "sched_process_exec", on_exec },
};

static void unprobe(int n)
{
	while (n-- > 0)
		tracepoint_probe_unregister(probes[n].tp, probes[n].fn, NULL);
	tracepoint_synchronize_unregister();
}

static int probe_all(void)
{
	int ret = 0, i;

	for (i = 0; i < ARRAY_SIZE(probes) && !ret; i++) {
		probes[i].tp = lx_tracepoint(probes[i].name);
		ret = probes[i].tp ? tracepoint_probe_register(probes[i].tp, probes[i].fn, NULL) : -ENOENT;
	}
	if (ret)
		unprobe(i - 1);
	return ret;
}

static int hotplug_state;

int lx_lifetime_init(void)
{
	int ret;

	lx_exclude_init();
	unloaders = alloc_workqueue("perfmon", 0, 0);
	if (!unloaders)
		return -ENOMEM;
	ret = probe_all();
	if (ret) {
		destroy_workqueue(unloaders);
		return ret;
	}
	ret = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "perfmon:online", NULL, cpu_leaves);
	if (ret < 0) {
		unprobe(ARRAY_SIZE(probes));
		destroy_workqueue(unloaders);
		return ret;
	}
	hotplug_state = ret;
	return 0;
}

/* No context is left; work that a target does last may still be on its way out of this module. */
void lx_lifetime_exit(void)
{
	cpuhp_remove_state_nocalls(hotplug_state);
	destroy_workqueue(unloaders);
	unprobe(ARRAY_SIZE(probes));
	synchronize_rcu();
}
