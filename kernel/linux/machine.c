// SPDX-License-Identifier: GPL-2.0
/*
 * machine.c - the Linux kernel as a machine of the core (core/machine.h).
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/timekeeping.h>

#include "linux.h"

struct pfm_machine lx_machine;

static int create(struct pfm_context *ctx)
{
	struct lx_context *lx = ctx->transport;
	int ret;

	ctx->os = lx;
	lx->ctx = ctx;
	ret = lx_queue_init(lx, ctx->msgq_depth);
	if (!ret)
		ctx->pmu = lx_pmu_get();
	return ret;
}

static void destroy(struct pfm_context *ctx)
{
	lx_pmu_put(ctx->pmu);
}

static u64 lockable(void)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	unsigned long locked = current->mm ? current->mm->locked_vm : 0;

	if (rlimit(RLIMIT_MEMLOCK) == RLIM_INFINITY)
		return ~0ULL;
	return limit > locked ? (u64)(limit - locked) << PAGE_SHIFT : 0;
}

static void caller(struct pfm_machine *m, struct pfm_caller *who)
{
	who->tid = task_pid_nr(current);
	who->pid = task_tgid_nr(current);
	who->cpu = raw_smp_processor_id();
	who->admin = capable(CAP_SYS_ADMIN);
	who->memlock = capable(CAP_IPC_LOCK) ? ~0ULL : lockable();
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

static size_t size_of_page(struct pfm_machine *m)
{
	return PAGE_SIZE;
}

const struct pfm_machine_ops lx_ops = {
	.name = "linux",
	.create = create,
	.destroy = destroy,
	.attach = lx_attach,
	.detach = lx_detach,
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
	.block = lx_block,
	.unblock = lx_unblock,
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
};
