// SPDX-License-Identifier: MIT
/*
 * emerge.c - executes programs with events that come from the caches: site by site, each at the
 * moment at which it begins.
 *
 * As long as nothing else can happen, the sites of a thread are executed here in a batch, and time
 * moves along. What the batch counts is the difference between the counts of the caches before and
 * after it. If a counter has to see single sites, or if sites declare counts of their own, the
 * counters are updated after each site. A site that is not over by the horizon, or that makes such
 * a counter wrap, is left to the cursor, as a site with the time and events that it turned out to
 * have.
 */
#include <stdlib.h>

#include "sim.h"

#define LONGEST_BATCH (1 << 20)	/* most sites of a batch; signals wait for its end */

/* Sites with one of these flags are left to the cursor. */
#define ALONE (PFM_SIM_IRQS_OFF | PFM_SIM_DATA | PFM_SIM_FETCH)

/*
 * What the events mean, whatever a model calls them. An instruction is counted when it has been
 * executed to its end. A stall is a CPU cycle in which the CPU waits. Loads and stores are counted
 * once per instruction; an instruction that modifies counts as one of each. An access is a look-up
 * in a cache, a miss is a look-up that does not find the line: of loads, stores and, for L2 and L3,
 * fetches (in a CPU that writes around the L1D, only loads access the L1D). A TLB miss leads to a
 * page walk. A branch is an executed conditional or indirect branch; its miss is a wrong
 * prediction. A bus access is a line that is fetched from memory or another CPU, or claimed from
 * other CPUs. DEAR, IEAR and BTB are the loads, fetches and branches for which PMC11, PMC10 and
 * PMC12 ask. A prefetch is a line that the L1D's prefetcher brought; it is unused if the line left
 * the L1D before an access to it. A forward is a load that the store buffer answered.
 */
const uint8_t sim_emerging[CACHE_EVENTS] = {
	[CACHE_EV_CYCLES] = SIM_EV_CYCLES,
	[CACHE_EV_INSTRUCTIONS] = SIM_EV_INSTRUCTIONS,
	[CACHE_EV_STALLS] = SIM_EV_STALLS,
	[CACHE_EV_LOADS] = SIM_EV_LOADS,
	[CACHE_EV_STORES] = SIM_EV_STORES,
	[CACHE_EV_BRANCHES] = SIM_EV_BRANCHES,
	[CACHE_EV_TAKEN] = SIM_EV_BRANCHES_TAKEN,
	[CACHE_EV_BRANCH_MISSES] = SIM_EV_BRANCH_MISSES,
	[CACHE_EV_L1I_ACCESSES] = SIM_EV_L1I_ACCESSES,
	[CACHE_EV_L1I_MISSES] = SIM_EV_L1I_MISSES,
	[CACHE_EV_L1D_ACCESSES] = SIM_EV_L1D_ACCESSES,
	[CACHE_EV_L1D_MISSES] = SIM_EV_L1D_MISSES,
	[CACHE_EV_L2_ACCESSES] = SIM_EV_L2_ACCESSES,
	[CACHE_EV_L2_MISSES] = SIM_EV_L2_MISSES,
	[CACHE_EV_L3_ACCESSES] = SIM_EV_L3_ACCESSES,
	[CACHE_EV_L3_MISSES] = SIM_EV_L3_MISSES,
	[CACHE_EV_ITLB_MISSES] = SIM_EV_ITLB_MISSES,
	[CACHE_EV_DTLB_MISSES] = SIM_EV_DTLB_MISSES,
	[CACHE_EV_BUS] = SIM_EV_BUS_ACCESSES,
	[CACHE_EV_DEAR] = SIM_EV_DEAR,
	[CACHE_EV_IEAR] = SIM_EV_IEAR,
	[CACHE_EV_BTB] = SIM_EV_BTB,
	[CACHE_EV_PREFETCHES] = SIM_EV_PREFETCHES,
	[CACHE_EV_UNUSED] = SIM_EV_PREFETCHES_UNUSED,
	[CACHE_EV_FORWARDS] = SIM_EV_FORWARDS,
};

/* The state of a thread's program between batches. */
struct sim_emergence {
	struct sim_progress	*progress;	/* by index of the node */
	/* reader of the replay that the thread is in; or NULL */
	struct tape_reader	*reader;
	struct sim_node		now;		/* the site that is being executed */
	uint64_t		unit[SIM_MAX_SLOTS];
};

