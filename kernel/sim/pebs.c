// SPDX-License-Identifier: MIT
/*
 * pebs.c - precise event-based sampling: at the overflow of a counter that PEBS_ENABLE has, the processor writes a
 * record into the debug store area of the context's buffer and reloads the counter. Where the records reach the
 * threshold, the overflow interrupts.
 */
#include "perfmon/perfmon_pebs_smpl.h"
#include "sim.h"

/* Where it writes; NULL: nowhere. */
static pfm_ds_area_t *area_of(const struct sim_cpu *cpu, unsigned int pmd)
{
	const struct sim_pebs *pebs = &cpu->sim->model->codes->pebs;
	const struct pfm_context *ctx = cpu->ctx;

	if (!pebs->record || !ctx || !ctx->fmt || ctx->want.ds_record != pebs->record ||
	    pmd >= PFM_PEBS_COUNTERS || !(cpu->pmcs[pebs->enable] >> pmd & 1))
		return NULL;
	return ctx->buf;
}

/* By how long it took, without the walk. */
static uint64_t source_of(const struct sim_cpu *cpu, const struct sim_node *site, uint32_t wait)
{
	const struct cache_shape *part = cpu->sim->shapes.part;

	if (site->walks & SIM_WALK_DATA)
		wait -= part[CACHE_DTLB].latency;
	if (!wait)
		return PFM_PEBS_L1;
	if (wait == part[CACHE_L2].latency)
		return PFM_PEBS_L2;
	return wait == part[CACHE_L3].latency ? PFM_PEBS_L3 : PFM_PEBS_DRAM;
}

static void load_latency(const struct sim_cpu *cpu, pfm_pebs_nhm_record_t *record)
{
	const struct sim_node *site = sim_cpu_site(cpu);
	uint32_t latency = site->max_data[site->level] ? site->max_data[site->level] - 1 : 1;

	if (!(site->flags & PFM_SIM_DATA))
		return;
	record->data_addr = site->data_addr;
	record->latency = latency;
	record->data_source = source_of(cpu, site, latency - 1);
}

static void write_record(const struct sim_cpu *cpu, unsigned int pmd, void *at)
{
	const struct sim_pebs *pebs = &cpu->sim->model->codes->pebs;
	pfm_pebs_nhm_record_t record = { .regs.rip = sim_cpu_ip(cpu), .status = 1ULL << pmd };
	pfm_pebs32_record_t narrow = { .eip = (uint32_t)record.regs.rip };

	if (pebs->record == sizeof(narrow)) {
		memcpy(at, &narrow, sizeof(narrow));
		return;
	}
	if (cpu->pmcs[pebs->enable] >> (32 + pmd) & 1)
		load_latency(cpu, &record);
	memcpy(at, &record, pebs->record);
}

bool sim_pebs_overflow(struct sim_cpu *cpu, struct sim_watch *w)
{
	pfm_ds_area_t *ds = area_of(cpu, w->pmd);
	uint32_t size = cpu->sim->model->codes->pebs.record;

	if (!ds)
		return false;
	if (ds->pebs_index + size <= ds->pebs_absolute_maximum) {
		write_record(cpu, w->pmd, (char *)cpu->ctx->buf + ds->pebs_index);
		ds->pebs_index += size;
	}
	w->value = ds->pebs_counter_reset[w->pmd] & (~0ULL >> (64 - cpu->sim->pmu.counter_width));
	return ds->pebs_index < ds->pebs_interrupt_threshold;
}
