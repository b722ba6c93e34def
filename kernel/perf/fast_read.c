// SPDX-License-Identifier: MIT
/*
 * fast_read.c - fast reads: one system call reads the counters. That is possible if none of them
 * can overflow, no record waits, no timeout runs and there was no error.
 */
#include <sys/syscall.h>
#include <unistd.h>

#include "perf.h"

/*
 * Reads the counts. It calls SYS_read, because read(2) is a cancellation point: a thread that is
 * cancelled there would be counted for ever among the slot's readers (user/fast_read.c).
 */
static bool read_counts(const struct pfm_fast_read *q, uint64_t *counts)
{
	uint64_t words[PERF_READ_WORDS];
	long got = syscall(SYS_read, q->fd, words, sizeof(words));

	if (got < (long)(PERF_HEAD_WORDS * sizeof(words[0])) || words[0] != q->n ||
	    (q->pinned && words[2] < words[1]))
		return false;
	for (unsigned int i = 0; i < q->n; i++)
		counts[i] = words[PERF_HEAD_WORDS + i * PERF_ENTRY_WORDS];
	return true;
}

static bool nothing_else(const struct pfm_context *ctx, const struct perf_context *p)
{
	return pfm_counting(ctx) && !pfm_inherits(ctx) && p && p->set && p->set == ctx->active && p->running &&
	       !p->rings.n && !p->check && !p->unfit && !p->failed && !p->error;
}

static void describe(struct pfm_fast_read *q, const struct pfm_set *set, const struct perf_counter *c, unsigned int i)
{
	const struct pfm_pmd *pmd = &set->pmds[set->pmd_at[c->plan.num]];

	q->at[c->plan.num] = (uint8_t)(i + 1);
	q->pmd[i].add = c->base - c->base_count;
	q->pmd[i].last_reset = pmd->last_reset;
	q->pmd[i].switch_left = set->flags & PFM_SETFL_OVFL_SWITCH ? pmd->switch_left : 0;
}

bool perf_fast_read(struct pfm_context *ctx, struct pfm_fast_read *q)
{
	const struct perf_context *p = perf_of(ctx);
	const struct perf_group *g;

	if (!nothing_else(ctx, p))
		return false;
	g = perf_group_of(p->set);
	if (!g || !g->n || g->joined < g->n || g->sampling || g->n > PFM_FAST_MAX)
		return false;
	q->read = read_counts;
	q->fd = g->c[0].fd;
	q->cpu = p->pid >= 0 || pfm_any_cpu(ctx) ? -1 : p->cpu;
	q->pinned = g->hw;
	q->set = p->set->id;
	q->n = g->n;
	for (unsigned int i = 0; i < g->n; i++)
		describe(q, p->set, &g->c[i], i);
	return true;
}
