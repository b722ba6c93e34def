// SPDX-License-Identifier: MIT
/*
 * record.c - passes records of what threads do to the contexts of the thread and of its CPU, if
 * they want them.
 */
#include "sim.h"

/* Passes the record to ctx. The caller has handled the overflows that came before it. */
static void deliver(struct sim_thread *t, struct pfm_context *ctx, const struct pfm_record *rec)
{
	struct sim_cpu *cpu = &t->sim->cpus[t->cpu];
	struct sim_inside in;

	if (!ctx || !ctx->format_needs.records || !sim_enter(t->sim, ctx, &in))
		return;
	if (ctx == t->ctx || ctx == cpu->sys) {
		pfm_record(ctx, rec);
		sim_ctx_of(ctx)->running &= pfm_counting(ctx);
		sim_pmu_changed(cpu);
	}
	sim_leave(t->sim, &in);
}

void sim_record(struct sim_thread *t, struct pfm_record *rec)
{
	struct sim_cpu *cpu = &t->sim->cpus[t->cpu];

	if (rec->type != PFM_RECORD_FORK) {
		rec->pid = t->process->pid;
		rec->tid = t->tid;
	}
	rec->tstamp = t->sim->now;
	if (t->state == PFM_SIM_RUNNING) {
		sim_cpu_sync(cpu);
		if (cpu->is_pending)
			sim_cpu_overflow(cpu);
	}
	deliver(t, t->ctx, rec);
	deliver(t, cpu->sys, rec);
}
