// SPDX-License-Identifier: MIT
/*
 * sched.c - the scheduler: one queue, first come, first served. A time slice ends at a tick if
 * another thread waits for the CPU. This file also puts threads to sleep and wakes them.
 */
#include <stdlib.h>

#include "sim.h"

/* --- the queue ------------------------------------------------------------------------------ */

static void enqueue(struct sim_thread *t)
{
	struct pfm_sim *sim = t->sim;

	t->next = NULL;
	t->prev = sim->ready_last;
	if (sim->ready_last)
		sim->ready_last->next = t;
	else
		sim->ready = t;
	sim->ready_last = t;
	t->state = PFM_SIM_READY;
}

static void dequeue(struct sim_thread *t)
{
	struct pfm_sim *sim = t->sim;

	if (t->prev)
		t->prev->next = t->next;
	else
		sim->ready = t->next;
	if (t->next)
		t->next->prev = t->prev;
	else
		sim->ready_last = t->prev;
	t->next = t->prev = NULL;
}

static bool may_run_on(const struct sim_thread *t, const struct sim_cpu *cpu)
{
	return t->affinity >> cpu->num & 1;
}

static struct sim_thread *first_for(const struct sim_cpu *cpu)
{
	for (struct sim_thread *t = cpu->sim->ready; t; t = t->next)
		if (may_run_on(t, cpu))
			return t;
	return NULL;
}

static bool contended(const struct sim_cpu *cpu)
{
	return first_for(cpu);
}

/* --- switching ------------------------------------------------------------------------------ */

static void switch_out(struct sim_cpu *cpu)
{
	struct pfm_context *ctx;
	struct sim_inside in;

	if (!cpu->cur->idle && !cpu->cur->follow.on)
		sim_pmu_event(cpu, SIM_EV_CONTEXT_SWITCHES, PFM_SIM_KERNEL, 1);
	if (cpu->is_pending)
		sim_cpu_overflow(cpu);
	ctx = cpu->cur->ctx;
	if (!ctx || cpu->ctx != ctx || !sim_enter(cpu->sim, ctx, &in))
		return;
	if (cpu->ctx == ctx) {
		pfm_ctxsw_out(ctx);
		sim_ctx_of(ctx)->running = false;
		sim_pmu_bind(cpu, NULL);
	}
	sim_leave(cpu->sim, &in);
}

/* Called when cpu->cur has been set; "before" is the id of the thread that has left the CPU. */
static void switch_in(struct sim_cpu *cpu, uint32_t before, bool migrated)
{
	struct pfm_context *ctx = cpu->cur->ctx;
	struct sim_inside in;

	if (ctx)
		sim_pmu_preempt(cpu);
	else
		sim_pmu_return(cpu, before);
	if (!cpu->ctx && sim_enter(cpu->sim, ctx, &in)) {
		if (cpu->cur->ctx == ctx) {
			sim_pmu_bind(cpu, ctx);
			pfm_ctxsw_in(ctx);
		}
		sim_leave(cpu->sim, &in);
	}
	sim_pmu_changed(cpu);
	if (migrated)
		sim_pmu_event(cpu, SIM_EV_CPU_MIGRATIONS, PFM_SIM_KERNEL, 1);
}

/*
 * Switches to thread next, or to the idle thread if next is NULL. The current thread must not be
 * next.
 */
static void switch_to(struct sim_cpu *cpu, struct sim_thread *next)
{
	struct pfm_sim *sim = cpu->sim;
	uint32_t before = cpu->cur->tid;
	bool migrated;

	sim_cpu_sync(cpu);
	sim_stores_flush(cpu);
	switch_out(cpu);
	if (!next)
		next = &cpu->idle;
	migrated = next->has_run && next->cpu != cpu->num;
	next->has_run = true;
	next->cpu = cpu->num;
	next->state = PFM_SIM_RUNNING;
	cpu->cur = next;
	cpu->slice_end = sim->now / sim->tick * sim->tick + sim->slice;
	switch_in(cpu, before, migrated);
}

static void dispatch(struct sim_cpu *cpu)
{
	struct sim_thread *next = first_for(cpu);

	if (next)
		dequeue(next);
	switch_to(cpu, next);
}

