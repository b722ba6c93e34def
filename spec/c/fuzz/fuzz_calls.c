// SPDX-License-Identifier: MIT
/* fuzz_calls.c - the pfm_* calls and the computer's, with arguments out of the fuzzer's bytes. */
#include <stdlib.h>
#include <sys/socket.h>

#include "fuzz.h"

#define R (&fuzz.rng)

/* --- vectors -------------------------------------------------------------------------------- */

/*
 * Allocates a vector of exactly the n elements that are passed to the call, so that ASan notices if
 * the call accesses an element beyond them.
 */
static void *vector(int n, size_t size)
{
	void *v = calloc(n > 0 && n <= FUZZ_ELEMENTS ? n : 1, size);

	CHECK(v, "no memory");
	return v;
}

static bool real(int n)
{
	return n > 0 && n <= FUZZ_ELEMENTS;
}

static void write_pmcs(int fd)
{
	int n = fuzz_count();
	pfarg_pmc_t *v = vector(n, sizeof(*v));

	for (int i = 0; real(n) && i < n; i++) {
		v[i].reg_num = fuzz_reg();
		v[i].reg_set = fuzz_set();
		v[i].reg_flags = fuzz_bits(PFM_REGFL_NO_EMUL64);
		if (rng_chance(R, 70))
			fuzz_encode(v[i].reg_num, &v[i].reg_value);
		else
			v[i].reg_value = fuzz_value();
		fuzz_spoil(&v[i], sizeof(v[i]));
	}
	pfm_write_pmcs(fd, v, n);
	free(v);
}

static void fill_pmd(pfarg_pmd_t *v, uint32_t flags)
{
	v->reg_num = fuzz_reg();
	v->reg_set = fuzz_set();
	v->reg_flags = fuzz_bits(flags);
	v->reg_value = fuzz_value();
	v->reg_long_reset = fuzz_value();
	v->reg_short_reset = fuzz_value();
	v->reg_ovfl_switch_cnt = rng_below(R, 3);
	fuzz_bv(v->reg_reset_pmds);
	fuzz_bv(v->reg_smpl_pmds);
	v->reg_random_mask = fuzz_value();
	v->reg_random_seed = rng_next(R);
	fuzz_spoil(v, sizeof(*v));
}

static void write_pmds(int fd)
{
	int n = fuzz_count();
	pfarg_pmd_t *v = vector(n, sizeof(*v));

	for (int i = 0; real(n) && i < n; i++)
		fill_pmd(&v[i], PFM_REGFL_OVFL_NOTIFY | PFM_REGFL_RANDOM | PFM_REGFL_VALUES |
				PFM_REGFL_ATTRS);
	pfm_write_pmds(fd, v, n);
	free(v);
}

static void read_pmds(int fd)
{
	int n = fuzz_count();
	pfarg_pmd_t *v = vector(n, sizeof(*v));

	for (int i = 0; real(n) && i < n; i++) {
		v[i].reg_num = fuzz_reg();
		v[i].reg_set = fuzz_set();
		v[i].reg_flags = fuzz_bits(PFM_REGFL_READ_RESET);
		fuzz_spoil(&v[i], sizeof(v[i]));
	}
	pfm_read_pmds(fd, v, n);
	free(v);
}

static void create_evtsets(int fd)
{
	int n = fuzz_count();
	pfarg_setdesc_t *v = vector(n, sizeof(*v));

	for (int i = 0; real(n) && i < n; i++) {
		v[i].set_id = fuzz_set();
		v[i].set_id_next = fuzz_set();
		v[i].set_flags = fuzz_bits(0x7001f);
		v[i].set_timeout = rng_chance(R, 80) ? rng_log(R, 1, 10000) : fuzz_value();
		fuzz_spoil(&v[i], sizeof(v[i]));
	}
	pfm_create_evtsets(fd, v, n);
	free(v);
}

static void delete_evtsets(int fd)
{
	int n = fuzz_count();
	pfarg_setdesc_t *v = vector(n, sizeof(*v));

	for (int i = 0; real(n) && i < n; i++)
		v[i].set_id = fuzz_set();
	pfm_delete_evtsets(fd, v, n);
	free(v);
}

