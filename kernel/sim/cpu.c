// SPDX-License-Identifier: MIT
/*
 * cpu.c - one CPU: runs its program up to the present time, and handles interrupts.
 *
 * A copy of the program's cursor is run ahead to find the moment at which the program next needs
 * attention. Before that moment the program itself is run only when its state is read. Things that
 * happen at the same moment happen in this order: sites end; overflows; set timeouts; devices; the
 * end of the time slice.
 */
#include "sim.h"

static const struct sim_program *program_of(const struct sim_cpu *cpu)
{
	return cpu->intr ? cpu->intr : cpu->cur->prog;
}

static struct sim_cursor *cursor_of(struct sim_cpu *cpu)
{
	return cpu->intr ? &cpu->intr_cursor : &cpu->cur->cursor;
}

static bool irqs_off(const struct sim_cpu *cpu)
{
	return cpu->intr ? cpu->intr_cursor.irqs_off : cpu->cur->cursor.irqs_off;
}

/* Returns true if an overflow interrupt can be taken now. */
bool sim_cpu_interrupted(const struct sim_cpu *cpu)
{
	return cpu->is_pending && !cpu->skid_left && !irqs_off(cpu);
}

/* --- running the program -------------------------------------------------------------------- */

static void prepare(struct sim_cpu *cpu, struct sim_run *run)
{
	sim_pmu_watch(cpu);
	memset(run, 0, sizeof(*run));
	run->prog = program_of(cpu);
	run->cursor = cursor_of(cpu);
	run->watches = cpu->watches;
	run->num_watches = cpu->num_watches;
	run->mask = ~0ULL >> (64 - cpu->sim->pmu.counter_width);
	run->step = cpu->is_pending || cpu->waiting;
	run->stop_at_user = cpu->cur->block && !cpu->intr;
	run->arg = cpu;
}

static void predict(struct sim_cpu *cpu)
{
	struct sim_watch watches[SIM_MAX_COUNTERS];
	struct sim_cursor cursor = *cursor_of(cpu);
	struct sim_run run;
	uint64_t budget = SIM_NEVER - cpu->at;

	prepare(cpu, &run);
	memcpy(watches, cpu->watches, cpu->num_watches * sizeof(watches[0]));
	run.cursor = &cursor;
	run.watches = watches;
	run.budget = budget;
	cpu->stop_at = sim_cursor_move(&run) == SIM_TIME ? SIM_NEVER : cpu->at + (budget - run.budget);
	cpu->stop_known = true;
}

static void tally_unit(struct sim_tally *tally, const struct sim_program *prog,
		       const struct sim_node *node, uint64_t n)
{
	for (uint32_t s = 0; s < prog->num_slots; s++)
		tally->count[prog->slots[s].event][prog->slots[s].level] += n * node->unit[s];
	if (node->op == PFM_SIM_LOOP)
		for (int l = 0; l < PFM_SIM_LEVELS; l++)
			tally->time[l] += n * node->time[l];
}

static void applied(void *arg, const struct sim_node *node, uint64_t n)
{
	struct sim_cpu *cpu = arg;
	const struct sim_program *prog = program_of(cpu);
	const struct sim_codes *codes = cpu->sim->model->codes;

	tally_unit(&cpu->truth, prog, node, n);
	tally_unit(&cpu->cur->truth, prog, node, n);
	/*
	 * An overflow freezes address registers and branch records until its interrupt, so that
	 * they still hold what led to it.
	 */
	if (codes->trace && cpu->ctx && sim_ctx_of(cpu->ctx)->running && !cpu->is_pending)
		codes->trace(cpu, prog, node, n);
}

static void passed(void *arg, unsigned int level, uint64_t ns)
{
	struct sim_cpu *cpu = arg;

	cpu->truth.time[level] += ns;
	cpu->cur->truth.time[level] += ns;
}

