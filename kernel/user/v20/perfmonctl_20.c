// SPDX-License-Identifier: MIT
/*
 * perfmonctl_20.c - perfmon 2.0's call on Linux/ia64, on top of that of specification 0.6. The
 * commands have the same numbers, and registers the same meaning, but the structures have another
 * layout.
 */
#include <stddef.h>
#include <unistd.h>

#include "perfmon/perfmon.h"
#define PFM06_INTERNAL
#include "perfmon/perfmonctl.h"
#define PFM20_INTERNAL
#include "ia64/perfmon/perfmon.h"
#include "desc.h"
#include "smpl_20.h"

#define VERSION_20	(2U << 16)
#define IBR		256	/* numbers of the PMCs that represent debug registers (5.6.1) */
#define DBR		264
#define NUM_BREAKS	8

int pfm_perfmonctl_20(int fd, int cmd, void *arg, int narg);

static int wants(const void *arg, int n, bool one)
{
	if (arg && n > 0 && (n == 1 || !one))
		return 0;
	return pfm_result(pfm_refuse(-EINVAL, arg ? "%d structures do not go with the command" :
						    "the argument is NULL", n));
}

/* --- contexts ------------------------------------------------------------------------------- */

/* Marks the context: from now on its messages have the layout of 2.0. */
static int speak_20(int fd)
{
	sigset_t saved;
	struct pfm_desc *d = pfm_desc_enter(fd, &saved);

	if (d)
		d->by_20 = true;
	pfm_desc_leave(d, &saved);
	if (!d)
		pfm_refuse(0, "perfmonctl() of perfmon 2.0 works on the machines perf and sim, not linux");
	return d ? 0 : -1;
}

static int map_buffer(struct pfm20_context *req, size_t size)
{
	void *at = size ? pfm_map_buffer(req->ctx_fd, size) : NULL;

	if (at == MAP_FAILED)
		return -1;
	req->ctx_smpl_vaddr = at;
	return 0;
}

/* Specification 0.6 expects the format's argument directly after its own structure. */
struct create_06 {
	struct pfm06_ctx	ctx;
	struct pfm_smpl_20_arg	smpl;
};

static int create(struct pfm20_context *req)
{
	struct create_06 c = { .ctx.ctx_flags = (uint32_t)req->ctx_flags };
	bool samples = !pfm_all_zero(req->ctx_smpl_buf_id, sizeof(req->ctx_smpl_buf_id));

	_Static_assert(offsetof(struct create_06, smpl) == sizeof(struct pfm06_ctx), "the argument follows");
	if (samples && pfm_smpl_20_choose(req->ctx_smpl_buf_id, c.ctx.ctx_smpl_buf_id))
		return -1;
	if (samples)
		memcpy(&c.smpl, req + 1, sizeof(c.smpl));
	if (perfmonctl(0, PFM_CREATE_CONTEXT, &c, 1))
		return -1;
	req->ctx_fd = c.ctx.ctx_fd;
	if (!speak_20(req->ctx_fd) && !map_buffer(req, c.ctx.ctx_smpl_buf_size))
		return 0;
	close(req->ctx_fd);
	return -1;
}

static int create_context(int fd, void *arg, int n)
{
	struct pfm20_context *req = arg;

	(void)fd;
	if (wants(arg, n, true))
		return -1;
	if (req->ctx_nextra_sets || req->ctx_flags >> 32)
		return pfm_result(pfm_refuse(-EINVAL, "ctx_nextra_sets must be 0, and ctx_flags has 32 bits"));
	return create(req);
}

static int load_context(int fd, void *arg, int n)
{
	const struct pfm20_load *req = arg;
	struct pfm06_load load = { 0 };

	if (wants(arg, n, true))
		return -1;
	load.load_pid = req->load_pid;
	load.load_set = req->load_set;
	return perfmonctl(fd, PFM_LOAD_CONTEXT, &load, 1);
}

/* --- registers ------------------------------------------------------------------------------ */

static void put_errors(unsigned long *flags, uint32_t from)
{
	*flags = (*flags & ~(unsigned long)PFM_REG_RETFL_MASK) | (from & PFM_REG_RETFL_MASK);
}

/*
 * Stores the result of an element. perfmon 2.0 has no flag for a set that does not exist: that
 * counts as a bad value.
 */
static int result(int ret, unsigned long *flags, uint32_t from)
{
	put_errors(flags, from & PFM_REG_RETFL_NOSET ? PFM_REG_RETFL_EINVAL : from);
	return ret;
}

static int write_pmc(int fd, struct pfm20_reg *req)
{
	struct pfm06_pmc pmc = {
		.reg_num = (uint16_t)req->reg_num, .reg_set = req->reg_set, .reg_value = req->reg_value,
		.reg_flags = req->reg_flags & (PFM_REGFL_OVFL_NOTIFY | PFM_REGFL_RANDOM),
		.reg_smpl_eventid = req->reg_smpl_eventid,
	};

	memcpy(pmc.reg_reset_pmds, req->reg_reset_pmds, sizeof(req->reg_reset_pmds));
	memcpy(pmc.reg_smpl_pmds, req->reg_smpl_pmds, sizeof(req->reg_smpl_pmds));
	return result(perfmonctl(fd, PFM_WRITE_PMCS, &pmc, 1), &req->reg_flags, pmc.reg_flags);
}

