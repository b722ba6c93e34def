// SPDX-License-Identifier: MIT
/* api.c - implements the functions of perfmon/sim.h. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "desc.h"
#include "sim.h"

struct pfm_sim *pfm_sim_get(void)
{
	PFM_HOLD_MACHINE(m);

	if (!m)
		return NULL;
	if (strcmp(m->ops->name, sim_machine_ops.name)) {
		errno = -pfm_refuse(-ENODEV, "the machine is %s, not a simulated one", m->ops->name);
		return NULL;
	}
	sim_get(m->os);
	return m->os;
}

void pfm_sim_put(struct pfm_sim *sim)
{
	if (sim)
		sim_put(sim);
}

int pfm_sim_set(struct pfm_sim *sim, const char *option, uint64_t value)
{
	return SIM_LOCKED(sim, sim_options_set(sim, option, value));
}

uint64_t pfm_sim_time(struct pfm_sim *sim)
{
	return sim->now;
}

/* --- events --------------------------------------------------------------------------------- */

const char *pfm_sim_event_name(struct pfm_sim *sim, int i)
{
	return i >= 0 ? sim_event_name(sim, i) : NULL;
}

static bool counts(const struct pfm_sim *sim, int pmd)
{
	for (unsigned int i = 0; i < sim->num_counters; i++)
		if (sim->counters[i] == pmd)
			return true;
	return false;
}

/* Returns the code by which counter pmd counts the event with that name, or a negative errno. */
static int64_t code_of(struct pfm_sim *sim, const char *name, int pmd)
{
	const struct sim_codes *codes = sim->model->codes;
	int event = sim_event_find(sim, name);
	int64_t code;

	if (event < 0)
		return event;
	if (!pfm_pmu_pmd(sim->hw, pmd) || !counts(sim, pmd))
		return pfm_refuse(-EINVAL, "PMD%d is no hardware counter of %s", pmd, sim->model->name);
	code = sim_model_code(sim, event, pmd);
	if (code >= 0 && pmd == codes->cycle_counter && pmd && event != SIM_EV_CYCLES)
		return pfm_refuse(-EINVAL, "PMD%d counts cycles only, not '%s'", pmd, name);
	return code;
}

static int encode(struct pfm_sim *sim, const char *name, unsigned int levels, int pmd, uint64_t *value)
{
	int64_t code = code_of(sim, name, pmd);

	if (code < 0)
		return code;
	*value = sim->model->codes->encode(pmd, code, levels);
	return 0;
}

int pfm_sim_encode(struct pfm_sim *sim, const char *event, unsigned int levels, int pmd,
		   uint64_t *pmc_value)
{
	return SIM_LOCKED(sim, encode(sim, event, levels, pmd, pmc_value));
}

/*
 * Returns true if one of the events can happen in this computer. On a live computer all threads run
 * one program, and only its events can happen.
 */
static bool happens(const struct pfm_sim *sim, uint64_t events)
{
	const struct sim_program *prog = sim->live_prog;

	if (!sim->live)
		return events;
	for (uint32_t i = 0; i < prog->num_slots; i++)
		if (events >> prog->slots[i].event & 1)
			return true;
	return events & (1ULL << SIM_EV_CYCLES | 1ULL << SIM_EV_NEVER);
}

/*
 * Gets the code that counter pmd has with these PMCs. Returns false if the counter counts nothing.
 * With with_defaults the PMCs' default bits are set, too, because the bits that enable a counter
 * may be missing in the given values.
 */
static bool code_by(const struct pfm_sim *sim, int pmd, const struct pfm_sim_pmc *from, int n, bool with_defaults,
		    uint64_t *code)
{
	uint64_t pmcs[PFM_MAX_PMCS] = { 0 };
	unsigned int levels;

	for (unsigned int i = 0; i < sim->hw->num_pmcs; i++)
		pmcs[sim->hw->pmcs[i].num] = sim->hw->pmcs[i].dfl;
	for (int i = 0; i < n; i++)
		if (from[i].num < PFM_MAX_PMCS)
			pmcs[from[i].num] = from[i].value | (with_defaults ? pmcs[from[i].num] : 0);
	return sim->model->codes->decode(pmcs, pmd, code, &levels);
}

static int simulates(const struct pfm_sim *sim, int pmd, const struct pfm_sim_pmc *pmcs, int n)
{
	uint64_t code;

	if (!pfm_pmu_pmd(sim->hw, pmd))
		return pfm_refuse(-EINVAL, "%s has no PMD%d", sim->model->name, pmd);
	if (!counts(sim, pmd))
		return 1;
	return (code_by(sim, pmd, pmcs, n, false, &code) || code_by(sim, pmd, pmcs, n, true, &code)) &&
	       happens(sim, sim_model_events(sim, code));
}