/* Time that the set's flags exclude does not count towards its duration (3.1.12). */
void sim_cpu_account(struct sim_cpu *cpu, uint64_t ns)
{
	cpu->at += ns;
	cpu->cur->ran += ns;
	if (cpu->ctx && !cpu->intr && sim_pmu_excludes(cpu))
		sim_ctx_of(cpu->ctx)->excluded += ns;
}

/* Runs up to sim->now. Returns SIM_TIME if it got there, else why it stopped before. */
static enum sim_stop run_to_now(struct sim_cpu *cpu)
{
	uint64_t budget = cpu->sim->now - cpu->at;
	enum sim_stop stop;
	struct sim_run run;

	prepare(cpu, &run);
	run.applied = applied;
	run.passed = passed;
	run.budget = budget;
	stop = sim_cursor_move(&run);
	sim_cpu_account(cpu, budget - run.budget);
	sim_pmu_store(cpu);
	if (stop != SIM_TIME)
		cpu->stop_known = false;
	return stop;
}

void sim_cpu_sync(struct sim_cpu *cpu)
{
	if (cpu->at < cpu->sim->now)
		run_to_now(cpu);
}

/* --- overflow interrupts -------------------------------------------------------------------- */

/* Returns a time stamp. Time stamps are unique on a CPU (3.5.14, 3.6.4). */
static uint64_t timestamp(struct sim_cpu *cpu)
{
	uint64_t now = cpu->sim->now;

	cpu->last_tstamp = now > cpu->last_tstamp ? now : cpu->last_tstamp + 1;
	return cpu->last_tstamp;
}

uint64_t sim_cpu_ip(const struct sim_cpu *cpu)
{
	return cpu->intr ? cpu->intr_cursor.ip : cpu->cur->cursor.ip;
}

const struct sim_node *sim_cpu_site(const struct sim_cpu *cpu)
{
	const struct sim_cursor *c = cpu->intr ? &cpu->intr_cursor : &cpu->cur->cursor;
	const struct sim_node *site = &program_of(cpu)->nodes[c->site];

	return site->emerges ? sim_emerged(cpu->cur) : site;
}

static struct pfm_where where_is(struct sim_cpu *cpu)
{
	return (struct pfm_where){
		.ip = sim_cpu_ip(cpu),
		.tstamp = timestamp(cpu),
		.pid = cpu->cur->process->pid,
		.tid = cpu->cur->tid,
		.cpu = cpu->num,
		.regs = cpu,
		.stack = &sim_stack_ops,
	};
}

void sim_where(struct pfm_context *ctx, struct pfm_where *where)
{
	const struct sim_thread *target = sim_ctx_of(ctx)->target;

	*where = where_is(&sim_of(ctx)->cpus[target ? target->cpu : ctx->cpu]);
}

static void interrupt(struct sim_cpu *cpu, struct pfm_context *ctx, const uint64_t *wrapped)
{
	struct pfm_where where = where_is(cpu);

	pfm_bare_interrupt(ctx, wrapped, &where);
	sim_ctx_of(ctx)->running = pfm_counting(ctx);
	sim_pmu_changed(cpu);
}

void sim_cpu_overflow(struct sim_cpu *cpu)
{
	struct pfm_context *ctx = cpu->ctx;
	struct sim_inside in;
	uint64_t wrapped[PFM_PMD_BV];

	memcpy(wrapped, cpu->pending, sizeof(wrapped));
	memset(cpu->pending, 0, sizeof(cpu->pending));
	cpu->is_pending = false;
	cpu->skid_left = 0;
	cpu->stop_known = false;
	if (!sim_enter(cpu->sim, ctx, &in))
		return;
	if (cpu->ctx == ctx)
		interrupt(cpu, ctx, wrapped);
	sim_leave(cpu->sim, &in);
}

/* --- the cost of interrupts ----------------------------------------------------------------- */

/*
 * Starts sim->interrupt_prog, which stands for the kernel's work for an interrupt. It runs on top
 * of the current program, which may be that of a device's interrupt, and cannot be interrupted.
 */
