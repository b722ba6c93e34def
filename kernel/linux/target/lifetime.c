// SPDX-License-Identifier: GPL-2.0
/*
 * lifetime.c - the end of a target: a thread exits, or loses its events because it runs a set-uid
 * program, or a CPU goes offline. The context is then unloaded (3.3.6).
 */
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/fdtable.h>
#include <linux/hashtable.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "linux.h"

static DEFINE_HASHTABLE(watched, 8);		/* watched contexts, by task */
/* protects the watched contexts; a raw lock, as probes may not sleep */
static DEFINE_RAW_SPINLOCK(watched_lock);

/* The workers unload contexts if the code that notices the target's end may not sleep. */
static struct workqueue_struct *unloaders;

static struct hlist_head *bucket_of(const struct task_struct *task)
{
	return &watched[hash_min((unsigned long)task, HASH_BITS(watched))];
}

static struct lx_context *find(const struct task_struct *task)
{
	struct lx_context *lx;

	hlist_for_each_entry(lx, bucket_of(task), target.by_task)
		if (lx->target.task == task)
			return lx;
	return NULL;
}

int lx_watch_task(struct lx_context *lx)
{
	bool taken;

	raw_spin_lock(&watched_lock);
	taken = find(lx->target.task);
	if (!taken)
		hlist_add_head(&lx->target.by_task, bucket_of(lx->target.task));
	raw_spin_unlock(&watched_lock);
	if (taken)
		return pfm_refuse(-EBUSY, "the thread has a context already");
	/*
	 * A: pairs with find_end(). An exiting task that did not find lx in the table has set
	 * PF_EXITING before, so the flag is seen here.
	 */
	smp_mb();
	if (!(READ_ONCE(lx->target.task->flags) & PF_EXITING))
		return 0;
	lx_unwatch(lx);
	return pfm_refuse(-ESRCH, "the thread is ending");
}

/* When this has returned, no probe finds the context. */
void lx_unwatch(struct lx_context *lx)
{
	raw_spin_lock(&watched_lock);
	hlist_del_init(&lx->target.by_task);
	raw_spin_unlock(&watched_lock);
}

/* --- the end of a thread -------------------------------------------------------------------- */

/*
 * Returns true if one of the descriptors is the context's; a child context has none. The file
 * pointers are only compared: a tracepoint probe may not take a lock that sleeps.
 */
static bool has_fd(const struct lx_context *lx, struct files_struct *files)
{
	bool found = false;
	struct fdtable *fdt;
	unsigned long fd;

	if (!files || !lx->file)
		return false;
	rcu_read_lock();
	fdt = files_fdtable(files);
	for_each_set_bit(fd, fdt->open_fds, fdt->max_fds) {
		found = rcu_access_pointer(fdt->fd[fd]) == lx->file;
		if (found)
			break;
	}
	rcu_read_unlock();
	return found;
}

static void end_target_ref(struct lx_target_ref *target_ref)
{
	struct lx_context *lx = target_ref->lx, *root = lx->root;

	mutex_lock(&root->lock);
	if (lx->ctx && lx->target.ref == target_ref) {
		lx->target.has_fd = target_ref->has_fd;
		if (!pfm_inherits(lx->ctx))
			pfm_do_stop(lx->ctx);
		pfm_target_exit(lx->ctx);
	}
	lx_unlock(root);
	lx_target_ref_put(target_ref);
}

/* Runs in the target. */
static void target_is_gone(struct callback_head *work)
{
	end_target_ref(container_of(work, struct lx_target_ref, exit_work));
}

/* Runs in a worker on kernels without task_work_add(). */
static void target_went(struct work_struct *work)
{
	end_target_ref(container_of(work, struct lx_target_ref, exit_later));
}

/*
 * If the current thread is watched and its end is noticed for the first time, counts one more user
 * of its target reference and returns it, else returns NULL. If only_lost is true, the thread
 * itself does not end: it counts as ended only if perf has removed its events.
 */
static struct lx_target_ref *find_end(bool only_lost)
{
	struct lx_target_ref *target_ref = NULL;
	struct lx_context *lx;

	smp_mb();	/* pairs with the barrier A in lx_watch_task() */
	if (hlist_empty(bucket_of(current)))
		return NULL;
	raw_spin_lock(&watched_lock);
	lx = find(current);
	if (lx && !lx->target.ref->ended &&
	    (!only_lost || READ_ONCE(lx->anchor_event->state) == PERF_EVENT_STATE_EXIT)) {
		target_ref = lx->target.ref;
		target_ref->ended = true;
		refcount_inc(&target_ref->users);
	}
	raw_spin_unlock(&watched_lock);
	return target_ref;
}

/*
 * Unloads the context of the current thread if the thread ends or, with only_lost, if perf has
 * removed its events. Probes call this and cannot sleep, so the work is done when the thread
 * returns to user level or exits, or by a worker.
 */