void sim_emergence_free(struct sim_thread *t)
{
	if (!t->emergence)
		return;
	tape_reader_free(t->emergence->reader);
	pfm_os_free(t->emergence->progress);
	pfm_os_free(t->emergence);
	t->emergence = NULL;
}

const struct sim_node *sim_emerged(const struct sim_thread *t)
{
	return &t->emergence->now;
}

static struct sim_emergence *emergence_of(struct sim_thread *t)
{
	struct sim_emergence *e = t->emergence;

	if (e)
		return e;
	e = pfm_os_alloc(sizeof(*e));
	if (!e)
		return NULL;
	e->progress = pfm_os_calloc(t->prog->num_nodes, sizeof(*e->progress));
	t->emergence = e;
	if (!e->progress)
		sim_emergence_free(t);
	return t->emergence;
}

/* --- the state of a batch ------------------------------------------------------------------- */

/* A counter that wraps when *count exceeds last. */
struct trigger {
	const uint64_t	*count;
	uint64_t	last;
};

struct batch {
	struct sim_cpu		*cpu;
	struct sim_thread	*t;
	struct sim_emergence	*e;
	struct cache_core	*core;
	unsigned int		level;
	/* the batch is one site, and the cursor passes it */
	bool			single;
	bool			filtered;	/* a filtered counter must see each site */
	/* each site is shown to the counters (look()): one is filtered, or sites declare events */
	bool			looks;
	/* address registers or the branch buffer may record sites */
	bool			traced;
	bool			watched;	/* "wanted" is valid */
	/* the last site had an event that address registers or the branch buffer record */
	bool			kept;
	bool			sampled;	/* the processor itself takes samples */
	bool			marking;	/* instructions are marked */
	bool			by_mark;	/* counters count events of marked instructions */
	struct sim_wanted	wanted;
	uint64_t		budget, used;	/* in ns */
	uint64_t		longest;	/* longer than any site can wait */
	uint64_t		begun[CACHE_EVENTS];	/* counts at the beginning of the batch */
	uint64_t		counted[CACHE_EVENTS];	/* counts of the sites that have ended */
	/* counts by slot of the sites that have ended */
	uint64_t		units[SIM_MAX_SLOTS];
	struct trigger		triggers[SIM_MAX_COUNTERS];
	unsigned int		num_triggers;
};

/*
 * Returns true if a counter of these events does not have to see each site: it counts *event alone
 * or, if *event is -1, nothing.
 */
static bool single_event(uint64_t events, int *event)
{
	*event = -1;
	for (int i = 0; i < CACHE_EVENTS; i++) {
		if (!(events >> sim_emerging[i] & 1))
			continue;
		if (*event >= 0)
			return false;
		*event = i;
	}
	return true;
}

static void add_trigger(struct batch *b, const struct sim_watch *w, uint64_t mask)
{
	struct trigger *trigger = &b->triggers[b->num_triggers];
	uint64_t room = mask - w->value;
	int event;

	if (w->time_levels >> b->level & 1 && room < b->budget)
		b->budget = room;
	if (w->filter.marked) {
		b->by_mark = true;
		return;
	}
	if (w->filtered || !single_event(w->events, &event)) {
		b->filtered = true;
		return;
	}
	if (event < 0 || !(w->levels >> b->level & 1))
		return;
	trigger->count = &b->core->count[event];
	if (!__builtin_add_overflow(*trigger->count, room, &trigger->last))
		b->num_triggers++;
}

static uint64_t mask_of(const struct sim_cpu *cpu)
{
	return ~0ULL >> (64 - cpu->sim->pmu.counter_width);
}

static void want_traces(struct batch *b)
{
	const struct sim_codes *codes = b->cpu->sim->model->codes;
	bool running = b->cpu->ctx && sim_ctx_of(b->cpu->ctx)->running;

	b->wanted = (struct sim_wanted){ .data = SIM_NO_LATENCY, .fetch = SIM_NO_LATENCY };
	b->traced = running && codes->trace;
	b->watched = running && codes->wanted;
	b->sampled = running && sim_ibs_on(b->cpu);
	b->marking = running && sim_mark_on(b->cpu);
	if (b->watched)
		codes->wanted(b->cpu, b->level, &b->wanted);
}

