// SPDX-License-Identifier: MIT
/*
 * concurrent_format.c - sampling formats of both kinds (core/format.h), which ask for anything at
 * random, and note what they asked for. visitor is registered and unregistered all the time.
 */
#include <sched.h>

#include "concurrent.h"

#define BUFFER_SIZE 5000

/* The head of a buffer: overflows and restarts add to it, while others read it. */
struct counts {
	uint64_t	overflows, restarts;
};

/* Yields, at most `most` times, until another thread has found this part of the buffer taken. */
static void let_others_run(int most)
{
	unsigned long before = atomic_load(&tally.taken_away);

	for (int n = 0; n < most && atomic_load(&tally.taken_away) == before; n++)
		sched_yield();
}

static int judge(struct counts *counts, pfm_ovfl_arg_t *arg, const struct pfm_where *where)
{
	struct file *f = where->regs;
	pfm_ovfl_ctrl_t *ctrl = &arg->ovfl_ctrl;
	uint32_t r = rng_next(&me.rng) >> 32;

	if (!rng_below(&me.rng, f->ctx->parts ? 2 : 10))
		let_others_run(f->ctx->parts ? 100 : 1);
	counts->overflows++;
	f->handled++;
	atomic_fetch_add(&(f->root ? f->root : f)->judged, 1);
	ctrl->notify_user = r % 4 == 0;
	ctrl->mask_monitoring = r / 4 % 8 == 0;
	ctrl->reset_ovfl_pmds = r / 32 % 2;
	ctrl->block_thread = r / 64 % 8 == 0;
	f->wants_notify |= ctrl->notify_user && arg->any_notify;
	f->wants_mask |= ctrl->mask_monitoring;
	return 0;
}

static void decide(struct counts *counts, pfm_ovfl_ctrl_t *ctrl)
{
	counts->restarts++;
	ctrl->reset_ovfl_pmds = rng_below(&me.rng, 2);
	ctrl->mask_monitoring = !rng_below(&me.rng, 4);
}

/* --- formats that have only a buffer ---------------------------------------------------------- */

static int getsize(uint32_t flags, void *arg, size_t *size)
{
	(void)flags, (void)arg;
	*size = BUFFER_SIZE;
	return 0;
}

static int init(uint32_t flags, void *arg, void *buf)
{
	(void)flags, (void)arg, (void)buf;
	return rng_chance(&me.rng, 2) ? EINVAL : 0;
}

static int handler(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data)
{
	(void)tstamp;
	return judge(buf, arg, data);
}

static int on_restart(void *buf, int is_active, pfm_ovfl_ctrl_t *ctrl)
{
	(void)is_active;
	decide(buf, ctrl);
	return 0;
}

pfm_buffer_fmt_t tally_format = {
	.fmt_name = "tally", .fmt_uuid = "tally", .fmt_msgq_depth = 3, .fmt_getsize = getsize, .fmt_init = init,
	.fmt_handler = handler, .fmt_restart = on_restart,
};

pfm_buffer_fmt_t visitor_format = {
	.fmt_name = "visitor", .fmt_uuid = "visitor", .fmt_handler = handler, .fmt_getsize = getsize,
};

/* --- a format with fmt_ops, which has a state for each context -------------------------------- */

static int create(struct pfm_buffer_fmt *fmt, uint32_t flags, uint16_t num_pmds, void *arg, size_t *size,
		  void **self)
{
	(void)fmt, (void)flags, (void)num_pmds, (void)arg;
	*self = pfm_os_alloc(sizeof(struct counts));
	*size = BUFFER_SIZE;
	return *self ? 0 : ENOMEM;
}

static int init_driven(void *self, uint32_t flags, void *arg, void *buf)
{
	(void)self;
	return init(flags, arg, buf);
}

static int handler_driven(void *self, pfm_ovfl_arg_t *arg, const struct pfm_where *where)
{
	return judge(self, arg, where);
}

static int restart_driven(void *self, int is_active, pfm_ovfl_ctrl_t *ctrl)
{
	(void)is_active;
	decide(self, ctrl);
	return 0;
}

static const struct pfm_fmt_ops driven_ops = {
	.create = create, .init = init_driven, .handler = handler_driven, .restart = restart_driven,
	.exit = pfm_os_free,
};

pfm_buffer_fmt_t driven_format = {
	.fmt_name = "driven", .fmt_uuid = "driven", .fmt_msgq_depth = 2, .fmt_ops = &driven_ops,
};
