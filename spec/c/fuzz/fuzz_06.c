// SPDX-License-Identifier: MIT
/* fuzz_06.c - perfmonctl(), with arguments out of the fuzzer's bytes. */
#include <stdlib.h>

#include "fuzz.h"
#define PFM06_INTERNAL
#include "perfmon/perfmonctl.h"

#define R (&fuzz.rng)

struct command {
	int	cmd;
	size_t	size;			/* size of an element; 0: the command takes none */
	void	(*fill)(void *element);
};

static void fill_pmc(void *p)
{
	struct pfm06_pmc *v = p;

	v->reg_num = fuzz_reg();
	v->reg_set = fuzz_set();
	v->reg_flags = fuzz_bits(7);
	v->reg_value = fuzz_value();
	if (rng_chance(R, 70))
		fuzz_encode(v->reg_num, &v->reg_value);
	fuzz_bv(v->reg_reset_pmds);
	fuzz_bv(v->reg_smpl_pmds);
}

static void fill_pmd(void *p)
{
	struct pfm06_pmd *v = p;

	v->reg_num = fuzz_reg();
	v->reg_set = fuzz_set();
	v->reg_value = fuzz_value();
	v->reg_long_reset = fuzz_value();
	v->reg_short_reset = fuzz_value();
	v->reg_ovflsw_thres = rng_below(R, 3);
	v->reg_random_mask = fuzz_value();
}

static void fill_read(void *p)
{
	struct pfm06_pmd *v = p;

	v->reg_num = fuzz_reg();
	v->reg_set = fuzz_set();
	v->reg_flags = fuzz_bits(PFM_REGFL_READ_RESET);
}

static void fill_start(void *p)
{
	((struct pfm06_start *)p)->start_set = fuzz_set();
}

static void fill_load(void *p)
{
	struct pfm06_load *v = p;

	v->load_pid = rng_chance(R, 30) ? SIM_TOOL_TID : (pid_t)(SIM_FIRST_TID + rng_below(R, 8));
	v->load_set = rng_chance(R, 80) ? 0 : fuzz_set();
}

static void fill_setdesc(void *p)
{
	struct pfm06_setdesc *v = p;

	v->set_id = fuzz_set();
	v->set_id_next = fuzz_set();
	v->set_flags = fuzz_bits(0x3001f);
	v->set_timeout.tv_nsec = (long)rng_log(R, 1, 2000000000);
	v->set_timeout.tv_sec = rng_chance(R, 90) ? 0 : (time_t)rng_next(R);
}

static void fill_delete(void *p)
{
	((struct pfm06_setdesc *)p)->set_id = fuzz_set();
}

static void fill_setinfo(void *p)
{
	((struct pfm06_setinfo *)p)->set_id = fuzz_set();
}

static void fill_reginfo(void *p)
{
	((struct pfm06_reginfo *)p)->reg_num = fuzz_reg();
}

static void fill_config(void *p)
{
	struct pfm06_config *v = p;

	v->cf_sys_gid = v->cf_thread_gid = PFM_GROUP_ANY;
	v->cf_arg_size_max = 4096 + rng_below(R, 60000);
	v->cf_smpl_buf_size_max = rng_log(R, 4096, UINT64_MAX);
	v->cf_flags = fuzz_bits(0);
}

static const struct command commands[] = {
	{ PFM_WRITE_PMCS, sizeof(struct pfm06_pmc), fill_pmc },
	{ PFM_WRITE_PMDS, sizeof(struct pfm06_pmd), fill_pmd },
	{ PFM_READ_PMDS, sizeof(struct pfm06_pmd), fill_read },
	{ PFM_START, 0, NULL },
	{ PFM_START, sizeof(struct pfm06_start), fill_start },
	{ PFM_STOP, 0, NULL },
	{ PFM_RESTART, 0, NULL },
	{ PFM_LOAD_CONTEXT, sizeof(struct pfm06_load), fill_load },
	{ PFM_UNLOAD_CONTEXT, 0, NULL },
	{ PFM_CREATE_EVTSETS, sizeof(struct pfm06_setdesc), fill_setdesc },
	{ PFM_DELETE_EVTSETS, sizeof(struct pfm06_setdesc), fill_delete },
	{ PFM_GETINFO_EVTSETS, sizeof(struct pfm06_setinfo), fill_setinfo },
	{ PFM_GETINFO_PMCS, sizeof(struct pfm06_reginfo), fill_reginfo },
	{ PFM_GETINFO_PMDS, sizeof(struct pfm06_reginfo), fill_reginfo },
	{ PFM_SET_CONFIG, sizeof(struct pfm06_config), fill_config },
	{ PFM_GET_CONFIG, sizeof(struct pfm06_config), fill_config },
};

static bool takes_one(int cmd)
{
	return cmd == PFM_START || cmd == PFM_LOAD_CONTEXT || cmd == PFM_SET_CONFIG ||
	       cmd == PFM_GET_CONFIG;
}

static void call(const struct command *c, int fd)
{
	int n = takes_one(c->cmd) && rng_chance(R, 90) ? 1 : fuzz_count();
	size_t elements = n > 0 && n <= FUZZ_ELEMENTS ? n : 1;
	char *arg = calloc(elements, c->size);

	CHECK(arg, "no memory");
	for (size_t i = 0; i < elements; i++) {
		c->fill(arg + i * c->size);
		/* a larger limit would allow more than FUZZ_ELEMENTS */
		if (c->cmd != PFM_SET_CONFIG)
			fuzz_spoil(arg + i * c->size, c->size);
	}
	perfmonctl(fd, c->cmd, rng_below(R, 64) == 63 ? NULL : arg, n);
	free(arg);
}

static void create(void)
{
	struct {
		struct pfm06_ctx	ctx;
		char			arg[FUZZ_FMT_ARG];
	} req = { .ctx.ctx_flags = fuzz_bits(0x3008b) };

	fuzz_format(req.ctx.ctx_smpl_buf_id, req.arg);
	if (rng_chance(R, 50))
		req.ctx.ctx_flags &= PFM_FL_SYSTEM_WIDE;
	if (!perfmonctl(0, PFM_CREATE_CONTEXT, &req, rng_below(R, 32) == 31 ? 2 : 1))
		fuzz_put(req.ctx.ctx_fd, req.ctx.ctx_smpl_buf_size);
}

void fuzz_perfmonctl(void)
{
	int slot, fd = fuzz_fd(&slot);
	uint32_t what = rng_below(R, COUNT(commands) + 3);

	if (what >= COUNT(commands) + 2)
		perfmonctl(fd, (int)rng_next(R), NULL, 0);
	else if (what >= COUNT(commands))
		create();
	else if (commands[what].size)
		call(&commands[what], fd);
	else
		perfmonctl(fd, commands[what].cmd, NULL, rng_below(R, 32) == 31 ? 1 : 0);
}
