// SPDX-License-Identifier: GPL-2.0
/*
 * pmu.c - the logical PMU: the processor's registers as far as there are counters, then software
 * counters and virtual PMDs.
 */
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "linux.h"
#include "software.h"

#define CYCLES_ALONE	31	/* a PMD up to here that is not one of the numbered counters */

static struct pfm_reg *pmcs, *pmds;
static struct pfm_pmu pmu = {
	.name = "software counters",
	.counter_width = 64,
};

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
	if (ctx->state == PFM_CTX_UNLOADED)
		return raw_smp_processor_id();
	return lx->task ? task_cpu(lx->task) : ctx->cpu;
}

/* Away from an overflow: the thread that a per-thread context is bound to, else the caller. */
static uint64_t read_tid(struct pfm_context *ctx, const struct pfm_where *where)
{
	struct lx_context *lx = lx_of(ctx);

	if (where)
		return where->tid;
	return lx->task ? lx->tid : task_pid_nr_ns(current, lx->ns);
}

static uint64_t read_pid(struct pfm_context *ctx, const struct pfm_where *where)
{
	struct lx_context *lx = lx_of(ctx);

	if (where)
		return where->pid;
	return lx->task ? lx->pid : task_tgid_nr_ns(current, lx->ns);
}

static void set_reader(u16 num, uint64_t (*read)(struct pfm_context *, const struct pfm_where *))
{
	for (unsigned int i = 0; i < pmu.num_pmds; i++)
		if (pmds[i].num == num)
			pmds[i].read = read;
}

/* --- PMCs ----------------------------------------------------------------------------------- */

static int check_pmc(struct pfm_context *ctx, struct pfm_set *set, uint16_t num, uint64_t *value)
{
	int ret = lx_is_hw(num) ? 0 : pfm_software_check_pmc(num, *value);

	if (ret || !lx_is_hw(num) || !lx_pmc_counts(num, *value) || !lx_pmc_kernel(num, *value))
		return ret;
	if (lx_may_count_kernel())
		return 0;
	return pfm_refuse(-EPERM, "PMC%u: counting in the kernel needs CAP_PERFMON, or perf_event_paranoid "
			  "of at most 1", num);
}

/* --- the tables ----------------------------------------------------------------------------- */

static u16 take(struct pfm_reg *to, const struct pfm_reg *from, u16 n, unsigned int num_counters)
{
	u16 taken = 0;

	for (u16 i = 0; i < n; i++)
		if (from[i].num < num_counters || from[i].num == CYCLES_ALONE)
			to[taken++] = from[i];
	return taken;
}

static int alloc_tables(const struct pfm_pmu *hw)
{
	pmcs = kcalloc((hw ? hw->num_pmcs : 0) + PFM_NUM_SW, sizeof(*pmcs), GFP_KERNEL);
	pmds = kcalloc((hw ? hw->num_pmds : 0) + PFM_NUM_SW + PFM_NUM_VIRT, sizeof(*pmds), GFP_KERNEL);
	return pmcs && pmds ? 0 : -ENOMEM;
}

/* Counters are 64 bits wide whether one wants it or not; who counts in the kernel is checked. */
static void finish_pmcs(void)
{
	for (u16 i = 0; i < pmu.num_pmcs; i++) {
		pmcs[i].kind &= ~PFM_REG_NO64;
		pmcs[i].kind |= PFM_REG_WC;
	}
}

const struct pfm_pmu *lx_pmu_init(void)
{
	unsigned int counters = 0;
	const struct pfm_pmu *hw = lx_arch_pmu(&counters);

	if (alloc_tables(hw)) {
		lx_pmu_exit();
		return NULL;
	}
	if (hw) {
		pmu.name = hw->name;
		pmu.counter_width = hw->counter_width;
		pmu.num_pmcs = take(pmcs, hw->pmcs, hw->num_pmcs, counters);
		pmu.num_pmds = take(pmds, hw->pmds, hw->num_pmds, counters);
	}
	pfm_software_append(pmcs, &pmu.num_pmcs, pmds, &pmu.num_pmds, read_realtime, read_cpu);
	set_reader(PFM_VIRT_TID, read_tid);
	set_reader(PFM_VIRT_PID, read_pid);
	finish_pmcs();
	pmu.pmcs = pmcs;
	pmu.pmds = pmds;
	pmu.check_pmc = check_pmc;
	return &pmu;
}

void lx_pmu_exit(void)
{
	kfree(pmcs);
	kfree(pmds);
}