static void charge(struct sim_cpu *cpu)
{
	if (!cpu->sim->interrupt_prog)
		return;
	cpu->below = cpu->intr;
	cpu->below_cursor = cpu->intr_cursor;
	cpu->intr = cpu->sim->interrupt_prog;
	sim_cursor_start(&cpu->intr_cursor, cpu->intr);
	cpu->intr_cursor.irqs_off = true;
	sim_pmu_changed(cpu);
}

static void take_overflow(struct sim_cpu *cpu)
{
	sim_cpu_overflow(cpu);
	charge(cpu);
}

/*
 * Called when the work for an interrupt has ended. Overflows during that work interrupt after one
 * more instruction of the interrupted program, so that the thread proceeds however short the period
 * is.
 */
static void charged(struct sim_cpu *cpu)
{
	cpu->intr = cpu->below;
	cpu->intr_cursor = cpu->below_cursor;
	if (cpu->is_pending && !cpu->skid_left)
		cpu->skid_left = 1;
	sim_pmu_changed(cpu);
}

/* --- set timeouts --------------------------------------------------------------------------- */

uint64_t sim_timer_clock(const struct pfm_context *ctx)
{
	const struct sim_ctx *sc = sim_ctx_of(ctx);

	return sc->target ? sc->target->ran : sim_of(ctx)->now;
}

/* Returns the time at which the set timeout expires, or SIM_NEVER. */
static uint64_t timer_at(struct sim_cpu *cpu)
{
	const struct sim_ctx *sc = cpu->ctx ? sim_ctx_of(cpu->ctx) : NULL;

	if (!sc || !sc->armed)
		return SIM_NEVER;
	if (!sc->target)
		return sc->deadline;
	return sc->deadline > sc->target->ran ? cpu->at + (sc->deadline - sc->target->ran) : cpu->at;
}

static void timeout(struct sim_cpu *cpu)
{
	struct pfm_context *ctx = cpu->ctx;
	struct sim_inside in;

	if (cpu->is_pending) {	/* the overflow came first; the timeout will be checked again */
		take_overflow(cpu);
		return;
	}
	sim_ctx_of(ctx)->armed = false;
	if (!sim_enter(cpu->sim, ctx, &in))
		return;
	if (cpu->ctx == ctx) {
		pfm_bare_collect(ctx, ctx->active);
		pfm_set_timeout(ctx);
		sim_ctx_of(ctx)->running = pfm_counting(ctx);
		sim_pmu_changed(cpu);
	}
	sim_leave(cpu->sim, &in);
}

/* --- interrupts of devices ------------------------------------------------------------------ */

static struct sim_device *next_device(const struct sim_cpu *cpu)
{
	struct sim_device *first = NULL;

	for (struct sim_device *d = cpu->sim->devices; d; d = d->next)
		if (d->cpu == cpu->num && d->at != SIM_NEVER && (!first || d->at < first->at))
			first = d;
	return first;
}

static void device(struct sim_cpu *cpu, struct sim_device *d)
{
	d->at = d->period ? d->at + d->period : SIM_NEVER;
	cpu->intr = d->prog;
	sim_cursor_start(&cpu->intr_cursor, d->prog);
	sim_pmu_changed(cpu);
	sim_pmu_event(cpu, SIM_EV_INTERRUPTS, PFM_SIM_INTR, 1);
	charge(cpu);
}

/* --- everything that is due ----------------------------------------------------------------- */

/*
 * If a timer, a device, a live thread or the end of a time slice is due, handles one of them.
 * Returns false if none is due, or interrupts are masked.
 */
