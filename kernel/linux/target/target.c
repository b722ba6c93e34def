// SPDX-License-Identifier: GPL-2.0
/* target.c - binding a context to a thread or a CPU (3.1.7, 3.1.8). */
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "linux.h"

struct perf_event *lx_event_new(struct lx_context *lx, struct perf_event_attr *attr,
				perf_overflow_handler_t handler, void *data)
{
	int cpu = lx->target.task ? -1 : lx->ctx->cpu;
	struct perf_event *event = perf_event_create_kernel_counter(attr, cpu, lx->target.task, handler, data);
	long err = PTR_ERR_OR_ZERO(event);

	if (err == -ESRCH)
		pfm_refuse(err, "the thread has ended");
	else if (err == -ENODEV)
		pfm_refuse(err, "CPU %d is not online", cpu);
	else if (err)
		pfm_refuse(err, "the kernel has no event for type %u, config %#llx: error %ld", attr->type,
			   (unsigned long long)attr->config, -err);
	return event;
}

/*
 * Makes a counter for every PMC that is in use in any set, the highest number first. So on arm64
 * the first hardware event is that of PMC 31, and perf's driver places it on the cycle counter.
 */
static int get_counters(struct lx_context *lx)
{
	int ret = 0;

	for (int w = PFM_PMC_BV - 1; w >= 0; w--) {
		u64 used = 0;

		for (struct pfm_set *set = &lx->ctx->set0; set; set = set->next)
			used |= set->used_pmcs[w];
		for (int bit; used && !ret; used &= ~BIT_ULL(bit)) {
			bit = fls64(used) - 1;
			ret = lx_counter_need(lx, w * 64 + bit);
		}
	}
	return ret;
}

static void free_events(struct lx_context *lx)
{
	lx_view_end(lx);
	lx_clock_close(lx);
	lx_counters_free(lx);
	lx->perf[0] = lx->perf[1] = NULL;
	lx->anchor_event = NULL;
}

static int get_events(struct lx_context *lx)
{
	int ret = get_counters(lx);

	if (!ret)
		ret = lx_clock_open(lx);
	if (ret)
		free_events(lx);
	return ret;
}

/* --- finding and attaching threads ---------------------------------------------------------- */

static struct task_struct *find_task(pid_t tid)
{
	struct task_struct *task;

	if (tid == task_pid_vnr(current))
		return get_task_struct(current);
	rcu_read_lock();
	task = pid_task(find_vpid(tid), PIDTYPE_PID);
	if (task)
		get_task_struct(task);
	rcu_read_unlock();
	return task;
}

static int check_task(struct task_struct *task, u32 tid, bool blocks)
{
	if (task->flags & PF_KTHREAD)
		return pfm_refuse(-EPERM, "thread %u belongs to the kernel", tid);
	if (!lx_may_attach(task, blocks))
		return pfm_refuse(-EPERM, "thread %u is not yours to %s", tid, blocks ? "stop" : "monitor");
	return 0;
}

/* Notes the thread's ids, and makes the target reference through which its exit is noticed. */
static int know_task(struct lx_context *lx)
{
	struct pfm_context *ctx = lx->ctx;

	lx->target.ref = lx_target_ref_new(lx);
	ctx->tid = task_pid_nr(lx->target.task);
	ctx->pid = task_tgid_nr(lx->target.task);
	lx->target.tid = task_pid_nr_ns(lx->target.task, lx->ns);
	lx->target.pid = task_tgid_nr_ns(lx->target.task, lx->ns);
	return lx->target.ref ? lx_inherit_begin(lx->target.ref) : pfm_refuse(-ENOMEM, "no memory for the load");
}

static int get_watched_events(struct lx_context *lx)
{
	int ret = get_events(lx);

	if (ret)
		return ret;
	ret = lx_watch_task(lx);
	if (ret)
		free_events(lx);
	return ret;
}

/*
 * Returns the target of a load with the target's exec_update_lock held, so that no exec of a
 * set-uid program changes the target's credentials during the load. The caller's rights are checked
 * before the lock is taken, so that another user's process is not locked, and again by the load, as
 * the credentials may have changed. exec_update_lock is taken before lx->lock, because an exec
 * holds it while it closes descriptors, and then lx_flush() takes lx->lock.
 */
