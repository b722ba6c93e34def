// SPDX-License-Identifier: MIT
/* stress_calls.c - one random thing after the other, and the ledger told of what it changed. */
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "perfmon/perfmon_nway_smpl.h"
#include "pmu/software.h"
#include "stress.h"

#define R (&world.rng)

const uint16_t set_ids[NUM_IDS] = { 0, 1, 2, 300, 65535 };

/* A call's result: refused is fine, as long as it is with one of the errors that can be. */
static bool went(int ret, const char *what)
{
	static const int allowed[] = { EBUSY, EINVAL, ESRCH, EPERM, ENOMEM };

	world.calls++;
	if (ret >= 0)
		return true;
	world.refused++;
	for (unsigned int i = 0; i < COUNT(allowed); i++)
		if (errno == allowed[i])
			return false;
	fail("%s: errno %d, %s", what, errno, pfm_explain());
}

static struct ledger *any_ledger(void)
{
	return world.num_ledgers ? &world.ledgers[rng_below(R, world.num_ledgers)] : NULL;
}

/* An existing set of l, as an index into set_ids. */
static unsigned int any_set(const struct ledger *l)
{
	unsigned int s = rng_below(R, NUM_IDS);

	return l->sets[s].exists ? s : 0;
}

/* --- registers ------------------------------------------------------------------------------ */

static bool is_software(uint16_t pmd)
{
	return pmd >= PFM_SW_FIRST;
}

static int software_event(uint16_t pmd)
{
	if (pmd == PFM_SW_TASK_CLOCK)
		return EVENT_TIME;
	return pmd == PFM_SW_CONTEXT_SWITCHES ? SIM_EV_CONTEXT_SWITCHES : SIM_EV_CPU_MIGRATIONS;
}

static void choose_event(struct counter *c, uint16_t pmd, uint64_t *value)
{
	unsigned int levels = rng_below(R, 4);
	const char *name = pmd == 31 ? "cycles" : program_events[rng_below(R, NUM_PROGRAM_EVENTS)];

	c->levels = (levels & 1 ? 1U << PFM_SIM_USER : 0) |
		    (levels & 2 ? 1U << PFM_SIM_KERNEL | 1U << PFM_SIM_INTR : 0);
	c->on = c->levels;
	if (is_software(pmd)) {
		c->event = software_event(pmd);
		*value = (levels & 1 ? PFM_SW_USER : 0) | (levels & 2 ? PFM_SW_KERNEL : 0);
		return;
	}
	c->event = sim_event_find(world.sim, name);
	CHECK(!pfm_sim_encode(world.sim, name, c->levels, pmd, value), "%s", pfm_explain());
}

static void write_pmc(struct ledger *l, unsigned int s, unsigned int i)
{
	struct counter c = l->sets[s].counters[i];
	const struct pfm_reg *reg = pfm_pmu_pmc(&world.sim->pmu, world.pmds[i]);
	pfarg_pmc_t pmc = { .reg_num = world.pmds[i], .reg_set = set_ids[s] };

	c.narrow = reg->kind & PFM_REG_NO64 && (i + s) % 4 == 3;	/* for good */
	if (c.narrow)
		pmc.reg_flags = PFM_REGFL_NO_EMUL64;
	choose_event(&c, world.pmds[i], &pmc.reg_value);
	if (!went(pfm_write_pmcs(l->fd, &pmc, 1), "write_pmcs"))
		return;
	ledger_sync(l);
	c.expect = l->sets[s].counters[i].expect;
	c.owed = l->sets[s].counters[i].owed;
	l->sets[s].counters[i] = c;
	if (l->live)
		ledger_mark(l);
}

static void some_pmds(uint64_t *bits, uint32_t percent)
{
	for (unsigned int i = 0; i < world.num_pmds; i++)
		if (rng_chance(R, percent))
			pfm_bit_set(bits, world.pmds[i]);
}

static uint64_t period(void)
{
	return -rng_log(R, 200, rng_chance(R, 10) ? UINT64_MAX : 1000000);
}