static void getinfo_evtsets(int fd)
{
	int n = fuzz_count();
	pfarg_setinfo_t *v = vector(n, sizeof(*v));

	for (int i = 0; real(n) && i < n; i++)
		v[i].set_id = fuzz_set();
	pfm_getinfo_evtsets(fd, v, n);
	free(v);
}

static void getinfo_regs(int fd)
{
	int n = fuzz_count();
	pfarg_reginfo_t *v = vector(n, sizeof(*v));

	(void)fd;
	for (int i = 0; real(n) && i < n; i++)
		v[i].reg_num = fuzz_reg();
	if (rng_chance(R, 50))
		pfm_getinfo_pmcs(v, n);
	else
		pfm_getinfo_pmds(v, n);
	free(v);
}

/* --- single arguments ----------------------------------------------------------------------- */

static uint32_t thread(void)
{
	unsigned int n = fuzz.sim->num_threads;
	uint32_t i = rng_below(R, n + 3);

	if (i < n)
		return SIM_FIRST_TID + i;
	return i == n ? SIM_TOOL_TID : i == n + 1 ? 0 : (uint32_t)rng_next(R);
}

static void create(int fd)
{
	char arg[FUZZ_FMT_ARG];
	pfarg_ctx_t ctx = { .ctx_flags = fuzz_bits(0x3008b) };
	size_t size = fuzz_format(ctx.ctx_smpl_buf_id, arg);

	(void)fd;
	if (rng_chance(R, 50))	/* few of the flags go together */
		ctx.ctx_flags &= rng_chance(R, 50) ? PFM_FL_SYSTEM_WIDE | PFM_FL_ANY_CPU
						   : PFM_FL_NOTIFY_BLOCK;
	fuzz_spoil(&ctx, sizeof(ctx));
	fd = pfm_create_context_uuid(&ctx, arg, size);
	fuzz_put(fd, ctx.ctx_smpl_buf_size);
}

static void load(int fd)
{
	pfarg_load_t req = { .load_pid = thread() };

	req.load_set = rng_chance(R, 80) ? 0 : fuzz_set();
	fuzz_spoil(&req, sizeof(req));
	pfm_load_context(fd, &req);
}

static void start(int fd)
{
	pfarg_start_t req = { .start_set = fuzz_set() };

	fuzz_spoil(&req, sizeof(req));
	pfm_start(fd, rng_chance(R, 70) ? NULL : &req);
}

static void stop(int fd)
{
	pfm_stop(fd);
}

static void restart(int fd)
{
	pfm_restart(fd);
}

static void unload(int fd)
{
	pfm_unload_context(fd);
}

static void config(int fd)
{
	pfarg_config_t cfg;

	(void)fd;
	pfm_get_config(&cfg);
	cfg.cf_sys_gid = rng_chance(R, 80) ? PFM_GROUP_ANY : rng_below(R, 3);
	cfg.cf_thread_gid = rng_chance(R, 80) ? PFM_GROUP_ANY : rng_below(R, 3);
	cfg.cf_arg_size_max = rng_chance(R, 50) ? 65536 : 4096;
	cfg.cf_smpl_buf_size_max = rng_log(R, 4096, UINT64_MAX);
	cfg.cf_ovfl_rate_max = rng_chance(R, 50) ? 0 : fuzz_value();
	pfm_set_config(&cfg);
}

static void message(int fd)
{
	pfarg_msg_t msg;

	recv(fd, &msg, sizeof(msg), MSG_DONTWAIT);
}

/* --- the computer --------------------------------------------------------------------------- */

static void spawn(int fd)
{
	struct pfm_sim_spawn s = { .uid = rng_below(R, 2) };

	(void)fd;
	s.gid = rng_below(R, 3);
	s.affinity = rng_below(R, 4);
	fuzz.pool.used = 0;
	fuzz.pool.interrupt = false;
	s.kernel = fuzz.pool.kernel = rng_chance(R, 10);
	s.program = *program_make(&fuzz.pool);
	if (rng_chance(R, 10))
		s.process = thread();
	if (fuzz.sim->num_threads < 16)
		pfm_sim_spawn(fuzz.sim, &s);
}

static void device(int fd)
{
	uint32_t cpu = rng_below(R, 3);
	uint64_t start = fuzz.sim->now + rng_log(R, 0, 1000);
	uint64_t period = rng_log(R, 1000, 100000);

	(void)fd;
	fuzz.pool.used = 0;
	fuzz.pool.kernel = false;
	fuzz.pool.interrupt = true;
	pfm_sim_interrupt(fuzz.sim, cpu, start, period, program_make(&fuzz.pool));
}

