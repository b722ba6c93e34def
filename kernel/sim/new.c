// SPDX-License-Identifier: MIT
/*
 * new.c - creating and freeing a computer. It exists as long as there are contexts on it or
 * references to it, or while it is the one that was made last.
 */
#include <stdio.h>
#include <stdlib.h>

#include "sim.h"

/*
 * The caches of a model that describes none: every access goes to memory, and the predictor is
 * cachegrind's.
 */
static const struct cache_shapes no_caches = { .memory = 100, .mispredicted = 10 };

static struct pfm_sim *current;	/* the computer that was made last, with a reference */
static struct pfm_sim *replaced;	/* the ones made before, each with a reference */
static struct pfm_sim *computers;	/* all of them */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

/* The idle thread loops in the kernel, 10 ns per iteration. */
static struct sim_program *idle_program(struct pfm_sim *sim)
{
	static const struct pfm_sim_step steps[] = {
		{ .op = PFM_SIM_LOOP, .count = PFM_SIM_FOREVER },
		{ .op = PFM_SIM_SITE, .level = PFM_SIM_KERNEL, .ns = 10, .ip = 0xa000000100000000ULL },
		{ .op = PFM_SIM_END },
	};
	static const struct pfm_sim_program source = { steps, 3 };
	int err;

	return sim_program_new(sim, &source, false, &err);
}

/*
 * Makes the program that a CPU runs for each interrupt, so that an interrupt takes interrupt_ns.
 * Interrupts are masked in the program, so that it is not interrupted itself.
 */
static struct sim_program *interrupt_program(struct pfm_sim *sim, int *err)
{
	const struct pfm_sim_step step = { .op = PFM_SIM_SITE, .level = PFM_SIM_INTR, .ns = sim->interrupt_ns,
					   .ip = 0xa000000100001000ULL, .flags = PFM_SIM_IRQS_OFF };
	const struct pfm_sim_program source = { &step, 1 };

	return sim_program_new(sim, &source, true, err);
}

static void start_cpu(struct pfm_sim *sim, uint32_t num)
{
	struct sim_cpu *cpu = &sim->cpus[num];
	struct sim_thread *idle = &cpu->idle;

	cpu->sim = idle->sim = sim;
	cpu->num = idle->cpu = num;
	idle->process = &cpu->idle_process;
	idle->kernel = idle->idle = idle->has_run = true;
	idle->state = PFM_SIM_RUNNING;
	idle->affinity = 1ULL << num;
	idle->prog = sim_program_get(sim->idle_prog);
	snprintf(idle->name, sizeof(idle->name), "idle/%u", num);
	sim_cursor_start(&idle->cursor, idle->prog);
	cpu->cur = idle;
	sim_pmu_bind(cpu, NULL);
}

static void find_counters(struct pfm_sim *sim)
{
	for (unsigned int i = 0; i < sim->pmu.num_pmds && sim->num_counters < SIM_MAX_COUNTERS; i++)
		if (sim->pmu.pmds[i].kind & PFM_REG_C64)
			sim->counters[sim->num_counters++] = sim->pmu.pmds[i].num;
}

static void sim_free(struct pfm_sim *sim)
{
	struct pfm_sim **link = &computers;
	struct sim_device *d, *next;

	pthread_mutex_lock(&list_lock);
	while (*link != sim)
		link = &(*link)->next;
	*link = sim->next;
	pthread_mutex_unlock(&list_lock);
	for (uint32_t i = 0; sim->cpus && i < sim->num_cpus; i++)
		sim_program_put(sim->cpus[i].idle.prog);
	for (d = sim->devices; d; d = next) {
		next = d->next;
		sim_program_put(d->prog);
		pfm_os_free(d);
	}
	sim_threads_free(sim);
	sim_program_put(sim->idle_prog);
	sim_program_put(sim->interrupt_prog);
	sim_program_put(sim->live_prog);
	sim_caches_free(sim);
	sim_pmu_discard(&sim->pmu);
	pfm_os_free(sim->cpus);
	pthread_mutex_destroy(&sim->lock);
	pfm_os_free(sim);
}

static struct pfm_sim *sim_alloc(const struct sim_model *model)
{
	struct pfm_sim *sim = pfm_os_alloc(sizeof(*sim));

	if (!sim)
		return NULL;
	sim_lock_init(sim);
	sim->refs = 1;
	sim->model = model;
	sim->shapes = model->codes->caches ? *model->codes->caches : no_caches;
	sim->tick = 1000000;
	sim->slice = 10000000;
	sim->page_size = 4096;
	sim->memlock = ~0ULL;
	sim->tool.pid = SIM_TOOL_TID;
	pthread_mutex_lock(&list_lock);
	sim->next = computers;
	computers = sim;
	pthread_mutex_unlock(&list_lock);
	return sim;
}

static int build(struct pfm_sim *sim, const char *first, const char *options)
{
	int ret = sim_options_parse(sim, first, options);

	if (ret)
		return ret;
	sim->hw = sim->ht ? sim->model->codes->ht : sim->model->pmu;
	sim->cpus = pfm_os_calloc(sim->num_cpus, sizeof(*sim->cpus));
	if (!sim->cpus || !sim_pmu_compose(&sim->pmu, sim->hw))
		return pfm_refuse(-ENOMEM, "no memory for a simulated computer");
	find_counters(sim);
	sim->idle_prog = idle_program(sim);
	if (!sim->idle_prog)
		return -ENOMEM;
	if (sim->interrupt_ns)
		sim->interrupt_prog = interrupt_program(sim, &ret);
	if (ret)
		return ret;
	sim_options_note(sim);
	sim->ops = sim_machine_ops;
	sim->ops.ctx_flags = sim->model->codes->ctx_flags;
	sim->ops.set_flags = sim->model->codes->set_flags;
	sim->ops.ds_record = sim->ht ? 0 : sim->model->codes->pebs.record;
	pfm_machine_init(&sim->machine, &sim->ops, &sim->pmu, sim);
	sim->machine.bare = &sim_bare_ops;
	for (uint32_t i = 0; i < sim->num_cpus; i++)
		start_cpu(sim, i);
	return sim->live ? sim_live_init(sim) : 0;
}

