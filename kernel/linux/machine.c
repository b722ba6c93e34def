// SPDX-License-Identifier: GPL-2.0
/* machine.c - the Linux kernel as a machine of the core (core/machine.h). */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/module.h>
#include <linux/timekeeping.h>

#include "linux.h"

struct pfm_machine lx_machine;
DEFINE_MUTEX(lx_config_lock);

/* module parameter: per-thread and system-wide contexts exclude each other, as 3.1.7 allows */
static bool exclusive;
module_param(exclusive, bool, 0444);
MODULE_PARM_DESC(exclusive, "per-thread and system-wide contexts exclude each other");

static int create(struct pfm_context *ctx)
{
	struct lx_context *lx = ctx->transport;
	int ret;

	ctx->os = lx;
	lx->ctx = ctx;
	ret = lx_queue_init(lx, ctx->msgq_depth);
	if (!ret && pfm_inherits(ctx)) {
		lx->family.cred = get_current_cred();
		lx->family.lock_limit = lx_lock_limit();
		if (ctx->fmt)
			ret = lx_part_queues_init(lx, ctx->msgq_depth);
	}
	if (!ret)
		ctx->pmu = lx_pmu_get();
	return ret;
}

static void destroy(struct pfm_context *ctx)
{
	lx_views_free(lx_of(ctx));
	lx_pmu_put(ctx->pmu);
}

static void caller(struct pfm_machine *m, struct pfm_caller *who)
{
	who->tid = task_pid_nr(current);
	who->pid = task_tgid_nr(current);
	who->cpu = raw_smp_processor_id();
	who->admin = lx_capable(CAP_SYS_ADMIN);
	who->memlock = lx_lockable();
}

static bool in_group(struct pfm_machine *m, uint32_t gid)
{
	return in_egroup_p(make_kgid(&init_user_ns, gid));
}

static bool has_fd(struct pfm_context *ctx)
{
	return lx_task_has_fd(lx_of(ctx));
}

static uint64_t now(struct pfm_machine *m)
{
	return ktime_get_mono_fast_ns();
}

/*
 * num_parts() returns how many parts the buffer has that a root shares with its child contexts.
 * part() returns the number of the current CPU's part: while the target runs, PMU context is on the
 * target's CPU, so threads on different CPUs fill different parts.
 */
static unsigned int num_parts(struct pfm_context *root)
{
	return lx_of(root)->msgs.num_parts;
}

static unsigned int part(struct pfm_context *ctx)
{
	return lx_part(lx_of(ctx)->root);
}

static size_t size_of_page(struct pfm_machine *m)
{
	return PAGE_SIZE;
}

static struct pfm_machine_ops ops __ro_after_init = {
	.name = "linux",
	.ctx_flags = PFM_FL_ON_EXEC,
	.check_create = lx_check_create,
	.create = create,
	.destroy = destroy,
	.attach = lx_attach,
	.detach = lx_detach,
	.fork = lx_fork,
	.release = lx_release,
	.forks_pending = lx_forks_pending,
	.need = lx_need,
	.num_parts = num_parts,
	.part = part,
	.access = lx_access,
	.install = lx_install,
	.collect = lx_collect,
	.write_pmc = lx_write_pmc,
	.write_pmd = lx_write_pmd,
	.resume = lx_resume,
	.freeze = lx_freeze,
	.arm = lx_arm,
	.disarm = lx_disarm,
	.left = lx_left,
	.timer_ns = lx_timer_ns,
	.ran = lx_ran,
	.get_location = lx_get_location,
	.block = lx_block,
	.unblock = lx_unblock,
	.where = lx_where,
	.post = lx_post,
	.flush = lx_flush_messages,
	.signal = lx_signal,
	.caller = caller,
	.in_group = in_group,
	.has_fd = has_fd,
	.now = now,
	.page_size = size_of_page,
	.alloc_buffer = lx_alloc_buffer,
	.free_buffer = lx_free_buffer,
	.open_view = lx_open_view,
	.close_view = lx_close_view,
	.live_view = lx_live_view,
	.stack = &lx_stack_ops,
};

void __init lx_machine_init(const struct pfm_pmu *pmu)
{
	ops.coexist = !exclusive;
	ops.records = lx_has_task_work();
	pfm_machine_init(&lx_machine, &ops, pmu, NULL);
}
