// SPDX-License-Identifier: GPL-2.0
/* chardev.c - /dev/perfmon: contexts are created here (3.1.1). */
#include <linux/file.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "linux.h"

static bool has_uuid(const pfarg_ctx_t *ctx)
{
	return !pfm_zeros(ctx->ctx_smpl_buf_id, sizeof(ctx->ctx_smpl_buf_id));
}

static int pick_format(struct pfm_ioc_create *req, const pfarg_ctx_t *ctx, struct pfm_buffer_fmt **fmt)
{
	bool none = !has_uuid(ctx);

	*fmt = NULL;
	if (req->flags & PFM_IOC_BY_NAME) {
		req->fmt_name[sizeof(req->fmt_name) - 1] = 0;
		if (!none)
			return pfm_refuse(-EINVAL, "reserved fields must be 0");
		*fmt = lx_format_by_name(req->fmt_name);
		return *fmt ? 0 : pfm_refuse(-EINVAL, "no sampling format is called \"%s\"", req->fmt_name);
	}
	if (none)
		return 0;
	*fmt = lx_format_by_uuid(ctx->ctx_smpl_buf_id);
	return *fmt ? 0 : pfm_refuse(-EINVAL, "no sampling format has this UUID");
}

/* Returns a copy of the format's argument, NULL if the format has none, or an ERR_PTR. */
static void *copy_fmt_arg(const struct pfm_ioc_create *req, const struct pfm_buffer_fmt *fmt)
{
	size_t want = fmt ? fmt->fmt_arg_size : 0;
	void *arg;

	if (req->arg_size != want && req->arg_size != ~0ULL) {
		pfm_refuse(0, "format %s takes an argument of %u bytes, not %u",
			   fmt ? fmt->fmt_name : "(none)", (unsigned int)want, (unsigned int)req->arg_size);
		return ERR_PTR(-EINVAL);
	}
	if (!want)
		return NULL;
	arg = memdup_user((void __user *)(uintptr_t)req->fmt_arg, want);
	if (IS_ERR(arg))
		pfm_refuse(0, "the format's argument cannot be read");
	return arg;
}

static int make_context(struct pfm_ioc_create *req, pfarg_ctx_t *ctx, struct lx_context *lx)
{
	struct pfm_buffer_fmt *fmt;
	struct pfm_context *made;
	int ret = pick_format(req, ctx, &fmt);
	void *arg;

	if (ret)
		return ret;
	arg = copy_fmt_arg(req, fmt);
	if (IS_ERR(arg)) {
		if (fmt)
			pfm_fmt_put(fmt);
		return PTR_ERR(arg);
	}
	ret = pfm_do_create(&lx_machine, ctx, fmt, arg, lx, &made);
	kfree(arg);
	if (ret)
		lx->ctx = NULL;
	return ret;
}

/* Makes the context's file, which from then on holds the reference to the context. */
static struct file *file_for(struct pfm_ioc_create *req, pfarg_ctx_t *ctx)
{
	struct lx_context *lx = lx_context_new(req->flags & PFM_IOC_BY_NAME || has_uuid(ctx));
	struct file *file;
	int ret;

	if (IS_ERR(lx))
		return ERR_CAST(lx);
	lx->by_06 = req->arg_size == U64_MAX;
	ret = make_context(req, ctx, lx);
	if (ret) {
		lx_context_put(lx);
		return ERR_PTR(ret);
	}
	file = lx_context_file(lx);
	if (IS_ERR(file)) {
		pfm_do_close(lx->ctx);
		lx_context_put(lx);
	}
	return file;
}

/*
 * The descriptor is installed as the last step, because from then on the program can use the
 * context.
 */
static long create_with_fd(struct pfm_ioc_create *req, pfarg_ctx_t *ctx, int fd)
{
	void __user *to = (void __user *)(uintptr_t)req->ctx;
	struct file *file = file_for(req, ctx);

	if (IS_ERR(file))
		return PTR_ERR(file);
	ctx->ctx_fd = fd;
	if (copy_to_user(to, ctx, sizeof(*ctx))) {
		fput(file);
		return pfm_refuse(-EFAULT, "the context cannot be written");
	}
	fd_install(fd, file);
	return fd;
}

static long create_context(struct pfm_ioc_create __user *arg)
{
	struct pfm_ioc_create req;
	pfarg_ctx_t ctx;
	long ret;
	int fd;

	if (copy_from_user(&req, arg, sizeof(req)))
		return pfm_refuse(-EFAULT, "the argument cannot be read");
	if (copy_from_user(&ctx, (void __user *)(uintptr_t)req.ctx, sizeof(ctx)))
		return pfm_refuse(-EFAULT, "the context cannot be read");
	fd = get_unused_fd_flags(0);
	if (fd < 0)
		return pfm_refuse(fd, "no descriptor for a context (see ulimit -n)");
	ret = create_with_fd(&req, &ctx, fd);
	if (ret < 0)
		put_unused_fd(fd);
	return ret;
}

static long device_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	if (_IOC_TYPE(cmd) != PFM_IOC_MAGIC)
		return -ENOTTY;
	lx_pmu_load_module();
	if (_IOC_NR(cmd) == PFM_NR_CREATE_CONTEXT)
		return create_context((void __user *)arg);
	return lx_common_ioctl(cmd, (void __user *)arg);
}

static const struct file_operations device_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = device_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.llseek = noop_llseek,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "perfmon",
	.fops = &device_fops,
	.mode = 0660,		/* the udev rule 60-perfmon.rules gives access to a group */
};

int lx_device_init(void)
{
	return misc_register(&device);
}

void lx_device_exit(void)
{
	misc_deregister(&device);
}