struct task_struct *lx_resolve_target(const struct lx_context *lx, u32 load_pid)
{
	struct task_struct *task;
	int ret;

	if (lx->ctx->flags & PFM_FL_SYSTEM_WIDE)
		return NULL;
	task = find_task(load_pid);
	if (!task)
		return NULL;
	ret = check_task(task, load_pid, lx->ctx->flags & PFM_FL_NOTIFY_BLOCK);
	if (!ret && down_read_killable(&task->signal->exec_update_lock))
		ret = pfm_refuse(-EINTR, "interrupted");
	if (!ret)
		return task;
	put_task_struct(task);
	return ERR_PTR(ret);
}

void lx_target_put(struct task_struct *task)
{
	if (!task)
		return;
	up_read(&task->signal->exec_update_lock);
	put_task_struct(task);
}

static int bind_task(struct lx_context *lx, u32 tid)
{
	int ret = check_task(lx->target.task, tid, lx->ctx->flags & PFM_FL_NOTIFY_BLOCK);

	return ret ? ret : get_watched_events(lx);
}

static void let_go_of_task(struct lx_context *lx)
{
	if (lx->target.ref)
		lx_target_ref_put(lx->target.ref);
	lx->target.ref = NULL;
	put_task_struct(lx->target.task);
	lx->target.task = NULL;
}

static int attach_thread(struct pfm_context *ctx, u32 load_pid)
{
	struct lx_context *lx = lx_of(ctx);
	int ret;

	if (!lx->target.pending)
		return pfm_refuse(-ESRCH, "there is no thread %u", load_pid);
	lx->target.task = get_task_struct(lx->target.pending);
	lx_inherit_load(lx);
	ctx->self = lx->target.task == current;
	ret = know_task(lx);
	if (!ret)
		ret = bind_task(lx, load_pid);
	if (ret)
		let_go_of_task(lx);
	return ret;
}

/*
 * No permission is checked: until the child first returns to user level it has the credentials of
 * its parent.
 */
int lx_attach_child(struct lx_context *lx, struct task_struct *child)
{
	int ret;

	lx->target.task = get_task_struct(child);
	ret = know_task(lx);
	if (!ret)
		ret = get_watched_events(lx);
	if (ret) {
		let_go_of_task(lx);
		return ret;
	}
	ret = lx_listen(lx);
	if (ret)
		lx_detach(lx->ctx);
	return ret;
}

/* --- attaching to CPUs ---------------------------------------------------------------------- */

/*
 * Sets ctx->cpu to the CPU that load_pid stands for, which must be the current one: load_pid is the
 * calling thread's id (3.1.7) or, as in perfmon 2.x, the number of the CPU. With PFM_FL_ANY_CPU it
 * may be the number of any online CPU.
 */
static int find_cpu(struct pfm_context *ctx, u32 load_pid)
{
	u32 here = raw_smp_processor_id();

	if (load_pid == task_pid_vnr(current))
		ctx->cpu = here;
	else if (load_pid == here || (ctx->flags & PFM_FL_ANY_CPU && load_pid < nr_cpu_ids && cpu_online(load_pid)))
		ctx->cpu = pfm_os_index(load_pid, nr_cpu_ids);
	else if (ctx->flags & PFM_FL_ANY_CPU)
		return pfm_refuse(-EINVAL, "load_pid %u is neither the calling thread, %d, nor a CPU that is online",
				  load_pid, task_pid_vnr(current));
	else
		return pfm_refuse(-EINVAL, "load_pid must be the calling thread, %d, or the CPU on which it runs, %u"
				  PFM_ANY_CPU_HINT, task_pid_vnr(current), here);
	return 0;
}

static int attach_cpu(struct pfm_context *ctx, u32 load_pid, int paranoid)
{
	struct lx_context *lx = lx_of(ctx);
	int ret = find_cpu(ctx, load_pid);

	if (ret)
		return ret;
	if (paranoid >= LX_PARANOID_CPU)
		return pfm_refuse(-EPERM, "monitoring a CPU needs CAP_PERFMON, or perf_event_paranoid of at most 0");
	ctx->tid = task_pid_nr(current);
	ctx->pid = task_tgid_nr(current);
	ctx->self = false;
	ret = lx_exclude_begin(lx);
	if (ret)
		return ret;
	ret = get_events(lx);
	if (!ret) {
		ret = lx_watch_cpu(lx);
		if (ret)
			free_events(lx);
	}
	if (ret)
		lx_exclude_end(lx);
	return ret;
}

