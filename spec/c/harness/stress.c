// SPDX-License-Identifier: MIT
/*
 * stress.c - makes random calls, from a seed, on simulated computers; checks after each step.
 *
 *   stress SEED STEPS	prints what happened; on a broken rule "FAILED seed N step M: ..." and
 *			aborts. The same seed does the same again.
 *
 * A world lasts WORLD_STEPS steps: one computer of a random model, its threads and contexts. At its
 * end everything is closed, and nothing may be left.
 */
#include <stdio.h>
#include <stdlib.h>

#include "pmu/software.h"
#include "stress.h"

#define WORLD_STEPS 1000

struct world world;

static const char *where(void)
{
	static char text[64];

	snprintf(text, sizeof(text), "seed %llu step %llu", (unsigned long long)world.seed,
		 (unsigned long long)world.step);
	return text;
}

/* --- a world -------------------------------------------------------------------------------- */

static void choose_counters(void)
{
	static const uint16_t software[] = { PFM_SW_TASK_CLOCK, PFM_SW_CONTEXT_SWITCHES,
					     PFM_SW_CPU_MIGRATIONS };

	world.num_pmds = 0;
	for (unsigned int i = 0; i < world.sim->num_counters; i++)
		if (world.sim->counters[i] < PFM_SW_FIRST)
			world.pmds[world.num_pmds++] = world.sim->counters[i];
	for (unsigned int i = 0; i < COUNT(software); i++)
		world.pmds[world.num_pmds++] = software[i];
}

static void add_devices(void)
{
	unsigned int n = rng_below(&world.rng, 3);

	world.pool.interrupt = true;
	while (n--) {
		uint32_t cpu = rng_below(&world.rng, world.sim->num_cpus);
		uint64_t start = rng_log(&world.rng, 1, 10000);
		uint64_t period = rng_log(&world.rng, 50000, 1000000);

		world.pool.used = 0;
		pfm_sim_interrupt(world.sim, cpu, start, period, program_make(&world.pool));
	}
	world.pool.interrupt = false;
}

static void choose_options(char *text, size_t size)
{
	uint32_t cpus = 1 + rng_below(&world.rng, 4);
	uint32_t hz = 10000 + rng_below(&world.rng, 90000);
	uint32_t slice = 1000 + rng_below(&world.rng, 100000);
	uint32_t timer = 1 + rng_below(&world.rng, 3000);
	uint32_t skid = rng_below(&world.rng, 3);

	snprintf(text, size, "cpus=%u,hz=%u,slice_ns=%u,timer_ns=%u,skid=%u", cpus, hz, slice, timer, skid);
}

static void begin(void)
{
	char options[128];

	choose_options(options, sizeof(options));
	CHECK(!pfm_set_machine(program_model(&world.rng), options), "%s", pfm_explain());
	world.sim = pfm_sim_get();
	world.pool.rng = &world.rng;
	world.pool.kernel = false;
	world.pool.irqs_off = rng_chance(&world.rng, 30);
	world.system_wide = rng_chance(&world.rng, 35) ? 95 : 5;
	hooks_install(world.sim);
	choose_counters();
	add_devices();
}

static void end(void)
{
	while (world.num_ledgers)
		context_close(&world.ledgers[0]);
	rules_machine(world.sim, NULL, 0);
	CHECK(!wild_format.users, "the format is in use %u times", wild_format.users);
	pfm_sim_put(world.sim);
}

/* --- after each step ------------------------------------------------------------------------ */

static void check_all(void)
{
	struct pfm_context *open[MAX_LEDGERS];

	for (unsigned int i = 0; i < world.num_ledgers; i++) {
		open[i] = world.ledgers[i].ctx;
		rules_context(open[i]);
		world.counting += pfm_counting(open[i]);
	}
	rules_machine(world.sim, open, world.num_ledgers);
	if (world.num_ledgers)
		ledger_compare(&world.ledgers[world.step % world.num_ledgers]);
}

int main(int argc, char **argv)
{
	uint64_t steps = argc > 2 ? strtoull(argv[2], NULL, 0) : 100000;
	long base;

	world.seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	world.rng.state = world.seed;
	fail_where = where;
	CHECK(!pfm_register_buffer_fmt(&wild_format), "the format was not registered");
	pfm_set_machine("sim", "");
	base = alloc_live;
	for (; world.step < steps; world.step++) {
		if (world.step % WORLD_STEPS == 0)
			begin();
		random_step();
		check_all();
		if ((world.step + 1) % WORLD_STEPS == 0 || world.step + 1 == steps)
			end();
	}
	alloc_settle(base);
	printf("seed %llu: %llu steps, %llu calls (%llu refused), %llu overflows, %llu set switches, "
	       "%llu samples, %llu messages, %llu context switches, %lu child contexts, %.1f contexts count\n",
	       (unsigned long long)world.seed, (unsigned long long)steps,
	       (unsigned long long)world.calls, (unsigned long long)world.refused,
	       (unsigned long long)world.overflows, (unsigned long long)world.switches,
	       (unsigned long long)world.samples, (unsigned long long)world.messages,
	       (unsigned long long)world.ctxsw, world_child_ctxs, (double)world.counting / (double)steps);
	return 0;
}