/*
 * Returns an upper limit for the time that one instruction can wait: the fetch, all operations and
 * all buffered stores miss every cache and the TLB, and ask another CPU for the line.
 */
static uint64_t longest_wait(const struct pfm_sim *sim)
{
	const struct cache_shapes *shapes = &sim->shapes;
	uint64_t one = 2ULL * shapes->memory + shapes->mispredicted;

	for (int p = 0; p < CACHE_PARTS; p++)
		one += shapes->part[p].latency;
	return (TAPE_OPS + 1 + sim->store_buffer) * one;
}

static void prepare(struct batch *b, struct sim_cpu *cpu, unsigned int level)
{
	uint64_t due, now = cpu->sim->now;

	b->cpu = cpu;
	b->t = cpu->cur;
	b->core = sim_core_of(cpu->sim, cpu->num);
	b->level = level;
	due = sim_cpu_due(cpu);
	if (cpu->horizon < due)
		due = cpu->horizon;
	b->budget = due > now ? due - now : 0;
	b->single = cpu->is_pending || cpu->waiting || cpu->cur->block || cpu->cur->cursor.irqs_off;
	sim_pmu_watch(cpu);
	for (unsigned int i = 0; i < cpu->num_watches; i++)
		add_trigger(b, &cpu->watches[i], mask_of(cpu));
	b->looks = b->filtered || b->t->prog->declares;
	want_traces(b);
	b->longest = longest_wait(cpu->sim);
	memcpy(b->begun, b->core->count, sizeof(b->begun));
}

/* --- executing one site --------------------------------------------------------------------- */

/* Returns the next instruction of a trace; NULL: the trace has ended. */
static const struct tape_instr *replay(struct batch *b, const struct sim_node *node)
{
	const struct tape_instr *instr;
	const char *wrong;

	if (!b->e->reader)
		b->e->reader = tape_reader_new(node->trace, node->count);
	instr = b->e->reader ? tape_read(b->e->reader, &wrong) : NULL;
	if (instr)
		return instr;
	tape_reader_free(b->e->reader);
	b->e->reader = NULL;
	return NULL;
}

static bool wants_data(const struct sim_wanted *w, const struct sim_executed *done)
{
	return done->load && ((done->walks & w->walks & SIM_WALK_DATA) ||
			      (done->missed && done->data_wait + 1 >= w->data));
}

static bool wants_fetch(const struct sim_wanted *w, const struct sim_executed *done)
{
	return (done->walks & w->walks & SIM_WALK_FETCH) || (done->fetch_wait && done->fetch_wait + 1 >= w->fetch);
}

static void count_traces(struct batch *b, const struct sim_executed *done)
{
	bool data = wants_data(&b->wanted, done), fetch = wants_fetch(&b->wanted, done);
	bool branch = done->branched && b->wanted.branches >> done->branch & 1;

	b->core->count[CACHE_EV_DEAR] += data;
	b->core->count[CACHE_EV_IEAR] += fetch;
	b->core->count[CACHE_EV_BTB] += branch;
	b->kept = data || fetch || branch;
}

/* Returns false if there was nothing left to execute. */
static bool execute(struct batch *b, const struct sim_node *node, struct sim_executed *done)
{
	if (node->op == PFM_SIM_REPLAY) {
		const struct tape_instr *instr = replay(b, node);

		if (!instr)
			return false;
		sim_access_replay(b->cpu, b->core, instr, done);
	} else {
		sim_access_site(b->cpu, b->core, node, &b->e->progress[node->last], done);
	}
	if (b->watched)
		count_traces(b, done);
	return true;
}

static void describe(struct sim_node *now, const struct sim_executed *done)
{
	now->ip = done->ip;
	if (done->data) {
		now->flags |= PFM_SIM_DATA;
		now->data_addr = done->data_addr;
		now->max_data[now->level] = done->load && done->missed ? done->data_wait + 2 : 0;
	}
	if (done->fetch_wait)
		now->max_fetch[now->level] = done->fetch_wait + 2;
	now->marked = done->marked;
	now->walks = done->load ? done->walks : done->walks & SIM_WALK_FETCH;
	now->branches = done->branched;
	now->branch = done->branch;
	now->target = done->target;
}

