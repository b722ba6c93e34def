// SPDX-License-Identifier: MIT
/*
 * perfmonctl.c - perfmonctl(), the single call of specification 0.6 (chapter 3), by means of the
 * pfm_*() calls.
 *
 * In 0.6 notification, randomization and the two bit-vectors are attributes of the PMC that
 * controls a PMD. Here a write of the PMC writes them to the counting PMDs that it controls
 * (PFM_REGFL_ATTRS), and a write of a PMD writes only its values (PFM_REGFL_VALUES).
 */
#include <stdlib.h>
#include <unistd.h>

#include "perfmon/perfmon.h"
#define PFM06_INTERNAL
#include "perfmon/perfmonctl.h"
#include "calls.h"
#include "desc.h"
#include "module_client.h"

/*
 * How a command is carried out: with its argument; or by a call that takes none, which needs a
 * loaded context; or element by element, each of size bytes.
 */
struct command {
	int	(*with)(int fd, void *arg, int n);
	int	(*without)(int fd);
	int	(*each)(int fd, void *element);
	size_t	size;
	/*
	 * the errnos that it may return in addition to ANYWHERE, and the one that replaces any
	 * other
	 */
	uint64_t listed;
	int	rest;
};

/*
 * The specification says for each command that "the value of errno can be any one of" a list. So
 * perfmonctl() reports an errno from its command's list, while the pfm_*() calls report the errnos
 * of perfmon 2.x. Some errnos that the lists leave out are kept, because none in the lists means
 * the same: EBADF, EINVAL for arguments that the command's text excludes, and ENOMEM.
 */
#define BIT(err)	(1ULL << (err))
#define ANYWHERE	(BIT(EBADF) | BIT(EINVAL) | BIT(EFAULT) | BIT(ENOSYS) | BIT(ENOMEM))

/* --- results -------------------------------------------------------------------------------- */

/* A wrong number of structures is refused with EFAULT (3.1.7, 3.1.16). */
static int wants_one(const void *arg, int n)
{
	if (arg && n == 1)
		return 0;
	return pfm_result(pfm_refuse(-EFAULT, arg ? "the command takes 1 structure, not %d" :
						    "the argument is NULL", n));
}

static int wants_none(const void *arg, int n)
{
	if (!arg && !n)
		return 0;
	return pfm_result(pfm_refuse(-EINVAL, "the command takes no argument"));
}

/* Refuses an empty vector with EINVAL, and one that is NULL or too big with EFAULT (3.1.2). */
static int wants_vector(const void *arg, int n, size_t size)
{
	PFM_HOLD_MACHINE(m);
	pfarg_config_t cfg;

	if (n <= 0)
		return pfm_result(pfm_refuse(-EINVAL, "the vector must have at least 1 element, not %d", n));
	if (!arg)
		return pfm_result(pfm_refuse(-EFAULT, "the vector is NULL"));
	if (m && !pfm_linux_is(m))
		return pfm_check_vector(m, n, size) ? pfm_result(-EFAULT) : 0;
	if (pfm_get_config(&cfg))
		return -1;
	if ((uint64_t)n * size <= cfg.cf_arg_size_max)
		return 0;
	return pfm_result(pfm_refuse(-EFAULT, "%d elements of %u bytes exceed the limit of %llu bytes", n,
				     (unsigned int)size, (unsigned long long)cfg.cf_arg_size_max));
}

/*
 * Returns 0 if the context is loaded. Otherwise it fails with EBUSY, the only errno that 0.6 has
 * for start, stop, unload and restart.
 */
static int wants_loaded(int fd)
{
	int loaded = pfm_is_loaded(fd);

	if (loaded < 0)
		return -1;
	if (loaded)
		return 0;
	return pfm_result(pfm_refuse(-EBUSY, "the context is not loaded"));
}

/* --- time ----------------------------------------------------------------------------------- */

#define NS_PER_S 1000000000L

static int to_ns(const struct timespec *t, uint64_t *ns)
{
	if (t->tv_sec < 0 || t->tv_nsec < 0 || t->tv_nsec >= NS_PER_S ||
	    (uint64_t)t->tv_sec > INT64_MAX / NS_PER_S)
		return pfm_result(pfm_refuse(-EINVAL, "set_timeout: tv_sec is negative or too large, or tv_nsec is "
					     "not in 0..999999999"));
	*ns = (uint64_t)t->tv_sec * NS_PER_S + (uint64_t)t->tv_nsec;
	return 0;
}

static struct timespec to_timespec(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S) };
}