/* --- threads and CPUs ----------------------------------------------------------------------- */

static int check_pmc(const struct pfm_pmc *pmc, int paranoid)
{
	int ret = lx_is_hw(pmc->num) ? lx_arch_check(pmc->num, pmc->value) : 0;

	return ret || paranoid < LX_PARANOID_KERNEL ? ret : lx_check_pmc_level(pmc->num, pmc->value);
}

/*
 * Checks the PMCs again at the load: the process that wrote them may have had more rights than the
 * loader.
 */
static int check_pmcs(struct pfm_context *ctx, int paranoid)
{
	int ret = 0;

	if (paranoid < LX_PARANOID_CPU)
		return 0;
	for (struct pfm_set *set = &ctx->set0; set && !ret; set = set->next)
		for (unsigned int i = 0; i < set->num_pmcs && !ret; i++)
			ret = check_pmc(&set->pmcs[i], paranoid);
	return ret;
}

int lx_attach(struct pfm_context *ctx, uint32_t load_pid)
{
	struct lx_context *lx = lx_of(ctx);

	int paranoid = lx_paranoid(), ret = lx_check_monitor(paranoid);

	if (!ret)
		ret = check_pmcs(ctx, paranoid);
	if (ret)
		return ret;
	lx->running = lx->wanted = lx->kernel_level = lx->kernel_hw = lx->hw = false;
	ctx->waits_exec = ctx->flags & PFM_FL_ON_EXEC;
	lx->missed_ns = 0;
	lx->kernel_ips = max(paranoid, lx->creator_paranoid) < LX_PARANOID_KERNEL;
	lx->sees_all = max(paranoid, lx->creator_paranoid) <= LX_PARANOID_NOT;
	lx_forget_wrapped(lx);
	if (ctx->flags & PFM_FL_SYSTEM_WIDE)
		ret = attach_cpu(ctx, load_pid, paranoid);
	else
		ret = attach_thread(ctx, load_pid);
	if (ret)
		return ret;
	ret = lx_listen(lx);
	if (ret)
		lx_detach(ctx);
	return ret;
}

/*
 * Adds a counter to a context that is loaded onto a thread. The thread's exec_update_lock is held
 * for that, as in a load, but it is taken by a trylock: an exec holds it while it may wait for
 * lx->lock, which the caller holds (see lx_resolve_target()).
 */
static int need_on_thread(struct lx_context *lx, u16 num)
{
	struct rw_semaphore *exec = &lx->target.task->signal->exec_update_lock;
	int ret;

	if (!down_read_trylock(exec))
		return pfm_refuse(-EBUSY, "thread %u is in an exec, during which it gets no counter: try again",
				  lx->target.tid);
	if (lx->target.ref->ended || READ_ONCE(lx->anchor_event->state) == PERF_EVENT_STATE_EXIT)
		ret = pfm_refuse(-ESRCH, "thread %u has ended, or has executed a set-user-ID program", lx->target.tid);
	else
		ret = lx_counter_need(lx, num);
	up_read(exec);
	return ret;
}

/*
 * Makes the counter of PMD num. If the context monitors another CPU, and may not be commanded from
 * this one, nothing is done: access() refuses the call later.
 */
int lx_need(struct pfm_context *ctx, uint16_t num)
{
	struct lx_context *lx = lx_of(ctx);

	if (lx->target.task)
		return need_on_thread(lx, num);
	return pfm_any_cpu(ctx) || raw_smp_processor_id() == ctx->cpu ? lx_counter_need(lx, num) : 0;
}

void lx_detach(struct pfm_context *ctx)
{
	struct lx_context *lx = lx_of(ctx);

	lx_listen_end(lx);
	lx_unwatch(lx);
	lx_count_dropped(lx);
	lx_exclude_end(lx);
	lx_clock_drain(lx);
	free_events(lx);
	lx_listen_free(lx);
	lx->running = lx->wanted = false;
	if (lx->target.task)
		let_go_of_task(lx);
}