/* Describes the executed site as a node for the cursor, filters and address registers. */
static void describe_site(struct batch *b, const struct sim_node *node, const struct sim_executed *done)
{
	struct sim_node *now = &b->e->now;

	*now = *node;
	now->op = PFM_SIM_SITE;
	now->flags &= ~PFM_SIM_ACCESS;
	now->emerges = false;
	now->name = NULL;
	now->trace = NULL;
	now->access = NULL;
	now->unit = b->e->unit;
	describe(now, done);
}

/*
 * Stores, by slot, how often each event happened between two counts. Instructions are left out for
 * a site that is not plain, because it declares their number itself.
 */
static void emerged(const struct batch *b, bool plain, const uint64_t *before, const uint64_t *after, uint64_t *unit)
{
	const struct sim_program *prog = b->t->prog;

	for (uint32_t s = 0; s < prog->num_slots; s++) {
		uint8_t from = prog->slots[s].from;

		if (prog->slots[s].level == b->level && from < CACHE_EVENTS && (from != CACHE_EV_INSTRUCTIONS || plain))
			unit[s] = after[from] - before[from];
	}
}

static void count_site(struct batch *b, const struct sim_node *node)
{
	struct sim_node *now = &b->e->now;

	memcpy(b->e->unit, node->unit, b->t->prog->num_slots * sizeof(*node->unit));
	emerged(b, node->plain, b->counted, b->core->count, b->e->unit);
	now->cycles = b->core->count[CACHE_EV_CYCLES] - b->counted[CACHE_EV_CYCLES];
	now->ns = now->time[b->level] = now->cycles;
}

/*
 * Shows the site to all counters. Returns false if one of them would wrap; then none has counted
 * the site.
 */
static bool look(struct batch *b)
{
	const struct sim_program *prog = b->t->prog;
	const struct sim_node *now = &b->e->now;
	struct sim_watch *watches = b->cpu->watches;
	uint64_t gains[SIM_MAX_COUNTERS], mask = mask_of(b->cpu);
	bool counted[SIM_MAX_COUNTERS];

	for (unsigned int i = 0; i < b->cpu->num_watches; i++) {
		counted[i] = watches[i].counted;
		gains[i] = sim_watch_gain(&watches[i], prog, now, 1, &counted[i]);
		gains[i] += watches[i].time_levels >> b->level & 1 ? now->ns : 0;
		if (gains[i] > mask - watches[i].value)
			return false;
	}
	for (unsigned int i = 0; i < b->cpu->num_watches; i++) {
		watches[i].value += gains[i];
		watches[i].counted = counted[i];
	}
	for (uint32_t s = 0; s < prog->num_slots; s++)
		b->units[s] += now->unit[s];
	return true;
}

/* --- executing a batch ---------------------------------------------------------------------- */

static bool wraps(const struct batch *b)
{
	for (unsigned int i = 0; i < b->num_triggers && !b->looks; i++)
		if (*b->triggers[i].count > b->triggers[i].last)
			return true;
	return false;
}

/* Moves the cursor past the site. */
static void pass(struct batch *b, const struct sim_node *node, const struct sim_executed *done)
{
	struct sim_cursor *c = &b->t->cursor;

	c->ip = done->ip;
	c->site = node->last;
	if (node->op != PFM_SIM_REPLAY)
		sim_cursor_next(c, b->t->prog);
	if (b->traced && b->kept) {
		describe_site(b, node, done);
		b->cpu->sim->model->codes->trace(b->cpu, b->t->prog, &b->e->now, 1);
	}
}

/* Lets the processor record the site for samples of its own. Returns true if it takes one. */
static bool keep(struct batch *b, struct sim_executed *done, uint64_t cycles)
{
	if (b->marking)
		sim_mark(b->cpu, done);
	return b->sampled && sim_ibs_sample(b->cpu, done, cycles);
}

/*
 * Returns true if the site can be passed without the cursor. Otherwise the site becomes a node that
 * the cursor passes, for example if it does not end within the budget of time. If the counters must
 * see the site, it must end before the end of the budget: at that moment operations that take no
 * time may be due, too.
 */
