// SPDX-License-Identifier: MIT
/* machine.c - the simulated computer as a machine to the core (core/machine.h). */
#include <stdlib.h>
#include <unistd.h>

#include "live.h"
#include "sim.h"

/* --- contexts ------------------------------------------------------------------------------- */

static int create(struct pfm_context *ctx)
{
	struct pfm_sim *sim = sim_of(ctx);
	struct sim_ctx *sc = pfm_os_alloc(sizeof(*sc));
	int ret;

	if (!sc)
		return pfm_refuse(-ENOMEM, "no memory for a context");
	sim_lock(sim);
	ret = sim_process_reach(sim->actor ? sim->actor->process : &sim->tool, ctx);
	sim_unlock(sim);
	if (ret) {
		pfm_os_free(sc);
		return ret;
	}
	ctx->os = sc;
	sim_get(sim);
	return 0;
}

static void destroy(struct pfm_context *ctx)
{
	struct pfm_sim *sim = sim_of(ctx);

	sim_lock(sim);
	sim_process_unreach(&sim->tool, ctx);
	for (unsigned int i = 0; i < sim->num_processes; i++)
		sim_process_unreach(sim->processes[i], ctx);
	sim_unlock(sim);
	pfm_os_free(ctx->os);
	sim_put(sim);
}

/* --- attaching ------------------------------------------------------------------------------ */

static void who_calls(struct pfm_machine *m, struct pfm_caller *who)
{
	struct pfm_sim *sim = m->os;
	const struct sim_thread *t;

	if (sim->live) {
		pfm_user_caller(m, who);
		return;
	}
	sim_lock(sim);
	t = sim->actor;
	who->tid = t ? t->tid : SIM_TOOL_TID;
	who->pid = t ? t->process->pid : SIM_TOOL_TID;
	who->cpu = t ? t->cpu : sim->tool_cpu;
	who->admin = !t || !t->uid;
	who->memlock = who->admin ? ~0ULL : sim->memlock;
	sim_unlock(sim);
}

/*
 * Returns true if sum and rum control the context's monitors (5.3): the monitors are not
 * privileged, and the thread monitors itself or the context is insecure.
 */
static bool is_insecure(const struct pfm_sim *sim, const struct pfm_context *ctx)
{
	if (!sim->model->codes->ia64 || (ctx->flags & PFM_ITA_FL_PRIV_MONITORS))
		return false;
	return ctx->self || (ctx->flags & PFM_ITA_FL_INSECURE);
}

/*
 * If the thread already has a context, ctx is not bound to it, because the core will refuse the
 * load.
 */
static void bind_thread(struct pfm_context *ctx, struct sim_thread *t)
{
	struct sim_cpu *cpu = &t->sim->cpus[t->cpu];

	ctx->tid = t->tid;
	ctx->pid = t->process->pid;
	ctx->cpu = t->cpu;
	sim_ctx_of(ctx)->target = t;
	if (t->ctx)
		return;
	t->ctx = ctx;
	if (t->state != PFM_SIM_RUNNING)
		return;
	sim_cpu_sync(cpu);
	sim_pmu_preempt(cpu);
	if (!cpu->ctx)
		sim_pmu_bind(cpu, ctx);
}

/*
 * Refuses a thread that has a context, as the core would. If the service thread closed that context
 * between this check and the core's, the new context would be loaded but not bound.
 */
static int attach_thread(struct pfm_sim *sim, struct pfm_context *ctx, uint32_t tid,
			 const struct pfm_caller *who)
{
	struct sim_thread *t = NULL;
	int ret = sim->live ? sim_live_thread(sim, tid, &t) : 0;

	if (ret)
		return ret;
	if (!sim->live)
		t = sim_thread_find(sim, tid);
	if (!t || t->state == PFM_SIM_DEAD)
		return pfm_refuse(-ESRCH, "no thread %u", tid);
	if (t->kernel)
		return pfm_refuse(-EPERM, "thread %u is a kernel thread", tid);
	if (!who->admin && (sim->live ? geteuid() : sim->actor->uid) != t->uid)
		return pfm_refuse(-EPERM, "thread %u belongs to user %u", tid, t->uid);
	if (t->ctx && !(who->tid == tid && (ctx->flags & PFM_FL_NOTIFY_BLOCK)))
		return pfm_refuse(-EBUSY, "thread %u has a context already", tid);
	ctx->self = who->tid == tid;
	sim_ctx_of(ctx)->insecure = is_insecure(sim, ctx);
	bind_thread(ctx, t);
	sim_ctx_of(ctx)->inherited = sim->live && !ctx->self && pfm_user_inherited(ctx);
	return 0;
}