/* --- contexts ------------------------------------------------------------------------------- */

/* The format's argument follows the structure (3.5.3). */
static int create_context(int fd, void *arg, int n)
{
	struct pfm06_ctx *req = arg;
	pfarg_ctx_t ctx = { 0 };

	(void)fd;
	if (wants_one(arg, n))
		return -1;
	ctx.ctx_flags = req->ctx_flags;
	memcpy(ctx.ctx_smpl_buf_id, req->ctx_smpl_buf_id, sizeof(ctx.ctx_smpl_buf_id));
	if (pfm_create_06(&ctx, req + 1) < 0)
		return -1;
	req->ctx_fd = ctx.ctx_fd;
	req->ctx_smpl_buf_size = ctx.ctx_smpl_buf_size;
	return 0;
}

static int load_context(int fd, void *arg, int n)
{
	struct pfm06_load *req = arg;
	pfarg_load_t load = { 0 };

	if (wants_one(arg, n))
		return -1;
	load.load_pid = (uint32_t)req->load_pid;
	load.load_set = req->load_set;
	return pfm_load_context(fd, &load);
}

static int start(int fd, void *arg, int n)
{
	pfarg_start_t start = { 0 };

	if ((arg || n) && wants_one(arg, n))
		return -1;
	if (wants_loaded(fd))
		return -1;
	if (!arg)
		return pfm_start(fd, NULL);
	start.start_set = ((struct pfm06_start *)arg)->start_set;
	return pfm_start(fd, &start);
}

/* --- registers ------------------------------------------------------------------------------ */

/*
 * Writes the flags, bit-vectors and event id of a PMC to the counting PMDs that it controls. If how
 * is PFM_REGFL_CHECK, the writes are only checked.
 */
static int write_attrs(int fd, const struct pfm_pmu *pmu, struct pfm06_pmc *req, uint32_t how)
{
	for (unsigned int i = 0; i < pmu->num_pmds; i++) {
		const struct pfm_reg *reg = &pmu->pmds[i];
		pfarg_pmd_t pmd = { .reg_num = reg->num, .reg_set = req->reg_set };

		if (reg->ctrl != req->reg_num || !(reg->kind & PFM_REG_C64))
			continue;
		pmd.reg_flags = PFM_REGFL_ATTRS | how |
				(req->reg_flags & (PFM_REGFL_OVFL_NOTIFY | PFM_REGFL_RANDOM));
		memcpy(pmd.reg_reset_pmds, req->reg_reset_pmds, sizeof(pmd.reg_reset_pmds));
		memcpy(pmd.reg_smpl_pmds, req->reg_smpl_pmds, sizeof(pmd.reg_smpl_pmds));
		pmd.reg_smpl_eventid = req->reg_smpl_eventid;
		if (pfm_write_pmds(fd, &pmd, 1)) {
			req->reg_flags |= pmd.reg_flags & PFM_REG_RETFL_MASK;
			return -1;
		}
	}
	return 0;
}

/* 5.6.3: debug registers have no flags. */
static uint32_t pmc_flags(const struct pfm_pmu *pmu, uint16_t num)
{
	const struct pfm_reg *reg = pfm_pmu_pmc(pmu, num);
	bool debug = reg && (reg->type == PFM_REG_TYPE_IBR || reg->type == PFM_REG_TYPE_DBR);

	return debug ? 0 : PFM_REGFL_OVFL_NOTIFY | PFM_REGFL_RANDOM | PFM_REGFL_NO_64BIT_EMUL;
}

static int write_pmc(int fd, const struct pfm_pmu *pmu, struct pfm06_pmc *req)
{
	uint32_t known = pmc_flags(pmu, req->reg_num);
	pfarg_pmc_t pmc = { .reg_num = req->reg_num, .reg_set = req->reg_set, .reg_value = req->reg_value };
	pfarg_pmc_t was = { .reg_num = req->reg_num, .reg_set = req->reg_set };
	bool known_was = pfm_get_pmc(fd, &was);
	int err;

	req->reg_flags &= ~PFM_REG_RETFL_MASK;
	if (req->reg_flags & ~known) {
		pfm_refuse(0, "unknown reg_flags %#x", req->reg_flags & ~known);
		req->reg_flags |= PFM_REG_RETFL_EINVAL;
		return pfm_result(-EINVAL);
	}
	pmc.reg_flags = req->reg_flags & PFM_REGFL_NO_64BIT_EMUL;
	/*
	 * the attributes are checked first, so that nothing is written if either they or the PMC
	 * are refused
	 */
	if (write_attrs(fd, pmu, req, PFM_REGFL_CHECK))
		return -1;
	if (pfm_write_pmcs(fd, &pmc, 1)) {
		req->reg_flags |= pmc.reg_flags & PFM_REG_RETFL_MASK;
		return -1;
	}
	if (!write_attrs(fd, pmu, req, 0))
		return 0;
	/* the machine can refuse the attributes because of the new value, which is taken back */
	err = errno;
	if (known_was)
		pfm_write_pmcs(fd, &was, 1);
	errno = err;
	return -1;
}

