// SPDX-License-Identifier: MIT
/* alloc_calls.c - makes every call of perfmon.h and perfmonctl() so that each has work to do. */
#include "alloc.h"
#include "perfmon/perfmon_nway_smpl.h"
#include "perfmon/perfmon_prog_smpl.h"
#define PFM06_INTERNAL
#include "perfmon/perfmonctl.h"

struct scene scene;

static const struct pfm_sim_step steps[] = {
	{ .op = PFM_SIM_LOOP, .count = PFM_SIM_FOREVER },
	{ .op = PFM_SIM_SITE, .ns = 100, .ip = 0x4000 },
	{ .op = PFM_SIM_END },
};
static const struct pfm_sim_program program = { steps, COUNT(steps) };

static const struct pfm_sim_step forking_steps[] = {
	{ .op = PFM_SIM_SITE, .ns = 100, .ip = 0x4000 },
	{ .op = PFM_SIM_FORK, .program = &program },
	{ .op = PFM_SIM_THREAD, .program = &program },
	{ .op = PFM_SIM_SITE, .ns = 100000, .ip = 0x4010 },
};
static const struct pfm_sim_program forking = { forking_steps, COUNT(forking_steps) };

void scene_new(void (*prepare)(void))
{
	struct pfm_sim_spawn spawn = { .program = program };
	int tid;

	scene = (struct scene){ .fd = { -1, -1 } };
	CHECK(!pfm_set_machine("sim:itanium2", "cpus=2"), "%s", pfm_explain());
	scene.sim = pfm_sim_get();
	tid = pfm_sim_spawn(scene.sim, &spawn);
	CHECK(tid > 0, "%s", pfm_explain());
	scene.tid = tid;
	if (prepare)
		prepare();
}

/* --- preparing ------------------------------------------------------------------------------ */

static void must(int ret)
{
	CHECK(ret >= 0, "preparing: %s", pfm_explain());
}

static void with_context(void)
{
	pfarg_ctx_t ctx = { 0 };

	must(scene.fd[0] = pfm_create_context(&ctx, NULL, NULL, 0));
}

static void with_system_wide(void)
{
	pfarg_ctx_t ctx = { .ctx_flags = PFM_FL_SYSTEM_WIDE };

	must(scene.fd[0] = pfm_create_context(&ctx, NULL, NULL, 0));
}

static void with_buffer(void)
{
	pfm_dfl_smpl_arg_t arg = { .buf_size = 4096 };
	pfarg_ctx_t ctx = { 0 };

	must(scene.fd[0] = pfm_create_context(&ctx, PFM_DFL_SMPL_NAME, &arg, sizeof(arg)));
	scene.map_size = ctx.ctx_smpl_buf_size;
}

/* Writes as many registers as a set has room for without an allocation. */
static void fill_set(uint16_t id)
{
	pfarg_pmc_t v[PFM_FIRST_REGS] = { { .reg_num = 4 }, { .reg_num = 7 }, { .reg_num = 8 }, { .reg_num = 9 } };
	pfarg_pmd_t pmd = { .reg_num = 4, .reg_set = id, .reg_smpl_pmds = { 0xc000 } };

	for (unsigned int i = 0; i < COUNT(v); i++) {
		v[i].reg_set = id;
		v[i].reg_value = i ? 0 : 0x801208;
	}
	must(pfm_write_pmcs(scene.fd[0], v, COUNT(v)));
	must(pfm_write_pmds(scene.fd[0], &pmd, 1));
}

static void with_sets(void)
{
	pfarg_setdesc_t sets[] = { { .set_id = 1 }, { .set_id = 300 } };

	with_context();
	must(pfm_create_evtsets(scene.fd[0], sets, COUNT(sets)));
	fill_set(0);
	for (unsigned int i = 0; i < COUNT(sets); i++)
		fill_set(sets[i].set_id);
}

static void with_loaded(void)
{
	pfarg_load_t load = { .load_pid = scene.tid };

	with_sets();
	must(pfm_load_context(scene.fd[0], &load));
}