int pfm_sim_simulates(struct pfm_sim *sim, int pmd, const struct pfm_sim_pmc *pmcs, int n)
{
	return SIM_LOCKED(sim, simulates(sim, pmd, pmcs, n));
}

static int encode_pmcs(struct pfm_sim *sim, const char *name, unsigned int levels, int pmd,
		       struct pfm_sim_pmc *to, int n)
{
	const struct sim_codes *codes = sim->model->codes;
	int64_t code = code_of(sim, name, pmd);
	struct pfm_sim_pmc all[1 + SIM_MAX_OTHERS];
	int num = 1;

	if (code < 0)
		return code;
	all[0].num = pfm_pmu_pmd(sim->hw, pmd)->ctrl;
	all[0].value = codes->encode(pmd, code, levels);
	if (codes->others)
		num += codes->others(pmd, code, levels, &all[1]);
	for (int i = 0; i < num && i < n; i++)
		to[i] = all[i];
	return num;
}

int pfm_sim_encode_pmcs(struct pfm_sim *sim, const char *event, unsigned int levels, int pmd,
			struct pfm_sim_pmc *pmcs, int n)
{
	return SIM_LOCKED(sim, encode_pmcs(sim, event, levels, pmd, pmcs, n));
}

/* --- threads -------------------------------------------------------------------------------- */

static uint64_t all_cpus(const struct pfm_sim *sim)
{
	return ~0ULL >> (64 - sim->num_cpus);
}

static int new_thread(struct pfm_sim *sim, const struct pfm_sim_spawn *s, struct sim_program *prog)
{
	struct sim_process *process = s->process ? sim_process_find(sim, s->process) : NULL;
	uint64_t affinity = s->affinity ? s->affinity & all_cpus(sim) : all_cpus(sim);
	struct sim_thread model = { .uid = s->uid, .gid = s->gid, .kernel = s->kernel }, *t;
	int ret;

	if (s->process && !process)
		return pfm_refuse(-EINVAL, "no process %u", s->process);
	if (!affinity)
		return pfm_refuse(-EINVAL, "affinity: none of these CPUs exists, there are %u",
				  sim->num_cpus);
	if (s->kernel && prog->nodes[0].user)
		return pfm_refuse(-EINVAL, "a kernel thread has no user level");
	model.affinity = affinity;
	model.cpu = __builtin_ctzll(affinity);
	snprintf(model.name, sizeof(model.name), "%s", s->name ? s->name : "");
	ret = sim_thread_new(sim, &sim->tool, process, &model, prog, &t);
	return ret ? ret : (int)t->tid;
}

static int spawn(struct pfm_sim *sim, const struct pfm_sim_spawn *s)
{
	struct sim_program *prog;
	int ret;

	prog = sim_program_new(sim, &s->program, false, &ret);
	if (!prog)
		return ret;
	ret = new_thread(sim, s, prog);
	sim_program_put(prog);
	return ret;
}

int pfm_sim_spawn(struct pfm_sim *sim, const struct pfm_sim_spawn *s)
{
	return SIM_LOCKED(sim, spawn(sim, s));
}

static struct sim_thread *alive(struct pfm_sim *sim, uint32_t tid)
{
	struct sim_thread *t = sim_thread_find(sim, tid);

	if (t && t->state != PFM_SIM_DEAD)
		return t;
	pfm_refuse(-ESRCH, "no thread %u", tid);
	return NULL;
}

static int kill_thread(struct pfm_sim *sim, uint32_t tid)
{
	struct sim_thread *t = alive(sim, tid);

	if (!t)
		return -ESRCH;
	sim_thread_exit(t);
	return 0;
}

int pfm_sim_kill(struct pfm_sim *sim, uint32_t tid)
{
	return SIM_LOCKED(sim, kill_thread(sim, tid));
}

static void describe(const struct sim_thread *t, struct pfm_sim_thread *info)
{
	memset(info, 0, sizeof(*info));
	info->tid = t->tid;
	info->pid = t->process->pid;
	info->ppid = t->process->ppid;
	info->uid = t->uid;
	info->gid = t->gid;
	info->state = t->state;
	info->cpu = t->cpu;
	info->kernel = t->kernel;
	info->affinity = t->affinity;
	info->ran_ns = t->ran;
	info->ip = t->cursor.ip;
	memcpy(info->name, t->name, sizeof(info->name));
}

static int list_threads(struct pfm_sim *sim, struct pfm_sim_thread *threads, int n)
{
	sim_sync_all(sim);
	for (int i = 0; i < n && i < (int)sim->num_threads; i++)
		describe(sim->threads[i], &threads[i]);
	return sim->num_threads;
}

int pfm_sim_threads(struct pfm_sim *sim, struct pfm_sim_thread *threads, int n)
{
	return SIM_LOCKED(sim, list_threads(sim, threads, n));
}

