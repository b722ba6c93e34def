// SPDX-License-Identifier: MIT
/*
 * program.c - compiles programs: turns the steps that a caller wrote into a tree with totals. For
 * each loop it stores the time and counts of one iteration, as far as they are fixed. A loop
 * without end, and a loop with an operation in it (sleep, fork...), cannot be passed at once.
 */
#include <stdio.h>
#include <stdlib.h>

#include "sim.h"

struct compiler {
	struct pfm_sim			*sim;
	const struct pfm_sim_program	*source;
	struct sim_program		*prog;
	/* the program may only have sites and finite loops */
	bool				interrupt;
	uint32_t			step;		/* number of the next step to read */
	/* number of the step to which errors refer */
	uint32_t			at;
	uint32_t			room_nodes;
	int				err;
};

static int bad(struct compiler *c, int err, const char *what)
{
	c->err = pfm_refuse(err, "program: step %u: %s", c->at + 1, what);
	return c->err;
}

/* --- reading: nodes and their order --------------------------------------------------------- */

/* Returns the event as an enum cache_event, or CACHE_EVENTS if it does not come from the caches. */
static unsigned int emerges_from(unsigned int event)
{
	unsigned int i = 0;

	while (i < CACHE_EVENTS && sim_emerging[i] != event)
		i++;
	return i;
}

static int slot_of(struct compiler *c, unsigned int event, unsigned int level)
{
	struct sim_program *prog = c->prog;
	uint32_t i;

	for (i = 0; i < prog->num_slots; i++)
		if (prog->slots[i].event == event && prog->slots[i].level == level)
			return i;
	if (i == SIM_MAX_SLOTS)
		return bad(c, -EINVAL, "more than 64 different events (by level)");
	prog->slots[i].event = event;
	prog->slots[i].level = level;
	prog->slots[i].from = emerges_from(event);
	return prog->num_slots++;
}

static int add_count(struct compiler *c, struct sim_node *node, int event, uint64_t count)
{
	char why[160];
	int slot;

	if (event < 0) {
		snprintf(why, sizeof(why), "%s", pfm_explain());
		return bad(c, event, why);
	}
	slot = slot_of(c, event, node->level);
	if (slot < 0)
		return slot;
	if (__builtin_add_overflow(node->unit[slot], count, &node->unit[slot]))
		return bad(c, -EINVAL, "the counts are too large");
	return 0;
}

/*
 * Returns true if the event can happen in this computer and be counted. If not, it needs no slot.
 */
static bool may_emerge(const struct pfm_sim *sim, int event)
{
	switch (event) {
	case CACHE_EV_DEAR:
	case CACHE_EV_IEAR:
	case CACHE_EV_BTB:
		return sim_model_counts(sim->model, sim_emerging[event]);
	case CACHE_EV_PREFETCHES:
	case CACHE_EV_UNUSED:
		return sim->shapes.prefetch;
	case CACHE_EV_FORWARDS:
		return sim->store_buffer;
	}
	return true;
}

/* Makes a slot for each event that the caches may cause at the site. */
static int read_emerging(struct compiler *c, struct sim_node *node)
{
	if (sim_num_cores(c->sim) > SIM_MAX_CACHES)
		return bad(c, -EINVAL, "caches are of 63 CPUs at most");
	if (!sim_caches_make(c->sim))
		return bad(c, -ENOMEM, "no memory for caches");
	for (int i = 0; i < CACHE_EVENTS; i++) {
		if (!may_emerge(c->sim, i))
			continue;
		if (slot_of(c, sim_emerging[i], node->level) < 0)
			return c->err;
	}
	return 0;
}

static bool does_emerge(int event)
{
	return event >= 0 && event != SIM_EV_INSTRUCTIONS && emerges_from(event) < CACHE_EVENTS;
}

