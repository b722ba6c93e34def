// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * parts.c - the buffer of a context with PFM_FL_INHERIT, for the samples of a thread and of all
 * threads that it creates.
 *
 * Threads run at the same time, but a format expects one writer. So there are several buffers, one
 * after the other, each of them complete: the parts. ops->num_parts() returns how many. A thread
 * fills the part of its CPU, after its context has taken the part. It does not wait for a part that
 * is taken, because it may run in an NMI that has interrupted the code which took the part.
 *
 * A restart gives a full part back to its format, which then overwrites it. Another part may fill
 * up while the program reads the first one. So each fill of a part has a number, and with several
 * parts a restart gives back only the fills of which the program has read the messages. It gives
 * back all fills if no message was ever read, or if the message of the last fill was lost.
 */
#include "core.h"

int pfm_parts_make(struct pfm_context *ctx, size_t size)
{
	const struct pfm_machine_ops *ops = pfm_ops(ctx);
	size_t page = ops->page_size(ctx->machine), whole = (size + page - 1) / page * page;
	unsigned int n = ops->num_parts ? ops->num_parts(ctx) : 1;
	int ret = 0;

	if (whole < size || (whole && n > SIZE_MAX / whole))
		return pfm_refuse(-ENOMEM, "%u buffers of %llu bytes are too large", n, (unsigned long long)size);
	ctx->parts = pfm_os_alloc(n * sizeof(*ctx->parts));
	if (!ctx->parts)
		return pfm_refuse(-ENOMEM, "no memory for the parts of a buffer");
	if (size)
		ret = pfm_buffer_alloc(ctx, n * whole);
	if (ret) {
		pfm_os_free(ctx->parts);
		ctx->parts = NULL;
		return ret;
	}
	ctx->num_parts = n;
	for (unsigned int i = 0; size && i < n; i++)
		ctx->parts[i].buf = (char *)ctx->buf + i * whole;
	return 0;
}

void pfm_parts_free(struct pfm_context *ctx)
{
	pfm_os_free(ctx->parts);
	ctx->parts = NULL;
}

/* --- taking a part -------------------------------------------------------------------------- */

static struct pfm_part *part_of(struct pfm_context *ctx)
{
	const struct pfm_machine_ops *ops = pfm_ops(ctx);

	return &ctx->parts[ops->part ? ops->part(ctx) : 0];
}

static bool take(struct pfm_context *ctx, struct pfm_part *part)
{
	bool ours = pfm_os_take(&part->taken);

	if (ours)
		ctx->part = part;
	return ours;
}

bool pfm_part_take(struct pfm_context *ctx)
{
	return take(ctx, part_of(ctx));
}

void pfm_part_wait(struct pfm_context *ctx)
{
	struct pfm_part *part = part_of(ctx);

	while (!take(ctx, part))
		;
}

void pfm_part_leave(struct pfm_context *ctx)
{
	struct pfm_part *part = ctx->part;

	ctx->part = NULL;
	smp_store_release(&part->taken, 0);	/* pairs with pfm_os_take() */
}

/* --- fills: overflows at which the format notifies or masks ---------------------------------- */

bool pfm_part_filled(struct pfm_part *part, bool masks)
{
	if (masks && part->full)
		return !part->reported;
	if (masks || !part->full) {
		part->full = masks;
		part->reported = false;
	}
	WRITE_ONCE(part->fills, part->fills + 1);
	return true;
}

void pfm_part_read(struct pfm_context *root, unsigned int part, uint32_t fill)
{
	WRITE_ONCE(root->heard, true);
	if (fill)
		WRITE_ONCE(root->parts[part].read, fill);
}

/*
 * Returns how many fills of the part a restart gives back: those up to the newest one of which the
 * message was read. It gives back all if no message was read since the load, or if the last fill
 * has not been reported.
 */
static uint32_t due(const struct pfm_context *root, const struct pfm_part *part)
{
	uint32_t upto = READ_ONCE(root->heard) && part->reported ? READ_ONCE(part->read) : part->fills;

	return (int32_t)(upto - part->given) > 0 ? upto - part->given : 0;
}

/*
 * Calls the format's restart for each fill that is given back. If there is only one part, restart
 * is called once each time, as in a context without INHERIT. A fill that the format refuses to take
 * back stays due.
 */
static int give_back(struct pfm_context *root, struct pfm_part *part, pfm_ask_t *ask)
{
	uint32_t n = root->num_parts == 1 ? 1 : due(root, part);

	for (; n; n--) {
		pfm_ovfl_ctrl_t ctrl;
		int ret = ask(root, part->buf, !part->full, &ctrl);

		if (ret)
			return ret;
		part->ctrl = ctrl;
		part->full = ctrl.mask_monitoring;
		part->given = root->num_parts == 1 ? part->fills : part->given + 1;
		part->restarts++;
	}
	return 0;
}

bool pfm_part_is_due(const struct pfm_context *root, const struct pfm_part *part)
{
	return root->num_parts == 1 || READ_ONCE(part->fills) != part->given;
}

int pfm_part_restart(struct pfm_context *root, struct pfm_part *part, pfm_ask_t *ask)
{
	int ret;

	while (!take(root, part))
		;
	ret = give_back(root, part, ask);
	pfm_part_leave(root);
	return ret;
}

/*
 * At a load, marks the fills of an earlier load as given back, so that no restart is due for them.
 * Runs in PMU context, or before monitoring starts.
 */
void pfm_parts_begin(struct pfm_context *root)
{
	root->heard = false;
	root->held_by = NULL;
	for (unsigned int i = 0; i < root->num_parts; i++) {
		struct pfm_part *part = &root->parts[i];

		part->read = part->given = part->fills;
		part->full = part->reported = false;
	}
}
