// SPDX-License-Identifier: MIT
/*
 * oracle_format.c - the default format's buffer, byte by byte (3.6), and a format with a handler
 * and a restart function that return every combination of control flags, or fail, depending only on
 * the number of the call (3.5.14, 3.5.15).
 */
#include <errno.h>
#include <string.h>

#include "oracle.h"
#include "core/machine.h"
#include "perfmon/perfmon_dfl_smpl.h"

/* --- the default format ----------------------------------------------------------------------- */

static size_t header_size(const struct context *c)
{
	return c->kind == DEFAULT_2X ? sizeof(pfm_dfl_smpl_hdr_t) : sizeof(pfm_default_smpl_hdr_t);
}

/* 3.6.5: "sizeof(pfm_default_smpl_entry_t) + 8 x num_impl_PMD". */
static size_t largest(const struct context *c)
{
	return (c->kind == DEFAULT_2X ? sizeof(pfm_dfl_smpl_entry_t) : sizeof(pfm_default_smpl_entry_t)) +
		8 * world.num_impl;
}

/* count and cur_offs are the first members of both headers, with 8 bytes each. */
static uint64_t *count_of(struct context *c) { return (uint64_t *)c->buf; }
static uint64_t *offset_of(struct context *c) { return (uint64_t *)c->buf + 1; }
static uint64_t *overflows_of(struct context *c) { return (uint64_t *)c->buf + 2; }

static void control_new(struct context *c);

void format_new(struct context *c)
{
	memset(c->buf, 0, sizeof(c->buf));
	c->full = c->full_told = false;
	if (c->kind == DEFAULT_2X)
		*(pfm_dfl_smpl_hdr_t *)c->buf = (pfm_dfl_smpl_hdr_t){
			.hdr_cur_offs = sizeof(pfm_dfl_smpl_hdr_t), .hdr_buf_size = c->buf_size,
			.hdr_min_buf_space = largest(c), .hdr_version = PFM_DFL_SMPL_VERSION,
			.hdr_buf_flags = c->dfl_flags };
	else if (c->kind == DEFAULT_06)
		*(pfm_default_smpl_hdr_t *)c->buf = (pfm_default_smpl_hdr_t){
			.hdr_cur_offs = sizeof(pfm_default_smpl_hdr_t), .hdr_buf_size = c->buf_size,
			.hdr_version = PFM_DEFAULT_SMPL_VERSION, .hdr_flags = c->dfl_flags };
	else if (c->kind == CONTROL)
		control_new(c);
}

static size_t put_header(const struct context *c, unsigned char *to, const struct set *s, int i, const struct where *at)
{
	const struct thread *t = at->thread;

	if (c->dfl_flags & PFM_DFL_SMPL_NO_HDR)
		return 0;
	if (c->dfl_flags & PFM_DFL_SMPL_IIP_HDR) {
		memcpy(to, &at->ip, 8);
		return 8;
	}
	if (c->kind == DEFAULT_2X) {
		pfm_dfl_smpl_entry_t e = { .pid = t->tid, .ovfl_pmd = world.plan[i].num,
			.last_reset_val = s->regs[i].last, .ip = at->ip, .tstamp = world.now, .cpu = t->cpu,
			.set = s->id, .tgid = t->pid };

		memcpy(to, &e, sizeof(e));
		return sizeof(e);
	}
	pfm_default_smpl_entry_t e;

	memset(&e, 0, sizeof(e));
	e.pid = t->pid;
	e.tid = t->tid;
	e.ovfl_pmd = world.plan[i].num;
	e.set = s->id;
	e.cpu = t->cpu;
	e.last_reset_val = s->regs[i].last;
	e.tstamp = world.now;
	e.ip = at->ip;
	memcpy(to, &e, sizeof(e));
	return sizeof(e);
}

/* Writes the thread's own values in a sample of PMD i, by ascending PMD; returns how many. */
static int values(const struct set *s, int i, uint64_t *to)
{
	int n = 0;

	for (int k = 0; k < world.num_plan; k++) {
		if (s->regs[i].smpl >> k & 1)
			to[n++] = s->regs[k].value;
	}
	return n;
}

static void sample(struct context *c, const struct set *s, int i, const struct where *at)
{
	unsigned char one[sizeof(pfm_dfl_smpl_entry_t) + 8 * MAX_PLAN];
	uint64_t body[MAX_PLAN];
	size_t size = put_header(c, one, s, i, at);
	int n = values(s, i, body);

	memcpy(one + size, body, n * 8);
	size += n * 8;
	if (*offset_of(c) + size > c->buf_size)
		return;
	memcpy(c->buf + *offset_of(c), one, size);
	*offset_of(c) += size;
	++*count_of(c);
	if (c->buf_size - *offset_of(c) < largest(c) && !c->full) {
		c->full = true;
		++*overflows_of(c);
	}
}