static int read_events(struct compiler *c, struct sim_node *node, const struct pfm_sim_step *step)
{
	bool cycles = node->emerges, instructions = false;

	for (uint32_t i = 0; i < step->num_events; i++) {
		int event = sim_event_find(c->sim, step->events[i].name);

		if (node->emerges && does_emerge(event))
			return bad(c, -EINVAL, "what a site with accesses counts comes from the caches, but for "
				   "instructions and events that they do not know");
		cycles |= event == SIM_EV_CYCLES;
		instructions |= event == SIM_EV_INSTRUCTIONS;
		if (event == SIM_EV_CYCLES)
			node->cycles += step->events[i].count;
		if (add_count(c, node, event, step->events[i].count))
			return c->err;
	}
	if (!cycles && add_count(c, node, SIM_EV_CYCLES, step->ns))
		return c->err;
	if (!cycles)
		node->cycles = step->ns;
	return instructions ? 0 : add_count(c, node, SIM_EV_INSTRUCTIONS, 1);
}

static int read_access(struct compiler *c, struct sim_node *node, const struct pfm_sim_step *step)
{
	char why[160];

	if (c->interrupt)
		return bad(c, -EINVAL, "an interrupt has no accesses");
	if (!step->access)
		return bad(c, -EINVAL, "no access");
	node->access = sim_access_new(step->access, &c->err);
	if (!node->access) {
		snprintf(why, sizeof(why), "%s", pfm_explain());
		return bad(c, c->err, why);
	}
	node->access->buffered = c->sim->store_buffer;
	node->emerges = true;
	node->plain = !step->num_events && !(step->flags & (PFM_SIM_IRQS_OFF | PFM_SIM_DATA | PFM_SIM_FETCH));
	c->prog->declares |= !node->plain;
	if (!node->ns)
		node->ns = node->time[node->level] = 1;
	return read_emerging(c, node);
}

static int bad_trace(struct compiler *c, const struct pfm_sim_step *step, const char *why)
{
	c->err = pfm_refuse(-ENODATA, "program: step %u: %s%s%s", c->at + 1, step->name ? step->name : "",
			    step->name ? ": " : "", why);
	return c->err;
}

static int read_replay(struct compiler *c, struct sim_node *node, const struct pfm_sim_step *step)
{
	const char *wrong;
	struct tape_reader *r;
	bool found = false;

	if (!step->trace)
		return bad(c, -EINVAL, "no trace");
	r = tape_reader_new(step->trace, step->count);
	node->trace = pfm_os_alloc(step->count);
	if (!r || !node->trace) {
		tape_reader_free(r);
		return bad(c, -ENOMEM, "no memory");
	}
	while (tape_read(r, &wrong))
		found = true;
	tape_reader_free(r);
	if (wrong || !found)
		return bad_trace(c, step, wrong ? wrong : "the trace is empty");
	memcpy(node->trace, step->trace, step->count);
	node->count = step->count;
	node->level = PFM_SIM_USER;
	node->user = node->emerges = node->plain = true;
	node->last = node - c->prog->nodes;
	node->ns = 1;
	return read_emerging(c, node) ? c->err : add_count(c, node, SIM_EV_INSTRUCTIONS, 1);
}

static int read_site(struct compiler *c, struct sim_node *node, const struct pfm_sim_step *step)
{
	uint32_t index = node - c->prog->nodes;

	if (step->level >= PFM_SIM_LEVELS)
		return bad(c, -EINVAL, "no such level");
	if (step->flags & ~(PFM_SIM_IRQS_OFF | PFM_SIM_DATA | PFM_SIM_FETCH | PFM_SIM_BRANCH |
			    PFM_SIM_ACCESS))
		return bad(c, -EINVAL, "unknown flags");
	if (step->num_events && !step->events)
		return bad(c, -EINVAL, "num_events without events");
	if (step->opcode >> 41)
		return bad(c, -EINVAL, "an opcode has 41 bits");
	if (step->unit > PFM_SIM_UNIT_B)
		return bad(c, -EINVAL, "no such unit");
	node->level = step->level;
	node->flags = step->flags;
	node->opcode = step->opcode;
	node->unit_type = step->unit;
	node->spread = step->spread;
	node->user = step->level == PFM_SIM_USER;
	node->last = index;
	node->ns = node->time[node->level] = step->ns;
	node->ip = step->ip;
	node->data_addr = step->data_addr;
	node->target = step->target;
	if (step->flags & PFM_SIM_DATA)
		node->max_data[node->level] = step->latency + 1;
	if (step->flags & PFM_SIM_FETCH)
		node->max_fetch[node->level] = step->latency + 1;
	node->branches = step->flags & PFM_SIM_BRANCH;
	node->branch = node->branches ? SIM_TAKEN : 0;
	if (step->flags & PFM_SIM_ACCESS && read_access(c, node, step))
		return c->err;
	return read_events(c, node, step);
}

