// SPDX-License-Identifier: GPL-2.0 OR MIT
/* attach.c - binds a context to a thread or a CPU, and releases it (3.1.7, 3.1.8, 3.3.6). */
#include "core.h"

/*
 * 3.1.10: explicit links between sets are checked at the load, because sets cannot be created or
 * deleted while the context is loaded.
 */
static int check_chain(struct pfm_context *ctx)
{
	for (struct pfm_set *set = &ctx->set0; set; set = set->next)
		if (!pfm_set_successor(ctx, set))
			return pfm_refuse(-EINVAL, "set %u goes on to set %u, which does not exist",
					  set->id, set->id_next);
	return 0;
}

static bool is_debug_register(const struct pfm_reg *reg)
{
	return reg->type == PFM_REG_TYPE_IBR || reg->type == PFM_REG_TYPE_DBR;
}

bool pfm_restricts_ranges(const struct pfm_context *ctx)
{
	for (const struct pfm_set *set = &ctx->set0; set; set = set->next)
		for (unsigned int i = 0; i < set->num_pmcs; i++)
			if (is_debug_register(pfm_pmu_pmc(ctx->pmu, set->pmcs[i].num)))
				return true;
	return false;
}

/* 5.6.2: range restrictions and a debugger cannot share the debug registers. */
static int check_registers(struct pfm_context *ctx)
{
	const struct pfm_machine_ops *ops = pfm_ops(ctx);

	if (!ops->debugging || !ops->debugging(ctx->machine) || !pfm_restricts_ranges(ctx))
		return 0;
	return pfm_refuse(-EBUSY, "a debugger uses the debug registers");
}

static int check_request(struct pfm_context *ctx, const pfarg_load_t *req)
{
	if (pfm_loaded(ctx))
		return pfm_refuse(-EBUSY, "the context is loaded already");
	if (req->load_reserved1 || !pfm_zeros(req->load_reserved2, sizeof(req->load_reserved2)))
		return pfm_refuse(-EINVAL, "reserved fields must be 0");
	if (!pfm_set_find(ctx, req->load_set))
		return pfm_refuse(-EINVAL, "set %u does not exist", req->load_set);
	return check_chain(ctx);
}

/*
 * Forgets the overflows of an earlier load, when the new one has succeeded: a refused load must
 * change nothing. There may be many sets, so it runs outside of PMU context: monitoring is not
 * started yet, so nothing overflows.
 */
static void forget_overflows(struct pfm_context *ctx)
{
	for (struct pfm_set *set = &ctx->set0; set; set = set->next) {
		memset(set->switch_pmds, 0, sizeof(set->switch_pmds));
		memset(set->ovfl_pmds, 0, sizeof(set->ovfl_pmds));
	}
}

static int first_install(struct pfm_context *ctx, void *arg)
{
	struct pfm_set *set = arg;

	/* resets that were due when an earlier load ended are not made */
	memset(set->ovfl_pmds, 0, sizeof(set->ovfl_pmds));
	ctx->switch_due = ctx->blocked = ctx->started = false;
	ctx->inherit_set = NULL;
	ctx->num_forks = 0;
	pfm_parts_begin(ctx);
	return pfm_enter_set(ctx, set, PFM_RESET_LONG);
}

/*
 * The second half of a load, after the machine has bound the context: checks the rules about
 * target, session and registers, and installs "set".
 */
static int settle(struct pfm_context *ctx, struct pfm_set *set)
{
	struct pfm_set *before = ctx->active;
	int ret;

	if (ctx->self && (ctx->flags & PFM_FL_NOTIFY_BLOCK))
		return pfm_refuse(-EINVAL, "NOTIFY_BLOCK does not go with self-monitoring");
	ret = pfm_session_begin(ctx);
	if (ret)
		return ret;
	/* monitoring is not started, so an overflow that comes now has no effect */
	pfm_set_state(ctx, PFM_CTX_LOADED);
	ret = pfm_ops(ctx)->access(ctx, first_install, set);
	if (!ret) {
		forget_overflows(ctx);
		return 0;
	}
	pfm_set_state(ctx, PFM_CTX_UNLOADED);
	ctx->active = before;
	pfm_view_update(ctx, set);
	pfm_view_update(ctx, before);
	pfm_session_end(ctx);
	return ret;
}

