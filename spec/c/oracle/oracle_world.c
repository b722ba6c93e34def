// SPDX-License-Identifier: MIT
/* oracle_world.c - the computer: registers in use, programs, and which thread ran when. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "oracle.h"

struct world world;

/* --- registers -------------------------------------------------------------------------------- */

/* Returns true if the software counter counts faults of this kind (perfmon/sim.h). */
static bool counts_fault(unsigned int num, const char *event)
{
	return ((num == 66 || num == 67) && !strcmp(event, "minor_faults")) ||
	       ((num == 66 || num == 68) && !strcmp(event, "major_faults")) ||
	       (num == 66 && !strcmp(event, "page_faults"));
}

static void events_of(struct plan_pmd *p)
{
	struct pfm_sim_pmc pmcs[MAX_PMCS];

	for (int e = 0; e < world.num_events; e++) {
		const char *name = world.names[e];

		if (p->software ? counts_fault(p->num, name)
				: pfm_sim_encode_pmcs(world.sim, name, 1, p->num, pmcs, MAX_PMCS) > 0)
			p->events[p->num_events++] = e;
	}
}

/* Chooses instructions, cycles, minor faults, and some of the model's other events. */
static void choose_events(void)
{
	const char *all[64];
	int n = 0;

	for (int i = 0; n < 64 && pfm_sim_event_name(world.sim, i); i++)
		all[n++] = pfm_sim_event_name(world.sim, i);
	world.num_events = 0;
	snprintf(world.names[world.num_events++], 32, "instructions");
	snprintf(world.names[world.num_events++], 32, "cycles");
	snprintf(world.names[world.num_events++], 32, "minor_faults");
	while (world.num_events < MAX_EVENTS) {
		const char *name = all[rnd(n)];
		int known = 0;

		while (known < world.num_events && strcmp(world.names[known], name))
			known++;
		if (known == world.num_events)
			snprintf(world.names[world.num_events++], 32, "%s", name);
	}
}

static bool is_candidate(const pfarg_pmdinfo_t *r)
{
	if (r->reg_type == PFM_REG_TYPE_SW)
		return r->reg_num >= 66 && r->reg_num <= 68;
	if (r->reg_type == PFM_REG_TYPE_VIRT || (r->reg_kind & PFM_REG_RO))
		return false;
	if (!strncmp(world.model, "sim:power5", 10))
		return r->reg_num == 5 || r->reg_num == 6;	/* other counters count in groups */
	return true;
}

/* Chooses some of the counters, and some PMDs that are not counters. */
static void choose_plan(void)
{
	pfarg_pmdinfo_t found[PFM_MAX_PMDS], none[PFM_MAX_PMDS];
	int n = 0, m = 0;
	bool chosen[PFM_MAX_PMDS] = { false };

	world.num_impl = world.num_plan = 0;
	for (int num = 0; num < PFM_MAX_PMDS; num++) {
		pfarg_pmdinfo_t r = { .reg_num = num };

		if (pfm_getinfo_pmds(&r, 1))
			continue;
		world.num_impl++;
		if (is_candidate(&r) && r.reg_type == PFM_REG_TYPE_SW)
			chosen[num] = chance(20);
		else if (is_candidate(&r) && (r.reg_kind & PFM_REG_C64))
			found[n++] = r;
		else if (is_candidate(&r))
			none[m++] = r;
	}
	for (int i = 0; n && i < 6; i++)
		chosen[found[rnd(n)].reg_num] = true;
	for (int i = 0; m && i < 2; i++)
		chosen[none[rnd(m)].reg_num] = true;
	if (world.all_or_none)
		chosen[5] = chosen[6] = true;
	for (int num = 0; num < PFM_MAX_PMDS; num++) {
		struct plan_pmd *p = &world.plan[world.num_plan];
		pfarg_pmdinfo_t r = { .reg_num = num };
		pfarg_pmcinfo_t pmc;

		if (!chosen[num] || pfm_getinfo_pmds(&r, 1))
			continue;
		*p = (struct plan_pmd){ .num = num, .counts = r.reg_kind & PFM_REG_C64, .width = r.reg_width,
			.ctrl = r.reg_ctrl, .software = r.reg_type == PFM_REG_TYPE_SW };
		pmc = (pfarg_pmcinfo_t){ .reg_num = p->ctrl };
		p->narrow = p->counts && p->width < 64 && !pfm_getinfo_pmcs(&pmc, 1) && (pmc.reg_kind & PFM_REG_NO64);
		if (p->counts)
			events_of(p);
		world.num_plan++;
	}
}