static int write_pmcs(int fd, void *arg, int n)
{
	const struct pfm_pmu *pmu = pfm_pmu_of(fd);
	struct pfm06_pmc *v = arg;
	int ret = 0;

	if (!pmu || wants_vector(arg, n, sizeof(*v)))
		return -1;
	for (int i = 0; i < n && !ret; i++)
		ret = write_pmc(fd, pmu, &v[i]);
	return ret;
}

static int write_pmd(int fd, void *element)
{
	struct pfm06_pmd *req = element;
	pfarg_pmd_t pmd = {
		.reg_num = req->reg_num, .reg_set = req->reg_set, .reg_value = req->reg_value,
		.reg_flags = PFM_REGFL_VALUES, .reg_long_reset = req->reg_long_reset,
		.reg_short_reset = req->reg_short_reset, .reg_ovfl_switch_cnt = req->reg_ovflsw_thres,
		.reg_random_mask = req->reg_random_mask, .reg_random_seed = req->reg_random_seed,
	};
	int ret;

	req->reg_flags &= ~PFM_REG_RETFL_MASK;
	if (req->reg_flags) {
		pfm_refuse(0, "unknown reg_flags %#x", req->reg_flags);
		req->reg_flags |= PFM_REG_RETFL_EINVAL;
		return pfm_result(-EINVAL);
	}
	ret = pfm_write_pmds(fd, &pmd, 1);
	req->reg_flags |= pmd.reg_flags & PFM_REG_RETFL_MASK;
	return ret;
}

/*
 * All but the return flag bits are reserved (3.1.4, 3.1.11, 3.1.12). Clears the bits in mask, and
 * refuses any other bit. perfmon 2.x instead ignores flags that are for other commands.
 */
static int reserved_flags(uint32_t *flags, uint32_t mask, uint32_t mark, const char *field)
{
	*flags &= ~mask;
	if (!*flags)
		return 0;
	pfm_refuse(0, "%s: there are no flags for this command, not %#x", field, *flags);
	*flags |= mark;
	return pfm_result(-EINVAL);
}

static void result_of_read(struct pfm06_pmd *to, const pfarg_pmd_t *from)
{
	to->reg_value = from->reg_value;
	to->reg_last_reset_val = from->reg_last_reset_val;
	to->reg_ovflsw_thres = from->reg_ovfl_switch_cnt;
}

/* Reads up to 16 PMDs by one call, so that their values are of one moment. */
static int read_pmds(int fd, void *arg, int n)
{
	struct pfm06_pmd *v = arg;
	pfarg_pmd_t *pmds;
	int ret = 0, good = 0, known = 0;

	if (!pfm_pmu_of(fd) || wants_vector(arg, n, sizeof(*v)))
		return -1;
	while (known < n && !(v[known].reg_flags & ~(PFM_REG_RETFL_MASK | PFM_REGFL_READ_RESET)))
		known++;
	pmds = pfm_os_calloc((unsigned int)n, sizeof(*pmds));
	if (!pmds)
		return pfm_result(pfm_refuse(-ENOMEM, "no memory for %d elements", n));
	for (int i = 0; i < n; i++) {
		pmds[i].reg_num = v[i].reg_num;
		pmds[i].reg_set = v[i].reg_set;
		pmds[i].reg_flags = v[i].reg_flags;
	}
	/*
	 * n structures of 2.x can exceed the limit on the size of arguments even if n structures of
	 * 0.6 do not
	 */
	for (int done = 0, step; done < known && !ret; done += step) {
		step = known - done < 16 ? known - done : 16;
		ret = pfm_read_pmds(fd, pmds + done, step);
	}
	if (!ret && known < n)
		ret = reserved_flags(&pmds[known].reg_flags, PFM_REG_RETFL_MASK | PFM_REGFL_READ_RESET,
				     PFM_REG_RETFL_EINVAL, "reg_flags");
	for (; good < n; good++) {
		v[good].reg_flags = pmds[good].reg_flags;
		if (PFM_REG_HAS_ERROR(pmds[good].reg_flags))
			break;
		result_of_read(&v[good], &pmds[good]);
	}
	pfm_os_free(pmds);
	return ret;
}