static void write_pmd(struct ledger *l, unsigned int s, unsigned int i)
{
	pfarg_pmd_t pmd = {
		.reg_num = world.pmds[i], .reg_set = set_ids[s], .reg_value = period(),
		.reg_long_reset = period(), .reg_short_reset = period(),
		.reg_ovfl_switch_cnt = rng_below(R, 4), .reg_smpl_eventid = rng_next(R),
	};
	struct counter *c = &l->sets[s].counters[i];

	if (rng_chance(R, 40))
		pmd.reg_flags |= PFM_REGFL_OVFL_NOTIFY;
	if (rng_chance(R, 20)) {
		pmd.reg_flags |= PFM_REGFL_RANDOM;
		pmd.reg_random_mask = (1ULL << rng_below(R, 7)) - 1;
		pmd.reg_random_seed = rng_next(R);
	}
	some_pmds(pmd.reg_smpl_pmds, 15);
	some_pmds(pmd.reg_reset_pmds, 10);
	if (rng_chance(R, 30))
		pfm_bit_set(pmd.reg_smpl_pmds, PFM_VIRT_FIRST + rng_below(R, PFM_NUM_VIRT));
	if (!went(pfm_write_pmds(l->fd, &pmd, 1), "write_pmds"))
		return;
	ledger_sync(l);
	c->expect = pmd.reg_value;
	CHECK(!c->owed, "PMD%u was written over an overflow", pmd.reg_num);
}

static void write_some(struct ledger *l)
{
	unsigned int s = any_set(l), i = rng_below(R, world.num_pmds);

	if (rng_chance(R, 50))
		write_pmc(l, s, i);
	else
		write_pmd(l, s, i);
}

/* --- sets ----------------------------------------------------------------------------------- */

static uint32_t set_flags(const struct ledger *l)
{
	static const uint32_t how[] = { 0, PFM_SETFL_OVFL_SWITCH, PFM_SETFL_TIME_SWITCH };
	uint32_t flags = how[rng_below(R, COUNT(how))];

	if (rng_chance(R, 20))
		flags |= PFM_SETFL_EXPL_NEXT;
	if ((l->ctx->flags & PFM_FL_SYSTEM_WIDE) && rng_chance(R, 30))
		flags |= rng_chance(R, 50) ? PFM_SETFL_EXCL_IDLE : PFM_SETFL_EXCL_KERNEL_ONLY_THREADS;
	if (world.sim->model->itanium && rng_chance(R, 15))
		flags |= rng_chance(R, 50) ? PFM_ITA_SETFL_EXCL_INTR : PFM_ITA_SETFL_INTR_ONLY;
	return flags;
}

static void create_set(struct ledger *l, unsigned int s)
{
	pfarg_setdesc_t d = {
		.set_id = set_ids[s], .set_id_next = set_ids[rng_below(R, NUM_IDS)],
		.set_flags = set_flags(l), .set_timeout = rng_log(R, 1000, 200000),
	};

	if (went(pfm_create_evtsets(l->fd, &d, 1), "create_evtsets"))
		l->sets[s].exists = true;
}

static void delete_set(struct ledger *l)
{
	unsigned int s = rng_below(R, NUM_IDS);
	pfarg_setdesc_t d = { .set_id = set_ids[s] };

	if (went(pfm_delete_evtsets(l->fd, &d, 1), "delete_evtsets"))
		memset(&l->sets[s], 0, sizeof(l->sets[s]));
}

static void change_sets(struct ledger *l)
{
	if (rng_chance(R, 75))
		create_set(l, rng_below(R, NUM_IDS));
	else
		delete_set(l);
}

/* --- loading, starting ---------------------------------------------------------------------- */

/* A thread that is alive, or 0. */
static uint32_t any_thread(bool user)
{
	unsigned int n = world.sim->num_threads, from = rng_below(R, n);

	for (unsigned int i = 0; i < n; i++) {
		const struct sim_thread *t = world.sim->threads[(from + i) % n];

		if (t->state != PFM_SIM_DEAD && (!user || !t->kernel))
			return t->tid;
	}
	return 0;
}

static void load(struct ledger *l)
{
	const struct sim_thread *actor = world.sim->actor;
	pfarg_load_t req = { .load_set = set_ids[any_set(l)] };

	if (l->ctx->flags & PFM_FL_SYSTEM_WIDE)
		req.load_pid = actor ? actor->tid : SIM_TOOL_TID;
	else
		req.load_pid = any_thread(true);
	went(pfm_load_context(l->fd, &req), "load_context");
}

static void start(struct ledger *l)
{
	pfarg_start_t req = { .start_set = set_ids[any_set(l)] };

	if (went(pfm_start(l->fd, rng_chance(R, 50) ? &req : NULL), "start"))
		ledger_set(l, l->ctx->active->id)->slice = 0;
}

