// SPDX-License-Identifier: MIT
/* module_client.c - the linux machine: how libperfmon calls perfmon.ko. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "desc.h"
#include "module_client.h"

/* descriptor of /dev/perfmon, once it has been found to work; or -1 */
static _Atomic int device = -1;
static struct pfm_reg *pmcs, *pmds;
static char names[2 * PFM_MAX_PMDS][PFM_REG_NAME_LEN];
static char model[sizeof(((pfarg_config_t *)0)->cf_pmu)];
static struct pfm_pmu pmu = { .name = model };
static struct pfm_machine machine = { .pmu = &pmu };	/* represents the machine in the kernel */

bool pfm_linux_is(const struct pfm_machine *m)
{
	return m == &machine;
}

/* --- calls ---------------------------------------------------------------------------------- */

/* Copies the kernel's reason for the failure to pfm_explain(). */
static void adopt_reason(int fd)
{
	struct pfm_ioc_why why;
	int saved = errno;

	if (!ioctl(fd, PFM_IOC(PFM_NR_EXPLAIN, 0), &why))
		pfm_refuse(0, "%s", why.text);
	errno = saved;
}

static int with_reason(int fd, int ret)
{
	if (ret < 0)
		adopt_reason(fd);
	return ret;
}

static bool is_context(int fd)
{
	int saved = errno;
	bool is = ioctl(fd, PFM_IOC(PFM_NR_ABI, 0)) == (int)PFM_IOC_ABI &&
		  ioctl(fd, PFM_IOC(PFM_NR_IS_LOADED, 0)) >= 0;

	errno = saved;
	return is;
}

/* Returns true if perfmon.ko exists. If not, no descriptor can be one of its contexts. */
static bool there(void)
{
	static _Atomic int known = -1;

	if (known < 0)
		known = !access(PFM_DEVICE, F_OK);
	return known;
}

bool pfm_linux_call(int fd, unsigned int nr, int n, void *arg, int *ret)
{
	if (device < 0 && !there())
		return false;
	*ret = ioctl(fd, PFM_IOC(nr, n), arg);
	if (*ret >= 0)
		return true;
	if (errno == ENOTTY || errno == EBADF || !is_context(fd))
		return false;
	adopt_reason(fd);
	return true;
}

void pfm_linux_reason(int fd)
{
	if (fd >= 0 && (device >= 0 || there()) && is_context(fd))
		adopt_reason(fd);
}

/*
 * Limits n to what fits into the number of the ioctl. The kernel refuses 0 and the largest number
 * that fits, so a vector that is empty or too long is still refused.
 */
static int clamp(int n)
{
	return n < 0 ? 0 : n < (int)PFM_IOC_MAX_N ? n : (int)PFM_IOC_MAX_N;
}

bool pfm_linux_vector(int fd, unsigned int nr, int n, void *v, int *ret)
{
	return pfm_linux_call(fd, nr, clamp(n), v, ret);
}

int pfm_linux_ask(unsigned int nr, int n, void *arg)
{
	return with_reason(device, ioctl(device, PFM_IOC(nr, n), arg));
}

int pfm_linux_ask_vector(unsigned int nr, int n, void *v)
{
	return pfm_linux_ask(nr, clamp(n), v);
}

int pfm_linux_create(pfarg_ctx_t *ctx, const char *fmt_name, const void *fmt_arg, size_t size)
{
	struct pfm_ioc_create req = {
		.ctx = (uintptr_t)ctx, .fmt_arg = (uintptr_t)fmt_arg,
		.arg_size = size == SIZE_MAX ? UINT64_MAX : size,
	};

	if (fmt_name) {
		req.flags = PFM_IOC_BY_NAME;
		strncpy(req.fmt_name, fmt_name, sizeof(req.fmt_name) - 1);
	}
	return pfm_linux_ask(PFM_NR_CREATE_CONTEXT, 0, &req);
}

/* --- the machine: its registers, as the kernel describes them ------------------------------- */

static int fetch_reg(struct pfm_reg *reg, char *name, uint16_t num, unsigned int nr)
{
	pfarg_reginfo_t info = { .reg_num = num };

	if (pfm_linux_ask(nr, 1, &info))
		return -1;
	memcpy(name, info.reg_name, PFM_REG_NAME_LEN);
	*reg = (struct pfm_reg){
		.num = num, .type = info.reg_type, .kind = info.reg_kind, .dfl = info.reg_def_value,
		.rsvd = info.reg_rsvd_mask, .index = info.reg_index, .ctrl = info.reg_ctrl,
		.width = info.reg_width, .name = name,
	};
	return 0;
}

/* Makes a table of the registers in "bits". Returns how many there are, or -1. */
static int fetch_regs(struct pfm_reg **table, const uint64_t *bits, unsigned int nr, char (*name)[PFM_REG_NAME_LEN])
{
	unsigned int num;
	int n = 0;

	*table = pfm_os_calloc(PFM_MAX_PMDS, sizeof(**table));
	if (!*table) {
		pfm_refuse(0, "no memory for its registers");
		return -1;
	}
	for (num = 0; num < PFM_MAX_PMDS; num++) {
		if (!(bits[num / 64] >> (num % 64) & 1))
			continue;
		if (fetch_reg(&(*table)[n], name[n], (uint16_t)num, nr))
			return -1;
		n++;
	}
	return n;
}