static bool take_one(struct sim_cpu *cpu)
{
	uint64_t now = cpu->sim->now;
	struct sim_device *d = cpu->intr ? NULL : next_device(cpu);
	bool timer = timer_at(cpu) <= now, dev = d && d->at <= now;
	bool slice = !cpu->intr && sim_sched_slice_at(cpu) <= now;
	bool live = sim_live_at(cpu) <= now;
	bool masked = irqs_off(cpu);

	if (cpu->waiting != (masked && (timer || dev || slice))) {
		cpu->waiting = !cpu->waiting;
		cpu->stop_known = false;
	}
	if (masked)
		return false;
	if (timer && cpu->is_pending)
		take_overflow(cpu);	/* the overflow belongs to the set that is still active */
	else if (timer)
		timeout(cpu);
	else if (dev)
		device(cpu, d);
	else if (live)
		sim_live_due(cpu);
	else if (slice)
		sim_sched_rotate(cpu);
	return timer || dev || live || slice;
}

/* Called when an instruction has ended, or a counter of time has wrapped within it. */
static void stepped(struct sim_cpu *cpu, bool was_pending)
{
	if (was_pending && cpu->skid_left)
		cpu->skid_left--;
	if (sim_cpu_interrupted(cpu))
		take_overflow(cpu);
}

static void finished(struct sim_cpu *cpu)
{
	if (cpu->intr && cpu->intr == cpu->sim->interrupt_prog) {
		charged(cpu);
	} else if (cpu->intr) {
		cpu->intr = NULL;
		sim_pmu_changed(cpu);
	} else {
		sim_thread_exit(cpu->cur);
	}
}

/*
 * Executes an operation. Returns false if time has moved, so that it must be determined again what
 * is due.
 */
static bool operate(struct sim_cpu *cpu)
{
	const struct sim_node *node = sim_cursor_node(cursor_of(cpu), program_of(cpu));

	if (!node->emerges) {
		sim_thread_op(cpu, node);
		return true;
	}
	if (sim_emerge(cpu))
		stepped(cpu, false);
	return cpu->cur->cursor.now;
}

void sim_cpu_handle(struct sim_cpu *cpu)
{
	bool more = true;

	while (more) {
		bool was_pending;

		if (sim_cpu_interrupted(cpu))
			take_overflow(cpu);
		was_pending = cpu->is_pending;
		switch (run_to_now(cpu)) {
		case SIM_WRAP:
		case SIM_STEPPED:
			stepped(cpu, was_pending);
			break;
		case SIM_OP:
			more = operate(cpu);
			break;
		case SIM_BLOCK:
			sim_sched_leave(cpu->cur, PFM_SIM_BLOCKED);
			break;
		case SIM_DONE:
			finished(cpu);
			break;
		default:
			more = take_one(cpu);
		}
		/* the thing that was handled may have changed what happens next */
		cpu->horizon = cpu->sim->now;
	}
}

/*
 * Moves *first to "at" if that is earlier. An interrupt that is overdue and masked is left out: it
 * waits until the program unmasks interrupts.
 */
static void earlier(uint64_t *first, uint64_t at, uint64_t now, bool masked)
{
	if (at <= now && masked)
		return;
	if (at < *first)
		*first = at;
}

uint64_t sim_cpu_due(struct sim_cpu *cpu)
{
	uint64_t now = cpu->sim->now, first = SIM_NEVER;
	const struct sim_device *d = cpu->intr ? NULL : next_device(cpu);
	bool masked = irqs_off(cpu);

	earlier(&first, timer_at(cpu), now, masked);
	earlier(&first, sim_live_at(cpu), now, masked);
	if (d)
		earlier(&first, d->at, now, masked);
	if (!cpu->intr)
		earlier(&first, sim_sched_slice_at(cpu), now, masked);
	return first;
}

uint64_t sim_cpu_next(struct sim_cpu *cpu)
{
	uint64_t now = cpu->sim->now, first;

	if (sim_cpu_interrupted(cpu))
		return now;
	if (!cpu->stop_known)
		predict(cpu);
	first = sim_cpu_due(cpu);
	if (cpu->stop_at < first)
		first = cpu->stop_at;
	return first > now ? first : now;
}