static void person(int fd)
{
	uint32_t what = rng_below(R, 6), tid;

	if (what < 2)
		pfm_sim_kill(fuzz.sim, thread());
	else if (what < 4)
		pfm_sim_act(fuzz.sim, rng_chance(R, 50) ? 0 : thread());
	else if (what < 5) {
		tid = thread();
		pfm_sim_share(fuzz.sim, tid, fd, rng_below(R, 2));
	} else {
		pfm_sim_set(fuzz.sim, "tool_cpu", rng_below(R, 3));
	}
}

static void run(int fd)
{
	uint64_t ns = rng_log(R, 1, 5000);

	if (ns > fuzz.time_left)
		ns = fuzz.time_left;
	fuzz.time_left -= ns;
	switch (rng_below(R, 4)) {
	case 0:
		pfm_sim_run_until_message(fuzz.sim, fd, ns);
		break;
	case 1:
		pfm_sim_run_until_exit(fuzz.sim, thread(), ns);
		break;
	default:
		pfm_sim_run_ns(fuzz.sim, ns);
	}
}

/*
 * Starts a measurement that works, so that not only refusals are tried: a counter that overflows,
 * with random flags and a random format or none. The target is often a new thread.
 */
static void session(int fd)
{
	uint16_t pmd = fuzz.sim->counters[rng_below(R, fuzz.sim->num_counters)];
	pfarg_pmc_t pc = { .reg_num = pmd, .reg_value = 9 };
	pfarg_pmd_t pd = { .reg_num = pmd, .reg_ovfl_switch_cnt = rng_below(R, 3) };
	pfarg_setdesc_t set = { .set_id_next = 1, .set_timeout = 1000 };
	pfarg_load_t req = { 0 };

	create(fd);
	fd = fuzz.fd[rng_below(R, FUZZ_CONTEXTS)];
	set.set_flags = rng_below(R, 8);
	pfm_create_evtsets(fd, &set, 1);
	fuzz_encode(pmd, &pc.reg_value);
	pd.reg_value = pd.reg_long_reset = pd.reg_short_reset = -rng_log(R, 1, 3000);
	pd.reg_flags = rng_below(R, 4) & (PFM_REGFL_OVFL_NOTIFY | PFM_REGFL_RANDOM);
	pd.reg_random_mask = rng_below(R, 4) == 3 ? rng_next(R) : rng_below(R, 64);
	pd.reg_random_seed = rng_below(R, 5);
	fuzz_bv(pd.reg_smpl_pmds);
	fuzz_bv(pd.reg_reset_pmds);
	pfm_write_pmcs(fd, &pc, 1);
	pfm_write_pmds(fd, &pd, 1);
	spawn(fd);
	req.load_pid = fuzz.sim->num_threads ? SIM_FIRST_TID + fuzz.sim->num_threads - 1 : SIM_TOOL_TID;
	if (rng_below(R, 4) == 3)
		req.load_pid = SIM_TOOL_TID;
	pfm_load_context(fd, &req);
	pfm_start(fd, NULL);
	run(fd);
}

typedef void (*call_fn)(int fd);

static const call_fn calls[] = {
	create, create, write_pmcs, write_pmcs, write_pmds, write_pmds, read_pmds, create_evtsets,
	create_evtsets, delete_evtsets, getinfo_evtsets, getinfo_regs, load, load, start, start, stop,
	restart, restart, unload, config, message, message, spawn, spawn, device, person, run, run, run,
	session, session, session,
};

static void map_or_close(int slot)
{
	void *map;

	if (rng_chance(R, 30)) {
		fuzz_close(slot);
		return;
	}
	map = pfm_map_buffer(fuzz.fd[slot], fuzz.map_size[slot]);
	if (map != MAP_FAILED)
		fuzz.map[slot] = map;
}

void fuzz_call(void)
{
	int slot, fd = fuzz_fd(&slot);
	uint32_t what = rng_below(R, COUNT(calls) + 1);

	if (what < COUNT(calls))
		calls[what](fd);
	else if (slot >= 0 && fd >= 0)
		map_or_close(slot);
}
