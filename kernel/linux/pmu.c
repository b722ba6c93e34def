// SPDX-License-Identifier: GPL-2.0
/*
 * pmu.c - the logical PMU. It has software counters and virtual PMDs. While a module that describes
 * the processor's registers is loaded, it also has the registers for which perf has counters; these
 * come first in its tables.
 */
#include <linux/kmod.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "linux.h"
#include "perfmon_module.h"
#include "software.h"

/* PMD 31 is arm64's cycle counter, which is not one of the numbered counters */
#define CYCLES_ALONE	31

/*
 * A logical PMU with its register tables. "software" is made at the load of perfmon.ko, "hardware"
 * at the load of a module with a description.
 */
struct lx_pmu {
	struct pfm_pmu		pmu;
	const struct pfm_pmu	*described;
	struct module		*owner;
	struct pfm_reg		*pmcs, *pmds;
};

/* protects lx_machine.pmu, which points to software->pmu or hardware->pmu */
static DECLARE_RWSEM(current_pmu);
static struct lx_pmu *software, *hardware;

bool lx_is_hw(u16 num)
{
	return num < PFM_SW_FIRST;
}

bool lx_pmc_counts(u16 num, u64 value)
{
	return lx_is_hw(num) ? lx_arch_counts(value) : value & (PFM_SW_USER | PFM_SW_KERNEL);
}

bool lx_pmc_kernel(u16 num, u64 value)
{
	return lx_is_hw(num) ? lx_arch_kernel(value) : value & PFM_SW_KERNEL;
}

/* --- virtual PMDs --------------------------------------------------------------------------- */

static uint64_t read_realtime(struct pfm_context *ctx, const struct pfm_where *where)
{
	return ktime_get_real_fast_ns();
}

static uint64_t read_cpu(struct pfm_context *ctx, const struct pfm_where *where)
{
	struct lx_context *lx = lx_of(ctx);

	if (where)
		return where->cpu;
	if (!pfm_loaded(ctx))
		return raw_smp_processor_id();
	return lx->target.task ? task_cpu(lx->target.task) : ctx->cpu;
}

/*
 * Returns the id of the thread in which the overflow occurred. If the PMD is read outside of an
 * overflow, it is the target thread's id, or in a system-wide context the caller's.
 */
static uint64_t read_tid(struct pfm_context *ctx, const struct pfm_where *where)
{
	struct lx_context *lx = lx_of(ctx);

	if (where)
		return where->tid;
	return lx->target.task ? lx->target.tid : task_pid_nr_ns(current, lx->ns);
}

static uint64_t read_pid(struct pfm_context *ctx, const struct pfm_where *where)
{
	struct lx_context *lx = lx_of(ctx);

	if (where)
		return where->pid;
	return lx->target.task ? lx->target.pid : task_tgid_nr_ns(current, lx->ns);
}

static void set_reader(struct lx_pmu *p, u16 num,
		       uint64_t (*read)(struct pfm_context *, const struct pfm_where *))
{
	for (unsigned int i = 0; i < p->pmu.num_pmds; i++)
		if (p->pmds[i].num == num)
			p->pmds[i].read = read;
}

/* --- checking PMC values -------------------------------------------------------------------- */

int lx_check_pmc_level(u16 num, u64 value)
{
	if (!lx_pmc_counts(num, value) || !lx_pmc_kernel(num, value) || lx_paranoid() < LX_PARANOID_KERNEL)
		return 0;
	return pfm_refuse(-EPERM,
			  "PMC%u: counting in the kernel needs CAP_PERFMON, or perf_event_paranoid of at most 1", num);
}

static int check_pmc(struct pfm_context *ctx, struct pfm_set *set, uint16_t num, uint64_t *value)
{
	const struct pfm_pmu *described = container_of(ctx->pmu, struct lx_pmu, pmu)->described;
	int ret = lx_is_hw(num) ? 0 : pfm_software_check_pmc(num, *value);

	if (!ret && lx_is_hw(num) && described->check_pmc)
		ret = described->check_pmc(ctx, set, num, value);
	if (!ret && lx_is_hw(num))
		ret = lx_arch_check(num, *value);
	return ret ? ret : lx_check_pmc_level(num, *value);
}

/* --- making the register tables ------------------------------------------------------------- */

static bool in_order(const struct pfm_reg *regs, u16 n)
{
	for (u16 i = 0; i < n; i++)
		if (!lx_is_hw(regs[i].num) || (i && regs[i].num <= regs[i - 1].num))
			return false;
	return true;
}

static bool there(const struct pfm_reg *reg, unsigned int num_counters)
{
	return (reg->kind & PFM_REG_V) || reg->num < num_counters || reg->num == CYCLES_ALONE;
}

static u16 take(struct pfm_reg *to, const struct pfm_reg *from, u16 n, unsigned int num_counters)
{
	u16 taken = 0;

	for (u16 i = 0; i < n; i++)
		if (there(&from[i], num_counters))
			to[taken++] = from[i];
	return taken;
}

static void pmu_free(struct lx_pmu *p)
{
	if (!p)
		return;
	kfree(p->pmcs);
	kfree(p->pmds);
	kfree(p);
}

/*
 * Completes the PMCs. The flag NO64 is cleared, because counters are always 64 bits wide. The flag
 * WC is set, so that each write is checked: the caller may have no right to count in the kernel.
 */