static int read_sub(struct compiler *c, struct sim_node *node, const struct pfm_sim_step *step)
{
	struct sim_program *prog = c->prog, *sub, **subs;

	if (!step->program)
		return bad(c, -EINVAL, "no program");
	sub = sim_program_new(c->sim, step->program, false, &c->err);
	if (!sub)
		return c->err;
	subs = pfm_os_realloc(prog->subs, (prog->num_subs + 1) * sizeof(*subs));
	if (!subs) {
		sim_program_put(sub);
		return bad(c, -ENOMEM, "no memory");
	}
	prog->subs = subs;
	node->sub = prog->num_subs;
	subs[prog->num_subs++] = sub;
	return 0;
}

static int read_name(struct compiler *c, struct sim_node *node, const struct pfm_sim_step *step)
{
	if (!step->name)
		return step->op == PFM_SIM_MAP ? bad(c, -EINVAL, "a mapping is of a file") : 0;
	node->name = pfm_os_strdup(step->name);
	return node->name ? 0 : bad(c, -ENOMEM, "no memory");
}

static int read_map(struct compiler *c, struct sim_node *node, const struct pfm_sim_step *step)
{
	if (!step->count || step->ip + step->count < step->ip)
		return bad(c, -EINVAL, "a mapping has bytes, and an end");
	node->ip = step->ip;
	node->count = step->count;
	node->data_addr = step->data_addr;
	return read_name(c, node, step);
}

static int read_op(struct compiler *c, struct sim_node *node, const struct pfm_sim_step *step)
{
	if (c->interrupt && step->op != PFM_SIM_SITE)
		return bad(c, -EINVAL, "not allowed in an interrupt");
	switch (step->op) {
	case PFM_SIM_SITE:
		return read_site(c, node, step);
	case PFM_SIM_SLEEP:
		node->ns = step->ns;
		return 0;
	case PFM_SIM_FORK:
	case PFM_SIM_THREAD:
		return read_sub(c, node, step);
	case PFM_SIM_EXEC:
		return read_name(c, node, step) ? c->err : read_sub(c, node, step);
	case PFM_SIM_MAP:
		return read_map(c, node, step);
	case PFM_SIM_REPLAY:
		return read_replay(c, node, step);
	case PFM_SIM_YIELD:
	case PFM_SIM_EXIT:
	case PFM_SIM_EXIT_GROUP:
	case PFM_SIM_SUM:
	case PFM_SIM_RUM:
		return 0;
	}
	return bad(c, -EINVAL, "no such operation");
}

static struct sim_node *new_node(struct compiler *c, uint32_t op)
{
	struct sim_program *prog = c->prog;
	struct sim_node *node = &prog->nodes[prog->num_nodes];

	node->op = op;
	node->unit = &prog->units[(size_t)prog->num_nodes * SIM_MAX_SLOTS];
	prog->num_nodes++;
	return node;
}

/* --- totals --------------------------------------------------------------------------------- */

static bool add_times(uint64_t *sum, uint64_t one, uint64_t n)
{
	uint64_t product;

	return __builtin_mul_overflow(one, n, &product) || __builtin_add_overflow(*sum, product, sum);
}

