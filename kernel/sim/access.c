// SPDX-License-Identifier: MIT
/* access.c - turns a site's pattern of accesses, or a trace, into accesses to the caches. */
#include <stdlib.h>

#include "sim.h"

#define FETCH	4	/* bytes of an instruction if its site does not say how many */
#define DATA	8

/* --- creating a site's accesses ------------------------------------------------------------- */

/* Returns the n-th number of the splitmix64 series. */
static uint64_t random_at(uint64_t seed, uint64_t n)
{
	uint64_t z = seed + (n + 1) * 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/*
 * Makes an array with the successor of each element, so that the chain visits all elements once, in
 * random order (Sattolo).
 */
static uint32_t *chase(const struct pfm_sim_pattern *p)
{
	uint32_t *next = pfm_os_alloc(p->count * sizeof(*next));

	for (uint32_t i = 0; next && i < p->count; i++)
		next[i] = i;
	for (uint32_t i = p->count - 1; next && i > 0; i--) {
		uint32_t other = random_at(p->seed, i) % i, was = next[i];

		next[i] = next[other];
		next[other] = was;
	}
	return next;
}

static int check_pattern(const struct pfm_sim_pattern *p, const char *what)
{
	if (p->kind > PFM_SIM_CHASE)
		return pfm_refuse(-EINVAL, "%s: no such pattern", what);
	if (p->size > 64)
		return pfm_refuse(-EINVAL, "%s: an access has 1 to 64 bytes", what);
	if (p->kind >= PFM_SIM_RANDOM && (!p->count || p->count > PFM_SIM_MAX_CHASE))
		return pfm_refuse(-EINVAL, "%s: 1 to %d elements", what, PFM_SIM_MAX_CHASE);
	return 0;
}

static int check_access(const struct pfm_sim_access *a)
{
	int ret = check_pattern(&a->load, "load");

	if (!ret)
		ret = check_pattern(&a->store, "store");
	if (ret)
		return ret;
	if (a->fetch > 64)
		return pfm_refuse(-EINVAL, "an instruction has 1 to 64 bytes");
	if (a->branch > PFM_SIM_CHANCE)
		return pfm_refuse(-EINVAL, "no such kind of branch");
	if (a->branch == PFM_SIM_BITS && (!a->period || a->period > 64))
		return pfm_refuse(-EINVAL, "a branch repeats after 1 to 64 times");
	return a->fence > 1 ? pfm_refuse(-EINVAL, "fence is 0 or 1") : 0;
}

struct sim_access *sim_access_new(const struct pfm_sim_access *source, int *err)
{
	struct sim_access *a;

	*err = check_access(source);
	if (*err)
		return NULL;
	a = pfm_os_alloc(sizeof(*a));
	if (a) {
		a->is = *source;
		if (source->load.kind == PFM_SIM_CHASE)
			a->load_next = chase(&source->load);
		if (source->store.kind == PFM_SIM_CHASE)
			a->store_next = chase(&source->store);
	}
	if (a && (source->load.kind != PFM_SIM_CHASE || a->load_next) &&
	    (source->store.kind != PFM_SIM_CHASE || a->store_next))
		return a;
	sim_access_free(a);
	*err = pfm_refuse(-ENOMEM, "no memory for a program");
	return NULL;
}

void sim_access_free(struct sim_access *a)
{
	if (!a)
		return;
	pfm_os_free(a->load_next);
	pfm_os_free(a->store_next);
	pfm_os_free(a);
}

/* --- addresses ------------------------------------------------------------------------------ */

static uint64_t by_loops(const struct pfm_sim_pattern *p, const struct sim_program *prog,
			 const struct sim_cursor *c)
{
	uint64_t addr = p->base;
	int n = 0;

	for (int i = c->depth - 1; i >= 0 && n < PFM_SIM_MAX_STRIDES; i--) {
		const struct sim_node *loop = &prog->nodes[c->at[i].node];

		if (loop->call || loop->count == PFM_SIM_FOREVER)
			continue;
		addr += (uint64_t)p->strides[n++] * (loop->count - c->at[i].left);
	}
	return addr;
}

/* Returns the address of the pattern's next element. */
static uint64_t by_element(const struct pfm_sim_pattern *p, uint64_t times, const uint32_t *next, uint32_t *at)
{
	uint64_t element = p->kind == PFM_SIM_RANDOM ? random_at(p->seed, times) % p->count : *at;

	if (next)
		*at = next[*at];
	return p->base + (uint64_t)p->strides[0] * element;
}

static inline uint64_t address(const struct pfm_sim_pattern *p, const struct sim_program *prog,
			       const struct sim_cursor *c, uint64_t times, const uint32_t *next, uint32_t *at)
{
	return p->kind == PFM_SIM_STRIDES ? by_loops(p, prog, c) : by_element(p, times, next, at);
}

/* --- accesses to the caches ----------------------------------------------------------------- */

/*
 * Address registers record one data access of an instruction: its load or, if it has none, its
 * store. Returns true, and stores the address, if this access is the one to record.
 */
static inline bool is_about(struct sim_executed *done, enum cache_kind kind, uint64_t addr)
{
	if (done->load)
		return false;
	done->data = true;
	done->load = kind == CACHE_LOAD;
	done->data_addr = addr;
	return true;
}

static void access_caches(struct sim_cpu *cpu, struct cache_core *core, enum cache_kind kind, uint64_t addr,
			  uint32_t size, struct sim_executed *done)
{
	uint64_t missed = core->count[CACHE_EV_L1D_MISSES], walks = core->count[CACHE_EV_DTLB_MISSES];
	uint32_t wait = cache_data(core, kind, addr, size);

	missed = core->count[CACHE_EV_L1D_MISSES] - missed;

	if (is_about(done, kind, addr)) {
		done->data_wait = wait;
		done->missed = missed || !core->has[CACHE_L1D];
		done->walks |= core->count[CACHE_EV_DTLB_MISSES] != walks ? SIM_WALK_DATA : 0;
	}
	done->cycles += wait;
	if (!core->system->explain)
		return;
	sim_explain_add(cpu->sim, done->ip, kind, missed ? (int)core->cause : -1, wait);
	if (kind == CACHE_STORE)
		sim_explain_store(cpu->sim, done->ip, addr);
	else
		sim_explain_load(cpu->sim, done->ip, addr);
}

/* --- store buffers -------------------------------------------------------------------------- */

/*
 * Moves the oldest store to the caches. Stores directly after it that are to the same line move
 * with it, because the line is in the cache then.
 */
static void drain_line(struct sim_cpu *cpu, struct cache_core *core, struct sim_executed *done)
{
	struct sim_stores *s = &cpu->stores;
	uint64_t line = s->at[0].addr >> core->system->line_bits;
	uint32_t n = 0;

	for (; n < s->num && s->at[n].addr >> core->system->line_bits == line; n++) {
		struct sim_executed late = { .ip = s->at[n].ip };

		access_caches(cpu, core, CACHE_STORE, s->at[n].addr, s->at[n].size, &late);
		done->cycles += late.cycles;
	}
	s->num -= n;
	memmove(&s->at[0], &s->at[n], s->num * sizeof(s->at[0]));
}

static void drain(struct sim_cpu *cpu, struct cache_core *core, struct sim_executed *done)
{
	while (cpu->stores.num)
		drain_line(cpu, core, done);
}

static void store(struct sim_cpu *cpu, struct cache_core *core, uint64_t addr, uint32_t size,
		  struct sim_executed *done)
{
	struct sim_stores *s = &cpu->stores;

	if (s->num == cpu->sim->store_buffer)
		drain_line(cpu, core, done);
	s->at[s->num++] = (struct sim_store){ .ip = done->ip, .addr = addr, .size = size };
	s->level = sim_cursor_node(&cpu->cur->cursor, cpu->cur->prog)->level;
	is_about(done, CACHE_STORE, addr);
}

/* Returns the latest store to any of these bytes; NULL: there is none. */
static const struct sim_store *latest(const struct sim_stores *s, uint64_t addr, uint32_t size)
{
	for (uint32_t i = s->num; i--;)
		if (addr - s->at[i].addr < s->at[i].size || s->at[i].addr - addr < size)
			return &s->at[i];
	return NULL;
}

/*
 * Loads through the store buffer. If a store in the buffer has all bytes of the load, it answers
 * the load. If it has only some of them, the load waits until the buffer is empty.
 */
static void load(struct sim_cpu *cpu, struct cache_core *core, uint64_t addr, uint32_t size,
		 struct sim_executed *done)
{
	const struct sim_store *s = latest(&cpu->stores, addr, size);

	if (!s || size > s->size || addr - s->addr > s->size - size) {
		if (s)
			drain(cpu, core, done);
		access_caches(cpu, core, CACHE_LOAD, addr, size, done);
		return;
	}
	core->count[CACHE_EV_LOADS]++;
	core->count[CACHE_EV_FORWARDS]++;
	is_about(done, CACHE_LOAD, addr);
	if (!core->system->explain)
		return;
	sim_explain_add(cpu->sim, done->ip, CACHE_LOAD, -1, 0);
	sim_explain_forward(cpu->sim, done->ip, s->ip);
}

static void access_buffered(struct sim_cpu *cpu, struct cache_core *core, enum cache_kind kind, uint64_t addr,
			    uint32_t size, struct sim_executed *done)
{
	if (kind == CACHE_STORE)
		store(cpu, core, addr, size, done);
	else
		load(cpu, core, addr, size, done);
}

void sim_stores_drain(struct sim_cpu *cpu)
{
	uint64_t before[CACHE_EVENTS];
	struct sim_executed done = { 0 };
	struct cache_core *core = sim_core_of(cpu->sim, cpu->num);

	memcpy(before, core->count, sizeof(before));
	drain(cpu, core, &done);
	for (int i = 0; i < CACHE_EVENTS; i++)
		if (core->count[i] != before[i])
			sim_pmu_event(cpu, sim_emerging[i], cpu->stores.level, core->count[i] - before[i]);
}

static void wrong_guess(struct cache_core *core, bool wrong, struct sim_executed *done)
{
	core->count[CACHE_EV_BRANCHES]++;
	done->branched = true;
	if (!wrong)
		return;
	done->branch |= SIM_WRONG;
	core->count[CACHE_EV_BRANCH_MISSES]++;
	done->cycles += core->system->shapes.mispredicted;
}

static void branch(struct cache_core *core, bool taken, uint64_t target, struct sim_executed *done)
{
	wrong_guess(core, cache_branch(&core->branches, done->ip, taken), done);
	core->count[CACHE_EV_TAKEN] += taken;
	done->branch |= taken ? SIM_TAKEN : 0;
	done->target = target;
}

static void fetch(struct cache_core *core, uint64_t ip, uint32_t size, struct sim_executed *done)
{
	uint64_t walks = core->count[CACHE_EV_ITLB_MISSES], missed = core->count[CACHE_EV_L1I_MISSES];

	memset(done, 0, sizeof(*done));
	done->ip = ip;
	if (!size)
		return;
	done->fetch_wait = cache_fetch(core, ip, size);
	done->cycles = done->fetch_wait;
	if (done->fetch_wait) {
		done->walks = core->count[CACHE_EV_ITLB_MISSES] != walks ? SIM_WALK_FETCH : 0;
		done->fetch_missed = core->count[CACHE_EV_L1I_MISSES] != missed;
	}
	core->count[CACHE_EV_INSTRUCTIONS]++;
}

static void finish(struct cache_core *core, uint64_t ns, const struct sim_executed *done)
{
	core->count[CACHE_EV_CYCLES] += ns + done->cycles;
	core->count[CACHE_EV_STALLS] += done->cycles;
}

/* --- executing a site ----------------------------------------------------------------------- */

/* Returns true if the cursor is in the last iteration of its loop. Calls do not count as loops. */
static bool is_last(const struct sim_program *prog, const struct sim_cursor *c)
{
	for (int i = c->depth - 1; i >= 0; i--) {
		const struct sim_node *loop = &prog->nodes[c->at[i].node];

		if (!loop->call)
			return loop->count != PFM_SIM_FOREVER && c->at[i].left == 1;
	}
	return true;
}

static bool is_taken(const struct pfm_sim_access *a, const struct sim_program *prog, const struct sim_cursor *c,
		     uint64_t times)
{
	switch (a->branch) {
	case PFM_SIM_TAKEN:
		return true;
	case PFM_SIM_BACK:
		return !is_last(prog, c);
	case PFM_SIM_BITS:
		return a->bits >> times % a->period & 1;
	case PFM_SIM_CHANCE:
		return (random_at(a->seed, times) >> 32) < a->bits;
	}
	return false;
}

/*
 * The type of a function that makes a data access of an instruction, and records in "done" what
 * happened.
 */
typedef void data_fn(struct sim_cpu *cpu, struct cache_core *core, enum cache_kind kind, uint64_t addr, uint32_t size,
		     struct sim_executed *done);

static inline void load_and_store(struct sim_cpu *cpu, struct cache_core *core, const struct sim_access *a,
				  struct sim_progress *progress, uint64_t times, data_fn *data,
				  struct sim_executed *done)
{
	const struct sim_program *prog = cpu->cur->prog;
	const struct sim_cursor *c = &cpu->cur->cursor;

	if (a->is.load.kind)
		data(cpu, core, CACHE_LOAD, address(&a->is.load, prog, c, times, a->load_next, &progress->load_at),
		     a->is.load.size ? a->is.load.size : DATA, done);
	if (a->is.store.kind)
		data(cpu, core, CACHE_STORE, address(&a->is.store, prog, c, times, a->store_next, &progress->store_at),
		     a->is.store.size ? a->is.store.size : DATA, done);
}

/* The accesses of a fence bypass the store buffer, which has been emptied before. */
static void load_and_store_buffered(struct sim_cpu *cpu, struct cache_core *core, const struct sim_access *a,
				    struct sim_progress *progress, uint64_t times, struct sim_executed *done)
{
	if (a->is.fence)
		drain(cpu, core, done);
	load_and_store(cpu, core, a, progress, times, a->is.fence ? access_caches : access_buffered, done);
}

void sim_access_site(struct sim_cpu *cpu, struct cache_core *core, const struct sim_node *site,
		     struct sim_progress *progress, struct sim_executed *done)
{
	const struct sim_access *a = site->access;
	uint64_t times = progress->times++;

	fetch(core, site->ip, a->is.fetch ? a->is.fetch : FETCH, done);
	if (a->buffered)
		load_and_store_buffered(cpu, core, a, progress, times, done);
	else
		load_and_store(cpu, core, a, progress, times, access_caches, done);
	if (a->is.branch)
		branch(core, is_taken(&a->is, cpu->cur->prog, &cpu->cur->cursor, times), site->target, done);
	finish(core, site->ns, done);
}

/* --- replaying a trace ---------------------------------------------------------------------- */

static void replay_op(struct sim_cpu *cpu, struct cache_core *core, uint32_t kind, uint64_t addr, uint32_t size,
		      struct sim_executed *done)
{
	switch (kind) {
	case TAPE_NOT_TAKEN:
	case TAPE_TAKEN:
		branch(core, kind == TAPE_TAKEN, addr, done);
		break;
	case TAPE_JUMP:
		wrong_guess(core, cache_jump(&core->branches, done->ip, addr), done);
		core->count[CACHE_EV_TAKEN]++;
		done->branch |= SIM_TAKEN | SIM_INDIRECT;
		done->target = addr;
		break;
	/*
	 * cachegrind counts a modify as one access, but a modify causes the events of a load and of
	 * a store
	 */
	case TAPE_MODIFY:
		core->count[CACHE_EV_STORES]++;
		/* fall through */
	default:
		kind = kind == TAPE_STORE ? CACHE_STORE : CACHE_LOAD;
		if (cpu->sim->store_buffer)
			access_buffered(cpu, core, kind, addr, size ? size : 1, done);
		else
			access_caches(cpu, core, kind, addr, size ? size : 1, done);
	}
}

void sim_access_replay(struct sim_cpu *cpu, struct cache_core *core, const struct tape_instr *instr,
		       struct sim_executed *done)
{
	fetch(core, instr->ip, instr->size, done);
	for (uint32_t i = 0; i < instr->num; i++)
		replay_op(cpu, core, instr->op[i].kind, instr->op[i].addr, instr->op[i].size, done);
	finish(core, instr->size ? 1 : 0, done);
}