/* --- event sets ----------------------------------------------------------------------------- */

static int create_evtset(int fd, void *element)
{
	struct pfm06_setdesc *req = element;
	pfarg_setdesc_t d = { .set_id = req->set_id, .set_id_next = req->set_id_next,
			      .set_flags = req->set_flags };
	int ret;

	if ((req->set_flags & PFM_SETFL_TIME_SWITCH) && to_ns(&req->set_timeout, &d.set_timeout)) {
		req->set_flags |= PFM_SET_RETFL_EINVAL;
		return -1;
	}
	ret = pfm_create_evtsets(fd, &d, 1);
	req->set_flags = d.set_flags;
	if (!ret && (d.set_flags & PFM_SETFL_TIME_SWITCH))
		req->set_timeout = to_timespec(d.set_timeout);
	return ret;
}

static int delete_evtset(int fd, void *element)
{
	struct pfm06_setdesc *req = element;
	pfarg_setdesc_t d = { .set_id = req->set_id };
	int ret;

	if (reserved_flags(&req->set_flags, PFM_SET_RETFL_MASK, PFM_SET_RETFL_EINVAL, "set_flags"))
		return -1;
	ret = pfm_delete_evtsets(fd, &d, 1);

	req->set_flags = d.set_flags;
	return ret;
}

static int getinfo_evtset(int fd, void *element)
{
	struct pfm06_setinfo *req = element;
	pfarg_setinfo_t info = { .set_id = req->set_id };
	int ret;

	if (reserved_flags(&req->set_flags, PFM_SET_RETFL_MASK, PFM_SET_RETFL_EINVAL, "set_flags"))
		return -1;
	ret = pfm_getinfo_evtsets(fd, &info, 1);

	req->set_flags = info.set_flags;
	if (ret)
		return ret;
	req->set_id_next = info.set_id_next;
	memcpy(req->set_switch_pmds, info.set_ovfl_pmds, sizeof(req->set_switch_pmds));
	req->set_runs = info.set_runs;
	req->set_timeout = to_timespec(info.set_timeout);
	req->set_act_duration = to_timespec(info.set_act_duration);
	return 0;
}

/* --- the PMU and the configuration ---------------------------------------------------------- */

static int getinfo_regs(void *arg, int n, int (*fn)(pfarg_reginfo_t *, int))
{
	struct pfm06_reginfo *v = arg;

	if (wants_vector(arg, n, sizeof(*v)))
		return -1;
	for (int i = 0; i < n; i++) {
		pfarg_reginfo_t info = { .reg_num = v[i].reg_num, .reg_flags = v[i].reg_flags };
		int ret = fn(&info, 1);

		v[i].reg_flags = info.reg_flags;
		if (ret)
			return ret;
		v[i].reg_type = info.reg_type;
		v[i].reg_def_value = info.reg_def_value;
		v[i].reg_rsvd_mask = info.reg_rsvd_mask;
		v[i].reg_index = (size_t)info.reg_index;
	}
	return 0;
}

static int getinfo_pmcs(int fd, void *arg, int n)
{
	(void)fd;
	return getinfo_regs(arg, n, pfm_getinfo_pmcs);
}

static int getinfo_pmds(int fd, void *arg, int n)
{
	(void)fd;
	return getinfo_regs(arg, n, pfm_getinfo_pmds);
}

static int get_config(int fd, void *arg, int n)
{
	struct pfm06_config *req = arg;
	pfarg_config_t cfg;

	(void)fd;
	if (wants_one(arg, n) || pfm_get_config(&cfg))
		return -1;
	memset(req, 0, sizeof(*req));
	req->cf_version = cfg.cf_version;
	req->cf_flags = cfg.cf_flags;
	memcpy(req->cf_impl_pmcs, cfg.cf_impl_pmcs, sizeof(req->cf_impl_pmcs));
	memcpy(req->cf_impl_pmds, cfg.cf_impl_pmds, sizeof(req->cf_impl_pmds));
	req->cf_sys_gid = cfg.cf_sys_gid;
	req->cf_thread_gid = cfg.cf_thread_gid;
	req->cf_arg_size_max = cfg.cf_arg_size_max;
	req->cf_smpl_buf_size_max = cfg.cf_smpl_buf_size_max;
	req->cf_counter_width = cfg.cf_counter_width;
	return 0;
}

