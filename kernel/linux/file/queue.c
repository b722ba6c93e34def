// SPDX-License-Identifier: GPL-2.0
/*
 * queue.c - the message queue of a context, and the readers that wait for messages (3.3). Messages
 * are appended in PMU context, where there is only one writer, which cannot wait for a lock;
 * readers take read_lock. One place is reserved for END (3.3.6). A root and its child contexts that
 * sample (PFM_FL_INHERIT) write on several CPUs: each part of their buffer has a queue, and only
 * the context that has taken the part writes to it. Pairs of barriers are marked by a letter: A
 * orders the read of a message before the reuse of its place, B the writing of a message before its
 * read, F the posting of the last message before the setting of "over".
 */
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "linux.h"

static void wake_work(struct irq_work *work)
{
	lx_wake(container_of(work, struct lx_context, msgs.wake_work));
}

int lx_queue_init(struct lx_context *lx, unsigned int depth)
{
	struct lx_queue *q = &lx->msgs.queue;

	mutex_init(&lx->msgs.read_lock);
	init_waitqueue_head(&lx->msgs.readers);
	init_irq_work(&lx->msgs.wake_work, wake_work);
	q->room = depth + 1;
	q->messages = lx->msgs.first_messages;
	if (q->room > ARRAY_SIZE(lx->msgs.first_messages))
		q->messages = pfm_os_alloc(array_size(q->room, sizeof(*q->messages)));
	return q->messages ? 0 : pfm_refuse(-ENOMEM, "no memory for the message queue");
}

/*
 * Makes a queue for each part of the buffer, with room for depth messages. END is never in these
 * queues.
 */
int lx_part_queues_init(struct lx_context *lx, unsigned int depth)
{
	size_t each = size_add(sizeof(struct lx_queue), array_size(depth, sizeof(struct lx_message)));
	unsigned int n = cpumask_last(cpu_online_mask) + 1;
	struct lx_queue *q = pfm_os_alloc(array_size(n, each));
	struct lx_message *messages = (struct lx_message *)(q + n);

	if (!q)
		return pfm_refuse(-ENOMEM, "no memory for the message queues");
	for (unsigned int i = 0; i < n; i++)
		q[i] = (struct lx_queue){ .messages = messages + i * depth, .room = depth };
	lx->msgs.part_queues = q;
	lx->msgs.num_parts = n;
	return 0;
}

void lx_queue_free(struct lx_context *lx)
{
	if (lx->msgs.queue.messages != lx->msgs.first_messages)
		pfm_os_free(lx->msgs.queue.messages);
	pfm_os_free(lx->msgs.part_queues);
}

static int append(struct lx_queue *q, unsigned int room, const pfarg_msg_t *msg, u32 fill)
{
	/* pairs with the releases marked A */
	unsigned int head = q->head, unread = head - smp_load_acquire(&q->tail);
	struct lx_message *at = &q->messages[head % q->room];

	if (unread >= room)
		return -ENOSPC;
	at->msg = *msg;
	at->fill = fill;
	/* B: the message is written before head is advanced */
	smp_store_release(&q->head, head + 1);
	return 0;
}

int lx_post(struct pfm_context *ctx, const pfarg_msg_t *msg)
{
	struct lx_context *lx = lx_of(ctx);
	struct lx_queue *q;
	int ret;

	if (msg->type == PFM_MSG_END) {
		ret = append(&lx->msgs.queue, lx->msgs.queue.room, msg, 0);
	} else if (ctx->parts) {
		q = &lx->msgs.part_queues[lx_part(lx)];
		ret = append(q, q->room, msg, ctx->parts[lx_part(lx)].post);
	} else {
		ret = append(&lx->msgs.queue, lx->msgs.queue.room - 1, msg, 0);
	}
	if (!ret)
		atomic_or(LX_WAKE_READERS | LX_WAKE_SIGNAL, &lx->msgs.wake);
	return ret;
}

static bool has_unread(const struct lx_queue *q)
{
	/* pairs with the release marked B */
	return smp_load_acquire(&q->head) != READ_ONCE(q->tail);
}

/* Returns a queue with an unread message. END, which is in no part's queue, is read last. */
static struct lx_queue *unread(struct lx_context *lx)
{
	for (unsigned int i = 0; i < lx->msgs.num_parts; i++)
		if (has_unread(&lx->msgs.part_queues[i]))
			return &lx->msgs.part_queues[i];
	return has_unread(&lx->msgs.queue) ? &lx->msgs.queue : NULL;
}

/*
 * Copies the oldest message of a queue that has one, and returns the queue; NULL if there is no
 * message. The message stays in the queue until was_read() removes it.
 */
