// SPDX-License-Identifier: MIT
/*
 * pebs.c - precise event-based sampling: at the overflow of a counter that PEBS_ENABLE enables, the
 * processor writes a record into the debug store area of the context's buffer and reloads the
 * counter. The overflow interrupts only when the records reach the threshold.
 */
#include "perfmon/perfmon_pebs_smpl.h"
#include "sim/sim.h"

/*
 * Returns the area into which the processor writes records of this counter; NULL: it writes none.
 */
static pfm_ds_area_t *area_of(const struct sim_cpu *cpu, unsigned int counter)
{
	const struct sim_pebs *pebs = &cpu->sim->model->codes->pebs;
	const struct pfm_context *ctx = cpu->ctx;

	if (counter >= pebs->num || !ctx || !ctx->fmt || ctx->format_needs.ds_record != pebs->record ||
	    !(cpu->pmcs[pebs->enable] >> (pebs->bit + counter) & 1))
		return NULL;
	return ctx->buf;
}

/* Returns the data source, which follows from how long the load took without the page walk. */
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

static void write_record(const struct sim_cpu *cpu, unsigned int counter, void *at)
{
	const struct sim_pebs *pebs = &cpu->sim->model->codes->pebs;
	pfm_pebs_nhm_record_t record = { .regs.rip = sim_cpu_ip(cpu), .status = 1ULL << counter };
	pfm_pebs32_record_t narrow = { .eip = (uint32_t)record.regs.rip };

	if (pebs->record == sizeof(narrow)) {
		memcpy(at, &narrow, sizeof(narrow));
		return;
	}
	if (pebs->record == sizeof(record) && cpu->pmcs[pebs->enable] >> (32 + counter) & 1)
		load_latency(cpu, &record);
	memcpy(at, &record, pebs->record);
}

bool sim_pebs_overflow(struct sim_cpu *cpu, struct sim_watch *w)
{
	const struct sim_pebs *pebs = &cpu->sim->model->codes->pebs;
	unsigned int counter = w->pmd - pebs->first;
	pfm_ds_area_t *ds = area_of(cpu, counter);

	if (!ds)
		return false;
	if (ds->pebs_index + pebs->record <= ds->pebs_absolute_maximum) {
		write_record(cpu, counter, (char *)cpu->ctx->buf + ds->pebs_index);
		ds->pebs_index += pebs->record;
	}
	w->value = ds->pebs_counter_reset[counter] & (~0ULL >> (64 - cpu->sim->pmu.counter_width));
	return ds->pebs_index < ds->pebs_interrupt_threshold;
}
