// SPDX-License-Identifier: MIT
/* pmu.c - the bare PMU of a CPU: its registers, and the counters that count the running program. */
#include "pmu/software.h"
#include "sim.h"

struct sim_cpu *sim_pmu_of(const struct pfm_context *ctx)
{
	const struct sim_ctx *sc = sim_ctx_of(ctx);
	struct sim_cpu *cpu = sc->cpu;

	if (sc->target)
		cpu = &sc->target->sim->cpus[sc->target->cpu];
	return cpu && cpu->ctx == ctx ? cpu : NULL;
}

void sim_pmu_changed(struct sim_cpu *cpu)
{
	cpu->watches_known = false;
	cpu->stop_known = false;
}

/* Sets the PMCs to their defaults, with which nothing is counted, and the PMDs to 0. */
static void clear_registers(struct sim_cpu *cpu)
{
	const struct pfm_pmu *pmu = &cpu->sim->pmu;

	for (unsigned int i = 0; i < pmu->num_pmcs; i++)
		cpu->pmcs[pmu->pmcs[i].num] = pmu->pmcs[i].dfl;
	memset(cpu->pmds, 0, sizeof(cpu->pmds));
	memset(cpu->pending, 0, sizeof(cpu->pending));
	memset(cpu->counted, 0, sizeof(cpu->counted));
	cpu->is_pending = false;
	cpu->ibs_fetches = cpu->ibs_ops = cpu->ibs_taken = 0;
	cpu->unmarked = 0;
}

void sim_pmu_bind(struct sim_cpu *cpu, struct pfm_context *ctx)
{
	if (cpu->ctx != ctx)
		clear_registers(cpu);
	cpu->ctx = ctx;
	sim_pmu_changed(cpu);
}

/* --- preemption: 6.5 ------------------------------------------------------------------------ */

void sim_pmu_preempt(struct sim_cpu *cpu)
{
	struct pfm_context *sys = cpu->sys;
	struct sim_inside in;

	if (!sys || cpu->ctx != sys || !(sys->flags & PFM_FL_PREEMPTIBLE))
		return;
	if (cpu->is_pending)
		sim_cpu_overflow(cpu);
	if (!sim_enter(cpu->sim, sys, &in))
		return;
	if (cpu->ctx == sys) {
		pfm_preempt(sys);
		sim_pmu_bind(cpu, NULL);
	}
	sim_leave(cpu->sim, &in);
}

void sim_pmu_return(struct sim_cpu *cpu, uint32_t tid)
{
	struct pfm_context *sys = cpu->sys;
	struct sim_inside in;

	if (!sys || cpu->ctx || !sim_enter(cpu->sim, sys, &in))
		return;
	if (cpu->sys == sys && !cpu->ctx) {
		sim_pmu_bind(cpu, sys);
		pfm_regain(sys, tid);
	}
	sim_leave(cpu->sim, &in);
}

/* --- levels that the flags of the active set exclude ---------------------------------------- */

bool sim_pmu_excludes(const struct sim_cpu *cpu)
{
	const struct pfm_context *ctx = cpu->ctx;
	uint32_t flags = ctx->active->flags, idle = PFM_SETFL_EXCL_IDLE;

	if (!sim_ctx_of(ctx)->cpu)
		return false;
	if (cpu->sim->model->codes->ia64)
		idle |= PFM_ITA_SETFL_IDLE_EXCL;
	if (cpu->cur->kernel && (flags & PFM_SETFL_EXCL_KERNEL_ONLY_THREADS))
		return true;
	return cpu->cur->idle && (flags & idle);
}

static bool decode(const struct sim_cpu *cpu, unsigned int pmd, uint64_t *events,
		   unsigned int *levels, bool *time)
{
	uint64_t code;

	if (pmd >= PFM_SW_FIRST && pmd <= PFM_SW_LAST)
		return sim_software_decode(pmd, cpu->pmcs[pmd], events, levels, time);
	*time = false;
	if (!cpu->sim->model->codes->decode(cpu->pmcs, pmd, &code, levels))
		return false;
	*events = sim_model_events(cpu->sim, code);
	return *events && *levels;
}

/* Returns true if any counter monitors the most privileged level. */
static bool any_privileged(const struct sim_cpu *cpu)
{
	unsigned int levels;
	uint64_t events;
	bool time;

	for (unsigned int i = 0; i < cpu->sim->num_counters; i++)
		if (decode(cpu, cpu->sim->counters[i], &events, &levels, &time) &&
		    (levels & ~(1U << PFM_SIM_USER)))
			return true;
	return false;
}

/*
 * Returns the levels that the flags of the active set do not exclude. While the idle thread is
 * excluded, interrupts are still monitored, unless they are excluded, too (5.5.1). INTR_ONLY has no
 * effect on a set that only monitors user level (5.5.2).
 */
static unsigned int monitored_levels(const struct sim_cpu *cpu)
{
	const struct pfm_context *ctx = cpu->ctx;
	unsigned int levels = (1 << PFM_SIM_LEVELS) - 1, intr = 1 << PFM_SIM_INTR;

	if (ctx->active->flags & PFM_ITA_SETFL_EXCL_INTR)
		levels &= ~intr;
	if ((ctx->active->flags & PFM_ITA_SETFL_INTR_ONLY) && any_privileged(cpu))
		levels &= intr;
	if (sim_pmu_excludes(cpu))
		levels &= intr;
	return levels;
}

/* --- watches: the events of a program that counters count ----------------------------------- */