/*
 * Makes the simulated part of a child context (PFM_FL_INHERIT). The computer's lock is held,
 * because the parent is creating the child now.
 */
static int fork_child_ctx(struct pfm_context *child_ctx, void *child)
{
	struct sim_ctx *sc = pfm_os_alloc(sizeof(*sc));

	if (!sc)
		return -ENOMEM;
	child_ctx->os = sc;
	sc->insecure = is_insecure(sim_of(child_ctx), child_ctx);
	bind_thread(child_ctx, child);
	return 0;
}

static void release_child_ctx(struct pfm_context *child_ctx)
{
	pfm_os_free(child_ctx->os);
}

/*
 * Finds the CPU of a system-wide context, and binds it. "id" is the caller's thread, which means
 * the CPU where it runs (3.1.7), or as in perfmon 2.x the number of that CPU. With PFM_FL_ANY_CPU
 * it may be the number of any CPU.
 */
static int attach_cpu(struct pfm_sim *sim, struct pfm_context *ctx, uint32_t id,
		      const struct pfm_caller *who)
{
	struct sim_thread *caller;
	struct sim_cpu *cpu;
	int ret = sim->live ? sim_live_thread(sim, who->tid, &caller) : 0;

	if (ret)
		return ret;
	if (id == who->tid)
		ctx->cpu = who->cpu;
	else if (id == who->cpu || ((ctx->flags & PFM_FL_ANY_CPU) && id < sim->num_cpus))
		ctx->cpu = id;
	else if (ctx->flags & PFM_FL_ANY_CPU)
		return pfm_refuse(-EINVAL, "load_pid %u is neither the caller, %u, nor one of the %u CPUs", id,
				  who->tid, sim->num_cpus);
	else
		return pfm_refuse(-EINVAL, "load_pid %u is neither the caller, %u, nor its CPU, %u" PFM_ANY_CPU_HINT,
				  id, who->tid, who->cpu);
	cpu = &sim->cpus[ctx->cpu];
	ctx->tid = who->tid;
	ctx->pid = who->pid;
	ctx->self = false;
	if (cpu->sys)
		return pfm_refuse(-EBUSY, "CPU %u has a context already", ctx->cpu);
	if (cpu->ctx && !(ctx->flags & PFM_FL_PREEMPTIBLE))
		return pfm_refuse(-EBUSY, "per-thread contexts are loaded, which excludes system-wide ones");
	sim_ctx_of(ctx)->cpu = cpu;
	sim_cpu_sync(cpu);
	cpu->sys = ctx;
	if (cpu->ctx)
		pfm_preempt(ctx);
	else
		sim_pmu_bind(cpu, ctx);
	return 0;
}

static int attach(struct pfm_context *ctx, uint32_t load_pid)
{
	struct pfm_sim *sim = sim_of(ctx);
	struct sim_ctx *sc = sim_ctx_of(ctx);
	struct pfm_caller who;
	int ret;

	who_calls(ctx->machine, &who);
	memset(sc, 0, sizeof(*sc));
	sim_lock(sim);
	ret = ctx->flags & PFM_FL_SYSTEM_WIDE ? attach_cpu(sim, ctx, load_pid, &who)
					      : attach_thread(sim, ctx, load_pid, &who);
	sim_unlock(sim);
	if (!ret)
		sim_live_loaded(sim, 1);
	return ret;
}

static void detach(struct pfm_context *ctx)
{
	struct pfm_sim *sim = sim_of(ctx);
	struct sim_ctx *sc = sim_ctx_of(ctx);
	struct sim_cpu *cpu;

	sim_lock(sim);
	cpu = sim_pmu_of(ctx);
	if (cpu) {
		sim_cpu_sync(cpu);
		sim_pmu_bind(cpu, NULL);
	}
	if (sc->target && sc->target->ctx == ctx)
		sc->target->ctx = NULL;
	if (sc->cpu && sc->cpu->sys == ctx)
		sc->cpu->sys = NULL;
	/* if the lock is nested, the thread is ending, and will leave the CPU itself */
	if (cpu && sim->locked == 1)
		sim_pmu_return(cpu, ctx->tid);
	if (sc->cpu || sc->target)
		sim_live_loaded(sim, -1);
	memset(sc, 0, sizeof(*sc));
	sim_unlock(sim);
}

/* --- in PMU context ------------------------------------------------------------------------- */

