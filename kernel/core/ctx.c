// SPDX-License-Identifier: GPL-2.0 OR MIT
/* ctx.c - creating and closing a context (3.1.1, 3.1.15). */
#include "core.h"

#define GENERIC_FLAGS (PFM_FL_NOTIFY_BLOCK | PFM_FL_SYSTEM_WIDE | PFM_FL_SMPL_FMT | PFM_FL_ANY_CPU | \
		       PFM_FL_MAP_SETS | PFM_FL_INHERIT | PFM_FL_PREEMPTIBLE | PFM_FL_OVFL_NO_MSG)

/* Checks the flags as table 3.2 of the specification says. */
static int check_flags(struct pfm_machine *m, uint32_t flags, const struct pfm_buffer_fmt *fmt)
{
	uint32_t unknown = flags & ~(GENERIC_FLAGS | m->ops->ctx_flags);

	if (unknown)
		return pfm_refuse(-EINVAL, "unknown ctx_flags %#x%s", unknown,
				  unknown & PFM_FL_PROCESS ? " (PROCESS): here each thread takes a context" : "");
	if ((flags & PFM_FL_NOTIFY_BLOCK) && (flags & PFM_FL_SYSTEM_WIDE))
		return pfm_refuse(-EINVAL, "NOTIFY_BLOCK does not go with SYSTEM_WIDE");
	if ((flags & PFM_FL_ANY_CPU) && !(flags & PFM_FL_SYSTEM_WIDE))
		return pfm_refuse(-EINVAL, "ANY_CPU needs SYSTEM_WIDE");
	if ((flags & PFM_FL_PREEMPTIBLE) && !(flags & PFM_FL_SYSTEM_WIDE))
		return pfm_refuse(-EINVAL, "PREEMPTIBLE needs SYSTEM_WIDE");
	if ((flags & PFM_FL_SMPL_FMT) && !fmt)
		return pfm_refuse(-EINVAL, "SMPL_FMT needs a sampling format");
	if ((flags & PFM_FL_INHERIT) && pfm_check_inherit(m, flags, fmt))
		return -EINVAL;
	return m->ops->check_create ? m->ops->check_create(m, flags) : 0;
}

/*
 * Turns the positive errno that a format's call-back returns (3.5.10) into a negative one, with a
 * reason.
 */
static int fmt_error(const struct pfm_buffer_fmt *fmt, int err, const char *what)
{
	return err ? pfm_refuse(-err, "format %s: %s", fmt->fmt_name, what) : 0;
}

static bool takes_records(const struct pfm_buffer_fmt *fmt)
{
	return fmt->fmt_ops ? fmt->fmt_ops->record : fmt->fmt_record;
}

/* Checks that the machine supports the stacks, records and PEBS samples that the format wants. */
static int check_wants(struct pfm_context *ctx)
{
	const struct pfm_stack_ops *can = pfm_ops(ctx)->stack;
	const struct pfm_stack_want *want = &ctx->format_needs;
	const char *name = ctx->fmt->fmt_name;

	if (!can && (want->kernel || want->user || want->max_stack))
		return pfm_refuse(-EOPNOTSUPP, "format %s: this machine does not yield call stacks", name);
	if (want->max_stack && !can->copy)
		return pfm_refuse(-EOPNOTSUPP, "format %s: this machine does not copy stacks", name);
	if (want->ds_record && want->ds_record != pfm_ops(ctx)->ds_record)
		return pfm_refuse(-EOPNOTSUPP, "format %s: this machine's processor does not write such samples", name);
	if (want->records && !pfm_ops(ctx)->records)
		return pfm_refuse(-EOPNOTSUPP, "format %s: this machine does not report what programs do", name);
	if (want->switches && !pfm_ops(ctx)->switches)
		return pfm_refuse(-EOPNOTSUPP, "format %s: this machine does not report context switches", name);
	if (want->records && !takes_records(ctx->fmt))
		return pfm_refuse(-EINVAL, "format %s wants records, and has no call-back for them", name);
	return 0;
}

static int learn_wants(struct pfm_context *ctx, const void *arg)
{
	if (!ctx->fmt->fmt_want)
		return 0;
	ctx->fmt->fmt_want(arg, &ctx->format_needs);
	return check_wants(ctx);
}

static int make_buffer(struct pfm_context *ctx, size_t size)
{
	if (pfm_inherits(ctx))
		return pfm_parts_make(ctx, size);
	return size ? pfm_buffer_alloc(ctx, size) : 0;
}

static void free_buffer(struct pfm_context *ctx)
{
	pfm_buffer_free(ctx);
	pfm_parts_free(ctx);
}

static int init_buffer(struct pfm_context *ctx, void *arg, void *buf)
{
	return fmt_error(ctx->fmt, ctx->fmt->fmt_init(ctx->flags, arg, buf), "initialization failed");
}

static int init_buffers(struct pfm_context *ctx, void *arg)
{
	int ret = ctx->num_parts ? 0 : init_buffer(ctx, arg, ctx->buf);

	for (unsigned int i = 0; i < ctx->num_parts && !ret; i++)
		ret = init_buffer(ctx, arg, ctx->parts[i].buf);
	return ret;
}

static int start_format(struct pfm_context *ctx, void *arg)
{
	struct pfm_buffer_fmt *fmt = ctx->fmt;
	size_t size = 0;
	int ret = 0;

	/* records a reason, which remains if fmt_validate() fails without giving one */
	fmt_error(fmt, EINVAL, "the argument is not valid");
	if (fmt->fmt_validate)
		ret = -fmt->fmt_validate(ctx->flags, ctx->pmu->num_pmds, arg);
	if (!ret)
		ret = learn_wants(ctx, arg);
	if (!ret && fmt->fmt_getsize)
		ret = fmt_error(fmt, fmt->fmt_getsize(ctx->flags, arg, &size), "no buffer size");
	if (!ret)
		ret = make_buffer(ctx, size);
	if (!ret && fmt->fmt_init) {
		ret = init_buffers(ctx, arg);
		if (ret)
			free_buffer(ctx);
	}
	return ret;
}