static int act(struct pfm_sim *sim, uint32_t tid)
{
	struct sim_thread *t = tid ? alive(sim, tid) : NULL;

	if (tid && !t)
		return -ESRCH;
	sim->actor = t;
	return 0;
}

int pfm_sim_act(struct pfm_sim *sim, uint32_t tid)
{
	return SIM_LOCKED(sim, act(sim, tid));
}

static int share(struct pfm_sim *sim, uint32_t tid, struct pfm_context *ctx, int access)
{
	struct sim_thread *t = alive(sim, tid);

	if (!t)
		return -ESRCH;
	if (access)
		return sim_process_reach(t->process, ctx);
	sim_process_unreach(t->process, ctx);
	return 0;
}

int pfm_sim_share(struct pfm_sim *sim, uint32_t tid, int fd, int access)
{
	sigset_t saved;
	struct pfm_desc *d = pfm_desc_enter(fd, &saved);
	int ret = d ? 0 : -EBADF;

	if (d && d->ctx->machine != &sim->machine)
		ret = pfm_refuse(-EINVAL, "descriptor %d is a context of another machine", fd);
	if (!ret) {
		sim_lock(sim);
		ret = share(sim, tid, d->ctx, access);
		sim_unlock(sim);
	}
	pfm_desc_leave(d, &saved);
	return pfm_result(ret);
}

static int add_device(struct pfm_sim *sim, uint32_t cpu, uint64_t start, uint64_t period,
		      const struct pfm_sim_program *source)
{
	struct sim_device *d;
	int err;

	if (cpu >= sim->num_cpus)
		return pfm_refuse(-EINVAL, "there is no CPU %u", cpu);
	if (start < sim->now)
		return pfm_refuse(-EINVAL, "start_ns is in the past");
	d = pfm_os_alloc(sizeof(*d));
	if (!d)
		return pfm_refuse(-ENOMEM, "no memory for a device");
	d->prog = sim_program_new(sim, source, true, &err);
	if (!d->prog) {
		pfm_os_free(d);
		return err;
	}
	d->cpu = cpu;
	d->at = start;
	d->period = period;
	d->next = sim->devices;
	sim->devices = d;
	return 0;
}

int pfm_sim_interrupt(struct pfm_sim *sim, uint32_t cpu, uint64_t start_ns, uint64_t period_ns,
		      const struct pfm_sim_program *program)
{
	return SIM_LOCKED(sim, add_device(sim, cpu, start_ns, period_ns, program));
}

/* --- running the computer ------------------------------------------------------------------- */

/*
 * Returns true if a SIGINT (Ctrl-C) or SIGTERM is pending. Signals are blocked while the computer
 * is locked.
 */
static bool stop_requested(const struct pfm_sim *sim)
{
	sigset_t pending;

	sigpending(&pending);
	return (sigismember(&pending, SIGINT) && !sigismember(&sim->saved_signals, SIGINT)) ||
	       (sigismember(&pending, SIGTERM) && !sigismember(&sim->saved_signals, SIGTERM));
}

/*
 * Advances time. Returns 1 when done(sim, what) is true, 0 at the limit, or -EINTR after a signal.
 */
static int advance(struct pfm_sim *sim, uint64_t limit, bool (*done)(struct pfm_sim *, const void *),
		   const void *what)
{
	for (unsigned int moments = 1;; moments++) {
		if (done && done(sim, what))
			return 1;
		if (!sim_advance(sim, limit))
			return 0;
		if (moments % 1024 == 0 && stop_requested(sim))
			return pfm_refuse(-EINTR, "interrupted by a signal");
	}
}

static void publish(struct pfm_sim *sim, struct pfm_context *ctx)
{
	struct sim_inside in;

	if (!ctx || !(ctx->flags & PFM_FL_MAP_SETS) || !sim_enter(sim, ctx, &in))
		return;
	sim_publish(ctx);
	sim_leave(sim, &in);
}

/* Updates all views when time stops (2.2). */
static void publish_all(struct pfm_sim *sim)
{
	sim_sync_all(sim);
	for (unsigned int i = 0; i < sim->num_threads; i++)
		publish(sim, sim->threads[i]->ctx);
	for (unsigned int i = 0; i < sim->num_cpus; i++)
		publish(sim, sim->cpus[i].sys);
}

/* Frees contexts that were closed, and then runs the computer. */
static int run(struct pfm_sim *sim, uint64_t ns, bool (*done)(struct pfm_sim *, const void *),
	       const void *what)
{
	uint64_t limit;
	sigset_t saved;
	int ret;

	pfm_signals_block(&saved);
	pfm_desc_reap(0);
	pfm_signals_restore(&saved);
	sim_lock(sim);
	limit = ns < SIM_NEVER - 1 - sim->now ? sim->now + ns : SIM_NEVER - 1;
	ret = advance(sim, limit, done, what);
	publish_all(sim);
	sim_unlock(sim);
	return pfm_result(ret);
}

