// SPDX-License-Identifier: MIT
/*
 * cursor.c - moves through a program by arithmetic.
 *
 * At the head of a loop, as many whole iterations are taken at once as fit into the time that is
 * left and make no counter wrap. Only the iteration in which something happens is looked into. So
 * the cost of a move depends on how deeply loops are nested, and not on how often they repeat.
 */
#include "sim.h"

static void push(struct sim_cursor *c, const struct sim_program *prog, uint32_t node)
{
	c->at[c->depth].node = node;
	c->at[c->depth].child = 0;
	c->at[c->depth].left = prog->nodes[node].count;
	c->depth++;
}

void sim_cursor_start(struct sim_cursor *cursor, const struct sim_program *prog)
{
	memset(cursor, 0, sizeof(*cursor));
	if (prog->nodes[0].num_kids)
		push(cursor, prog, 0);
}

/*
 * Ends a site. Returns true if the cursor stays at its node: a node of PFM_SIM_REPLAY has many
 * sites, and the cursor leaves it only after the last one.
 */
static bool stays(struct sim_cursor *c, const struct sim_program *prog)
{
	bool more = c->now && prog->nodes[c->now->last].op == PFM_SIM_REPLAY;

	c->in_site = false;
	c->now = NULL;
	return more;
}

void sim_cursor_next(struct sim_cursor *c, const struct sim_program *prog)
{
	if (stays(c, prog))
		return;
	while (c->depth) {
		int top = c->depth - 1;
		const struct sim_node *loop = &prog->nodes[c->at[top].node];

		if (++c->at[top].child < loop->num_kids)
			return;
		c->at[top].child = 0;
		if (loop->count == PFM_SIM_FOREVER || --c->at[top].left)
			return;
		c->depth--;
	}
}

const struct sim_node *sim_cursor_into(struct sim_cursor *c, const struct sim_program *prog,
				       const struct sim_node *node)
{
	while (node && node->op == PFM_SIM_LOOP && !node->skip) {
		push(c, prog, node - prog->nodes);
		node = sim_cursor_node(c, prog);
	}
	return node;
}

/* Returns what one site, or one iteration of a loop, adds to an unfiltered counter. */
static uint64_t weight_of_all(const struct sim_watch *w, const struct sim_node *node)
{
	uint64_t sum = 0;

	for (uint64_t slots = w->slots; slots; slots &= slots - 1)
		sum += node->unit[__builtin_ctzll(slots)];
	return sum;
}

static uint64_t time_weight(const struct sim_watch *w, const struct sim_node *node)
{
	uint64_t sum = 0;

	for (int level = 0; level < PFM_SIM_LEVELS; level++)
		if (w->time_levels >> level & 1)
			sum += node->time[level];
	return sum;
}

uint64_t sim_watch_gain(const struct sim_watch *w, const struct sim_program *prog, const struct sim_node *node,
			uint64_t n, bool *counted)
{
	struct sim_weight weight;
	uint64_t sum;

	if (!w->filtered)
		return n * weight_of_all(w, node);
	sim_weigh(w, prog, node, &weight);
	sum = sim_weight_of(&weight, n, *counted);
	if (weight.takes)
		*counted = weight.last;
	return sum;
}

static uint64_t gain(const struct sim_run *run, struct sim_watch *w, const struct sim_node *node, uint64_t n)
{
	return sim_watch_gain(w, run->prog, node, n, &w->counted);
}

/* Returns how many iterations cannot make a counter wrap. */
static uint64_t room(const struct sim_run *run, const struct sim_watch *w, const struct sim_node *loop)
{
	uint64_t one, left = run->mask - w->value;
	struct sim_weight weight = { .count = weight_of_all(w, loop) + time_weight(w, loop) };
	bool begins;

	if (w->filtered)
		sim_weigh(w, run->prog, loop, &weight);
	one = sim_weight_of(&weight, 2, true) - sim_weight_of(&weight, 1, true);
	begins = sim_weight_of(&weight, 1, w->counted) > one;
	if (begins && !left)
		return 0;
	return one ? (left - begins) / one : UINT64_MAX;
}

/*
 * Returns how many of n iterations can be passed at once: they fit into the budget of time, make no
 * counter wrap, and contain nothing at which the move has to stop.
 */
static uint64_t fit(const struct sim_run *run, const struct sim_node *loop, uint64_t n)
{
	if (!loop->skip || run->step || (run->stop_at_user && loop->user))
		return 0;
	if (loop->ns && run->budget / loop->ns < n)
		n = run->budget / loop->ns;
	for (unsigned int i = 0; i < run->num_watches && n; i++) {
		uint64_t most = room(run, &run->watches[i], loop);

		if (most < n)
			n = most;
	}
	return n;
}

