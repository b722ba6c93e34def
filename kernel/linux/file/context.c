// SPDX-License-Identifier: GPL-2.0
/* context.c - a context's descriptor, which is an anonymous file, and its last close (3.1.15). */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "compat.h"
#include "linux.h"

static struct lx_context *context_alloc(struct pid_namespace *ns, size_t size, unsigned int counters)
{
	struct lx_context *lx = pfm_os_alloc(size);

	if (!lx)
		return NULL;
	__module_get(THIS_MODULE);
	lx->root = lx;
	lx->room_counters = counters;
	kref_init(&lx->ref);
	mutex_init(&lx->lock);
	INIT_LIST_HEAD(&lx->buf.maps);
	spin_lock_init(&lx->buf.maps_lock);
	init_waitqueue_head(&lx->target.blocked);
	lx_lifetime_init_context(lx);
	lx_record_init_context(lx);
	lx_clock_init_context(lx);
	lx_view_init_context(lx);
	memset(lx->slot, LX_NO_COUNTER, sizeof(lx->slot));
	lx->ns = get_pid_ns(ns);
	return lx;
}

struct lx_context *lx_context_new(bool samples)
{
	int paranoid = lx_paranoid(), ret = lx_check_monitor(paranoid);
	size_t size = samples ? sizeof(struct lx_context) : offsetof(struct lx_context, trace);
	struct lx_context *lx;

	if (ret)
		return ERR_PTR(ret);
	lx = context_alloc(task_active_pid_ns(current), size, LX_MAX_COUNTERS);
	if (!lx)
		return ERR_PTR(pfm_refuse(-ENOMEM, "no memory for a context"));
	lx->creator_paranoid = paranoid;
	return lx;
}

/*
 * Makes a child context, which has neither a file nor messages. Its structure ends after as many
 * elements of counters[] as the root uses, unless the root has a sampling format.
 */
struct lx_context *lx_child_context(struct lx_context *root)
{
	unsigned int counters = root->num_counters;
	size_t size = root->ctx->fmt ? sizeof(struct lx_context) :
		      offsetof(struct lx_context, counters) + counters * sizeof(struct lx_counter);
	struct lx_context *lx = context_alloc(root->ns, size, counters);

	if (!lx)
		return NULL;
	lx->root = root;
	kref_get(&root->ref);
	lx->family.cred = get_cred(root->family.cred);
	lx->kernel_ips = root->kernel_ips;
	lx->sees_all = root->sees_all;
	lx_queue_init(lx, 1);	/* a child context has no descriptor, so nothing reads its queue */
	return lx;
}

static void context_free(struct kref *ref)
{
	struct lx_context *lx = container_of(ref, struct lx_context, ref);

	struct lx_context *root = lx->root;
	bool child_ctx = root != lx;

	put_pid_ns(lx->ns);
	put_cred(lx->family.cred);
	lx_inherit_free(lx);
	lx_queue_free(lx);
	pfm_os_free(lx);
	if (child_ctx)
		lx_context_put(root);
	/* lx_lifetime_exit() waits until every thread has left this function */
	module_put(THIS_MODULE);
}

void lx_context_put(struct lx_context *lx)
{
	kref_put(&lx->ref, context_free);
}

static int context_release(struct inode *inode, struct file *file)
{
	struct lx_context *lx = file->private_data;

	mutex_lock(&lx->lock);
	if (lx->ctx)
		pfm_do_close(lx->ctx);
	lx->ctx = NULL;
	lx_unlock(lx);
	irq_work_sync(&lx->msgs.wake_work);
	lx_context_put(lx);
	return 0;
}

static int context_fasync(int fd, struct file *file, int on)
{
	struct lx_context *lx = file->private_data;

	return fasync_helper(fd, file, on, &lx->msgs.fasync);
}

/* Nothing can be written to a context; the error is that of perfmon 2.x. */
static ssize_t context_write(struct file *file, const char __user *buf, size_t size, loff_t *pos)
{
	return pfm_refuse(-EINVAL, "nothing can be written to a context's descriptor");
}

const struct file_operations lx_context_fops = {
	.owner = THIS_MODULE,
	.read = lx_read,
	.write = context_write,
	.poll = lx_poll,
	.fasync = context_fasync,
	.unlocked_ioctl = lx_context_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = lx_mmap,
	.flush = lx_flush,
	.release = context_release,
	PFM_NO_LLSEEK
};

struct file *lx_context_file(struct lx_context *lx)
{
	struct file *file = anon_inode_getfile("[perfmon]", &lx_context_fops, lx, O_RDWR);

	if (IS_ERR(file))
		pfm_refuse(0, "no file for a context");
	else
		lx->file = file;
	return file;
}
