// SPDX-License-Identifier: MIT
/*
 * timer.c - the set timeout (3.7.6): a clock event of the target, which runs while the target does,
 * fires when the timeout has passed and writes its record into the ring. Without the right to
 * measure the kernel, a timer that fires in the kernel writes no record. The timer then fires
 * often, and its first record from user code after the timeout counts.
 */
#include <unistd.h>

#include "perf.h"

#define GRANULARITY	10000ULL
#define USER_PERIOD	1000000ULL

static void timer_attr(const struct perf_context *p, struct perf_event_attr *attr)
{
	perf_attr_dummy(attr);
	attr->config = p->pid < 0 ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_TASK_CLOCK;
	attr->exclude_kernel = attr->exclude_hv = 0;
	attr->sample_type |= PERF_SAMPLE_READ;
	attr->sample_period = PERF_FAR;
	attr->wakeup_events = 1;
	attr->disabled = 1;
	attr->enable_on_exec = p->on_exec;
}

int perf_timer_need(struct pfm_context *ctx)
{
	struct perf_context *p = perf_of(ctx);
	struct perf_timer *t = &p->timer;
	struct perf_event_attr attr;
	int ret;

	if (t->fd >= 0)
		return 0;
	ret = perf_ring_need(ctx);
	if (ret)
		return ret;
	timer_attr(p, &attr);
	t->fd = perf_open(&attr, p->pid, p->cpu, -1);
	if (t->fd < 0 && (errno == EACCES || errno == EPERM)) {
		t->user_only = true;
		attr.exclude_kernel = attr.exclude_hv = 1;
		t->fd = perf_open(&attr, p->pid, p->cpu, -1);
	}
	if (t->fd < 0)
		return perf_refuse_open(p, "a timeout", &attr, errno);
	t->on_exec = p->on_exec;
	if (!perf_event_id(t->fd, &t->id) && !perf_ring_join(p->rings.r, t->fd))
		return 0;
	ret = -errno;
	perf_timer_close(t);
	return pfm_refuse(ret, "the kernel refuses a timer: %s", strerror(-ret));
}

void perf_timer_close(struct perf_timer *t)
{
	if (t->fd >= 0)
		perf_close(t->fd);
	memset(t, 0, sizeof(*t));
	t->fd = -1;
}

static uint64_t count_of(const struct perf_timer *t)
{
	uint64_t words[6] = { 0 };	/* nr, enabled, running, count, id, lost */

	return read(t->fd, words, sizeof(words)) > 0 ? words[3] : t->from;
}

static void set_rest(const struct perf_timer *t, uint64_t rest)
{
	if (t->user_only && rest > USER_PERIOD)
		rest = USER_PERIOD;
	perf_set_period(t->fd, rest < GRANULARITY ? GRANULARITY : rest);
}

void perf_arm(struct pfm_context *ctx, uint64_t ns)
{
	struct perf_timer *t = &perf_of(ctx)->timer;

	if (t->fd < 0)
		return;
	t->from = count_of(t);
	t->ns = ns;
	t->expired = false;
	t->armed = true;
	set_rest(t, ns);
	if (!t->on_exec)
		perf_ioctl(t->fd, PERF_EVENT_IOC_ENABLE, 0);
	t->on_exec = false;
}

uint64_t perf_left(struct pfm_context *ctx)
{
	struct perf_timer *t = &perf_of(ctx)->timer;
	uint64_t gone;

	if (!t->armed)
		return 0;
	gone = count_of(t) - t->from;
	return gone < t->ns ? t->ns - gone : 0;
}

uint64_t perf_disarm(struct pfm_context *ctx)
{
	struct perf_timer *t = &perf_of(ctx)->timer;
	uint64_t left;

	if (!t->armed)
		return 0;
	perf_ioctl(t->fd, PERF_EVENT_IOC_DISABLE, 0);
	left = perf_left(ctx);
	t->armed = t->expired = false;
	return left;
}

uint64_t perf_timer_ns(struct pfm_machine *m)
{
	(void)m;
	return GRANULARITY;
}

/*
 * Handles a record of the timer. The timer may have fired long ago, or for a timeout that has been
 * disarmed since.
 */
void perf_timer_record(struct pfm_context *ctx, uint64_t count)
{
	struct perf_timer *t = &perf_of(ctx)->timer;
	int64_t gone = (int64_t)(count - t->from);

	if (!t->armed || gone <= 0)
		return;
	if ((uint64_t)gone + t->ns / 1024 + 1000 < t->ns) {
		set_rest(t, t->ns - (uint64_t)gone);
		return;
	}
	t->expired = true;
	perf_freeze(ctx);
}

bool perf_timer_expire(struct pfm_context *ctx)
{
	struct perf_context *p = perf_of(ctx);
	struct pfm_set *set = p->set;
	const struct perf_group *g = perf_group_of(set);
	uint64_t idle = g ? g->before + g->idle : 0, enabled;
	bool counted;

	if (!p->timer.expired || p->held || !pfm_counting(ctx))
		return false;
	p->timer.expired = p->fresh = false;
	perf_freeze(ctx);
	perf_collect(ctx, set);
	counted = g && g->n && p->fresh;
	enabled = counted ? g->enabled : 0;
	pfm_set_timeout(ctx);
	if (counted)
		perf_note_gap(ctx, set, idle, enabled);
	return true;
}
