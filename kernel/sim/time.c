// SPDX-License-Identifier: MIT
/* time.c - moves time from one moment at which something happens to the next one. */
#include "sim.h"

/* Returns the time at which something next happens on other CPUs: this CPU may run until then. */
static uint64_t horizon(const struct pfm_sim *sim, uint32_t cpu, uint64_t limit)
{
	uint64_t first = sim_sched_wake_at(sim);

	for (uint32_t i = 0; i < sim->num_cpus; i++)
		if (i != cpu && sim->cpus[i].next < first)
			first = sim->cpus[i].next;
	return first < limit ? first : limit;
}

bool sim_advance(struct pfm_sim *sim, uint64_t limit)
{
	uint64_t moment = sim_sched_wake_at(sim);

	for (uint32_t i = 0; i < sim->num_cpus; i++) {
		sim->cpus[i].next = sim_cpu_next(&sim->cpus[i]);
		if (sim->cpus[i].next < moment)
			moment = sim->cpus[i].next;
	}
	if (moment > limit) {
		sim->now = limit;
		return false;
	}
	sim->now = moment;
	for (uint32_t i = 0; i < sim->num_cpus; i++) {
		if (sim->cpus[i].next > moment)
			continue;
		sim->cpus[i].horizon = horizon(sim, i, limit);
		sim_cpu_handle(&sim->cpus[i]);
	}
	sim_sched_wake(sim);
	return true;
}

void sim_sync_all(struct pfm_sim *sim)
{
	for (uint32_t i = 0; i < sim->num_cpus; i++)
		sim_cpu_sync(&sim->cpus[i]);
}