/* Starts a format with fmt_ops in the context. */
static int start_driven(struct pfm_context *ctx, void *arg)
{
	const struct pfm_fmt_ops *ops = ctx->fmt->fmt_ops;
	size_t size = 0;
	int ret;

	/* records a reason, which remains if create() fails without giving one */
	fmt_error(ctx->fmt, EINVAL, "the context is refused");
	ret = -ops->create(ctx->fmt, ctx->flags, ctx->pmu->num_pmds, arg, &size, &ctx->fmt_self);
	if (ret)
		return ret;
	ret = learn_wants(ctx, arg);
	if (!ret)
		ret = make_buffer(ctx, size);
	if (!ret)
		ret = fmt_error(ctx->fmt, ops->init(ctx->fmt_self, ctx->flags, arg, ctx->buf),
				"initialization failed");
	if (ret) {
		ops->exit(ctx->fmt_self);
		free_buffer(ctx);
	}
	return ret;
}

static void end_format(struct pfm_context *ctx)
{
	if (!ctx->fmt)
		return;
	if (ctx->fmt->fmt_ops)
		ctx->fmt->fmt_ops->exit(ctx->fmt_self);
	else if (ctx->fmt->fmt_exit && !ctx->num_parts)
		ctx->fmt->fmt_exit(ctx->buf);
	for (unsigned int i = 0; i < ctx->num_parts && ctx->fmt->fmt_exit; i++)
		ctx->fmt->fmt_exit(ctx->parts[i].buf);
	free_buffer(ctx);
}

/*
 * Makes set 0, the machine's state, the view and the format of a context. The caller holds a
 * reference to the format.
 */
static int build(struct pfm_context *ctx, void *fmt_arg)
{
	const struct pfm_machine_ops *ops = pfm_ops(ctx);
	int ret;

	pfm_sets_init(ctx);
	ret = ops->create ? ops->create(ctx) : 0;
	if (ret)
		return ret;
	ret = pfm_view_open(ctx, &ctx->set0);
	if (!ret && ctx->fmt)
		ret = ctx->fmt->fmt_ops ? start_driven(ctx, fmt_arg) : start_format(ctx, fmt_arg);
	if (!ret)
		return 0;
	pfm_view_close(ctx, &ctx->set0);
	if (ops->destroy)
		ops->destroy(ctx);
	return ret;
}

/*
 * With INHERIT ctx_reserved[0] may have the value that an earlier call returned, because programs
 * may reuse the structure.
 */
static bool reserved_ok(const pfarg_ctx_t *req)
{
	return (req->ctx_flags & PFM_FL_INHERIT || !req->ctx_reserved[0]) &&
	       pfm_zeros(req->ctx_reserved + 1, sizeof(req->ctx_reserved) - sizeof(req->ctx_reserved[0]));
}

static int check_request(struct pfm_machine *m, const pfarg_ctx_t *req, struct pfm_buffer_fmt *fmt)
{
	int ret = check_flags(m, req->ctx_flags, fmt);

	if (!ret && !reserved_ok(req))
		ret = pfm_refuse(-EINVAL, "reserved fields must be 0");
	if (!ret)
		ret = pfm_may_create(m, req->ctx_flags);
	if (!ret && fmt && fmt->fmt_arg_size > READ_ONCE(m->arg_size_max))
		ret = pfm_refuse(-E2BIG, "the argument of format %s exceeds cf_arg_size_max",
				 fmt->fmt_name);
	return ret;
}

int pfm_do_create(struct pfm_machine *m, pfarg_ctx_t *req, struct pfm_buffer_fmt *fmt, void *fmt_arg,
		  void *transport, struct pfm_context **out)
{
	struct pfm_context *ctx = NULL;
	int ret = check_request(m, req, fmt);

	if (ret)
		goto put;
	ctx = pfm_os_alloc(fmt ? sizeof(*ctx) : offsetof(struct pfm_context, ovfl_arg.smpl_pmds_values));
	if (!ctx) {
		ret = pfm_refuse(-ENOMEM, "no memory for a context");
		goto put;
	}
	ctx->machine = m;
	ctx->pmu = m->pmu;
	ctx->state = PFM_CTX_UNLOADED;
	ctx->flags = req->ctx_flags;
	ctx->transport = transport;
	ctx->fmt = fmt;
	ctx->msgq_depth = fmt ? fmt->fmt_msgq_depth : 1;
	ret = build(ctx, fmt_arg);
	if (ret)
		goto free;
	req->ctx_smpl_buf_size = ctx->buf_size;
	if (pfm_inherits(ctx))
		pfm_ctx_buf_parts(req) = ctx->num_parts;
	*out = ctx;
	return 0;
free:
	pfm_os_free(ctx);
put:
	if (fmt)
		pfm_fmt_put(fmt);
	return ret;
}

void pfm_do_close(struct pfm_context *ctx)
{
	if (pfm_loaded(ctx))
		pfm_unload(ctx);	/* the last close may happen on any CPU */
	end_format(ctx);
	if (ctx->fmt)
		pfm_fmt_put(ctx->fmt);
	for (struct pfm_set *set = &ctx->set0; set; set = set->next)
		pfm_view_close(ctx, set);
	if (pfm_ops(ctx)->destroy)
		pfm_ops(ctx)->destroy(ctx);
	pfm_sets_free(ctx);
	pfm_os_free(ctx);
}