void world_new(const char *model, enum life_kind kind)
{
	char options[120];

	memset(&world, 0, sizeof(world));
	snprintf(world.model, sizeof(world.model), "%s", model);
	world.kind = kind;
	world.cpus = kind == THREADS ? 1 + rnd(2) : 1;
	world.all_or_none = !strncmp(model, "sim:power5", 10);
	world.skid = chance(50) ? rnd(4) : 0;
	world.or_shared = !strcmp(model, "sim:core2") || !strcmp(model, "sim:nehalem") || !strcmp(model, "sim:atom");
	snprintf(options, sizeof(options), "cpus=%u,hz=1000000,slice_ns=%u,timer_ns=1,skid=%u", world.cpus,
		 1000 * (1 + rnd(8)), world.skid);
	if (pfm_set_machine(model, options))
		differs("%s, %s: %s", model, options, pfm_explain());
	trace("%s, %s", model, options);
	world.sim = pfm_sim_get();
	choose_events();
	choose_plan();
}

void world_end(void)
{
	pfm_sim_put(world.sim);
}

/* --- programs --------------------------------------------------------------------------------- */

static void make_site(struct site *s)
{
	static uint64_t ip = 0x10000;

	s->ns = WINDOW * (1 + rnd(3));
	s->level = chance(75) ? PFM_SIM_USER : PFM_SIM_KERNEL;
	s->ip = ip += 4;
	for (int e = 0; e < world.num_events; e++)
		s->counts[e] = chance(70) ? rnd(60) : 0;
}

/* Makes a program; depth: generations of children that it creates. */
struct program *world_program(int depth, uint64_t rounds)
{
	struct program *p = &world.programs[world.num_programs++];

	*p = (struct program){ .rounds = rounds, .depth = depth };
	for (int n = 1 + rnd(5); n > 0; n--) {
		make_site(&p->steps[p->num_steps].site);
		p->steps[p->num_steps++].op = PFM_SIM_SITE;
		if (depth && chance(50) && p->num_steps < MAX_STEPS - 2) {
			struct step *s = &p->steps[p->num_steps++];

			s->op = chance(50) ? PFM_SIM_FORK : PFM_SIM_THREAD;
			s->child = world_program(depth - 1, 1 + rnd(3));
		}
	}
	if (p->steps[p->num_steps - 1].op != PFM_SIM_SITE) {
		make_site(&p->steps[p->num_steps].site);
		p->steps[p->num_steps++].op = PFM_SIM_SITE;
	}
	return p;
}

/* The programs in the computer's form, which pfm_sim_spawn() copies. */
static struct pfm_sim_step sim_steps[64][MAX_STEPS + 2];
static struct pfm_sim_program sim_programs[64];
static struct pfm_sim_event sim_events[64][MAX_STEPS][MAX_EVENTS];

static const struct pfm_sim_program *translate(const struct program *p)
{
	int which = p - world.programs, n = 0;
	struct pfm_sim_step *to = sim_steps[which];

	memset(to, 0, sizeof(sim_steps[which]));
	to[n++] = (struct pfm_sim_step){ .op = PFM_SIM_LOOP, .count = p->rounds ? p->rounds : PFM_SIM_FOREVER };
	for (int i = 0; i < p->num_steps; i++, n++) {
		const struct site *s = &p->steps[i].site;

		to[n].op = p->steps[i].op;
		if (p->steps[i].child) {
			to[n].program = translate(p->steps[i].child);
			continue;
		}
		to[n].level = s->level;
		to[n].ns = s->ns;
		to[n].ip = s->ip;
		to[n].events = sim_events[which][i];
		to[n].num_events = world.num_events;
		for (int e = 0; e < world.num_events; e++)
			sim_events[which][i][e] = (struct pfm_sim_event){ world.names[e], s->counts[e] };
	}
	to[n++] = (struct pfm_sim_step){ .op = PFM_SIM_END };
	sim_programs[which] = (struct pfm_sim_program){ to, n };
	return &sim_programs[which];
}

static struct thread *known(uint32_t tid, uint32_t pid, struct program *program, uint16_t cpu)
{
	struct thread *t = &world.threads[world.num_threads++];

	*t = (struct thread){ .tid = tid, .pid = pid, .program = program, .cpu = cpu,
		.left = program->steps[0].site.ns };
	return t;
}

struct thread *world_spawn(struct program *program, uint16_t cpu)
{
	struct pfm_sim_spawn spawn = { .program = *translate(program), .affinity = 1ULL << cpu };
	int tid = pfm_sim_spawn(world.sim, &spawn);

	if (tid <= 0)
		differs("spawn: %s", pfm_explain());
	trace("thread %d on CPU %u, %llu rounds", tid, cpu, (unsigned long long)program->rounds);
	return known(tid, tid, program, cpu);
}

/* --- windows ---------------------------------------------------------------------------------- */

static struct pfm_sim_thread listed[MAX_THREADS + 8];
static int num_listed;

static void list(void)
{
	num_listed = pfm_sim_threads(world.sim, listed, MAX_THREADS + 8);
	if (num_listed > MAX_THREADS)
		differs("%d threads: too many for the oracle", num_listed);
}