static void with_started(void)
{
	with_loaded();
	must(pfm_start(scene.fd[0], NULL));
	pfm_sim_run_ns(scene.sim, 1000);
}

/* --- contexts ------------------------------------------------------------------------------- */

static int create_plain(int n)
{
	pfarg_ctx_t ctx = { 0 };

	(void)n;
	return scene.fd[1] = pfm_create_context(&ctx, NULL, NULL, 0);
}

static int create_default(int n)
{
	pfm_dfl_smpl_arg_t arg = { .buf_size = 10000 };
	pfarg_ctx_t ctx = { 0 };

	(void)n;
	return scene.fd[1] = pfm_create_context(&ctx, PFM_DFL_SMPL_NAME, &arg, sizeof(arg));
}

static int create_family(int n)
{
	pfm_dfl_smpl_arg_t arg = { .buf_size = 10000 };
	pfarg_ctx_t ctx = { .ctx_flags = PFM_FL_INHERIT };

	(void)n;
	return scene.fd[1] = pfm_create_context(&ctx, PFM_DFL_SMPL_NAME, &arg, sizeof(arg));
}

static int create_program(int n)
{
	static const uint64_t keep = PFM_PROG_KEEP * (1ULL << 32) + 0x06; /* BPF_RET | BPF_K */
	pfm_prog_smpl_arg_t arg = {
		.insns = (uintptr_t)&keep, .num_insns = 1, .num_buckets = 10, .base = PFM_PROG_SMPL_DEFAULT,
		.base_arg = { 20000 },
	};
	pfarg_ctx_t ctx = { 0 };

	(void)n;
	return scene.fd[1] = pfm_create_context_name(&ctx, PFM_PROG_SMPL_NAME, &arg, sizeof(arg));
}

static int create_nway(int n)
{
	pfm_nway_smpl_arg_t arg = { .buf_size = 20000, .num_regions = 2 };
	pfarg_ctx_t ctx = { .ctx_smpl_buf_id = PFM_NWAY_SMPL_UUID };

	(void)n;
	return scene.fd[1] = pfm_create_context(&ctx, &arg, sizeof(arg));
}

static int create_06(int n)
{
	struct {
		struct pfm06_ctx	ctx;
		pfm_default_smpl_arg_t	arg;
	} req = { .ctx.ctx_smpl_buf_id = PFM_DEFAULT_SMPL_UUID, .arg.buf_size = 10000 };
	int ret = perfmonctl(0, PFM_CREATE_CONTEXT, &req, n);

	scene.fd[1] = ret ? -1 : req.ctx.ctx_fd;
	return ret;
}

static int map_buffer(int n)
{
	void *map = pfm_map_buffer(scene.fd[0], scene.map_size);

	(void)n;
	if (map == MAP_FAILED)
		return -1;
	scene.map = map;
	return 0;
}

/* --- registers and sets --------------------------------------------------------------------- */

static const uint16_t in_sets[] = { 0, 1, 300, 0 };

static int write_pmcs(int n)
{
	pfarg_pmc_t v[COUNT(in_sets)] = { { 0 } };

	for (unsigned int i = 0; i < COUNT(in_sets); i++) {
		v[i].reg_num = 5 + i / 2;
		v[i].reg_set = in_sets[i];
		v[i].reg_value = 0x1208 + i;
	}
	return pfm_write_pmcs(scene.fd[0], v, n);
}

static int write_pmds(int n)
{
	pfarg_pmd_t v[COUNT(in_sets)] = { { 0 } };

	for (unsigned int i = 0; i < COUNT(in_sets); i++) {
		v[i].reg_num = 4 + i / 2;
		v[i].reg_set = in_sets[i];
		v[i].reg_value = i;
		v[i].reg_smpl_pmds[0] = 0xc0 | 3ULL << (2 * i + 8);
	}
	return pfm_write_pmds(scene.fd[0], v, n);
}