static void dfl_handle(struct context *c, struct set *s, uint32_t ovfl, const struct where *at, struct verdict *v)
{
	bool asked = false;

	for (int i = 0; i < world.num_plan; i++) {
		if (!(ovfl >> i & 1))
			continue;
		asked |= s->regs[i].flags & PFM_REGFL_OVFL_NOTIFY;
		sample(c, s, i, at);
	}
	if (c->full) {
		v->mask = true;
		v->notify = !(c->full_told && (c->flags & PFM_FL_INHERIT));
		c->full_told |= asked;
		v->block = asked;
	} else {
		v->reset = ovfl;
	}
}

/* --- the format with every flag --------------------------------------------------------------- */

unsigned int format_depth;

#define FIFO 512
#define PATTERN 0x6f7261636c65ULL

struct call {
	pfm_ovfl_arg_t	arg;
	uint64_t	tstamp;
	struct pfm_where where;
	const void	*buf;
};

static struct call calls[MAX_CTXS][FIFO];
static unsigned int first[MAX_CTXS], last[MAX_CTXS];
static struct { bool called; int is_active; } restarted;

/* The beginning of the buffer; the rest stays 0. */
struct control_buf {
	uint64_t	pattern, seed, context, calls, restarts, value;
};

static int decide(uint64_t seed, uint64_t n, pfm_ovfl_ctrl_t *ctrl)
{
	uint64_t h = hash(seed, n);

	ctrl->notify_user = h % 100 < 40;
	ctrl->reset_ovfl_pmds = (h >> 8) % 100 < 60;
	ctrl->block_thread = (h >> 16) % 100 < 25;
	ctrl->mask_monitoring = (h >> 24) % 100 < 20;
	return (h >> 32) % 100 < 4 ? EIO : 0;
}

static int decide_restart(uint64_t seed, uint64_t n, pfm_ovfl_ctrl_t *ctrl)
{
	uint64_t h = hash(~seed, n);

	ctrl->notify_user = h & 1;
	ctrl->block_thread = h >> 1 & 1;
	ctrl->reset_ovfl_pmds = (h >> 8) % 100 < 70;
	ctrl->mask_monitoring = (h >> 16) % 100 < 15;
	return (h >> 24) % 100 < 5 ? EIO : 0;
}

static int control_getsize(uint32_t ctx_flags, void *arg, size_t *size)
{
	(void)ctx_flags;
	*size = ((struct control_arg *)arg)->size;
	return 0;
}

static int control_init(uint32_t ctx_flags, void *arg, void *buf)
{
	const struct control_arg *a = arg;
	struct control_buf *b = buf;

	(void)ctx_flags;
	*b = (struct control_buf){ .pattern = PATTERN, .seed = a->seed, .context = a->seed % MAX_CTXS };
	return 0;
}

static int control_handler(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data)
{
	struct control_buf *b = buf;
	struct call *call = &calls[b->context][last[b->context]++ % FIFO];

	call->arg = *arg;
	call->tstamp = tstamp;
	call->where = *(const struct pfm_where *)data;
	call->buf = buf;
	b->value = arg->pmd_value;
	return decide(b->seed, b->calls++, &arg->ovfl_ctrl);
}

static int control_restart(void *buf, int is_active, pfm_ovfl_ctrl_t *ctrl)
{
	struct control_buf *b = buf;

	restarted.called = true;
	restarted.is_active = is_active;
	compared++;
	if (ctrl->notify_user || ctrl->reset_ovfl_pmds || ctrl->block_thread || ctrl->mask_monitoring)
		differs("fmt_restart() is given control bits that are not 0");
	return decide_restart(b->seed, b->restarts++, ctrl);
}

static pfm_buffer_fmt_t control = {
	.fmt_name = "oracle",
	.fmt_uuid = "oracle of flags",
	.fmt_version = 1,
	.fmt_arg_size = sizeof(struct control_arg),
	.fmt_getsize = control_getsize,
	.fmt_init = control_init,
	.fmt_handler = control_handler,
	.fmt_restart = control_restart,
};

void format_begin(void)
{
	format_depth = rnd(5);
	control.fmt_msgq_depth = format_depth;
	if (!format_depth)
		format_depth = 1;	/* 3.5.7: "it will be forced to 1" */
	if (pfm_add_format(&control))
		differs("the format is refused: %s", pfm_explain());
	memset(first, 0, sizeof(first));
	memset(last, 0, sizeof(last));
}

void format_end(void)
{
	if (pfm_remove_format(&control))
		differs("the format is in use still: %s", pfm_explain());
}

static void control_new(struct context *c)
{
	*(struct control_buf *)c->buf = (struct control_buf){
		.pattern = PATTERN, .seed = c->seed, .context = c->seed % MAX_CTXS };
}