/* Gets the PMU's description from the kernel. Returns -1 with errno and a reason. */
static int fetch_pmu(void)
{
	pfarg_config_t cfg;
	int num_pmcs, num_pmds;

	if (pfm_linux_ask(PFM_NR_GET_CONFIG, 0, &cfg))
		return -1;
	num_pmcs = fetch_regs(&pmcs, cfg.cf_impl_pmcs, PFM_NR_GETINFO_PMCS, names);
	if (num_pmcs < 0)
		return -1;
	num_pmds = fetch_regs(&pmds, cfg.cf_impl_pmds, PFM_NR_GETINFO_PMDS, names + PFM_MAX_PMDS);
	if (num_pmds < 0)
		return -1;
	memcpy(model, cfg.cf_pmu, sizeof(model));
	pmu.counter_width = cfg.cf_counter_width;
	pmu.pmcs = pmcs;
	pmu.pmds = pmds;
	pmu.num_pmcs = (uint16_t)num_pmcs;
	pmu.num_pmds = (uint16_t)num_pmds;
	return 0;
}

static struct pfm_machine *refuse(int err, const char *why)
{
	pfm_refuse(0, "machine \"linux\": %s", why);
	errno = err;
	return NULL;
}

static int refuse_device(int err)
{
	if (err == ENOENT)
		refuse(ENODEV, "there is no " PFM_DEVICE " (modprobe perfmon)");
	else if (err == EACCES)
		refuse(err, PFM_DEVICE ": Permission denied (it is for root and the group perfmon)");
	else
		refuse(err, "cannot open " PFM_DEVICE);
	return -1;
}

static int check_version(void)
{
	int abi = ioctl(device, PFM_IOC(PFM_NR_ABI, 0));

	if (abi == (int)PFM_IOC_ABI)
		return 0;
	if (abi >= 0 || errno == ENOTTY)
		refuse(ENODEV, "perfmon.ko is of another version than libperfmon");
	else
		refuse(errno, "perfmon.ko does not report its version");
	return -1;
}

/*
 * Closes the device, so that the next call opens it again. Keeps errno and the reason of the
 * failure.
 */
static void forget_device(void)
{
	int saved = errno;

	close(device);
	device = -1;
	pfm_os_free(pmcs);
	pfm_os_free(pmds);
	pmcs = pmds = NULL;
	errno = saved;
}

static int open_device(void)
{
	device = open(PFM_DEVICE, O_RDWR | O_CLOEXEC);
	if (device < 0)
		return refuse_device(errno);
	if (!check_version() && !fetch_pmu())
		return 0;
	forget_device();
	return -1;
}

/* Returns why the module cannot be used though it is loaded, or NULL. */
const char *pfm_linux_obstacle(void)
{
	/* interpose.c replaces access(2) but not faccessat(2), so sysfs.c does not answer here */
	if (faccessat(AT_FDCWD, "/sys/kernel/perfmon", F_OK, 0))
		return NULL;
	if (access(PFM_DEVICE, F_OK))
		return PFM_DEVICE ": No such file, though perfmon.ko is loaded";
	if (access(PFM_DEVICE, R_OK | W_OK))
		return PFM_DEVICE ": Permission denied (it is for root and the group perfmon)";
	return NULL;
}

const struct pfm_pmu *pfm_linux_pmu(void)
{
	bool ready;

	pfm_os_lock();	/* a fork takes it, too: no child gets a half-opened device */
	ready = device >= 0 || !open_device();
	pfm_os_unlock();
	return ready ? &pmu : NULL;
}

/* Called with the lock of machines.c held. */
static struct pfm_machine *linux_open(const char *model_name, const char *options)
{
	if (*model_name || *options)
		return refuse(EINVAL, "it has neither models nor options");
	return pfm_linux_pmu() ? &machine : NULL;
}

static void linux_describe(struct pfm_machine *m, pfm_machine_info_t *info)
{
	for (unsigned int i = 0; i < m->pmu->num_pmds; i++)
		if ((m->pmu->pmds[i].kind & PFM_REG_C64) && m->pmu->pmds[i].type != PFM_REG_TYPE_SW)
			info->hw_counters++;
	if (!info->hw_counters)
		info->notes = "no hardware PMU that perfmon.ko knows (a virtual machine?): cycles, instructions, cache "
			      "misses cannot be counted here; software counters (clocks, faults, switches), sampling "
			      "by time and virtual PMDs work.\n";
	info->limits = "EXCL_IDLE and EXCL_KERNEL_ONLY_THREADS leave out interrupts on top of such a thread too\n"
		       "MAP_SETS: a thread reads its own running counters without a call in the process that mapped "
		       "the view first, where the system lets programs read counters (arm64: sysctl "
		       "kernel.perf_user_access=1; x86: /sys/bus/event_source/devices/cpu/rdpmc, from the first start "
		       "or read after mapping on); else by a call. If that is forbidden later, a signal ends "
		       "programs that are just reading\n"
		       "sampling formats are the kernel's: none written in Lua";
}

static const struct pfm_user_machine linux_kind = {
	.name = "linux",
	.rank = 1,
	.open = linux_open,
	.describe = linux_describe,
};

PFM_REGISTER_MACHINE(linux_kind)