static uint64_t slots_of(const struct sim_program *prog, uint64_t events, unsigned int levels)
{
	uint64_t slots = 0;

	for (uint32_t i = 0; i < prog->num_slots; i++)
		if ((events >> prog->slots[i].event & 1) && (levels >> prog->slots[i].level & 1))
			slots |= 1ULL << i;
	return slots;
}

static void filter(const struct sim_cpu *cpu, unsigned int pmd, struct sim_watch *w)
{
	const struct sim_codes *codes = cpu->sim->model->codes;
	unsigned int levels;
	uint64_t code;

	if (!codes->filter || (pmd >= PFM_SW_FIRST && pmd <= PFM_SW_LAST) ||
	    !codes->decode(cpu->pmcs, pmd, &code, &levels))
		return;
	codes->filter(cpu->pmcs, cpu->pmcs[pfm_pmu_pmd(cpu->sim->hw, pmd)->ctrl], code, &w->filter);
	w->filtered = !pfm_zeros(&w->filter, sizeof(w->filter));
}

static void add_watch(struct sim_cpu *cpu, unsigned int pmd, unsigned int allowed)
{
	const struct sim_program *prog = cpu->intr ? cpu->intr : cpu->cur->prog;
	struct sim_watch *w = &cpu->watches[cpu->num_watches];
	unsigned int levels;
	uint64_t events;
	bool time;

	if (!decode(cpu, pmd, &events, &levels, &time) || !(levels & allowed))
		return;
	memset(w, 0, sizeof(*w));
	filter(cpu, pmd, w);
	w->counted = pfm_bit(cpu->counted, pmd);
	w->pmd = pmd;
	w->levels = levels & allowed;
	w->time_levels = time ? w->levels : 0;
	w->events = events;
	w->slots = slots_of(prog, events, w->levels);
	w->value = cpu->pmds[pmd];
	cpu->num_watches++;
}

void sim_pmu_watch(struct sim_cpu *cpu)
{
	const struct sim_ctx *sc = cpu->ctx ? sim_ctx_of(cpu->ctx) : NULL;
	unsigned int allowed;

	if (cpu->watches_known)
		return;
	cpu->watches_known = true;
	cpu->num_watches = 0;
	if (!sc || !sc->running)
		return;
	allowed = monitored_levels(cpu);
	for (unsigned int i = 0; i < cpu->sim->num_counters; i++)
		add_watch(cpu, cpu->sim->counters[i], allowed);
}

static void interrupt(struct sim_cpu *cpu, unsigned int pmd)
{
	pfm_bit_set(cpu->pending, pmd);
	if (!cpu->is_pending)
		cpu->skid_left = cpu->sim->skid;
	cpu->is_pending = true;
	cpu->stop_known = false;
}

static void wrapped(struct sim_cpu *cpu, struct sim_watch *w)
{
	w->wrapped = false;
	cpu->stop_known = false;
	if (!sim_pebs_overflow(cpu, w))
		interrupt(cpu, w->pmd);
	cpu->pmds[w->pmd] = w->value;
}

static void take_samples(struct sim_cpu *cpu)
{
	for (; cpu->ibs_taken; cpu->ibs_taken &= cpu->ibs_taken - 1)
		interrupt(cpu, __builtin_ctzll(cpu->ibs_taken));
}

void sim_pmu_store(struct sim_cpu *cpu)
{
	for (unsigned int i = 0; i < cpu->num_watches; i++) {
		struct sim_watch *w = &cpu->watches[i];

		cpu->pmds[w->pmd] = w->value;
		pfm_bit_clear(cpu->counted, w->pmd);
		if (w->counted)
			pfm_bit_set(cpu->counted, w->pmd);
		if (w->wrapped)
			wrapped(cpu, w);
	}
	if (cpu->ibs_taken && !cpu->cur->cursor.now)
		take_samples(cpu);
}

/*
 * Counts an event that happens n times outside the instructions of programs, as a context switch
 * does.
 */
void sim_pmu_event(struct sim_cpu *cpu, unsigned int event, unsigned int level, uint64_t n)
{
	uint64_t mask = ~0ULL >> (64 - cpu->sim->pmu.counter_width);

	cpu->truth.count[event][level] += n;
	cpu->cur->truth.count[event][level] += n;
	sim_pmu_watch(cpu);
	for (unsigned int i = 0; i < cpu->num_watches; i++) {
		struct sim_watch *w = &cpu->watches[i];

		if (!(w->events >> event & 1) || !(w->levels >> level & 1) ||
		    !sim_filter_passes_single(&w->filter))
			continue;
		w->wrapped = n > mask - w->value;
		w->value = (w->value + n) & mask;
		cpu->stop_known = false;
	}
	sim_pmu_store(cpu);
}

/* --- the core's access ---------------------------------------------------------------------- */

static void set_pmc(struct pfm_context *ctx, uint16_t num, uint64_t value)
{
	struct sim_cpu *cpu = sim_pmu_of(ctx);

	cpu->pmcs[num] = value;
	sim_pmu_changed(cpu);
}

static void set_pmd(struct pfm_context *ctx, uint16_t num, uint64_t value)
{
	struct sim_cpu *cpu = sim_pmu_of(ctx);

	cpu->pmds[num] = value;
	sim_pmu_changed(cpu);
}

static uint64_t get_pmd(struct pfm_context *ctx, uint16_t num)
{
	return sim_pmu_of(ctx)->pmds[num];
}

static bool on_pmu(struct pfm_context *ctx)
{
	return sim_pmu_of(ctx);
}

const struct pfm_bare_ops sim_bare_ops = {
	.set_pmc = set_pmc,
	.set_pmd = set_pmd,
	.get_pmd = get_pmd,
	.on_pmu = on_pmu,
};
