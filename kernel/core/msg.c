// SPDX-License-Identifier: GPL-2.0 OR MIT
/* msg.c - composes messages (3.3.2, 3.4.3). The queue belongs to the machine. */
#include "core.h"

int pfm_post_overflow(struct pfm_context *ctx, const uint64_t *ovfl, const struct pfm_where *where)
{
	pfarg_msg_t msg;
	pfarg_ovfl_msg_t *m = &msg.pfm_ovfl_msg;

	memset(&msg, 0, sizeof(msg));
	m->msg_type = PFM_MSG_OVFL;
	m->msg_ovfl_pid = where->pid;
	m->msg_ovfl_tid = where->tid;
	m->msg_ovfl_cpu = where->cpu;
	m->msg_ovfl_ip = where->ip;
	/* the set that was active at the overflow, even if sets have been switched since */
	m->msg_active_set = ctx->ovfl_arg.active_set;
	memcpy(m->msg_ovfl_pmds, ovfl, sizeof(m->msg_ovfl_pmds));
	return pfm_ops(ctx)->post(pfm_root(ctx), &msg);
}

/* Posts the message of a preemption (6.5); tid is the thread of the context that took the PMU. */
void pfm_post_preempted(struct pfm_context *ctx, uint32_t tid)
{
	pfarg_msg_t msg;
	pfarg_preempted_msg_t *m = &msg.pfm_preempted_msg;

	memset(&msg, 0, sizeof(msg));
	m->msg_type = PFM_MSG_PREEMPTED;
	m->msg_preempt_tid = tid;
	m->msg_preempt_cpu = ctx->cpu;
	m->msg_active_set = ctx->active->id;
	m->msg_lost_at = ctx->lost_at;
	m->msg_regained_at = ctx->blind_since;
	m->msg_blind = ctx->blind;
	pfm_ops(ctx)->post(ctx, &msg);
}

/* END cannot be suppressed (3.3.6): the machine's queue has room for it beyond its depth. */
void pfm_post_end(struct pfm_context *ctx)
{
	pfarg_msg_t msg;

	memset(&msg, 0, sizeof(msg));
	msg.type = PFM_MSG_END;
	pfm_ops(ctx)->post(ctx, &msg);
}
