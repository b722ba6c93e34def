// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * software.c - software counters and virtual PMDs, for a machine to append to its hardware
 * registers.
 */
#include "core.h"
#include "software.h"

static uint64_t read_tstamp(struct pfm_context *ctx, const struct pfm_where *where)
{
	return where ? where->tstamp : pfm_ops(ctx)->now(ctx->machine);
}

/* Returns, outside of an overflow, the target of a per-thread context, else the calling thread. */
static uint64_t read_tid(struct pfm_context *ctx, const struct pfm_where *where)
{
	struct pfm_caller who;

	if (where)
		return where->tid;
	if (ctx->state != PFM_CTX_UNLOADED && !(ctx->flags & PFM_FL_SYSTEM_WIDE))
		return ctx->tid;
	pfm_ops(ctx)->caller(ctx->machine, &who);
	return who.tid;
}

static uint64_t read_pid(struct pfm_context *ctx, const struct pfm_where *where)
{
	struct pfm_caller who;

	if (where)
		return where->pid;
	if (ctx->state != PFM_CTX_UNLOADED && !(ctx->flags & PFM_FL_SYSTEM_WIDE))
		return ctx->pid;
	pfm_ops(ctx)->caller(ctx->machine, &who);
	return who.pid;
}

#define PMC(NAME, reg_name, ...) { .num = PFM_SW_##NAME, .type = PFM_REG_TYPE_SW, .kind = PFM_REG_WC, .dfl = 0, \
	.rsvd = ~(uint64_t)(PFM_SW_USER | PFM_SW_KERNEL), .index = PFM_REG_IDX_NONE, \
	.ctrl = PFM_REG_NO_CTRL, .name = reg_name },
#define PMD(NAME, reg_name, ...) { .num = PFM_SW_##NAME, .type = PFM_REG_TYPE_SW, \
	.kind = PFM_REG_C64 | PFM_REG_INTR, .index = PFM_REG_IDX_NONE, .ctrl = PFM_SW_##NAME, .name = reg_name },
#define VIRT(n, reg_name, hook) { .num = n, .type = PFM_REG_TYPE_VIRT, \
	.kind = PFM_REG_V | PFM_REG_RO, .index = PFM_REG_IDX_NONE, .ctrl = PFM_REG_NO_CTRL, \
	.name = reg_name, .read = hook }

static const struct pfm_reg sw_pmcs[PFM_NUM_SW] = { PFM_SOFTWARE_EVENTS(PMC) };
static const struct pfm_reg sw_pmds[PFM_NUM_SW] = { PFM_SOFTWARE_EVENTS(PMD) };

static const struct pfm_reg virt_pmds[PFM_NUM_VIRT] = {
	VIRT(PFM_VIRT_TSTAMP, "timestamp", read_tstamp),
	VIRT(PFM_VIRT_REALTIME, "realtime", NULL),
	VIRT(PFM_VIRT_TID, "thread", read_tid),
	VIRT(PFM_VIRT_PID, "process", read_pid),
	VIRT(PFM_VIRT_CPU, "cpu", NULL),
};

void pfm_software_append(struct pfm_reg *pmcs, uint16_t *num_pmcs, struct pfm_reg *pmds,
			 uint16_t *num_pmds,
			 uint64_t (*realtime)(struct pfm_context *ctx, const struct pfm_where *where),
			 uint64_t (*cpu)(struct pfm_context *ctx, const struct pfm_where *where))
{
	struct pfm_reg *virt;

	memcpy(pmcs + *num_pmcs, sw_pmcs, sizeof(sw_pmcs));
	*num_pmcs += PFM_NUM_SW;
	memcpy(pmds + *num_pmds, sw_pmds, sizeof(sw_pmds));
	*num_pmds += PFM_NUM_SW;
	virt = pmds + *num_pmds;
	memcpy(virt, virt_pmds, sizeof(virt_pmds));
	*num_pmds += PFM_NUM_VIRT;
	virt[PFM_VIRT_REALTIME - PFM_VIRT_FIRST].read = realtime;
	virt[PFM_VIRT_CPU - PFM_VIRT_FIRST].read = cpu;
}

int pfm_software_check_pmc(uint16_t num, uint64_t value)
{
	if (pfm_software_kind(num) != PFM_SW_IS_KERNEL)
		return 0;
	if ((value & (PFM_SW_USER | PFM_SW_KERNEL)) != PFM_SW_USER)
		return 0;
	return pfm_refuse(-EINVAL, "PMC%u: %s occur in the kernel alone: they cannot be counted at user level", num,
			  sw_pmcs[num - PFM_SW_FIRST].name);
}