static int add_totals(struct compiler *c, struct sim_node *loop, const struct sim_node *kid, uint64_t n)
{
	bool too_large = add_times(&loop->ns, kid->ns, n);

	for (int l = 0; l < PFM_SIM_LEVELS; l++)
		too_large |= add_times(&loop->time[l], kid->time[l], n);
	for (int s = 0; s < SIM_MAX_SLOTS; s++)
		too_large |= add_times(&loop->unit[s], kid->unit[s], n);
	return too_large ? bad(c, -EINVAL, "the totals exceed 64 bits") : 0;
}

static int add_kid(struct compiler *c, struct sim_node *loop, const struct sim_node *kid)
{
	bool is_loop = kid->op == PFM_SIM_LOOP, endless = is_loop && kid->count == PFM_SIM_FOREVER;
	uint64_t n = is_loop ? kid->count : 1;

	loop->user |= kid->user;
	loop->branches |= kid->branches;
	loop->last = kid->last;
	for (int l = 0; l < PFM_SIM_LEVELS; l++) {
		if (kid->max_data[l] > loop->max_data[l])
			loop->max_data[l] = kid->max_data[l];
		if (kid->max_fetch[l] > loop->max_fetch[l])
			loop->max_fetch[l] = kid->max_fetch[l];
	}
	if (endless || (is_loop ? !kid->skip : kid->op != PFM_SIM_SITE || kid->emerges))
		loop->skip = false;
	if (endless) {
		/* an endless loop takes time, so the ns of the loop around it must not be 0 */
		loop->ns |= 1;
		return 0;
	}
	return add_totals(c, loop, kid, n);
}

/* --- compiling loops, calls and sites ------------------------------------------------------- */

static int compile_loop(struct compiler *c, uint32_t index, uint64_t count, int depth);

/* Returns true for a step that encloses others, up to an end. */
static bool is_nest(uint32_t op)
{
	return op == PFM_SIM_LOOP || op == PFM_SIM_CALL;
}

static int check_nest(struct compiler *c, const struct pfm_sim_step *step, int depth)
{
	if (depth == SIM_DEPTH)
		return bad(c, -EINVAL, "loops and calls are nested too deeply");
	if (step->op == PFM_SIM_CALL)
		return step->level < PFM_SIM_LEVELS ? 0 : bad(c, -EINVAL, "no such level");
	if (!step->count)
		return bad(c, -EINVAL, "a loop needs a count of 1 or more");
	if (step->count == PFM_SIM_FOREVER && c->interrupt)
		return bad(c, -EINVAL, "an interrupt must end");
	return 0;
}

/* Compiles a nest. A call is a loop of one iteration. */
static int compile_nest(struct compiler *c, struct sim_node *node, const struct pfm_sim_step *step, int depth)
{
	uint32_t index = node - c->prog->nodes;

	node->op = PFM_SIM_LOOP;
	c->step++;
	if (step->op == PFM_SIM_LOOP)
		return compile_loop(c, index, step->count, depth + 1);
	node->call = true;
	node->ip = step->ip;
	node->level = step->level;
	return compile_loop(c, index, 1, depth + 1);
}

/* Compiles one child of a loop (a site, an operation or a whole loop), and stores its index. */
static int compile_kid(struct compiler *c, uint32_t parent, int depth, uint32_t *index)
{
	const struct pfm_sim_step *step = &c->source->steps[c->step];
	struct sim_node *node;

	c->at = c->step;
	if (step->reserved)
		return bad(c, -EINVAL, "reserved must be 0");
	if (is_nest(step->op) && check_nest(c, step, depth))
		return c->err;
	node = new_node(c, step->op);
	node->parent = parent;
	*index = node - c->prog->nodes;
	if (is_nest(step->op))
		return compile_nest(c, node, step, depth);
	if (read_op(c, node, step))
		return c->err;
	c->step++;
	return 0;
}

