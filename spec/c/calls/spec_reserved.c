// SPDX-License-Identifier: MIT
/*
 * spec_reserved.c - "The interface does check that reserved bits ... are indeed cleared, otherwise
 * an error is returned" (2.3.7): every reserved byte of the pfm_* calls' structures, and the error
 * flags in vectors (3.1.2 - 3.1.4, 3.1.10). On the simulated computer.
 */
#include <unistd.h>

#include "perfmon/perfmon.h"
#include "perfmon/sim.h"
#include "../parts.h"

/* Makes the call with each byte of obj.field set in turn: it must fail with EINVAL. */
#define RESERVED(obj, field, call) do {						\
	for (size_t i_ = 0; i_ < sizeof((obj).field); i_++) {			\
		unsigned char *byte_ = (unsigned char *)&(obj).field + i_;	\
										\
		*byte_ = 0x10;							\
		CHECK((call) == -1 && errno == EINVAL);				\
		*byte_ = 0;							\
	}									\
} while (0)

static int new_context(void)
{
	pfarg_ctx_t ctx = { 0 };

	return pfm_create_context(&ctx, NULL, NULL, 0);
}

static void contexts(void)
{
	pfarg_ctx_t ctx = { 0 };
	int fd;

	RESERVED(ctx, ctx_reserved, pfm_create_context(&ctx, NULL, NULL, 0));
	/* the format is named by an argument, not by its UUID */
	RESERVED(ctx, ctx_smpl_buf_id, pfm_create_context(&ctx, NULL, NULL, 0));
	ctx.ctx_fd = -7;	/* ignored on input */
	ctx.ctx_smpl_buf_size = 7;
	fd = pfm_create_context(&ctx, NULL, NULL, 0);
	CHECK(fd >= 0 && ctx.ctx_fd == fd && ctx.ctx_smpl_buf_size == 0);
	close(fd);
}

static void registers(void)
{
	pfarg_pmc_t pmc = { .reg_num = 4 };
	pfarg_pmd_t pmd = { .reg_num = 4 };
	int fd = new_context();

	RESERVED(pmc, reg_reserved, pfm_write_pmcs(fd, &pmc, 1));
	CHECK(pmc.reg_flags == PFM_REG_RETFL_EINVAL);
	CHECK(!pfm_write_pmcs(fd, &pmc, 1) && pmc.reg_flags == 0);
	RESERVED(pmd, reg_reserved, pfm_write_pmds(fd, &pmd, 1));
	CHECK(pmd.reg_flags == PFM_REG_RETFL_EINVAL);
	CHECK(!pfm_write_pmds(fd, &pmd, 1) && pmd.reg_flags == 0);
	RESERVED(pmd, reg_reserved, pfm_read_pmds(fd, &pmd, 1));
	CHECK(pmd.reg_flags == PFM_REG_RETFL_EINVAL);
	CHECK(!pfm_read_pmds(fd, &pmd, 1) && pmd.reg_flags == 0);
	close(fd);
}

static void sets(void)
{
	pfarg_setdesc_t set = { .set_id = 1 };
	pfarg_setinfo_t info = { .set_id = 1 };
	int fd = new_context();

	RESERVED(set, set_reserved, pfm_create_evtsets(fd, &set, 1));
	CHECK(set.set_flags == PFM_SET_RETFL_EINVAL);
	CHECK(pfm_getinfo_evtsets(fd, &info, 1) == -1 && info.set_flags == PFM_SET_RETFL_NOSET);
	CHECK(!pfm_create_evtsets(fd, &set, 1) && set.set_flags == 0);
	CHECK(!pfm_getinfo_evtsets(fd, &info, 1) && info.set_flags == 0);
	close(fd);
}

static void loading(void)
{
	struct pfm_sim *sim = pfm_sim_get();
	struct pfm_sim_step steps[] = {
		{ .op = PFM_SIM_LOOP, .count = 10 }, { .op = PFM_SIM_SITE, .ns = 10 }, { .op = PFM_SIM_END },
	};
	struct pfm_sim_spawn spawn = { .program = { steps, 3 } };
	pfarg_load_t load = { .load_pid = (uint32_t)pfm_sim_spawn(sim, &spawn) };
	pfarg_start_t start = { 0 };
	int fd = new_context();

	RESERVED(load, load_reserved1, pfm_load_context(fd, &load));
	RESERVED(load, load_reserved2, pfm_load_context(fd, &load));
	CHECK(!pfm_load_context(fd, &load));
	RESERVED(start, start_reserved1, pfm_start(fd, &start));
	RESERVED(start, start_reserved2, pfm_start(fd, &start));
	RESERVED(start, start_reserved3, pfm_start(fd, &start));
	CHECK(!pfm_start(fd, &start));
	close(fd);
	pfm_sim_put(sim);
}

static void configuration(void)
{
	pfarg_config_t cfg;

	CHECK(!pfm_get_config(&cfg));
	RESERVED(cfg, cf_reserved1, pfm_set_config(&cfg));
	RESERVED(cfg, cf_reserved2, pfm_set_config(&cfg));
	CHECK(!pfm_set_config(&cfg));
}

int main(void)
{
	CHECK(!pfm_set_machine("sim:itanium2", NULL));
	contexts();
	registers();
	sets();
	loading();
	configuration();
	return failures != 0;
}