static int read_pmds(int n)
{
	pfarg_pmd_t v[COUNT(in_sets)] = { { 0 } };

	for (unsigned int i = 0; i < COUNT(in_sets); i++) {
		v[i].reg_num = 4 + i / 2;
		v[i].reg_set = in_sets[i];
	}
	return pfm_read_pmds(scene.fd[0], v, n);
}

static int create_evtsets(int n)
{
	pfarg_setdesc_t v[] = {
		{ .set_id = 2, .set_flags = PFM_SETFL_TIME_SWITCH, .set_timeout = 5000000 },
		{ .set_id = 3 }, { .set_id = 500 }, { .set_id = 65535 },
	};

	return pfm_create_evtsets(scene.fd[0], v, n);
}

static int delete_evtsets(int n)
{
	pfarg_setdesc_t v[] = { { .set_id = 1 }, { .set_id = 300 } };

	return pfm_delete_evtsets(scene.fd[0], v, n);
}

static int getinfo_evtsets(int n)
{
	pfarg_setinfo_t v[] = { { .set_id = 0 }, { .set_id = 300 } };

	return pfm_getinfo_evtsets(scene.fd[0], v, n);
}

/* --- loading and control -------------------------------------------------------------------- */

static int load_thread(int n)
{
	pfarg_load_t load = { .load_pid = scene.tid };

	(void)n;
	return pfm_load_context(scene.fd[0], &load);
}

static int load_cpu(int n)
{
	pfarg_load_t load = { .load_pid = SIM_TOOL_TID };

	(void)n;
	return pfm_load_context(scene.fd[0], &load);
}

static int start(int n)
{
	pfarg_start_t req = { .start_set = 300 };

	(void)n;
	return pfm_start(scene.fd[0], &req);
}

static int stop(int n)
{
	(void)n;
	return pfm_stop(scene.fd[0]);
}

static int unload(int n)
{
	(void)n;
	return pfm_unload_context(scene.fd[0]);
}

/* --- 0.6 ------------------------------------------------------------------------------------ */

static int write_pmcs_06(int n)
{
	struct pfm06_pmc v[COUNT(in_sets)] = { { 0 } };

	for (unsigned int i = 0; i < COUNT(in_sets); i++) {
		v[i].reg_num = 5 + i / 2;
		v[i].reg_set = in_sets[i];
		v[i].reg_value = 0x1208 + i;
	}
	return perfmonctl(scene.fd[0], PFM_WRITE_PMCS, v, n);
}

static int write_pmds_06(int n)
{
	struct pfm06_pmd v[COUNT(in_sets)] = { { 0 } };

	for (unsigned int i = 0; i < COUNT(in_sets); i++) {
		v[i].reg_num = 4 + i / 2;
		v[i].reg_set = in_sets[i];
		v[i].reg_value = i;
	}
	return perfmonctl(scene.fd[0], PFM_WRITE_PMDS, v, n);
}

static int read_pmds_06(int n)
{
	struct pfm06_pmd v[COUNT(in_sets)] = { { 0 } };

	for (unsigned int i = 0; i < COUNT(in_sets); i++)
		v[i].reg_num = 4 + i;
	return perfmonctl(scene.fd[0], PFM_READ_PMDS, v, n);
}

static int create_evtsets_06(int n)
{
	struct pfm06_setdesc v[] = { { .set_id = 2 }, { .set_id = 500 }, { .set_id = 65535 } };

	return perfmonctl(scene.fd[0], PFM_CREATE_EVTSETS, v, n);
}

static int load_06(int n)
{
	struct pfm06_load load = { .load_pid = (pid_t)scene.tid };

	return perfmonctl(scene.fd[0], PFM_LOAD_CONTEXT, &load, n);
}

/* --- the computer --------------------------------------------------------------------------- */

static int new_machine(int n)
{
	int ret = pfm_set_machine("sim:k8", "cpus=3");

	(void)n;
	scene.machines += !ret;
	return ret;
}

static int spawn(int n)
{
	struct pfm_sim_spawn s = { .name = "new", .program = forking };

	(void)n;
	return pfm_sim_spawn(scene.sim, &s);
}