/*
 * Counts the children of the loop or call that the current step, its first inner one, belongs to.
 * *end is the step that ends the loop or call, or the number of steps if none does.
 */
static void count_kids(struct compiler *c, uint32_t *kids, uint32_t *end)
{
	int depth = 0;
	uint32_t i;

	*kids = 0;
	for (i = c->step; i < c->source->num_steps; i++) {
		uint32_t op = c->source->steps[i].op;

		if (op == PFM_SIM_END && depth-- == 0)
			break;
		if (op != PFM_SIM_END && depth == 0)
			++*kids;
		if (is_nest(op))
			depth++;
	}
	*end = i;
}

static int compile_loop(struct compiler *c, uint32_t index, uint64_t count, int depth)
{
	struct sim_program *prog = c->prog;
	struct sim_node *loop = &prog->nodes[index];
	uint32_t kids, end, at = c->at;

	count_kids(c, &kids, &end);
	if (!index)
		c->at = end;
	if (index ? end == c->source->num_steps : end != c->source->num_steps)
		return bad(c, -EINVAL, index ? "the loop or call has no end" : "an end without a loop or call");
	if (!kids && index)
		return bad(c, -EINVAL, "the loop or call is empty");
	loop->count = count;
	loop->skip = true;
	loop->first = prog->num_kids;
	loop->num_kids = kids;
	prog->num_kids += kids;
	for (uint32_t i = 0; i < kids; i++) {
		if (compile_kid(c, index, depth, &prog->kids[loop->first + i]) ||
		    add_kid(c, loop, &prog->nodes[prog->kids[loop->first + i]]))
			return c->err;
	}
	c->step = end;
	c->at = at;
	if (count == PFM_SIM_FOREVER && !loop->ns)
		return bad(c, -EINVAL, "a loop without end must take time");
	c->step++;
	return 0;
}

static bool allocate(struct sim_program *prog, uint32_t steps)
{
	prog->nodes = pfm_os_calloc((size_t)steps + 1, sizeof(*prog->nodes));
	prog->kids = pfm_os_calloc((size_t)steps + 1, sizeof(*prog->kids));
	prog->units = pfm_os_calloc((size_t)steps + 1, SIM_MAX_SLOTS * sizeof(*prog->units));
	return prog->nodes && prog->kids && prog->units;
}

struct sim_program *sim_program_new(struct pfm_sim *sim, const struct pfm_sim_program *source,
				    bool interrupt, int *err)
{
	struct compiler c = { .sim = sim, .source = source, .interrupt = interrupt };

	c.prog = pfm_os_alloc(sizeof(*c.prog));
	if (!c.prog || !allocate(c.prog, source->num_steps)) {
		*err = pfm_refuse(-ENOMEM, "no memory for a program");
		sim_program_put(c.prog);
		return NULL;
	}
	c.prog->refs = 1;
	new_node(&c, PFM_SIM_LOOP);
	if (source->num_steps && !source->steps)
		bad(&c, -EINVAL, "no steps");
	else
		compile_loop(&c, 0, 1, 1);
	*err = c.err;
	if (!c.err)
		return c.prog;
	sim_program_put(c.prog);
	return NULL;
}

struct sim_program *sim_program_get(struct sim_program *prog)
{
	prog->refs++;
	return prog;
}

void sim_program_put(struct sim_program *prog)
{
	if (!prog || (prog->refs && --prog->refs))
		return;
	for (uint32_t i = 0; i < prog->num_subs; i++)
		sim_program_put(prog->subs[i]);
	for (uint32_t i = 0; i < prog->num_nodes; i++) {
		pfm_os_free(prog->nodes[i].name);
		pfm_os_free(prog->nodes[i].trace);
		sim_access_free(prog->nodes[i].access);
	}
	pfm_os_free(prog->subs);
	pfm_os_free(prog->units);
	pfm_os_free(prog->kids);
	pfm_os_free(prog->nodes);
	pfm_os_free(prog);
}