static struct sim_cpu *idle_cpu_for(const struct sim_thread *t)
{
	struct pfm_sim *sim = t->sim;
	struct sim_cpu *last = &sim->cpus[t->cpu];

	if (last->cur->idle && may_run_on(t, last))
		return last;
	for (uint32_t i = 0; i < sim->num_cpus; i++)
		if (sim->cpus[i].cur->idle && may_run_on(t, &sim->cpus[i]))
			return &sim->cpus[i];
	return NULL;
}

void sim_sched_ready(struct sim_thread *t)
{
	struct sim_cpu *cpu = idle_cpu_for(t);

	enqueue(t);
	if (cpu)
		dispatch(cpu);
}

void sim_sched_leave(struct sim_thread *t, enum pfm_sim_state state)
{
	bool running = t->state == PFM_SIM_RUNNING;

	if (t->state == PFM_SIM_READY)
		dequeue(t);
	t->state = state;
	if (running)
		dispatch(&t->sim->cpus[t->cpu]);
}

void sim_sched_rotate(struct sim_cpu *cpu)
{
	struct sim_thread *t = cpu->cur;

	if (!contended(cpu))
		return;
	enqueue(t);
	dispatch(cpu);
}

/*
 * Returns the end of the present slice. If no thread waits for the CPU at the end of a slice,
 * another slice follows.
 */
uint64_t sim_sched_slice_at(const struct sim_cpu *cpu)
{
	uint64_t slice = cpu->sim->slice, late;

	if (cpu->cur->idle || !contended(cpu))
		return SIM_NEVER;
	if (cpu->slice_end >= cpu->at)
		return cpu->slice_end;
	late = cpu->at - cpu->slice_end;
	return cpu->slice_end + (late + slice - 1) / slice * slice;
}

/* --- sleeping: a heap by the time of waking, then by thread ---------------------------------- */

static bool wakes_before(const struct sim_thread *a, const struct sim_thread *b)
{
	return a->wake_at != b->wake_at ? a->wake_at < b->wake_at : a->tid < b->tid;
}

static void heap_swap(struct sim_thread **heap, unsigned int a, unsigned int b)
{
	struct sim_thread *t = heap[a];

	heap[a] = heap[b];
	heap[b] = t;
	heap[a]->heap_at = a;
	heap[b]->heap_at = b;
}

static void heap_up(struct sim_thread **heap, unsigned int i)
{
	for (; i && wakes_before(heap[i], heap[(i - 1) / 2]); i = (i - 1) / 2)
		heap_swap(heap, i, (i - 1) / 2);
}

static void heap_down(struct sim_thread **heap, unsigned int n, unsigned int i)
{
	for (;;) {
		unsigned int least = i, kid = 2 * i + 1;

		for (unsigned int k = kid; k < kid + 2 && k < n; k++)
			if (wakes_before(heap[k], heap[least]))
				least = k;
		if (least == i)
			return;
		heap_swap(heap, i, least);
		i = least;
	}
}

static void heap_remove(struct pfm_sim *sim, unsigned int i)
{
	unsigned int last = --sim->num_sleepers;

	if (i == last)
		return;
	heap_swap(sim->sleepers, i, last);
	heap_up(sim->sleepers, i);
	heap_down(sim->sleepers, last, i);
}

/* The heap has room for every thread. */
void sim_sched_sleep(struct sim_thread *t, uint64_t until)
{
	struct pfm_sim *sim = t->sim;
	unsigned int i = sim->num_sleepers++;

	t->wake_at = until;
	t->heap_at = i;
	sim->sleepers[i] = t;
	heap_up(sim->sleepers, i);
	sim_sched_leave(t, PFM_SIM_SLEEPING);
}

void sim_sched_unsleep(struct sim_thread *t)
{
	heap_remove(t->sim, t->heap_at);
}

void sim_sched_wake(struct pfm_sim *sim)
{
	while (sim->num_sleepers && sim->sleepers[0]->wake_at <= sim->now) {
		struct sim_thread *t = sim->sleepers[0];

		heap_remove(sim, 0);
		sim_sched_ready(t);
	}
}

uint64_t sim_sched_wake_at(const struct pfm_sim *sim)
{
	return sim->num_sleepers ? sim->sleepers[0]->wake_at : SIM_NEVER;
}