static void control(struct ledger *l)
{
	bool is_loaded = l->ctx->state != PFM_CTX_UNLOADED;
	uint32_t what = rng_below(R, 10);

	if (!is_loaded && what < 8)
		load(l);
	else if (!l->ctx->started || what < 2)
		start(l);
	else if (what < 8)
		went(pfm_restart(l->fd), "restart");
	else if (what < 9)
		went(pfm_stop(l->fd), "stop");
	else
		went(pfm_unload_context(l->fd), "unload_context");
}

/* --- contexts ------------------------------------------------------------------------------- */

union fmt_arg {
	pfm_dfl_smpl_arg_t	dfl;
	pfm_default_smpl_arg_t	dfl06;
	pfm_nway_smpl_arg_t	nway;
};

static const char *format_arg(enum format f, union fmt_arg *arg, size_t *size)
{
	static const uint32_t heads[] = { 0, 0, PFM_DFL_SMPL_NO_HDR, PFM_DFL_SMPL_IIP_HDR };
	uint32_t flags = heads[rng_below(R, COUNT(heads))], bytes = 700 + rng_below(R, 8000);

	memset(arg, 0, sizeof(*arg));
	switch (f) {
	case FMT_2X:
		arg->dfl = (pfm_dfl_smpl_arg_t){ .buf_size = bytes, .buf_flags = flags };
		*size = sizeof(arg->dfl);
		return PFM_DFL_SMPL_NAME;
	case FMT_06:
		arg->dfl06 = (pfm_default_smpl_arg_t){ .buf_size = bytes, .buf_flags = flags };
		*size = sizeof(arg->dfl06);
		return PFM_DEFAULT_SMPL_NAME;
	case FMT_NWAY:
		arg->nway = (pfm_nway_smpl_arg_t){ .buf_size = bytes * 2, .buf_flags = flags,
						   .num_regions = 2 + rng_below(R, 3) };
		if (rng_chance(R, 50))
			arg->nway.buf_flags |= PFM_NWAY_MASK_WHEN_FULL;
		*size = sizeof(arg->nway);
		return PFM_NWAY_SMPL_NAME;
	default:
		*size = 0;
		return f == FMT_WILD ? "wild" : NULL;
	}
}

static uint32_t context_flags(void)
{
	uint32_t flags = 0;

	if (rng_chance(R, world.system_wide))
		flags = PFM_FL_SYSTEM_WIDE | (rng_chance(R, 80) ? PFM_FL_ANY_CPU : 0);
	else if (rng_chance(R, 15))
		flags = PFM_FL_NOTIFY_BLOCK;
	if (rng_chance(R, 5))
		flags |= PFM_FL_OVFL_NO_MSG;
	if (world.sim->model->itanium && rng_chance(R, 10))
		flags |= PFM_ITA_FL_PRIV_MONITORS;
	return flags;
}

static void set_up(struct ledger *l)
{
	for (unsigned int s = 0; s < NUM_IDS; s++) {
		if (rng_chance(R, 60))
			create_set(l, s);
		for (unsigned int i = 0; l->sets[s].exists && i < world.num_pmds; i++) {
			if (rng_chance(R, 70))
				write_pmc(l, s, i);
			if (rng_chance(R, 70))
				write_pmd(l, s, i);
		}
	}
}

struct ledger *context_new(void)
{
	struct ledger *l = &world.ledgers[world.num_ledgers];
	pfarg_ctx_t ctx = { .ctx_flags = context_flags() };
	enum format format = rng_below(R, FMT_WILD + 1);
	union fmt_arg arg;
	size_t size;
	const char *name = format_arg(format, &arg, &size);
	int fd = pfm_create_context(&ctx, name, &arg, size);

	if (!went(fd, "create_context"))
		return NULL;
	*l = (struct ledger){ .fd = fd, .ctx = context_of(fd), .format = format };
	l->sets[0].exists = true;
	l->map_size = ctx.ctx_smpl_buf_size;
	if (l->map_size)
		l->map = pfm_map_buffer(fd, l->map_size);
	CHECK(!l->map_size || l->map != MAP_FAILED, "map_buffer: %s", pfm_explain());
	world.num_ledgers++;
	set_up(l);
	if (rng_chance(R, 70)) {
		load(l);
		start(l);
	}
	return l;
}