static struct lx_queue *peek(struct lx_context *lx, struct lx_message *to, unsigned int *at)
{
	struct lx_queue *q;

	mutex_lock(&lx->msgs.read_lock);
	q = unread(lx);
	if (q) {
		*at = q->tail;
		*to = q->messages[*at % q->room];
	}
	mutex_unlock(&lx->msgs.read_lock);
	return q;
}

/*
 * Removes the message that peek() has copied. Returns false if another reader or a command
 * (lx_flush_messages()) has removed it since.
 */
static bool was_read(struct lx_context *lx, struct lx_queue *q, unsigned int at, u32 fill)
{
	bool mine;

	mutex_lock(&lx->msgs.read_lock);
	mine = q->tail == at;
	if (mine && q != &lx->msgs.queue)
		pfm_part_read(lx->ctx, q - lx->msgs.part_queues, fill);
	if (mine)
		/* A: the message is copied before its place is reused */
		smp_store_release(&q->tail, at + 1);
	mutex_unlock(&lx->msgs.read_lock);
	return mine;
}

/* Discards the messages of one queue. */
static void forget(struct lx_queue *q)
{
	/*
	 * the release is for what A says: copies are complete before their places are reused; the
	 * acquire pairs with B
	 */
	smp_store_release(&q->tail, smp_load_acquire(&q->head));
}

/*
 * Discards the messages of all queues of the context (3.3.5). The core calls this as the last step
 * of a load, so here also ends what lasts until the next load, which a refused load must not end.
 */
void lx_flush_messages(struct pfm_context *ctx)
{
	struct lx_context *lx = lx_of(ctx);

	mutex_lock(&lx->msgs.read_lock);
	forget(&lx->msgs.queue);
	for (unsigned int i = 0; i < lx->msgs.num_parts; i++)
		forget(&lx->msgs.part_queues[i]);
	mutex_unlock(&lx->msgs.read_lock);
	WRITE_ONCE(lx->msgs.over, false);
	WRITE_ONCE(lx->starved, false);
}

void lx_signal(struct pfm_context *ctx)
{
	atomic_or(LX_WAKE_SIGNAL, &lx_of(ctx)->msgs.wake);
}

/* Wakes readers and sends signals. The message is in the queue by now (3.3.7). */
void lx_wake(struct lx_context *lx)
{
	int what = atomic_xchg(&lx->msgs.wake, 0);

	if (what & LX_WAKE_READERS)
		wake_up_interruptible_poll(&lx->msgs.readers, EPOLLIN | EPOLLRDNORM);
	if (what & LX_WAKE_SIGNAL)
		kill_fasync(&lx->msgs.fasync, SIGIO, POLL_IN);
	if (what & LX_WAKE_TARGET)
		wake_up(&lx->target.blocked);
}

void lx_wake_soon(struct lx_context *lx)
{
	irq_work_queue(&lx->msgs.wake_work);
}

/* --- reading messages: 3.3.3 ---------------------------------------------------------------- */

/*
 * Reads as many messages as exist and fit, and returns their size; 0: there is none. No lock is
 * held while user memory is written, which may fault.
 */
static ssize_t read_some(struct lx_context *lx, char __user *buf, size_t size)
{
	ssize_t done = 0;
	unsigned int at;
	struct lx_message next;
	struct lx_queue *q;

	while (size - done >= sizeof(next.msg) && (q = peek(lx, &next, &at))) {
		if (copy_to_user(buf + done, &next.msg, sizeof(next.msg)))
			return done ? done : -EFAULT;
		if (was_read(lx, q, at, next.fill))
			done += sizeof(next.msg);
	}
	return done;
}

ssize_t lx_read(struct file *file, char __user *buf, size_t size, loff_t *pos)
{
	struct lx_context *lx = file->private_data;
	ssize_t done;
	bool over;

	if (!size || size % sizeof(pfarg_msg_t))
		return pfm_refuse(-EINVAL, "messages are read in multiples of %u bytes",
				  (unsigned int)sizeof(pfarg_msg_t));
	do {
		/* pairs with the release marked F in lifetime.c */
		over = smp_load_acquire(&lx->msgs.over);
		done = read_some(lx, buf, size);
		if (done || over)
			return done;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
	} while (!wait_event_interruptible(lx->msgs.readers, unread(lx) || READ_ONCE(lx->msgs.over)));
	return -ERESTARTSYS;
}

__poll_t lx_poll(struct file *file, poll_table *wait)
{
	struct lx_context *lx = file->private_data;

	poll_wait(file, &lx->msgs.readers, wait);
	return (unread(lx) ? EPOLLIN | EPOLLRDNORM : 0) | (READ_ONCE(lx->msgs.over) ? EPOLLHUP : 0);
}