static int interrupt(int n)
{
	static const struct pfm_sim_step site = { .op = PFM_SIM_SITE, .level = PFM_SIM_INTR, .ns = 10 };
	static const struct pfm_sim_program device = { &site, 1 };

	(void)n;
	return pfm_sim_interrupt(scene.sim, 1, 500, 1000, &device);
}

static int share(int n)
{
	(void)n;
	return pfm_sim_share(scene.sim, scene.tid, scene.fd[0], 1);
}

static void with_forking(void)
{
	spawn(1);
}

/* Threads that the monitored one creates must be sampled, or counted as not sampled. */
static void with_family(void)
{
	pfarg_pmd_t pmd = { .reg_num = 4, .reg_value = -3ULL, .reg_long_reset = -3ULL, .reg_short_reset = -3ULL };
	pfm_dfl_smpl_arg_t arg = { .buf_size = 10000 };
	pfarg_ctx_t ctx = { .ctx_flags = PFM_FL_INHERIT };
	pfarg_load_t load = { 0 };

	must(scene.fd[0] = pfm_create_context(&ctx, PFM_DFL_SMPL_NAME, &arg, sizeof(arg)));
	fill_set(0);
	must(pfm_write_pmds(scene.fd[0], &pmd, 1));
	load.load_pid = (uint32_t)spawn(1);
	must(pfm_load_context(scene.fd[0], &load));
	must(pfm_start(scene.fd[0], NULL));
}

static int run(int n)
{
	(void)n;
	return pfm_sim_run_ns(scene.sim, 10000);
}

const struct scenario scenarios[] = {
	{ "pfm_create_context", with_loaded, create_plain, 1, false },
	{ "pfm_create_context, default format", NULL, create_default, 1, false },
	{ "pfm_create_context, inheriting", NULL, create_family, 1, false },
	{ "pfm_create_context, n-way by UUID", NULL, create_nway, 1, false },
	{ "pfm_create_context, a program by name", NULL, create_program, 1, false },
	{ "pfm_map_buffer", with_buffer, map_buffer, 1, false },
	{ "pfm_write_pmcs", with_sets, write_pmcs, 4, false },
	{ "pfm_write_pmcs, loaded", with_started, write_pmcs, 4, false },
	{ "pfm_write_pmds", with_sets, write_pmds, 4, false },
	{ "pfm_write_pmds, loaded", with_started, write_pmds, 4, false },
	{ "pfm_read_pmds", with_started, read_pmds, 4, false },
	{ "pfm_create_evtsets", with_sets, create_evtsets, 4, false },
	{ "pfm_delete_evtsets", with_sets, delete_evtsets, 2, false },
	{ "pfm_getinfo_evtsets", with_started, getinfo_evtsets, 2, false },
	{ "pfm_load_context", with_sets, load_thread, 1, false },
	{ "pfm_load_context, system-wide", with_system_wide, load_cpu, 1, false },
	{ "pfm_start", with_loaded, start, 1, false },
	{ "pfm_stop", with_started, stop, 1, false },
	{ "pfm_unload_context", with_started, unload, 1, false },
	{ "PFM_CREATE_CONTEXT", NULL, create_06, 1, false },
	{ "PFM_WRITE_PMCS", with_sets, write_pmcs_06, 4, false },
	{ "PFM_WRITE_PMDS", with_sets, write_pmds_06, 4, false },
	{ "PFM_READ_PMDS", with_started, read_pmds_06, 4, false },
	{ "PFM_CREATE_EVTSETS", with_sets, create_evtsets_06, 3, false },
	{ "PFM_LOAD_CONTEXT", with_sets, load_06, 1, false },
	{ "pfm_set_machine", with_started, new_machine, 1, false },
	{ "pfm_sim_spawn", with_started, spawn, 1, false },
	{ "pfm_sim_interrupt", NULL, interrupt, 1, false },
	{ "pfm_sim_share", with_context, share, 1, false },
	{ "pfm_sim_run_ns, forking", with_forking, run, 1, true },
	{ "pfm_sim_run_ns, a family", with_family, run, 1, true },
	{ NULL, NULL, NULL, 0, false },
};