static void pass_iterations(struct sim_run *run, const struct sim_node *loop, uint64_t n)
{
	const struct sim_node *last = &run->prog->nodes[loop->last];

	for (unsigned int i = 0; i < run->num_watches; i++) {
		struct sim_watch *w = &run->watches[i];

		w->value += gain(run, w, loop, n) + n * time_weight(w, loop);
	}
	run->budget -= n * loop->ns;
	run->cursor->irqs_off = last->flags & PFM_SIM_IRQS_OFF;
	run->cursor->ip = last->ip;
	run->cursor->site = loop->last;
	if (run->applied)
		run->applied(run->arg, loop, n);
}

/* Adds n to a counter, which wraps above its mask. */
static void add(struct sim_run *run, struct sim_watch *w, uint64_t n)
{
	if (n > run->mask - w->value)
		w->wrapped = true;
	w->value = (w->value + n) & run->mask;
}

/* Lets time pass in a site, at most until a counter of time wraps. */
static void pass_time(struct sim_run *run, const struct sim_node *site)
{
	struct sim_cursor *c = run->cursor;
	uint64_t ns = c->left < run->budget ? c->left : run->budget;

	for (unsigned int i = 0; i < run->num_watches; i++) {
		const struct sim_watch *w = &run->watches[i];

		if ((w->time_levels >> site->level & 1) && run->mask - w->value < ns)
			ns = run->mask - w->value + 1;
	}
	for (unsigned int i = 0; i < run->num_watches; i++)
		if (run->watches[i].time_levels >> site->level & 1)
			add(run, &run->watches[i], ns);
	c->left -= ns;
	run->budget -= ns;
	if (run->passed)
		run->passed(run->arg, site->level, ns);
}

static bool any_wrapped(const struct sim_run *run)
{
	for (unsigned int i = 0; i < run->num_watches; i++)
		if (run->watches[i].wrapped)
			return true;
	return false;
}

static void finish_site(struct sim_run *run, const struct sim_node *site)
{
	for (unsigned int i = 0; i < run->num_watches; i++)
		add(run, &run->watches[i], gain(run, &run->watches[i], site, 1));
	if (!(site->flags & PFM_SIM_IRQS_OFF))
		run->cursor->irqs_off = false;
	sim_cursor_next(run->cursor, run->prog);
	if (run->applied)
		run->applied(run->arg, site, 1);
}

static enum sim_stop move_site(struct sim_run *run, const struct sim_node *site)
{
	struct sim_cursor *c = run->cursor;

	if (run->stop_at_user && site->level == PFM_SIM_USER)
		return SIM_BLOCK;
	if (!run->budget && (c->in_site ? c->left : site->ns))
		return SIM_TIME;
	if (!c->in_site) {
		c->in_site = true;
		c->left = site->ns;
		c->ip = site->ip;
		c->site = site->last;
		if (site->flags & PFM_SIM_IRQS_OFF)
			c->irqs_off = true;
	}
	pass_time(run, site);
	if (c->left)
		return any_wrapped(run) ? SIM_WRAP : SIM_TIME;
	finish_site(run, site);
	if (any_wrapped(run))
		return SIM_WRAP;
	return run->step ? SIM_STEPPED : SIM_NONE;
}

/*
 * Moves by whole iterations from the head of the loop that the cursor is in. Returns true if the
 * loop has ended.
 */
static bool move_loop(struct sim_run *run)
{
	struct sim_cursor *c = run->cursor;
	int top = c->depth - 1;
	const struct sim_node *loop = &run->prog->nodes[c->at[top].node];
	uint64_t n = fit(run, loop, c->at[top].left);

	if (n)
		pass_iterations(run, loop, n);
	if (loop->count == PFM_SIM_FOREVER)
		return false;
	c->at[top].left -= n;
	if (c->at[top].left)
		return false;
	c->depth--;
	if (c->depth)
		sim_cursor_next(c, run->prog);
	return true;
}

enum sim_stop sim_cursor_move(struct sim_run *run)
{
	struct sim_cursor *c = run->cursor;

	while (c->depth) {
		const struct sim_node *node;
		enum sim_stop stop = SIM_NONE;

		if (!c->at[c->depth - 1].child && !c->in_site && move_loop(run))
			continue;
		node = sim_cursor_node(c, run->prog);
		if (node->op == PFM_SIM_LOOP)
			push(c, run->prog, node - run->prog->nodes);
		else if (node->emerges)
			stop = run->stop_at_user && node->level == PFM_SIM_USER ? SIM_BLOCK : SIM_OP;
		else if (node->op == PFM_SIM_SITE)
			stop = move_site(run, node);
		else
			stop = SIM_OP;
		if (stop != SIM_NONE)
			return stop;
	}
	return SIM_DONE;
}