static int write_pmd(int fd, struct pfm20_reg *req)
{
	struct pfm06_pmd pmd = {
		.reg_num = (uint16_t)req->reg_num, .reg_set = req->reg_set, .reg_value = req->reg_value,
		.reg_long_reset = req->reg_long_reset, .reg_short_reset = req->reg_short_reset,
		.reg_random_mask = req->reg_random_mask, .reg_random_seed = (uint32_t)req->reg_random_seed,
	};

	return result(perfmonctl(fd, PFM_WRITE_PMDS, &pmd, 1), &req->reg_flags, pmd.reg_flags);
}

static int read_pmd(int fd, struct pfm20_reg *req)
{
	struct pfm06_pmd pmd = { .reg_num = (uint16_t)req->reg_num, .reg_set = req->reg_set };
	int ret = perfmonctl(fd, PFM_READ_PMDS, &pmd, 1);

	if (!ret) {
		req->reg_value = pmd.reg_value;
		req->reg_last_reset_val = pmd.reg_last_reset_val;
	}
	return result(ret, &req->reg_flags, pmd.reg_flags);
}

/* Gets the default value of a PMC. */
static int reset_value(int fd, struct pfm20_reg *req)
{
	struct pfm06_reginfo info = { .reg_num = (uint16_t)req->reg_num };
	int ret = perfmonctl(fd, PFM_GETINFO_PMCS, &info, 1);

	if (!ret)
		req->reg_value = info.reg_def_value;
	return result(ret, &req->reg_flags, info.reg_flags);
}

static int each_reg(int fd, void *arg, int n, int (*fn)(int, struct pfm20_reg *))
{
	struct pfm20_reg *v = arg;
	int ret = wants(arg, n, false);

	for (int i = 0; i < n && !ret; i++) {
		if (v[i].reg_num > UINT16_MAX) {
			put_errors(&v[i].reg_flags, PFM_REG_RETFL_EINVAL);
			return pfm_result(pfm_refuse(-EINVAL, "element %d: there is no register %u", i + 1,
						     v[i].reg_num));
		}
		ret = fn(fd, &v[i]);
	}
	return ret;
}

static int write_breaks(int fd, void *arg, int n, uint16_t first)
{
	struct pfm20_dbreg *v = arg;
	int ret = wants(arg, n, false);

	for (int i = 0; i < n && !ret; i++) {
		struct pfm06_pmc pmc = { .reg_num = (uint16_t)(first + v[i].dbreg_num),
					 .reg_set = v[i].dbreg_set, .reg_value = v[i].dbreg_value };

		if (v[i].dbreg_num >= NUM_BREAKS) {
			put_errors(&v[i].dbreg_flags, PFM_REG_RETFL_EINVAL);
			return pfm_result(pfm_refuse(-EINVAL, "element %d: there is no debug register %u", i + 1,
						     v[i].dbreg_num));
		}
		ret = result(perfmonctl(fd, PFM_WRITE_PMCS, &pmc, 1), &v[i].dbreg_flags, pmc.reg_flags);
	}
	return ret;
}

/* --- dispatching a command ------------------------------------------------------------------ */

static int features(void *arg, int n)
{
	struct pfm20_features *ft = arg;

	if (wants(arg, n, true))
		return -1;
	memset(ft, 0, sizeof(*ft));
	ft->ft_version = VERSION_20;
	return 0;
}

/*
 * Carries out a command of perfmon 2.0. start, stop, restart and unload are passed on to 0.6
 * without an argument, because old programs pass any value with them.
 */
int pfm_perfmonctl_20(int fd, int cmd, void *arg, int narg)
{
	switch (cmd) {
	case PFM_CREATE_CONTEXT:	return create_context(fd, arg, narg);
	case PFM_LOAD_CONTEXT:		return load_context(fd, arg, narg);
	case PFM_WRITE_PMCS:		return each_reg(fd, arg, narg, write_pmc);
	case PFM_WRITE_PMDS:		return each_reg(fd, arg, narg, write_pmd);
	case PFM_READ_PMDS:		return each_reg(fd, arg, narg, read_pmd);
	case PFM_WRITE_IBRS:		return write_breaks(fd, arg, narg, IBR);
	case PFM_WRITE_DBRS:		return write_breaks(fd, arg, narg, DBR);
	case PFM_GET_PMC_RESET_VAL:	return each_reg(fd, arg, narg, reset_value);
	case PFM_GET_FEATURES:		return features(arg, narg);
	case PFM_DEBUG:			return 0;
	case PFM_START:
	case PFM_STOP:
	case PFM_RESTART:
	case PFM_UNLOAD_CONTEXT:	return perfmonctl(fd, cmd, NULL, 0);
	}
	return pfm_result(pfm_refuse(-EINVAL, "perfmon 2.0 has no command %#x", (unsigned int)cmd));
}