/* The next move of time notices that a descriptor was closed; here at once. */
void context_close(struct ledger *l)
{
	if (l->map)
		pfm_unmap_buffer(l->map, l->map_size);
	l->map = NULL;
	close(l->fd);
	pfm_sim_run_ns(world.sim, 0);
	*l = world.ledgers[--world.num_ledgers];
}

/* --- messages ------------------------------------------------------------------------------- */

static void read_message(struct ledger *l)
{
	pfarg_msg_t msg;
	ssize_t n = recv(l->fd, &msg, sizeof(msg), MSG_DONTWAIT);

	if (!l->queued) {
		CHECK(n < 0 && errno == EAGAIN, "fd %d: a message nobody sent", l->fd);
		return;
	}
	CHECK(n == sizeof(msg) && !memcmp(&msg, &l->queue[0], sizeof(msg)), "fd %d: another message",
	      l->fd);
	memmove(l->queue, l->queue + 1, --l->queued * sizeof(l->queue[0]));
}

/* What a tool does: reads, restarts, loads again what ended. */
static void answer(struct ledger *l)
{
	read_message(l);
	if (l->ctx->state == PFM_CTX_MASKED || rng_chance(R, 10))
		went(pfm_restart(l->fd), "restart");
	else if (l->ctx->state == PFM_CTX_UNLOADED)
		load(l);
	else if (!l->ctx->started)
		start(l);
}

/* --- the computer --------------------------------------------------------------------------- */

static void spawn(void)
{
	bool kernel = rng_chance(R, 15);
	struct pfm_sim_spawn s = { .uid = rng_below(R, 2) * 1000, .kernel = kernel };

	if (world.sim->num_threads > 300)
		return;
	if (kernel)
		s.affinity = 1ULL << rng_below(R, world.sim->num_cpus);
	else if (rng_chance(R, 20))
		s.affinity = 1 + rng_below(R, 15);
	world.pool.used = 0;
	world.pool.kernel = kernel;
	s.program = *program_make(&world.pool);
	if (kernel) {	/* no children: those could be anywhere */
		for (uint32_t i = 0; i < s.program.num_steps; i++)
			if (world.pool.programs[0].steps[i].op == PFM_SIM_FORK ||
			    world.pool.programs[0].steps[i].op == PFM_SIM_THREAD)
				world.pool.programs[0].steps[i].op = PFM_SIM_YIELD;
	}
	went(pfm_sim_spawn(world.sim, &s), "spawn");
}

static void someone(void)
{
	uint32_t what = rng_below(R, 10);

	if (what < 4)
		spawn();
	else if (what < 5)
		went(pfm_sim_kill(world.sim, any_thread(false)), "kill");
	else if (what < 7)
		went(pfm_sim_act(world.sim, rng_chance(R, 70) ? 0 : any_thread(false)), "act");
	else if (what < 9)
		went(pfm_sim_set(world.sim, "tool_cpu", rng_below(R, world.sim->num_cpus)), "set");
	else
		went(pfm_sim_set(world.sim, "skid", rng_below(R, 4)), "set");
}

static void configure(void)
{
	pfarg_config_t cfg;

	pfm_sim_act(world.sim, 0);
	CHECK(!pfm_get_config(&cfg), "get_config: %s", pfm_explain());
	cfg.cf_ovfl_rate_max = rng_chance(R, 30) ? rng_log(R, 100, 10000000) : 0;
	went(pfm_set_config(&cfg), "set_config");
}

static void run(void)
{
	struct ledger *l = any_ledger();
	uint64_t ns = rng_log(R, 1, 400000);
	uint32_t what = rng_below(R, 10);

	if (what < 1 && l)
		pfm_sim_run_until_message(world.sim, l->fd, ns);
	else if (what < 2 && any_thread(false))
		went(pfm_sim_run_until_exit(world.sim, any_thread(false), ns), "until_exit");
	else
		pfm_sim_run_ns(world.sim, ns);
}

void random_step(void)
{
	uint32_t what = rng_below(R, 100);
	struct ledger *l = any_ledger();

	if (what < 40)
		run();
	else if (what < 48)
		someone();
	else if (!l || (what < 52 && world.num_ledgers < MAX_LEDGERS))
		context_new();
	else if (what < 54)
		context_close(l);
	else if (what < 57)
		change_sets(l);
	else if (what < 64)
		write_some(l);
	else if (what < 78)
		control(l);
	else if (what < 99)
		answer(l);
	else
		configure();
}