static bool passes(struct batch *b, const struct sim_node *node, uint64_t cycles, const struct sim_executed *done)
{
	bool had_to = b->filtered || !node->plain;
	bool marked = b->by_mark && done->marked;
	bool alone = b->single || marked || cycles + had_to > b->budget - b->used || (node->flags & ALONE);

	if (!alone && !b->looks)
		return true;
	describe_site(b, node, done);
	count_site(b, node);
	return !alone && look(b);
}

/*
 * Returns true if the site may be left to the cursor. If so, its counts must be separable from
 * those of the sites before it.
 */
static bool may_stand_alone(const struct batch *b, const struct sim_node *node)
{
	return b->single || b->looks || (b->by_mark && sim_mark_next(b->cpu)) ||
	       b->budget - b->used < b->longest + node->ns;
}

/* Executes one site, as far as there is time. Returns false if the batch has ended. */
static bool step(struct batch *b)
{
	struct sim_cursor *c = &b->t->cursor;
	const struct sim_node *node = sim_cursor_node(c, b->t->prog);
	struct sim_executed done;
	uint64_t cycles = b->core->count[CACHE_EV_CYCLES];
	bool taken;

	if (node && node->op == PFM_SIM_LOOP)
		node = sim_cursor_into(c, b->t->prog, node);
	if (!node || !node->emerges || node->level != b->level)
		return false;
	if (may_stand_alone(b, node))
		memcpy(b->counted, b->core->count, sizeof(b->counted));
	if (!execute(b, node, &done)) {
		sim_cursor_next(c, b->t->prog);
		return true;
	}
	cycles = b->core->count[CACHE_EV_CYCLES] - cycles;
	taken = keep(b, &done, cycles);
	if (!passes(b, node, cycles, &done)) {
		c->now = &b->e->now;
		return false;
	}
	b->used += cycles;
	pass(b, node, &done);
	if (!taken && !wraps(b))
		return true;
	describe_site(b, node, &done);	/* the handling of the overflow needs the site that caused it */
	return false;
}

static void tally(struct sim_tally *tally, const struct batch *b)
{
	const struct sim_program *prog = b->t->prog;

	for (uint32_t s = 0; s < prog->num_slots; s++)
		tally->count[prog->slots[s].event][prog->slots[s].level] += b->units[s];
	tally->time[b->level] += b->used;
}

static bool count_watch(const struct batch *b, struct sim_watch *w, uint64_t mask)
{
	uint64_t n = w->time_levels >> b->level & 1 ? b->used : 0;
	int event;

	if (!w->filtered && single_event(w->events, &event) && event >= 0 && w->levels >> b->level & 1)
		n += b->counted[event] - b->begun[event];
	w->wrapped = n > mask - w->value;
	w->value = (w->value + n) & mask;
	return w->wrapped;
}

/* Counts the batch by the differences of the caches' counts. Returns true if a counter wrapped. */
static bool count_batch(struct batch *b)
{
	struct sim_cpu *cpu = b->cpu;
	bool wrapped = false;

	if (!cpu->cur->cursor.now)
		memcpy(b->counted, b->core->count, sizeof(b->counted));
	emerged(b, true, b->begun, b->counted, b->units);
	for (unsigned int i = 0; b->used && i < cpu->num_watches; i++)
		wrapped |= count_watch(b, &cpu->watches[i], mask_of(cpu));
	return wrapped;
}

/* Counts the sites that have ended, and moves time to their end. */
static bool settle(struct batch *b)
{
	struct sim_cpu *cpu = b->cpu;
	bool wrapped = false;

	if (!b->looks)
		wrapped = count_batch(b);
	tally(&cpu->truth, b);
	tally(&cpu->cur->truth, b);
	sim_cpu_account(cpu, b->used);
	cpu->sim->now += b->used;
	wrapped |= cpu->ibs_taken;
	sim_pmu_store(cpu);
	cpu->stop_known = false;
	return wrapped && !cpu->cur->cursor.now;
}

bool sim_emerge(struct sim_cpu *cpu)
{
	const struct sim_node *node = sim_cursor_node(&cpu->cur->cursor, cpu->cur->prog);
	struct batch b = { 0 };

	b.e = emergence_of(cpu->cur);
	if (!b.e) {	/* if there is no memory, the thread cannot continue */
		sim_thread_exit(cpu->cur);
		return false;
	}
	prepare(&b, cpu, node->level);
	for (int i = 0; i < LONGEST_BATCH && step(&b); i++)
		;
	return settle(&b);
}