static void finish_pmcs(struct lx_pmu *p)
{
	for (u16 i = 0; i < p->pmu.num_pmcs; i++) {
		p->pmcs[i].kind &= ~PFM_REG_NO64;
		p->pmcs[i].kind |= PFM_REG_WC;
	}
}

static void fill(struct lx_pmu *p, const struct pfm_pmu *hw, unsigned int num_counters)
{
	struct pfm_pmu *pmu = &p->pmu;

	pmu->name = hw->name;
	pmu->counter_width = hw->counter_width;
	pmu->num_pmcs = take(p->pmcs, hw->pmcs, hw->num_pmcs, num_counters);
	pmu->num_pmds = take(p->pmds, hw->pmds, hw->num_pmds, num_counters);
	pmu->check_pmd = hw->check_pmd;
	pfm_software_append(p->pmcs, &pmu->num_pmcs, p->pmds, &pmu->num_pmds, read_realtime, read_cpu);
	set_reader(p, PFM_VIRT_TID, read_tid);
	set_reader(p, PFM_VIRT_PID, read_pid);
	finish_pmcs(p);
	pmu->pmcs = p->pmcs;
	pmu->pmds = p->pmds;
	pmu->check_pmc = check_pmc;
}

static struct lx_pmu *pmu_new(const struct pfm_pmu *hw, unsigned int num_counters, struct module *owner)
{
	struct lx_pmu *p = kzalloc(sizeof(*p), GFP_KERNEL);

	if (!p)
		return NULL;
	p->described = hw;
	p->owner = owner;
	p->pmcs = kcalloc(hw->num_pmcs + PFM_NUM_SW, sizeof(*p->pmcs), GFP_KERNEL);
	p->pmds = kcalloc(hw->num_pmds + PFM_NUM_SW + PFM_NUM_VIRT, sizeof(*p->pmds), GFP_KERNEL);
	if (!p->pmcs || !p->pmds) {
		pmu_free(p);
		return NULL;
	}
	fill(p, hw, num_counters);
	return p;
}

const struct pfm_pmu *lx_pmu_init(void)
{
	static const struct pfm_pmu none = { .name = "software counters", .counter_width = 64 };

	software = pmu_new(&none, 0, NULL);
	return software ? &software->pmu : NULL;
}

void lx_pmu_exit(void)
{
	pmu_free(software);
}

/* --- adding and removing descriptions ------------------------------------------------------- */

/* the request to modprobe for the module that describes this processor */
static struct lx_module_request request;

static int use(struct lx_pmu *p)
{
	int ret;

	down_write(&current_pmu);
	ret = hardware ? -EBUSY : lx_sysfs_add_pmu(&p->pmu);
	if (!ret) {
		hardware = p;
		lx_machine.pmu = &p->pmu;
	}
	up_write(&current_pmu);
	return ret;
}

int pfm_module_add_pmu(const struct pfm_pmu *pmu, struct module *owner)
{
	unsigned int num_counters = lx_arch_counters();
	struct lx_pmu *p;
	int ret;

	if (!num_counters)
		return -ENODEV;
	if (!in_order(pmu->pmcs, pmu->num_pmcs) || !in_order(pmu->pmds, pmu->num_pmds))
		return -EINVAL;
	p = pmu_new(pmu, num_counters, owner);
	if (!p)
		return -ENOMEM;
	ret = use(p);
	if (ret)
		pmu_free(p);
	else
		pr_info("perfmon: %s, %u counters\n", pmu->name, num_counters);
	return ret;
}
EXPORT_SYMBOL_GPL(pfm_module_add_pmu);

/*
 * No context uses the description any more when this is called: each context has a reference to the
 * module.
 */
void pfm_module_remove_pmu(const struct pfm_pmu *pmu)
{
	down_write(&current_pmu);
	if (hardware && hardware->described == pmu) {
		lx_sysfs_remove_pmu(&hardware->pmu);
		lx_machine.pmu = &software->pmu;
		pmu_free(hardware);
		hardware = NULL;
		lx_module_request_again(&request);
	}
	up_write(&current_pmu);
}
EXPORT_SYMBOL_GPL(pfm_module_remove_pmu);

void lx_pmu_lock(void)
{
	down_read(&current_pmu);
}

void lx_pmu_unlock(void)
{
	up_read(&current_pmu);
}

const struct pfm_pmu *lx_pmu_get(void)
{
	const struct lx_pmu *p;

	lx_pmu_lock();
	p = hardware && lx_module_hold(hardware->owner) ? hardware : software;
	lx_pmu_unlock();
	return &p->pmu;
}

void lx_pmu_put(const struct pfm_pmu *pmu)
{
	module_put(container_of(pmu, struct lx_pmu, pmu)->owner);
}

/* Returns true if new contexts have the hardware's description. */
static bool described(void)
{
	const struct pfm_pmu *pmu = lx_pmu_get();

	lx_pmu_put(pmu);
	return pmu != &software->pmu;
}

void lx_pmu_load_module(void)
{
	const char *module;

	if (!lx_module_requested(&request))
		return;
	module = lx_arch_module();
	if (module && !described())
		lx_request_module("%s", module);
	/* under the lock, so that a removal comes before this, or allows another request */
	lx_pmu_lock();
	lx_module_request_met(&request, module && !hardware ? -ENODEV : 0);
	lx_pmu_unlock();
}
