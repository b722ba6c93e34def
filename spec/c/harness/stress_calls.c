// SPDX-License-Identifier: MIT
/*
 * stress_calls.c - makes random calls one after the other, and notes in the ledger what each
 * changed.
 */
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "perfmon/perfmon_nway_smpl.h"
#include "stress.h"

#define R (&world.rng)

bool went(int ret, const char *what)
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

unsigned int any_set(const struct ledger *l)
{
	unsigned int s = rng_below(R, NUM_IDS);

	return l->sets[s].exists ? s : 0;
}

/* --- loading, starting ---------------------------------------------------------------------- */

/* Returns a thread that is alive, or 0. */
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

	went(pfm_start(l->fd, rng_chance(R, 50) ? &req : NULL), "start");
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
	else if (rng_chance(R, 30))
		flags = PFM_FL_INHERIT;
	if (rng_chance(R, 5))
		flags |= PFM_FL_OVFL_NO_MSG;
	if (world.sim->model->codes->ia64 && rng_chance(R, 10))
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

/* Closes a context, and has the simulated computer notice it at once. */
void context_close(struct ledger *l)
{
	if (l->map)
		pfm_unmap_buffer(l->map, l->map_size);
	l->map = NULL;
	l->closed = true;
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

/* Does what a tool does: reads a message, restarts, loads a context anew after a target's end. */
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
	if (kernel) {	/* has no children, as their sites could be at user level */
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