static void queue_end(bool only_lost, enum task_work_notify_mode mode)
{
	struct lx_target_ref *target_ref = find_end(only_lost);

	if (!target_ref)
		return;
	target_ref->has_fd = has_fd(target_ref->lx, current->files);
	if (!lx_has_task_work())
		queue_work(unloaders, &target_ref->exit_later);
	/* this cannot fail, because exit_task_work() has not run yet */
	else if (WARN_ON_ONCE(lx_task_work(current, &target_ref->exit_work, mode)))
		refcount_dec(&target_ref->users);
}

static void on_exit(PFM_PROBE_EXIT_ARGS)
{
	lx_record_exit();
	queue_end(false, TWA_NONE);
}

/*
 * If a thread other than the leader of its process calls exec, it gets the leader's id, which is
 * noted in its context.
 */
static void renumber(void)
{
	struct lx_context *lx;

	raw_spin_lock(&watched_lock);
	lx = find(current);
	if (lx) {
		WRITE_ONCE(lx->ctx->tid, task_pid_nr(current));
		WRITE_ONCE(lx->target.tid, task_pid_nr_ns(current, lx->ns));
	}
	raw_spin_unlock(&watched_lock);
}

/*
 * PFM_FL_ON_EXEC: lets the context of the current thread count, unless perf has removed the
 * context's events.
 */
static void start_waiting(void)
{
	struct lx_context *lx;
	unsigned long flags;

	raw_spin_lock_irqsave(&watched_lock, flags);
	lx = find(current);
	if (lx && lx->ctx->waits_exec && lx_scheduled_in(lx) &&
	    READ_ONCE(lx->anchor_event->state) != PERF_EVENT_STATE_EXIT) {
		lx_enter(lx);
		pfm_target_exec(lx->ctx);
		lx_leave(lx, NULL);
		lx_end_service(lx, false);
	}
	raw_spin_unlock_irqrestore(&watched_lock, flags);
}

/*
 * The current thread has executed a program. If perf has removed its events from the thread, as it
 * does for a set-uid program, the context is unloaded.
 */
static void on_exec(void *data, struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm)
{
	if (old_pid != task_pid_nr(current) && !hlist_empty(bucket_of(current)))
		renumber();
	lx_record_exec();
	if (!hlist_empty(bucket_of(current)))
		start_waiting();
	queue_end(true, TWA_RESUME);
}

/* A thread may write another thread's /proc/PID/comm: such a rename is not recorded. */
static void on_rename(void *data, struct task_struct *task, const char *name)
{
	if (task == current)
		lx_record_rename(name);
}

/* Called when the current thread has created child, which has not run yet. */
static void on_fork(void *data, struct task_struct *parent, struct task_struct *child)
{
	struct lx_target_ref *target_ref = NULL;
	struct lx_context *lx;

	lx_record_fork(child);
	if (hlist_empty(bucket_of(current)))
		return;
	raw_spin_lock(&watched_lock);
	lx = find(current);
	/*
	 * A thread that lost its events by an exec stays watched until its context is unloaded. Its
	 * children get no child contexts.
	 */
	if (lx && lx->family.cred && !lx->target.ref->ended) {
		target_ref = lx->target.ref;
		refcount_inc(&target_ref->users);
		lx_inherit_expect(target_ref);
	}
	raw_spin_unlock(&watched_lock);
	if (target_ref)
		lx_inherit_fork(target_ref, child);
}

/* Called when the current thread maps memory: the tracepoint vm_unmapped_area. */
static void on_mmap(void *data, unsigned long addr, struct vm_unmapped_area_info *info)
{
	lx_record_mmap();
}

/*
 * The core calls this after the thread has ended: has_fd was stored while the thread still had its
 * descriptors.
 */
bool lx_task_has_fd(struct lx_context *lx)
{
	return lx->target.has_fd;
}

struct lx_target_ref *lx_target_ref_new(struct lx_context *lx)
{
	struct lx_target_ref *target_ref = &lx->target.first_ref;

	/* pairs with the release E in lx_target_ref_put() */
	if (smp_load_acquire(&lx->target.first_ref_used))
		target_ref = pfm_os_alloc(sizeof(*target_ref));
	if (!target_ref)
		return NULL;
	if (target_ref == &lx->target.first_ref)
		lx->target.first_ref_used = true;
	kref_get(&lx->ref);
	target_ref->lx = lx;
	target_ref->ended = target_ref->has_fd = target_ref->block_queued = target_ref->hold = false;
	init_task_work(&target_ref->exit_work, target_is_gone);
	INIT_WORK(&target_ref->exit_later, target_went);
	lx_block_init(target_ref);
	refcount_set(&target_ref->users, 1);
	return target_ref;
}