int pfm_do_load(struct pfm_context *ctx, const pfarg_load_t *req)
{
	int ret = check_request(ctx, req);

	if (!ret)
		ret = check_registers(ctx);
	if (!ret)
		ret = pfm_ops(ctx)->attach(ctx, req->load_pid);
	if (ret)
		return ret;
	ret = settle(ctx, pfm_set_find(ctx, req->load_set));
	if (ret) {
		pfm_ops(ctx)->detach(ctx);
		ctx->self = ctx->preempted = false;
	} else {
		/*
		 * Messages are discarded last (3.3.5), because a refused load must change nothing.
		 */
		pfm_ops(ctx)->flush(ctx);
	}
	return ret;
}

static void let_go(struct pfm_context *ctx)
{
	while (ctx->child_ctxs)
		pfm_child_ctx_end(ctx->child_ctxs);
	if (!ctx->root)
		pfm_rests_free(ctx);
	if (ctx->blocked)
		pfm_ops(ctx)->unblock(ctx);
	ctx->blocked = ctx->switch_due = ctx->preempted = false;
	pfm_ops(ctx)->detach(ctx);
	pfm_set_state(ctx, PFM_CTX_UNLOADED);
	ctx->self = false;
	pfm_view_update(ctx, ctx->active);
	pfm_session_end(ctx);
}

/*
 * Stops monitoring. If the target is gone (ESRCH), no overflow can come any more, so no access() is
 * needed.
 */
static int try_to_stop(struct pfm_context *ctx)
{
	int ret = pfm_ops(ctx)->access(ctx, pfm_stop_here, NULL);

	return ret == -ESRCH ? pfm_stop_here(ctx, NULL) : ret;
}

void pfm_unload(struct pfm_context *ctx)
{
	ctx->from_anywhere = true;
	try_to_stop(ctx);
	ctx->from_anywhere = false;
	let_go(ctx);
}

int pfm_do_unload(struct pfm_context *ctx)
{
	int ret;

	if (!pfm_loaded(ctx))
		return pfm_refuse(-EINVAL, "the context is not loaded");
	/*
	 * On the wrong CPU (EBUSY) nothing is done. After any other error the context is unloaded
	 * anyway.
	 */
	ret = try_to_stop(ctx);
	if (ret == -EBUSY)
		return ret;
	let_go(ctx);
	return 0;
}

/* 3.3.6: the state is saved and the context detached before a reader can see END. */
static void end(struct pfm_context *ctx)
{
	pfm_unload(ctx);
	if (ctx->tell_end)
		pfm_post_end(ctx);
}

/*
 * Returns true if the root has child contexts, or if the target has created threads that have not
 * run yet and therefore have no child context.
 */
static bool has_children(struct pfm_context *root)
{
	const struct pfm_machine_ops *ops = pfm_ops(root);

	return root->child_ctxs || (ops->forks_pending && ops->forks_pending(root));
}

/* Ends monitoring if the target has ended and none of its children is left. */
static void end_with_the_last(struct pfm_context *root)
{
	if (root->outlived && !has_children(root))
		end(root);
}

void pfm_fork_done(struct pfm_context *root)
{
	if (pfm_loaded(root))
		end_with_the_last(root);
}

static void child_ctx_exit(struct pfm_context *child_ctx)
{
	struct pfm_context *root = child_ctx->root;

	pfm_child_ctx_end(child_ctx);
	end_with_the_last(root);
}

void pfm_target_exit(struct pfm_context *ctx)
{
	if (!pfm_loaded(ctx) || ctx->outlived)
		return;
	if (ctx->root) {
		child_ctx_exit(ctx);
		return;
	}
	ctx->tell_end = !(ctx->flags & PFM_FL_SYSTEM_WIDE) && !ctx->self && !pfm_ops(ctx)->has_fd(ctx);
	if (has_children(ctx))
		WRITE_ONCE(ctx->outlived, true);
	else
		end(ctx);
}
