// SPDX-License-Identifier: GPL-2.0
/*
 * queue.c - the message queue of a context and those who wait for it (3.3).
 *
 * Messages are appended in PMU context, where there is one writer and no lock can be waited for; readers
 * are serialized. END always finds room (3.3.6).
 */
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "linux.h"

static void wake_work(struct irq_work *work)
{
	lx_wake(container_of(work, struct lx_context, wake_work));
}

int lx_queue_init(struct lx_context *lx, unsigned int depth)
{
	mutex_init(&lx->read_lock);
	init_waitqueue_head(&lx->readers);
	init_irq_work(&lx->wake_work, wake_work);
	lx->room = depth + 1;
	lx->msgs = lx->first_msgs;
	if (lx->room > ARRAY_SIZE(lx->first_msgs))
		lx->msgs = pfm_os_alloc(array_size(lx->room, sizeof(*lx->msgs)));
	return lx->msgs ? 0 : pfm_refuse(-ENOMEM, "no memory for the message queue");
}

void lx_queue_free(struct lx_context *lx)
{
	if (lx->msgs != lx->first_msgs)
		pfm_os_free(lx->msgs);
}

int lx_post(struct pfm_context *ctx, const pfarg_msg_t *msg)
{
	struct lx_context *lx = lx_of(ctx);
	unsigned int head = lx->head, unread = head - smp_load_acquire(&lx->tail);	/* A */

	if (unread >= (msg->type == PFM_MSG_END ? lx->room : lx->room - 1))
		return -ENOSPC;
	lx->msgs[head % lx->room] = *msg;
	smp_store_release(&lx->head, head + 1);		/* B */
	atomic_or(LX_WAKE_READERS | LX_WAKE_SIGNAL, &lx->wake);
	return 0;
}

static bool unread(struct lx_context *lx)
{
	return smp_load_acquire(&lx->head) != READ_ONCE(lx->tail);	/* pairs with B */
}

/* The next message, which is read when it is told that it was. */
static bool peek(struct lx_context *lx, pfarg_msg_t *msg, unsigned int *at)
{
	bool is;

	mutex_lock(&lx->read_lock);
	is = unread(lx);
	*at = lx->tail;
	if (is)
		*msg = lx->msgs[*at % lx->room];
	mutex_unlock(&lx->read_lock);
	return is;
}

/* Another reader may have been faster, or somebody forgotten them all. */
static bool was_read(struct lx_context *lx, unsigned int at)
{
	bool mine;

	mutex_lock(&lx->read_lock);
	mine = lx->tail == at;
	if (mine)
		smp_store_release(&lx->tail, at + 1);	/* pairs with A */
	mutex_unlock(&lx->read_lock);
	return mine;
}

/* 3.3.5 */
void lx_flush_messages(struct pfm_context *ctx)
{
	struct lx_context *lx = lx_of(ctx);

	mutex_lock(&lx->read_lock);
	smp_store_release(&lx->tail, smp_load_acquire(&lx->head));	/* pairs with A; and B with it */
	mutex_unlock(&lx->read_lock);
}

void lx_signal(struct pfm_context *ctx)
{
	atomic_or(LX_WAKE_SIGNAL, &lx_of(ctx)->wake);
}

/* The message is in the queue by now (3.3.7). */
void lx_wake(struct lx_context *lx)
{
	int what = atomic_xchg(&lx->wake, 0);

	if (what & LX_WAKE_READERS)
		wake_up_interruptible_poll(&lx->readers, EPOLLIN | EPOLLRDNORM);
	if (what & LX_WAKE_SIGNAL)
		kill_fasync(&lx->fasync, SIGIO, POLL_IN);
	if (what & LX_WAKE_TARGET)
		wake_up(&lx->blocked);
}

void lx_wake_soon(struct lx_context *lx)
{
	irq_work_queue(&lx->wake_work);
}

/* --- reading: 3.3.3 ------------------------------------------------------------------------- */

/* As many as there are and fit; 0: none. No lock is held while user memory is written, which may take its time. */
static ssize_t read_some(struct lx_context *lx, char __user *buf, size_t size)
{
	ssize_t done = 0;
	unsigned int at;
	pfarg_msg_t msg;

	while (size - done >= sizeof(msg) && peek(lx, &msg, &at)) {
		if (copy_to_user(buf + done, &msg, sizeof(msg)))
			return done ? done : -EFAULT;
		if (was_read(lx, at))
			done += sizeof(msg);
	}
	return done;
}

ssize_t lx_read(struct file *file, char __user *buf, size_t size, loff_t *pos)
{
	struct lx_context *lx = file->private_data;
	ssize_t done;

	if (!size || size % sizeof(pfarg_msg_t))
		return pfm_refuse(-EINVAL, "messages are read in multiples of %u bytes",
				  (unsigned int)sizeof(pfarg_msg_t));
	while (!(done = read_some(lx, buf, size))) {
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		if (wait_event_interruptible(lx->readers, unread(lx)))
			return -ERESTARTSYS;
	}
	return done;
}

__poll_t lx_poll(struct file *file, poll_table *wait)
{
	struct lx_context *lx = file->private_data;

	poll_wait(file, &lx->readers, wait);
	return unread(lx) ? EPOLLIN | EPOLLRDNORM : 0;
}