/* first_ref is a part of the context: it is not freed, but marked as unused for the next load. */
void lx_target_ref_put(struct lx_target_ref *target_ref)
{
	struct lx_context *lx = target_ref->lx;
	bool own = target_ref != &lx->target.first_ref;

	if (!refcount_dec_and_test(&target_ref->users))
		return;
	lx_inherit_end(target_ref);
	if (own)
		pfm_os_free(target_ref);
	else
		/* E: the last use of first_ref comes before its reuse */
		smp_store_release(&lx->target.first_ref_used, false);
	lx_context_put(lx);
}

/* --- a CPU goes offline --------------------------------------------------------------------- */

static HLIST_HEAD(on_cpus);		/* system-wide contexts that are loaded */
static struct cpumask here;		/* CPUs that hotplug will report when they go offline */

int lx_watch_cpu(struct lx_context *lx)
{
	bool is_here;

	lx->target.cpu_left = false;
	raw_spin_lock(&watched_lock);
	is_here = cpumask_test_cpu(lx->ctx->cpu, &here);
	if (is_here)
		hlist_add_head(&lx->target.by_task, &on_cpus);
	raw_spin_unlock(&watched_lock);
	return is_here ? 0 : pfm_refuse(-ENODEV, "CPU %u is going offline", lx->ctx->cpu);
}

/*
 * Unloads a context when its CPU has gone offline. A worker does that, because it needs lx->lock:
 * another thread may hold lx->lock while it creates a perf event, which waits for a lock that
 * hotplug holds. Until then the context counts nothing: perf has taken its events off the CPU.
 */
static void cpu_is_gone(struct work_struct *work)
{
	struct lx_context *lx = container_of(work, struct lx_context, target.cpu_work);

	mutex_lock(&lx->lock);
	if (lx->ctx && pfm_loaded(lx->ctx) && !lx->target.task && READ_ONCE(lx->target.cpu_left)) {
		pfm_target_exit(lx->ctx);
		/* F: "over" is set after the last message was posted; pairs with lx_read() */
		smp_store_release(&lx->msgs.over, true);
		atomic_or(LX_WAKE_READERS, &lx->msgs.wake);
	}
	lx_unlock(lx);
	lx_context_put(lx);
}

static int cpu_comes(unsigned int cpu)
{
	raw_spin_lock(&watched_lock);
	cpumask_set_cpu(cpu, &here);
	raw_spin_unlock(&watched_lock);
	return 0;
}

static int cpu_leaves(unsigned int cpu)
{
	struct lx_context *lx;

	raw_spin_lock(&watched_lock);
	cpumask_clear_cpu(cpu, &here);
	hlist_for_each_entry(lx, &on_cpus, target.by_task)
		if (lx->ctx->cpu == cpu && kref_get_unless_zero(&lx->ref)) {
			WRITE_ONCE(lx->target.cpu_left, true);
			if (!queue_work(unloaders, &lx->target.cpu_work))
				/* the work that is queued already holds a reference of its own */
				lx_context_put(lx);
		}
	raw_spin_unlock(&watched_lock);
	return 0;
}

void lx_lifetime_init_context(struct lx_context *lx)
{
	INIT_WORK(&lx->target.cpu_work, cpu_is_gone);
}

/* --- tracepoints, which a module must find by name ------------------------------------------- */

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
	bool			optional;
	struct tracepoint	*tp;
};

static struct probe probes[] = {
	{ "sched_process_exit", on_exit },
	{ "sched_process_exec", on_exec },
	{ "sched_process_fork", on_fork },
	{ "task_rename", on_rename, .optional = true },
	{ "vm_unmapped_area", on_mmap, .optional = true },
};

static void unprobe(int n)
{
	while (n-- > 0)
		if (probes[n].tp)
			tracepoint_probe_unregister(probes[n].tp, probes[n].fn, NULL);
	tracepoint_synchronize_unregister();
}

static int probe_all(void)
{
	int ret = 0, i;

	for (i = 0; i < ARRAY_SIZE(probes) && !ret; i++) {
		probes[i].tp = lx_tracepoint(probes[i].name);
		if (probes[i].tp)
			ret = tracepoint_probe_register(probes[i].tp, probes[i].fn, NULL);
		else if (!probes[i].optional)
			ret = -ENOENT;
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
	lx_record_init();
	unloaders = alloc_workqueue("perfmon", WQ_UNBOUND, 0);
	if (!unloaders)
		return -ENOMEM;
	ret = probe_all();
	if (ret)
		goto end_workers;
	ret = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "perfmon:online", cpu_comes, cpu_leaves);
	if (ret < 0)
		goto end_probes;
	hotplug_state = ret;
	return 0;
end_probes:
	unprobe(ARRAY_SIZE(probes));
end_workers:
	destroy_workqueue(unloaders);
	return ret;
}

/*
 * No context is left when this is called. But a target that was preempted in this module's task
 * work may still have to return from it: synchronize_rcu_tasks() waits for that.
 */
void lx_lifetime_exit(void)
{
	cpuhp_remove_state_nocalls(hotplug_state);
	unprobe(ARRAY_SIZE(probes));
	destroy_workqueue(unloaders);
	synchronize_rcu_tasks();
}