/* Brings the counters up to the present time, and takes a pending overflow interrupt. */
static void settle(struct pfm_context *ctx)
{
	struct sim_cpu *cpu = sim_pmu_of(ctx);

	if (!cpu)
		return;
	sim_cpu_sync(cpu);
	if (cpu->is_pending)
		sim_cpu_overflow(cpu);
}

static bool overflow_is_due(const struct pfm_context *ctx)
{
	const struct sim_cpu *cpu = sim_pmu_of(ctx);

	return cpu && cpu->is_pending;
}

/*
 * Updates the view. Simulated time stands still between calls, so the values hold until time is
 * moved.
 */
void sim_publish(struct pfm_context *ctx)
{
	if (!(ctx->flags & PFM_FL_MAP_SETS))
		return;
	if (pfm_counting(ctx) && !overflow_is_due(ctx))
		pfm_bare_collect(ctx, ctx->active);
	pfm_view_update(ctx, ctx->active);
}

/*
 * Makes programs read the PMDs by a call instead of in the view: if an overflow interrupt is
 * pending, and on a live computer while counters count, because real threads go on.
 */
static void live_view(struct pfm_context *ctx, struct pfm_set *set)
{
	if (overflow_is_due(ctx) || (sim_of(ctx)->live && pfm_counting(ctx)))
		memset(set->view->set_index, PFM_VIEW_CALL, sizeof(set->view->set_index));
}

static int in_pmu(struct pfm_context *ctx, int (*fn)(struct pfm_context *, void *), void *arg)
{
	struct pfm_sim *sim = sim_of(ctx);
	struct pfm_context *outer;
	struct pfm_caller who;
	int ret;

	who_calls(ctx->machine, &who);
	if ((ctx->flags & PFM_FL_SYSTEM_WIDE) && !pfm_any_cpu(ctx) && who.cpu != ctx->cpu)
		return pfm_refuse(-EBUSY, "the context monitors CPU %u, and the caller is on CPU %u" PFM_ANY_CPU_HINT,
				  ctx->cpu, who.cpu);
	sim_lock(sim);
	outer = sim->inside;
	sim->inside = pfm_root(ctx);
	settle(ctx);
	ret = fn(ctx, arg);
	sim_publish(ctx);
	sim->inside = outer;
	sim_unlock(sim);
	return ret;
}

static void run_counters(struct pfm_context *ctx, bool on)
{
	struct sim_cpu *cpu = sim_pmu_of(ctx);

	sim_ctx_of(ctx)->running = on;
	if (cpu)
		sim_pmu_changed(cpu);
}

static void resume(struct pfm_context *ctx)
{
	run_counters(ctx, true);
}

static void freeze(struct pfm_context *ctx)
{
	run_counters(ctx, false);
}

static void arm(struct pfm_context *ctx, uint64_t ns)
{
	struct sim_ctx *sc = sim_ctx_of(ctx);
	uint64_t clock = sim_timer_clock(ctx);

	sc->armed = true;
	sc->deadline = ns < SIM_NEVER - clock ? clock + ns : SIM_NEVER;
}

static uint64_t left(struct pfm_context *ctx)
{
	struct pfm_sim *sim = sim_of(ctx);
	struct sim_ctx *sc = sim_ctx_of(ctx);
	uint64_t clock, ns;

	sim_lock(sim);
	if (sim_pmu_of(ctx))
		sim_cpu_sync(sim_pmu_of(ctx));
	clock = sim_timer_clock(ctx);
	ns = sc->armed && sc->deadline > clock ? sc->deadline - clock : 0;
	sim_unlock(sim);
	return ns;
}

static uint64_t disarm(struct pfm_context *ctx)
{
	uint64_t ns = left(ctx);

	sim_ctx_of(ctx)->armed = false;
	return ns;
}

static uint64_t timer_ns(struct pfm_machine *m)
{
	return ((struct pfm_sim *)m->os)->timer;
}

static uint64_t ran(struct pfm_context *ctx)
{
	struct pfm_sim *sim = sim_of(ctx);
	struct sim_ctx *sc = sim_ctx_of(ctx);
	uint64_t ns;

	sim_lock(sim);
	if (sim_pmu_of(ctx))
		sim_cpu_sync(sim_pmu_of(ctx));
	ns = sim_timer_clock(ctx) - sc->excluded;
	sim_unlock(sim);
	return ns;
}

static void block(struct pfm_context *ctx)
{
	struct sim_thread *t = sim_ctx_of(ctx)->target;

	t->block = true;
	t->sim->cpus[t->cpu].stop_known = false;
}