int pfm_sim_run_ns(struct pfm_sim *sim, uint64_t ns)
{
	return run(sim, ns, NULL, NULL) ? -1 : 1;
}

struct awaited {
	int		fd;
	uint64_t	*posts;		/* value of sim->posts when it was last checked */
};

/*
 * Returns true if there is a message. The queue is read at the first call, and later only if a
 * message has been posted since.
 */
static bool has_message(struct pfm_sim *sim, const void *what)
{
	const struct awaited *a = what;
	struct pollfd p = { .fd = a->fd, .events = POLLIN };

	if (*a->posts == sim->posts)
		return false;
	*a->posts = sim->posts;
	if (a->fd == PFM_SIM_ANY_CONTEXT)
		return true;
	return poll(&p, 1, 0) == 1 && (p.revents & POLLIN);
}

int pfm_sim_run_until_message(struct pfm_sim *sim, int fd, uint64_t limit_ns)
{
	bool any = fd == PFM_SIM_ANY_CONTEXT;
	uint64_t posts = any ? sim->posts : SIM_NEVER;
	struct awaited a = { fd, &posts };

	if (!any && !pfm_desc_message(fd))
		return pfm_result(pfm_refuse(-EBADF, "descriptor %d is not a perfmon context", fd));
	return run(sim, limit_ns, has_message, &a);
}

static bool has_ended(struct pfm_sim *sim, const void *what)
{
	(void)sim;
	return ((const struct sim_thread *)what)->state == PFM_SIM_DEAD;
}

int pfm_sim_run_until_exit(struct pfm_sim *sim, uint32_t tid, uint64_t limit_ns)
{
	struct sim_thread *t = sim_thread_find(sim, tid);

	if (!t)
		return pfm_result(pfm_refuse(-ESRCH, "no thread %u", tid));
	return run(sim, limit_ns, has_ended, t);
}

static bool is_idle(struct pfm_sim *sim, const void *what)
{
	(void)what;
	if (sim->num_sleepers || sim->ready)
		return false;
	for (uint32_t i = 0; i < sim->num_cpus; i++)
		if (!sim->cpus[i].cur->idle)
			return false;
	return true;
}

int pfm_sim_run_until_idle(struct pfm_sim *sim, uint64_t limit_ns)
{
	return run(sim, limit_ns, is_idle, NULL);
}

/* --- the truth: exact counts ---------------------------------------------------------------- */

static int report(const struct pfm_sim *sim, const struct sim_tally *tally,
		  struct pfm_sim_count *counts, int n)
{
	const char *name = "time";
	int found = 0;

	for (int e = -1; name; name = sim_event_name(sim, ++e)) {
		const uint64_t *count = e < 0 ? tally->time : tally->count[e];

		if (!count[PFM_SIM_USER] && !count[PFM_SIM_KERNEL] && !count[PFM_SIM_INTR])
			continue;
		if (found < n) {
			snprintf(counts[found].event, sizeof(counts[found].event), "%s", name);
			memcpy(counts[found].count, count, sizeof(counts[found].count));
		}
		found++;
	}
	return found;
}

static int truth(struct pfm_sim *sim, uint32_t tid, struct pfm_sim_count *counts, int n)
{
	struct sim_thread *t = sim_thread_find(sim, tid);

	if (!t)
		return pfm_refuse(-ESRCH, "no thread %u", tid);
	sim_sync_all(sim);
	return report(sim, &t->truth, counts, n);
}

int pfm_sim_truth(struct pfm_sim *sim, uint32_t tid, struct pfm_sim_count *counts, int n)
{
	return SIM_LOCKED(sim, truth(sim, tid, counts, n));
}

static int truth_cpu(struct pfm_sim *sim, uint32_t cpu, bool idle, struct pfm_sim_count *counts, int n)
{
	if (cpu >= sim->num_cpus)
		return pfm_refuse(-EINVAL, "there is no CPU %u", cpu);
	sim_sync_all(sim);
	return report(sim, idle ? &sim->cpus[cpu].idle.truth : &sim->cpus[cpu].truth, counts, n);
}

int pfm_sim_truth_cpu(struct pfm_sim *sim, uint32_t cpu, struct pfm_sim_count *counts, int n)
{
	return SIM_LOCKED(sim, truth_cpu(sim, cpu, false, counts, n));
}

int pfm_sim_truth_idle(struct pfm_sim *sim, uint32_t cpu, struct pfm_sim_count *counts, int n)
{
	return SIM_LOCKED(sim, truth_cpu(sim, cpu, true, counts, n));
}
