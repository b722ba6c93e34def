// SPDX-License-Identifier: MIT
/*
 * alloc.c - makes each call with its first, second... allocation failing, until it succeeds.
 *
 * A call that fails must return ENOMEM with a reason, change nothing (with a vector: nothing after
 * the elements before the failing one), succeed when it is made again, and leak nothing. Prints a
 * line per call: its name and how many allocations were made to fail.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "alloc.h"

static const char *now_trying;
static long now_failing, base;

static const char *where(void)
{
	static char text[96];

	snprintf(text, sizeof(text), "%s, allocation %ld", now_trying, now_failing);
	return text;
}

/* --- what can be seen of the state ---------------------------------------------------------- */

struct view {
	char	text[1 << 16];
	size_t	len;
};

static void show(struct view *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void show(struct view *v, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	v->len += vsnprintf(v->text + v->len, sizeof(v->text) - v->len, fmt, args);
	va_end(args);
	CHECK(v->len < sizeof(v->text), "the view is too small");
}

static void show_set(struct view *v, int fd, uint16_t id)
{
	struct pfm_set *set = pfm_set_find(context_of(fd), id);
	pfarg_setinfo_t info = { .set_id = id };

	CHECK(!pfm_getinfo_evtsets(fd, &info, 1), "getinfo: %s", pfm_explain());
	show(v, " set %u next %u flags %#x runs %llu timeout %llu\n", id, info.set_id_next, info.set_flags,
	     (unsigned long long)info.set_runs, (unsigned long long)info.set_timeout);
	for (unsigned int i = 0; i < set->num_pmcs; i++)
		show(v, "  pmc %u %#llx\n", set->pmcs[i].num, (unsigned long long)set->pmcs[i].value);
	for (unsigned int i = 0; i < set->num_pmds; i++) {
		pfarg_pmd_t pmd = { .reg_num = set->pmds[i].num, .reg_set = id };

		CHECK(!pfm_read_pmds(fd, &pmd, 1), "read: %s", pfm_explain());
		show(v, "  pmd %u %#llx last %#llx flags %#x smpl %#llx\n", pmd.reg_num,
		     (unsigned long long)pmd.reg_value, (unsigned long long)pmd.reg_last_reset_val,
		     set->pmds[i].flags, (unsigned long long)set->pmds[i].smpl_pmds[0]);
	}
}

static void show_context(struct view *v, int fd)
{
	struct pfm_context *ctx = context_of(fd);

	rules_context(ctx);
	show(v, "context %s state %d started %d tid %u buffer %zu\n",
	     ctx->fmt ? ctx->fmt->fmt_name : "-", ctx->state, ctx->started, ctx->tid, ctx->buf_size);
	for (struct pfm_set *set = &ctx->set0; set; set = set->next)
		show_set(v, fd, set->id);
}

static void show_all(struct view *v)
{
	struct pfm_sim_thread threads[16];
	pfarg_config_t cfg;
	int n = pfm_sim_threads(scene.sim, threads, 16);

	v->len = 0;
	CHECK(!pfm_get_config(&cfg), "get_config: %s", pfm_explain());
	show(v, "sessions %llu %llu buffers %llu time %llu mapped %d machine %d\n",
	     (unsigned long long)cfg.cf_thread_sessions, (unsigned long long)cfg.cf_sys_sessions,
	     (unsigned long long)cfg.cf_smpl_buf_size_cur, (unsigned long long)pfm_sim_time(scene.sim),
	     !!scene.map, scene.machines);
	for (int i = 0; i < n; i++)
		show(v, "thread %u state %u ran %llu\n", threads[i].tid, threads[i].state,
		     (unsigned long long)threads[i].ran_ns);
	for (int i = 0; i < 2; i++)
		if (scene.fd[i] >= 0)
			show_context(v, scene.fd[i]);
}

/* --- one scenario --------------------------------------------------------------------------- */

static void tear_down(void)
{
	if (scene.map)
		pfm_unmap_buffer(scene.map, scene.map_size);
	for (int i = 0; i < 2; i++)
		if (scene.fd[i] >= 0)
			close(scene.fd[i]);
	pfm_sim_run_ns(scene.sim, 0);
	CHECK(!scene.sim->machine.smpl_buf_size_cur && !scene.sim->machine.loaded, "something is left");
	pfm_sim_put(scene.sim);
	pfm_set_machine("sim", "");
}

/* Notes in v the state after the call with the first n elements, without a failure. */
static void reference(const struct scenario *s, int n, struct view *v)
{
	scene_new(s->prepare);
	CHECK(!n || s->call(n) >= 0, "%s", pfm_explain());
	show_all(v);
	tear_down();
}

static bool is_prefix(const struct scenario *s, const struct view *now)
{
	static struct view before;

	for (int n = 0; n < s->n; n++) {
		reference(s, n, &before);
		if (!strcmp(before.text, now->text))
			return true;
	}
	return false;
}

/* Makes the call with its nth allocation failing; returns false if there was no nth. */
static bool fail_nth(const struct scenario *s, long nth, const struct view *expected)
{
	static struct view now;
	bool failed, reached;

	now_failing = nth;
	scene_new(s->prepare);
	pfm_refuse(0, "%s", "");
	errno = 0;
	alloc_fail_at(nth);
	failed = s->call(s->n) < 0;
	reached = alloc_made > nth;
	alloc_fail_at(-1);
	CHECK(!failed || (reached && errno == ENOMEM), "errno is %d: %s", errno, pfm_explain());
	CHECK(!failed || *pfm_explain(), "no reason is given");
	if (failed) {
		show_all(&now);
		tear_down();
		CHECK(is_prefix(s, &now), "half done:\n%s", now.text);
		scene_new(s->prepare);
		alloc_fail_at(nth);
		s->call(s->n);
		alloc_fail_at(-1);
		CHECK(s->call(s->n) >= 0, "made again: %s", pfm_explain());
	}
	show_all(&now);
	CHECK(s->tolerant || !strcmp(now.text, expected->text), "made again, it did:\n%sinstead of:\n%s",
	      now.text, expected->text);
	tear_down();
	alloc_settle(base);
	return reached;
}

static void sweep(const struct scenario *s)
{
	static struct view expected;
	long nth = 0;

	now_trying = s->name;
	now_failing = -1;
	reference(s, s->n, &expected);
	while (fail_nth(s, nth, &expected))
		nth++;
	printf("%-40s %ld\n", s->name, nth);
}

int main(void)
{
	fail_where = where;
	pfm_set_machine("sim", "");
	base = alloc_live;
	for (unsigned int i = 0; scenarios[i].name; i++)
		sweep(&scenarios[i]);
	return 0;
}