static const char *model_name(int i)
{
	const struct sim_model *model = sim_model_at((unsigned int)i);

	return model ? model->full_name : NULL;
}

/* Refuses the name, and always returns NULL. */
static struct pfm_machine *no_model(const char *name)
{
	const struct sim_model *model;
	char names[200] = "";
	size_t n = 0;

	for (unsigned int i = 0; (model = sim_model_at(i)) && n < sizeof(names); i++)
		n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", i ? ", " : "", model->name);
	pfm_refuse(0, "no simulated model \"%s\"; there are %s", name, names);
	errno = EINVAL;
	return NULL;
}

/* Splits "k8,live" into the model and its first option. */
static const struct sim_model *split_name(const char *name, const char **options)
{
	char model[32];

	snprintf(model, sizeof(model), "%.*s", (int)strcspn(name, ","), name);
	*options = name + strcspn(name, ",");
	*options += **options == ',';
	return sim_model_find(model);
}

/*
 * Drops the references to computers that were replaced, unless another thread is in a call that may
 * have begun when one of them was the current one: then the next choice of a computer drops them.
 */
static void release_replaced(void)
{
	while (replaced && !pfm_machines_held()) {
		struct pfm_sim *sim = replaced;

		replaced = sim->next_replaced;
		sim_put(sim);
	}
}

static struct pfm_machine *open_sim(const char *name, const char *options)
{
	const char *first;
	const struct sim_model *model = split_name(name, &first);
	struct pfm_sim *sim;
	int ret;

	if (!model)
		return no_model(name);
	sim = sim_alloc(model);
	ret = sim ? build(sim, first, options) : pfm_refuse(-ENOMEM, "no memory for a simulated computer");
	if (ret) {
		if (sim)
			sim_free(sim);
		errno = -ret;
		return NULL;
	}
	if (current) {
		current->next_replaced = replaced;
		replaced = current;
	}
	current = sim;
	if (sim->live)
		sim_live_publish(sim);
	return &sim->machine;
}

void sim_get(struct pfm_sim *sim)
{
	__atomic_add_fetch(&sim->refs, 1, __ATOMIC_RELAXED);
}

void sim_put(struct pfm_sim *sim)
{
	if (!__atomic_sub_fetch(&sim->refs, 1, __ATOMIC_ACQ_REL))
		sim_free(sim);
}

static void forget_contexts(struct pfm_sim *sim)
{
	sim_lock_init(sim);
	pfm_user_forget(&sim->machine);
	/* first the CPUs: a thread that is forgotten may be scheduled on one */
	for (uint32_t i = 0; sim->cpus && i < sim->num_cpus; i++) {
		sim->cpus[i].sys = NULL;
		sim_pmu_bind(&sim->cpus[i], NULL);
	}
	for (unsigned int i = 0; i < sim->num_threads; i++)
		sim_thread_forget(sim->threads[i]);
}

/*
 * Called in a child after fork: contexts belong to the parent, and the child's copies of the
 * computers go on without them.
 */
static void forget(void)
{
	pthread_mutex_init(&list_lock, NULL);
	sim_live_forget();
	for (struct pfm_sim *sim = computers; sim; sim = sim->next)
		forget_contexts(sim);
}

static int num_hw_counters(const struct pfm_pmu *pmu)
{
	int n = 0;

	for (unsigned int i = 0; i < pmu->num_pmds; i++)
		n += !!(pmu->pmds[i].kind & PFM_REG_C64);
	return n;
}

static const char live_limits[] =
	"NOTIFY_BLOCK blocks the simulated thread alone: the real one runs on, and what it does meanwhile is counted "
	"after the restart.\n"
	"Where the kernel refuses perf_event_open(2), a thread is looked at each ms and at each call: what it does "
	"after the last look, before it is gone, is not counted. One of another process is known by its number: after "
	"an exec(2) of a thread that is not its process's first, the context of the first goes on with that one, and "
	"its own ends.\n"
	"Children and other threads are not followed, not even by system-wide contexts: while they run, the simulated "
	"CPU has its idle thread, which counts in the kernel (EXCL_IDLE leaves it out).\n"
	"What the hardware counts, and the addresses in samples and messages, are a made-up program's, not the "
	"thread's (perfmon/sim.h). Instruction-based sampling (family 10h) finds no operations in it, and takes no "
	"samples.";

static void describe(struct pfm_machine *m, pfm_machine_info_t *info)
{
	const struct pfm_sim *sim = m->os;

	info->name = sim->live ? sim->live_name : sim->model->full_name;
	info->pmu = sim->hw->name;
	info->notes = sim->notes;
	if (sim->live)
		info->limits = live_limits;
	info->hw_counters = num_hw_counters(sim->hw);
}

static const struct pfm_user_machine sim_kind = {
	.name = "sim",
	.open = open_sim,
	.describe = describe,
	.model_name = model_name,
	.begin_call = sim_live_begin,
	.end_call = sim_live_end,
	.forget = forget,
	.release_replaced = release_replaced,
};

PFM_REGISTER_MACHINE(sim_kind)