/* Compares the next call of the real handler with the model's call. */
static void compare_call(const struct context *c, const struct set *s, uint32_t ovfl, int i, const struct where *at)
{
	unsigned int which = c - contexts, at_call = first[which]++;
	const struct call *call = &calls[which][at_call % FIFO];
	const struct reg *r = &s->regs[i];
	uint64_t body[MAX_PLAN];
	bool any = false;
	int n = values(s, i, body);

	handled++;
	if (at_call >= last[which])
		differs("the handler was not called for PMD%u of set %u of thread %u", world.plan[i].num, s->id,
			at->thread->tid);
	for (int k = 0; k < world.num_plan; k++)
		any |= (ovfl >> k & 1) && (s->regs[k].flags & PFM_REGFL_OVFL_NOTIFY);
	SAME(call->arg.ovfl_pmd, world.plan[i].num, "handler");
	SAME(call->arg.active_set, s->id, "handler");
	SAME(call->arg.ovfl_notify, !!(r->flags & PFM_REGFL_OVFL_NOTIFY), "handler");
	SAME(call->arg.any_notify, any, "handler");
	SAME(call->arg.num_pmds, world.num_impl, "handler");
	SAME(call->arg.ovfl_ctrl.notify_user | call->arg.ovfl_ctrl.reset_ovfl_pmds |
	     call->arg.ovfl_ctrl.block_thread | call->arg.ovfl_ctrl.mask_monitoring, 0, "handler");
	SAME(call->arg.pmd_last_reset, r->last, "handler, PMD%u", world.plan[i].num);
	SAME(call->arg.pmd_value, r->value, "handler, PMD%u", world.plan[i].num);
	SAME(call->arg.pmd_eventid, r->eventid, "handler");
	SAME(call->arg.num_smpl_pmds, n, "handler");
	for (int k = 0; k < n; k++)
		SAME(call->arg.smpl_pmds_values[k], body[k], "handler, value %d", k);
	for (int k = 0; k < world.num_plan; k++) {
		unsigned int num = world.plan[k].num;

		SAME(call->arg.smpl_pmds[num / 64] >> num % 64 & 1, r->smpl >> k & 1, "handler, PMD%u", num);
	}
	SAME(call->tstamp, world.now, "handler");
	SAME(call->where.ip, at->ip, "handler");
	SAME(call->where.tid, at->thread->tid, "handler");
	SAME(call->where.pid, at->thread->pid, "handler");
	SAME(call->where.cpu, at->thread->cpu, "handler");
}

static void control_handle(struct context *c, struct set *s, uint32_t ovfl, const struct where *at, struct verdict *v)
{
	struct control_buf *b = (struct control_buf *)c->buf;

	for (int i = 0; i < world.num_plan; i++) {
		pfm_ovfl_ctrl_t ctrl = { 0 };

		if (!(ovfl >> i & 1))
			continue;
		compare_call(c, s, ovfl, i, at);
		b->value = s->regs[i].value;
		if (decide(c->seed, b->calls++, &ctrl))
			break;		/* "The calls to the handler stop" */
		v->notify |= ctrl.notify_user;
		v->mask |= ctrl.mask_monitoring;
		v->block |= ctrl.block_thread;
		v->reset |= (uint32_t)ctrl.reset_ovfl_pmds << i;
	}
	/* INHERIT: "there is one message" of all masked threads (perfmon.h) */
	if ((c->flags & PFM_FL_INHERIT) && v->mask) {
		v->notify &= !(c->full && c->full_told);
		c->full = true;
	}
}

void format_check(struct context *c)
{
	unsigned int which = c - contexts;

	if (c->kind == CONTROL)
		SAME(last[which], first[which], "calls of the handler");
}

void format_handle(struct context *c, struct set *s, uint32_t ovfl, const struct where *at, struct verdict *v)
{
	if (c->kind == CONTROL)
		control_handle(c, s, ovfl, at, v);
	else
		dfl_handle(c, s, ovfl, at, v);
}

int format_restart(struct context *c, bool is_active, bool *reset, bool *mask)
{
	struct control_buf *b = (struct control_buf *)c->buf;
	pfm_ovfl_ctrl_t ctrl = { 0 };
	int err;

	if (c->kind != CONTROL) {
		*count_of(c) = 0;
		*offset_of(c) = header_size(c);
		c->full = c->full_told = false;
		*reset = true;
		*mask = false;
		return 0;
	}
	SAME(restarted.called, true, "restart");
	SAME(restarted.is_active, is_active, "restart");
	restarted.called = false;
	err = decide_restart(c->seed, b->restarts++, &ctrl);
	*reset = ctrl.reset_ovfl_pmds;
	*mask = ctrl.mask_monitoring;
	if (!err) {
		c->full = *mask;
		c->full_told &= *mask;
	}
	return err;
}