/* Settings that specification 0.6 does not have keep their values. */
static int set_config(int fd, void *arg, int n)
{
	const struct pfm06_config *req = arg;
	pfarg_config_t cfg;

	(void)fd;
	if (wants_one(arg, n) || pfm_get_config(&cfg))
		return -1;
	cfg.cf_flags = req->cf_flags;
	cfg.cf_sys_gid = req->cf_sys_gid;
	cfg.cf_thread_gid = req->cf_thread_gid;
	cfg.cf_arg_size_max = req->cf_arg_size_max;
	cfg.cf_smpl_buf_size_max = req->cf_smpl_buf_size_max;
	return pfm_set_config(&cfg);
}

/* --- dispatching a command ------------------------------------------------------------------ */

static const struct command commands[] = {
	[PFM_WRITE_PMCS] = { .with = write_pmcs, .rest = EINVAL },
	[PFM_WRITE_PMDS] = { .each = write_pmd, .size = sizeof(struct pfm06_pmd), .rest = EINVAL },
	[PFM_READ_PMDS] = { .with = read_pmds, .listed = BIT(EBUSY), .rest = EBUSY },
	[PFM_STOP] = { .without = pfm_stop, .listed = BIT(EBUSY), .rest = EBUSY },
	[PFM_START] = { .with = start, .listed = BIT(EBUSY), .rest = EBUSY },
	[PFM_CREATE_CONTEXT] = { .with = create_context, .listed = BIT(E2BIG) | BIT(EPERM), .rest = ENOMEM },
	[PFM_RESTART] = { .without = pfm_restart, .listed = BIT(EBUSY), .rest = EBUSY },
	[PFM_LOAD_CONTEXT] = { .with = load_context, .listed = BIT(EBUSY) | BIT(EPERM), .rest = EBUSY },
	[PFM_UNLOAD_CONTEXT] = { .without = pfm_unload_context, .listed = BIT(EBUSY), .rest = EBUSY },
	[PFM_CREATE_EVTSETS] = { .each = create_evtset, .size = sizeof(struct pfm06_setdesc), .rest = EINVAL },
	[PFM_DELETE_EVTSETS] = { .each = delete_evtset, .size = sizeof(struct pfm06_setdesc), .rest = EINVAL },
	[PFM_GETINFO_EVTSETS] = { .each = getinfo_evtset, .size = sizeof(struct pfm06_setinfo), .rest = EINVAL },
	[PFM_GETINFO_PMCS] = { .with = getinfo_pmcs, .rest = EINVAL },
	[PFM_GETINFO_PMDS] = { .with = getinfo_pmds, .rest = EINVAL },
	[PFM_SET_CONFIG] = { .with = set_config, .listed = BIT(EPERM), .rest = EINVAL },
	[PFM_GET_CONFIG] = { .with = get_config, .rest = EINVAL },
};

static int run(const struct command *c, int fd, void *arg, int n)
{
	int ret = 0;

	if (c->with)
		return c->with(fd, arg, n);
	if (c->without)
		return wants_none(arg, n) || wants_loaded(fd) ? -1 : c->without(fd);
	if (!pfm_pmu_of(fd) || wants_vector(arg, n, c->size))
		return -1;
	for (int i = 0; i < n && !ret; i++)
		ret = c->each(fd, (char *)arg + (size_t)i * c->size);
	return ret;
}

/*
 * Returns the errno to report. If there is no machine, it is ENOSYS, as in a kernel without
 * perfmon, except that PFM_CREATE_CONTEXT reports err, which may be EPERM.
 */
static int errno_of(int cmd, int err)
{
	const struct command *c = &commands[cmd];

	if (!pfm_current_machine())
		return cmd == PFM_CREATE_CONTEXT ? err : ENOSYS;
	/* a thread that does not exist may not be monitored either (3.1.7) */
	if (c->listed & BIT(EPERM) && (err == EACCES || err == ESRCH))
		err = EPERM;
	return err < 64 && ((ANYWHERE | c->listed) & BIT(err)) ? err : c->rest;
}

int perfmonctl(int fd, int cmd, void *arg, int narg)
{
	size_t num = sizeof(commands) / sizeof(commands[0]);

	if (cmd < 0 || (size_t)cmd >= num || !(commands[cmd].with || commands[cmd].without || commands[cmd].each))
		return pfm_result(pfm_refuse(-EINVAL, "unknown command %#x", (unsigned int)cmd));
	if (run(&commands[cmd], fd, arg, narg) >= 0)
		return 0;
	return pfm_result(-errno_of(cmd, errno));
}