static int by_tid(const void *a, const void *b)
{
	const struct pfm_sim_thread *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

static const struct pfm_sim_thread *find_listed(uint32_t tid)
{
	struct pfm_sim_thread key = { .tid = tid };

	return bsearch(&key, listed, num_listed, sizeof(*listed), by_tid);
}

static const struct pfm_sim_thread *unseen(void)
{
	uint32_t highest = world.num_threads ? world.threads[world.num_threads - 1].tid : 0;

	for (int i = 0; i < num_listed; i++) {
		if (listed[i].tid > highest && listed[i].tid > 1)
			return &listed[i];
	}
	return NULL;
}

/* Goes on to the thread's next step; after the last one the next round begins. */
static void next_step(struct thread *t)
{
	if (++t->pc == t->program->num_steps) {
		t->pc = 0;
		t->round++;
	}
	if (t->program->steps[t->pc].op == PFM_SIM_SITE)
		t->left = t->program->steps[t->pc].site.ns;
}

static bool has_finished(const struct thread *t)
{
	return t->program->rounds && t->round == t->program->rounds;
}

/* Carries out the steps that take no time after a site: creates children, and ends the thread. */
static void settle(struct thread *t)
{
	const struct pfm_sim_thread *child;

	while (!t->dead && !has_finished(t) && t->program->steps[t->pc].op != PFM_SIM_SITE && (child = unseen())) {
		const struct step *s = &t->program->steps[t->pc];
		struct thread *born = known(child->tid, child->pid, s->child, t->cpu);

		trace("%u begets %u", t->tid, born->tid);
		model_interrupt(t, 0);
		model_birth(t, born);
		next_step(t);
	}
	if (!t->dead && has_finished(t) && find_listed(t->tid)->state == PFM_SIM_DEAD) {
		trace("%u ends", t->tid);
		model_interrupt(t, 0);
		model_exit(t);
	}
}

static void ran(struct thread *t, uint64_t ns)
{
	const struct context *c = t->ctx;
	const struct step *step;

	settle(t);
	step = &t->program->steps[t->pc];
	if (t->dead || has_finished(t) || step->op != PFM_SIM_SITE)
		differs("thread %u ran where it has nothing to run", t->tid);
	if (c && c->blocked && step->site.level == PFM_SIM_USER)
		differs("thread %u is blocked and ran", t->tid);
	model_runs(t, ns);
	t->ran += ns;
	if (!t->left)
		trace("%u has executed %#llx", t->tid, (unsigned long long)step->site.ip);
	if (!t->left)
		next_step(t);
	settle(t);
	world.last[t->cpu] = t;
}

/*
 * Ends this random run, without a comparison, if a thread was held within a window and another one
 * ran for the rest of it, because the model does not know when in the window that was.
 */
static void check_grid(void)
{
	int ran[sizeof(world.last) / sizeof(*world.last)] = { 0 };

	for (int i = 0; world.skid && i < world.num_threads; i++) {
		const struct thread *t = &world.threads[i];

		if (find_listed(t->tid)->ran_ns != t->ran && ran[t->cpu]++)
			longjmp(world.tie, 1);
	}
}

/* The thread gets a CPU: the thread that had it takes its interrupt before it leaves. */
static void follows(const struct thread *t)
{
	struct thread *before = world.last[t->cpu];

	if (before && before != t && !before->dead)
		model_interrupt(before, WINDOW);
}

/*
 * Ends this random run, without a comparison, if a thread that waited for a CPU is held:
 * it must have run in between, and the model cannot see on which CPU.
 */
static void watch_cpus(void)
{
	for (int i = 0; i < world.num_threads; i++) {
		struct thread *t = &world.threads[i];
		enum pfm_sim_state state = find_listed(t->tid)->state;

		if (t->ready && state == PFM_SIM_BLOCKED)
			longjmp(world.tie, 1);
		t->ready = state == PFM_SIM_READY;
		if (t == world.last[t->cpu] && !t->dead && state != PFM_SIM_RUNNING)
			model_interrupt(t, 0);
	}
}

static void window(void)
{
	if (pfm_sim_run_ns(world.sim, WINDOW) != 1)
		differs("run: %s", pfm_explain());
	world.now += WINDOW;
	list();
	check_grid();
	for (unsigned int cpu = 0; cpu < world.cpus; cpu++) {
		if (world.last[cpu])
			settle(world.last[cpu]);
	}
	for (int i = 0; i < world.num_threads; i++) {
		struct thread *t = &world.threads[i];
		const struct pfm_sim_thread *is = find_listed(t->tid);

		if (is->ran_ns == t->ran)
			continue;
		follows(t);
		ran(t, is->ran_ns - t->ran);
	}
	watch_cpus();
	if (unseen())
		differs("thread %u was not begotten", unseen()->tid);
}

void world_run(unsigned int windows)
{
	while (windows--)
		window();
	SAME(pfm_sim_time(world.sim), world.now, "time");
}

void world_dies(struct thread *t)
{
	if (pfm_sim_kill(world.sim, t->tid))
		differs("kill: %s", pfm_explain());
	if (t == world.last[t->cpu])
		model_interrupt(t, 0);
	model_exit(t);
}