static void unblock(struct pfm_context *ctx)
{
	struct pfm_sim *sim = sim_of(ctx);
	struct sim_thread *t = sim_ctx_of(ctx)->target;
	struct pfm_context *outer;

	sim_lock(sim);
	outer = sim->inside;
	sim->inside = ctx;
	t->block = false;
	sim->cpus[t->cpu].stop_known = false;
	if (t->state == PFM_SIM_BLOCKED)
		sim_sched_ready(t);
	sim->inside = outer;
	sim_unlock(sim);
}

/* --- messages, and questions about the caller and the machine ------------------------------- */

static int post(struct pfm_context *ctx, const pfarg_msg_t *msg)
{
	int ret = pfm_user_post(ctx, msg);

	if (!ret)
		sim_of(ctx)->posts++;
	return ret;
}

static bool in_group(struct pfm_machine *m, uint32_t gid)
{
	const struct pfm_sim *sim = m->os;
	const struct sim_thread *t = sim->actor;

	if (sim->live)
		return pfm_user_in_group(m, gid);
	return !t || t->gid == gid;
}

static bool has_fd(struct pfm_context *ctx)
{
	const struct sim_ctx *sc = sim_ctx_of(ctx);

	if (!sim_of(ctx)->live)
		return sim_process_reaches(sc->target->process, ctx);
	return pfm_user_has_fd(ctx) || (sc->inherited && sc->target->follow.life_map &&
					!sim_life_executed(&sc->target->follow) && pfm_user_inherited_holds(ctx));
}

static uint64_t now(struct pfm_machine *m)
{
	return ((struct pfm_sim *)m->os)->now;
}

static size_t page_size(struct pfm_machine *m)
{
	return ((struct pfm_sim *)m->os)->page_size;
}

/* Checks the flags: only user monitors can be insecure (5.4.1). */
static int check_create(struct pfm_machine *m, uint32_t flags)
{
	(void)m;
	if ((flags & PFM_ITA_FL_INSECURE) && (flags & PFM_FL_SYSTEM_WIDE))
		return pfm_refuse(-EINVAL, "INSECURE does not go with SYSTEM_WIDE");
	return 0;
}

/* Checks the flags of a set (5.5). */
static int check_set(struct pfm_context *ctx, uint32_t flags)
{
	uint32_t intr = flags & (PFM_ITA_SETFL_EXCL_INTR | PFM_ITA_SETFL_INTR_ONLY);

	if (intr == (PFM_ITA_SETFL_EXCL_INTR | PFM_ITA_SETFL_INTR_ONLY))
		return pfm_refuse(-EINVAL, "EXCL_INTR and INTR_ONLY exclude each other");
	if (intr && !(ctx->flags & (PFM_FL_SYSTEM_WIDE | PFM_ITA_FL_PRIV_MONITORS)))
		return pfm_refuse(-EINVAL, "EXCL_INTR and INTR_ONLY need privileged monitors: SYSTEM_WIDE "
				  "or PRIV_MONITORS");
	return 0;
}

static bool debugging(struct pfm_machine *m)
{
	return ((struct pfm_sim *)m->os)->debugger;
}

const struct pfm_machine_ops sim_machine_ops = {
	.name = "sim",
	.create = create,
	.destroy = destroy,
	.attach = attach,
	.detach = detach,
	.fork = fork_child_ctx,
	.release = release_child_ctx,
	.access = in_pmu,
	.install = pfm_bare_install,
	.collect = pfm_bare_collect,
	.write_pmc = pfm_bare_write_pmc,
	.write_pmd = pfm_bare_write_pmd,
	.resume = resume,
	.freeze = freeze,
	.arm = arm,
	.disarm = disarm,
	.left = left,
	.timer_ns = timer_ns,
	.ran = ran,
	.block = block,
	.unblock = unblock,
	.where = sim_where,
	.post = post,
	.flush = pfm_user_flush,
	.signal = pfm_user_signal,
	.caller = who_calls,
	.in_group = in_group,
	.has_fd = has_fd,
	.now = now,
	.page_size = page_size,
	.alloc_buffer = pfm_user_alloc_buffer,
	.free_buffer = pfm_user_free_buffer,
	.open_view = pfm_user_open_view,
	.close_view = pfm_user_close_view,
	.live_view = live_view,
	.check_create = check_create,
	.check_set = check_set,
	.debugging = debugging,
	.stack = &sim_stack_ops,
	.records = true,
};
